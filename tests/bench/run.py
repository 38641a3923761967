#!/usr/bin/python3
"""Every line of the budgets as one table: sudo tests/bench/run.py [BUILD] > tests/bench/RESULTS.md

Without BUILD it builds into build/plain first. Takes about eight minutes, needs root, installs
nothing: what is missing is named. Servers listen on loopback only and end with it. Progress goes to
stderr. With --smoke every row is run as short as it can be; the figures then mean nothing.
"""
import dataclasses
import datetime
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
COMMAND = "sudo tests/bench/run.py > tests/bench/RESULTS.md"
TARGETS = ["interference_exporter", "bench_activity", "bench_attribution",
           "bench_attribution_tick", "bench_placement", "bench_numa_stat", "bench_waits", "bench_blackbox", "bench_kernel", "bench_node", "bench_probe", "bench_bursts",
           "bench_render", "bench_resctrl", "bench_samples", "bench_scrape",
           "bench_workload", "preload_malloc", "simnode_bench"]
NEEDED = {"openssl": "openssl", "strace": "strace", "prometheus-node-exporter": "prometheus-node-exporter"}


@dataclasses.dataclass
class Scale:
    """How long, how often, how many."""
    smoke: bool = False
    repeats: int = 5
    settle_seconds: float = 3
    quiet_seconds: float = 10
    workload_rounds: int = 25
    workload_seconds: float = 0.35
    workload_containers: int = 250
    tick_containers: int = 100
    tick_ms: int = 200
    trace_seconds: float = 6
    kernel_rounds: int = 50
    node_containers: int = 10000
    wide_containers: int = 250
    attribution: tuple = ((250, 50), (10000, 250))  # containers, microseconds allowed
    attribution_ticks: int = 1000
    placement_ticks: int = 300
    numa_stat_periods: int = 20
    waits_readings: int = 200
    resctrl: tuple = (4096, 4, 20)  # containers with a group, L3s, turns
    blackbox_seconds: int = 1000
    activity_readings: int = 20000
    live_containers: int = 500
    live_windows: int = 10
    live_window_seconds: float = 1.5
    render_arguments: tuple = ()
    serve_containers: int = 5556
    serve_rounds: int = 10
    serve_pause_seconds: float = 0.3
    memory_containers: tuple = (10, 210)
    start_containers: tuple = (10, 250, 500)
    start_synthetic: tuple = (2048, 16384)
    starts: int = 15
    counted: int = 150
    counted_containers: int = 250
    load_containers: int = 10000
    load_seconds: float = 30
    load_tick_ms: int = 1000
    probe_seconds: float = 30
    bursts_seconds: int = 120
    sample_rounds: int = 41
    sample_seconds: float = 10


SMOKE = Scale(smoke=True, repeats=1, settle_seconds=0.3, quiet_seconds=0, workload_rounds=1,
              workload_seconds=0.05, workload_containers=4, tick_containers=8, tick_ms=100,
              trace_seconds=0.4, kernel_rounds=2, node_containers=50, wide_containers=10,
              attribution=((70, 50),), attribution_ticks=5, placement_ticks=5, numa_stat_periods=1, waits_readings=2, resctrl=(10, 2, 2), blackbox_seconds=20, activity_readings=20,
              live_containers=12, live_windows=1, live_window_seconds=0.3,
              render_arguments=(50, 1), serve_containers=50, serve_rounds=1,
              serve_pause_seconds=0.05, memory_containers=(2, 6), start_containers=(2, 12), start_synthetic=(10, 50), starts=1,
              load_containers=50, load_seconds=0.5, load_tick_ms=100, sample_rounds=1,
              sample_seconds=0.5)


def build():
    folder = SOURCE / "build/plain"
    quiet = {"stdout": sys.stderr, "check": True}
    subprocess.run(["cmake", "-S", SOURCE, "-B", folder, "-G", "Ninja", "--log-level=WARNING",
                    "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_C_COMPILER=gcc"], **quiet)
    subprocess.run(["cmake", "--build", folder, "--target", *TARGETS, "--", "--quiet"], **quiet)
    return folder


def require():
    """What this bench cannot do without, in words; None when all is there."""
    if os.geteuid() != 0:
        return "needs root, for cgroups and counters"
    missing = [package for command, package in NEEDED.items() if not shutil.which(command)]
    try:
        import prometheus_client  # noqa: F401 (the harness needs it)
    except ImportError:
        missing.append("python3-prometheus-client")
    return f"missing, as root: apt-get install {' '.join(missing)}" if missing else None


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def measure_all(scale, workdir):
    import harness
    import measure
    import rows_daemon
    import rows_governor
    import rows_samples
    import rows_secure
    import rows_serving
    import rows_simnode
    import rows_tick
    import rows_workloads

    found, facts = [], {}

    def add(part, *arguments):
        measure.wait_for_quiet(scale.quiet_seconds)
        result = part(*arguments)
        rows, more = result if isinstance(result, tuple) else (result, {})
        found.extend(rows)
        facts.update(more)

    with harness.Cgroups() as groups:
        live = measure.Live(workdir, groups)
        add(rows_workloads.rows, live, scale)
        add(rows_tick.rows, live, scale)
        add(rows_serving.rows, scale)
        add(rows_secure.rows, scale)
        add(rows_daemon.memory, live, scale)
        add(rows_daemon.start, live, scale)
        add(rows_daemon.start_many, scale)
        if not scale.smoke:  # switching tracing on and off takes seconds
            add(rows_daemon.counted, live, scale)
        add(rows_daemon.real_load, live, scale)
        live.reach(0)
        add(rows_daemon.synthetic_load, scale)
        if not scale.smoke:  # its cross-check takes a gigabyte
            add(rows_daemon.probe, scale)
        add(rows_samples.rows, scale)
        add(rows_simnode.rows, scale)
        if scale.smoke:  # its table is RESULTS-governor.md
            add(rows_governor.rows, scale)
    return found, facts


