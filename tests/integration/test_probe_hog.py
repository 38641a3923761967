#!/usr/bin/python3
"""The memory probe tells a neighbour that is hard on memory from one that only computes.

Readings of the probe with the neighbours stopped and running take turns (SIGSTOP, SIGCONT), so that
drift of the machine falls on both sides alike. Compared are not nanoseconds but P, the probability
that a reading under load is slower than one at rest: 0.5 means that the load cannot be seen. A
reading is the median of fifteen bursts: one neighbour may slow memory by a hundredth only, which is
less than single bursts differ on a busy machine.

With n readings on each side and no effect, P has a standard error of sqrt((2n + 1) / (12 n^2)), 0.041
for 100. The compute neighbours must stay within 5 of those around 0.5, the others above it, so that
the two cannot be taken for each other. How far above depends on the machine: one core is much to a
desktop's memory and little to a server's with eight channels. So readings are taken until both are
told apart, up to 600.

Before that it is shown that the probe's loads go to memory at all.
"""
import contextlib
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

READINGS, MOST_READINGS, BURSTS = 100, 600, 15
SETTLE_S = 0.02
MOST_HOGS = 8
SYSFS = pathlib.Path("/sys/devices/system")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def parse_list(text):
    numbers = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def choose_cpus():
    """The probe's CPU, and other cores of its node: what runs beside it must not share its caches
    L1 and L2."""
    allowed = os.sched_getaffinity(0)
    try:
        allowed &= parse_list((SYSFS / "node/node0/cpulist").read_text())
    except OSError:
        pass  # a kernel without NUMA
    if not allowed:
        skip("no CPU of NUMA node 0 may be used")
    probe, others, taken = min(allowed), [], set()
    for cpu in sorted(allowed):
        try:
            core = parse_list((SYSFS / f"cpu/cpu{cpu}/topology/thread_siblings_list").read_text())
        except OSError:
            core = {cpu}
        if cpu != probe and probe not in core and not core & taken:
            others.append(cpu)
            taken |= core
    if not others:
        skip("needs two cores on NUMA node 0")
    return probe, others[:MOST_HOGS]


def start(*command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    if not first.startswith("ready"):
        sys.exit(f"{command[0]} did not start: {first!r}")
    return process, first.split()


def burst(probe, kind="probe"):
    probe.stdin.write(kind + "\n")
    probe.stdin.flush()
    answer = probe.stdout.readline().strip()
    return None if answer == "none" else float(answer)


def reading(probe, kind="probe"):
    bursts = [x for x in (burst(probe, kind) for _ in range(BURSTS)) if x is not None]
    return statistics.median(bursts) if len(bursts) > BURSTS // 2 else None


def signal_all(hogs, number):
    for hog in hogs:
        hog.send_signal(number)
    time.sleep(SETTLE_S)


def superiority(idle, loaded):
    wins = sum((b > a) + 0.5 * (b == a) for a in idle for b in loaded)
    return wins / (len(idle) * len(loaded))


def measure(probe, neighbours, readings):
    for _ in range(READINGS):
        for mode, hogs in neighbours.items():
            time.sleep(SETTLE_S)
            readings[mode][0].append(reading(probe))
            signal_all(hogs, signal.SIGCONT)
            readings[mode][1].append(reading(probe))
            signal_all(hogs, signal.SIGSTOP)


def flushing_works(probe):
    """A ring that fits in the core's own cache is as slow as memory when it is flushed, and only
    then."""
    medians = {}
    for kind in ("small", "cached"):
        latencies = [burst(probe, kind) for _ in range(20)]
        latencies = [x for x in latencies if x is not None]
        if len(latencies) < 10:
            print(f"{kind}: only {len(latencies)} of 20 bursts gave a reading")
            return False
        medians[kind] = statistics.median(latencies)
    print(f"small ring, flushed {medians['small']:.1f} ns, not flushed {medians['cached']:.1f} ns")
    return medians["small"] > 3 * medians["cached"]


def judge(mode, idle, loaded):
    made = len(idle) + len(loaded)
    idle = [x for x in idle if x is not None]
    loaded = [x for x in loaded if x is not None]
    if len(idle) + len(loaded) < made * 3 // 4:
        print(f"{mode}: only {len(idle) + len(loaded)} of {made} readings could be taken")
        return False
    p = superiority(idle, loaded)
    error = math.sqrt((len(idle) + len(loaded) + 1) / (12 * len(idle) * len(loaded)))
    low, high = (0.5 + 5 * error, 1) if mode != "compute" else (0.5 - 5 * error, 0.5 + 5 * error)
    print(f"{mode:8} idle {statistics.median(idle):6.1f} ns  loaded {statistics.median(loaded):6.1f} "
          f"ns  P(loaded > idle) {p:.3f}, wanted {low:.2f} to {high:.2f}, "
          f"{len(idle)} and {len(loaded)} readings")
    return low < p <= high


def main():
    programs = pathlib.Path(sys.argv[1]) / "programs"
    probe_cpu, hog_cpus = choose_cpus()
    available_mib = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE") >> 20
    mib = min(256, available_mib // 2 // len(hog_cpus))
    if mib < 64:
        skip("too little free memory for a neighbour that misses every cache")
    # On a busy machine the neighbours must get their CPU, or there is no load to be seen.
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    processes = []
    try:
        neighbours = {}
        for mode in ("stream", "compute"):
            neighbours[mode] = []
            for cpu in hog_cpus:
                hog, _ = start(programs / "memory_hog", mode, str(cpu), str(mib))
                hog.send_signal(signal.SIGSTOP)
                processes.append(hog)
                neighbours[mode].append(hog)
        probe, ready = start(programs / "probe_bursts", str(probe_cpu))
        processes.append(probe)
        print(f"probe on CPU {probe_cpu}, huge pages {ready[1]}; neighbours on {hog_cpus}, "
              f"{mib} MiB each")
        results = [flushing_works(probe)]
        readings = {mode: ([], []) for mode in neighbours}
        judged = [False]
        while not all(judged) and len(readings["stream"][0]) < MOST_READINGS:
            measure(probe, neighbours, readings)
            judged = [judge(mode, *sides) for mode, sides in readings.items()]
        results += judged
    finally:
        for process in processes:
            process.kill()
            process.wait()
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
