#!/usr/bin/python3
"""What counting by BPF costs beside perf's cgroup events: sudo tests/bench/bpf.py [BUILD] [--quick]
Or what a run of the program costs, of this exporter and of others, all attached to the same switches:
sudo tests/bench/bpf.py [BUILD] --programs [EXPORTER...]

Prints the tables of RESULTS-bpf.md. Everything of one table was measured in one run, by turns. Software
events stand in for the core group's seven: they cost the same calls, but no register of a PMU is
touched. Needs root and cgroup v2.
"""
import contextlib
import json
import os
import pathlib
import platform
import random
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
QUICK = "--quick" in sys.argv
if QUICK:
    sys.argv.remove("--quick")
PROGRAMS = None  # of exporters
if "--programs" in sys.argv:
    PROGRAMS = [pathlib.Path(path) for path in sys.argv[sys.argv.index("--programs") + 1:]]
    del sys.argv[sys.argv.index("--programs"):]
sys.path.insert(0, str(SOURCE / "tests/integration"))

import harness  # noqa: E402
import measure  # noqa: E402
from measure import Samples, say  # noqa: E402

SOURCES = ("perf", "bpf")
PAIR_CONTAINERS = (2, 10) if QUICK else (2, 10, 250)
ROUNDS, SECONDS = (1, 0.2) if QUICK else (5, 0.5)
NODE_CONTAINERS = (20,) if QUICK else (250, 1000)
TICKS, STARTS = (3, 1) if QUICK else (8, 5)
COUNTS = {"perf": measure.PERF_ENABLED,
          "bpf": {"syscalls/sys_enter_bpf": "cmd == 2"}}  # BPF_MAP_UPDATE_ELEM


def exporter(live, source, n):
    flags = [flag for flag in live.flags() if not flag.startswith("--source=")]
    return harness.Exporter(f"--source={source}", *flags, "--no-collector.probe",
                            f"--containers.max={max(n, 512)}", "--sampling.interval=1s",
                            ends_within=60)


def wait_counted(run, n):
    """Until a tick has counted that many."""
    harness.wait_until(lambda: run.scrape().get("interference_exporter_containers",
                                                state="monitored") == n, 60, f"{n} are counted", 0.1)
    run.wait_tick()
    run.wait_tick()


def switch_us(pair, rates, mode):
    cpu = harness.online_cpus()[0]
    result = measure.run_json("bench_workload", "pingpong", SECONDS, cpu, cpu, *pair)
    rates.setdefault(mode, Samples()).append(1e6 * result["cpu_seconds"] / result["turns"] / 2)


def switches(live, where, counts):
    """CPU time of a half round of a ping-pong on one CPU: between two cgroups, or inside one, where
    perf's counters stay as they are, and the program runs and reads none."""
    table = {}
    for n in counts:
        live.reach(n)
        pair, rates = live.cgroups[:2] if where == "between" else live.cgroups[:1] * 2, {}
        for i in range(ROUNDS):
            say(f"switches {where}, {n} containers: round {i + 1} of {ROUNDS}")
            modes = ["none", *SOURCES]
            random.shuffle(modes)
            for mode in modes:
                if mode == "none":
                    switch_us(pair, rates, mode)
                    continue
                with exporter(live, mode, n) as run:
                    wait_counted(run, n)
                    switch_us(pair, rates, mode)
        table[n] = rates
    print("| containers | no counters | perf adds | bpf adds | bpf's part of perf's |")
    print("|---|---|---|---|---|")
    for n, rates in table.items():
        # Others' work makes a round longer, never shorter: the least of each says most.
        for name, of in (("medians", Samples.median), ("least", min)):
            none, perf, bpf = (of(rates[mode]) for mode in ("none", *SOURCES))
            part = f"{100 * (bpf - none) / (perf - none):.0f} %" if perf > none else "-"
            print(f"| {n}, {name} | {none:.2f} us | {perf - none:.2f} us | {bpf - none:.2f} us | "
                  f"{part} |")
    print(flush=True)


def counted_seconds(live, source, n):
    """From exec to the last call that has the kernel count a container."""
    with measure.tracing(COUNTS[source]) as trace:
        if trace is None:
            raise RuntimeError("no tracefs here")
        began = time.monotonic()
        with exporter(live, source, n) as run:
            wait_counted(run, n)
            threads = {int(thread) for one in measure.tree(run.pid)
                       for thread in os.listdir(f"/proc/{one}/task")}
            calls = [at for thread, at, _, _ in trace.lines() if thread in threads]
        # Before them are some that try what the kernel can do.
        wanted = n * measure.CPUS if source == "perf" else measure.CPUS * measure.ROLES + n
        if len(calls) < wanted:
            raise RuntimeError(f"{len(calls)} calls, not {wanted}")
        return calls[-1] - began