EXTRAPOLATION = """\
## A node of 128 CPUs and 250 containers

Nothing of that size is at hand, so this is arithmetic over what was measured above.

- **Switches.** A CPU pays only when it switches between processes of different cgroups: {switch_us:.2f} us of
  CPU a switch here, with seven software events a group. At 1,000 such switches a second on a CPU that is
  {at_1000:.2f} % of it, at 10,000 it is {at_10000:.1f} %; the number of CPUs does not enter, since each pays for its
  own switches, and hardly does the number of containers, since the kernel keeps a CPU's events sorted by
  cgroup ({switch_us_pair:.2f} us a switch with only the pair counted). A PMU adds the writing of its registers to
  every switch, which no machine without one can show.
- **Reads.** 250 containers are 32,000 group reads a second. Here a container with two groups costs {total_us:.1f} us a
  tick with everything, so at most {read_us:.1f} us a group: {reads_ms:.0f} ms a second, {reads_share:.3f} % of 128 CPUs. Only
  groups that are running on another CPU at that moment interrupt it: at most one a CPU and tick.
- **Descriptors and opening.** 250 x 128 x 7 = 224,000 descriptors, so LimitNOFILE must be raised to that; opened
  at {open_us:.1f} us each (bare calls, here) they take {open_s:.1f} s at start, and a new container {open_ms:.0f} ms.
- **The kernel's memory.** {event_kib:.2f} KiB of slab an event: {event_mib:.2f} MiB a container, {events_mib:.0f} MiB for 250.
"""


def extrapolate(facts):
    read_us = facts["total_us"] / 2
    return EXTRAPOLATION.format(
        switch_us=facts["switch_us"], switch_us_pair=facts["switch_us_pair"], at_1000=facts["switch_us"] / 10,
        at_10000=facts["switch_us"], total_us=facts["total_us"], read_us=read_us,
        reads_ms=read_us * 32, reads_share=read_us * 32 / 10 / 128, open_us=facts["bare_open_us"],
        open_s=facts["bare_open_us"] * 0.224, open_ms=facts["bare_open_us"] * 0.896, event_kib=facts["event_kib"],
        event_mib=facts["event_kib"] * 896 / 1024, events_mib=facts["event_kib"] * 224000 / 1024)


def print_table(found, facts, load, took):
    others, stolen = load.others()
    print(f"""# What the exporter costs

    {COMMAND}

Measured {datetime.date.today():%Y-%m-%d} on {cpu_model()}, {os.cpu_count()} CPUs, a virtual machine without a PMU, Linux
{platform.release()}; it took {took / 60:.1f} minutes. Meanwhile other processes kept {others:.2f} CPUs busy, and the hypervisor
took {stolen:.2f}.

A figure is the median, in brackets the middle four fifths of n measurements. Lines without a limit in the
design are "reported". Where there is no PMU, software events stand in for the core group's seven roles
(cpu-clock, task-clock, context-switches, page-faults, minor-faults, major-faults, cpu-migrations): the same
system calls, the same work at a switch but for the PMU's registers.

| budget | limit | measured | verdict | how, and what else was seen |
|---|---|---|---|---|""")
    for row in found:
        print(f"| {row.budget} | {row.limit} | {row.measured} | {row.verdict} | {row.note} |")
    print("\n" + extrapolate(facts), end="")


def main():
    arguments = sys.argv[1:]
    smoke = "--smoke" in arguments
    folders = [a for a in arguments if not a.startswith("-")]
    if len(folders) > 1 or len(arguments) > len(folders) + smoke:
        sys.exit(__doc__)
    missing = require()
    if missing:
        print(f"skipped: {missing}", file=sys.stderr)
        sys.exit(77)
    folder = pathlib.Path(folders[0]) if folders else build()
    sys.argv[1:] = [str(folder)]  # where the tests' harness looks for what it runs
    sys.path[:0] = [str(SOURCE / "tests/bench"), str(SOURCE / "tests/integration")]
    import measure

    began, load = time.monotonic(), measure.Load()
    with tempfile.TemporaryDirectory() as workdir:
        found, facts = measure_all(SMOKE if smoke else Scale(), pathlib.Path(workdir))
    print_table(found, facts, load, time.monotonic() - began)


if __name__ == "__main__":
    main()