def node(live):
    print("| | containers | all counted | our CPU per tick | per container | resident | descriptors |")
    print("|---|---|---|---|---|---|---|")
    for n in NODE_CONTAINERS:
        live.reach(n)
        for source in SOURCES:
            say(f"node: {n} containers by {source}")
            starts = Samples(1e3 * counted_seconds(live, source, n) for _ in range(STARTS))
            with exporter(live, source, n) as run:
                wait_counted(run, n)
                time.sleep(2)
                began, first = run.tick(), measure.cpu_seconds(run.pid)
                time.sleep(TICKS)
                used, ticks = measure.cpu_seconds(run.pid) - first, run.tick() - began
                print(f"| {source} | {n} | {starts.show('ms', 0)} | {1e3 * used / ticks:.2f} ms | "
                      f"{1e6 * used / ticks / n:.2f} us | "
                      f"{measure.resident_bytes(run.pid) / 2**20:.1f} MiB | {run.fds()} |", flush=True)
    print()


def cells():
    print("| CPUs of the map | containers | cells | a container's reading and window, where it has run since on all CPUs | "
          "on 6 % of them | on none |")
    print("|---|---|---|---|---|---|")
    for cpus, containers in ((2, 250), (2, 1000), (128, 250), (128, 1000)):
        result = measure.run_json("bench_cells", cpus, containers, 5 if QUICK else 51)
        print(f"| {cpus} | {containers} | {result['bytes'] / 2**20:.2f} MiB, "
              f"{result['bytes'] / containers:.0f} bytes each | {result['all_us']:.2f} us | "
              f"{result['some_us']:.2f} us | {result['none_us']:.2f} us |")
    sys.stdout.flush()


def flush():
    result = measure.run_json("bench_flush", 50 if QUICK else 20000)
    print("| a flush, seven events | by the clock | of our CPU |")
    print("|---|---|---|")
    for where, name in (("own", "of the exporter's own CPU"), ("other", "of another CPU")):
        print(f"| {name} | {result[where + '_us']:.2f} us | {result[where + '_cpu_us']:.2f} us |")
    sys.stdout.flush()


def runs_of_programs():
    """{its ID: (ns, runs)}, by the kernel's own account."""
    shown = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True,
                                      check=True).stdout)
    return {one["id"]: (one.get("run_time_ns", 0), one.get("run_cnt", 0)) for one in shown
            if one.get("name") == "on_switch"}


def programs(live, exporters):
    """Nanoseconds of a run, its clock included: between two containers, where it reads the events, and
    inside one, where it passes over."""
    live.reach(2)
    account = pathlib.Path("/proc/sys/kernel/bpf_stats_enabled")
    before = account.read_text()
    print("| exporter | reads, least; median | passes over, least; median |\n|---|---|---|")
    with contextlib.ExitStack() as stack:
        stack.callback(account.write_text, before)
        names, ours = {}, harness.EXPORTER
        for path in exporters:
            known = set(runs_of_programs())
            harness.EXPORTER = path
            run = stack.enter_context(exporter(live, "bpf", 2))
            harness.EXPORTER = ours
            wait_counted(run, 2)
            names[path] = (set(runs_of_programs()) - known).pop()
        account.write_text("1")
        table = {}
        for _ in range(2 * ROUNDS):
            for pair in (live.cgroups[:2], live.cgroups[:1] * 2):
                then = runs_of_programs()
                switch_us(pair, {}, "bpf")
                for path, number in names.items():
                    ns, runs = (a - b for a, b in zip(runs_of_programs()[number], then[number]))
                    table.setdefault((path, pair[0] == pair[1]), Samples()).append(ns / runs)
    for path in exporters:
        cells_of = [table[path, inside] for inside in (False, True)]
        print(f"| {path} |", " | ".join(f"{min(c):.0f}; {c.median():.0f} ns" for c in cells_of), "|")


def main():
    if os.geteuid() != 0:
        harness.skip("needs root")
    print(f"Linux {platform.release()}, {measure.CPUS} CPUs; load average at the start "
          f"{os.getloadavg()[0]:.1f}\n", flush=True)
    with tempfile.TemporaryDirectory() as directory, harness.Cgroups() as groups:
        live = measure.Live(pathlib.Path(directory), groups)
        if PROGRAMS is not None:
            programs(live, [harness.EXPORTER, *PROGRAMS])
            return
        cells()
        print()
        flush()
        print()
        node(live)
        print("Between two containers:\n")
        switches(live, "between", PAIR_CONTAINERS)
        print("Inside one container:\n")
        switches(live, "inside", PAIR_CONTAINERS[:1])
    print(f"load average at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
