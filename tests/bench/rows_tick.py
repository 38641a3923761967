"""The steady tick: what it asks of the kernel, what it allocates, what CPU time it takes."""
import collections
import os
import re
import struct
import tempfile
import time

import harness
import measure
from measure import Row, Samples, verdict

CALL = re.compile(r"^\d+ +(?:\[pid +\d+\] )?(\w+)\(")
# Calls that open, map or grow.
OPENING = {"open", "openat", "openat2", "perf_event_open", "socket", "mmap", "brk", "mremap",
           "inotify_add_watch", "pipe2", "dup", "clone", "clone3"}


def _trace(exporter, seconds):
    """System calls of whole ticks, a counter for each."""
    with tempfile.NamedTemporaryFile("r") as file:
        tracer = harness.start(["strace", "-f", "-qq", "-o", file.name, "-p", exporter.pid])
        time.sleep(seconds)
        harness.stop(tracer)
        ticks, current = [], None
        for line in file:
            match = CALL.match(line)
            if not match:
                continue
            if match.group(1) == "timerfd_settime":  # the loop arms its timer once a turn
                if current:
                    ticks.append(current)
                current = collections.Counter()
            elif current is not None:
                current[match.group(1)] += 1
    return [t for t in ticks if t["read"] + t["pread64"] > 10]


def _steady(live, scale):
    n = scale.tick_containers
    live.reach(n)
    with tempfile.NamedTemporaryFile() as counter:
        env = {"LD_PRELOAD": str(measure.PROGRAMS / "preload_malloc.so"),
               "BENCH_MALLOC_FILE": counter.name}
        with live.exporter(f"--sampling.interval={scale.tick_ms}ms", env=env) as exporter:
            live.wait_counted(exporter, n)
            time.sleep(scale.settle_seconds)
            ticks = _trace(exporter, scale.trace_seconds)

            def allocations():
                return struct.unpack("=Q", os.pread(counter.fileno(), 8, 0))[0]

            before, began = allocations(), time.monotonic()
            time.sleep(scale.trace_seconds)
            made = allocations() - before
            quiet_ticks = int((time.monotonic() - began) * 1000 / scale.tick_ms)
    opens = sum(t[name] for t in ticks for name in OPENING)
    middle = collections.Counter()
    for name in set().union(*ticks):
        middle[name] = int(Samples(t[name] for t in ticks).median())
    calls = ", ".join(f"{name} {k}" for name, k in middle.most_common() if k)
    return Row("steady tick: no malloc, no open", "0 and 0",
               f"{made} allocations in {quiet_ticks} ticks; {opens} opening or mapping calls in "
               f"{len(ticks)} ticks",
               "met" if made == 0 and opens == 0 and ticks else "missed",
               f"{n} containers, {n * measure.CPUS} groups; calls of a tick: {calls}")


def _own(scale):
    """The exporter's part, over a source whose reads are a few stores."""
    found = []
    wide = scale.wide_containers
    for containers, cpus, busy, words in (
            (scale.node_containers, 2, 2, "10,000 containers, 2 CPUs"),
            (wide, 128, 8, "250 containers, 128 CPUs, each on 8 of them"),
            (wide, 128, 128, "250 containers, 128 CPUs, each on all of them at once")):
        own, parts = Samples(), []
        for _ in range(scale.repeats):
            with measure.Node(containers, cpus, busy) as node:
                node.tick(measure.WARM_TICKS)
                report = node.tick(24)
            own.append((report["tick_us"] - report["synthetic_us"]) / report["containers"])
            parts.append(report)
        middle = parts[len(parts) // 2]
        found.append(Row(f"steady tick: our CPU per container, {words}", "2 us",
                         own.show("us", 2), verdict(own.median(), 2),
                         "synthetic source, its own time taken off "
                         f"({middle['synthetic_us'] / middle['containers']:.2f} us); collect "
                         f"{middle['collect_us'] / middle['containers']:.2f} us, publish "
                         f"{middle['publish_us'] / middle['containers']:.2f} us"))
    return found


def _slowdown(scale):
    """What one collector adds, beside the one that it shares its counters with."""
    share, ours, latency = Samples(), Samples(), Samples()
    for _ in range(scale.repeats):
        with measure.Node(scale.node_containers, 2, 2) as node:
            node.tick(measure.WARM_TICKS)
            report = node.tick(24)
            estimates = node.samples("interference_container_slowdown_ratio")
        share.append(100 * report["slowdown_us"] / report["tick_us"])
        ours.append(report["slowdown_us"] / report["containers"])
        latency.append(report["core_latency_us"] / report["containers"])
    return Row("steady tick: of it the slowdown collector, per container", "reported",
               ours.show("us", 2), "reported",
               f"{share.median():.0f} % of our CPU in a tick, model passive, an estimate for "
               f"{estimates:,} of {scale.node_containers:,} containers; core_latency in the same ticks "
               f"{latency.show('us', 2)}: it comes first and pays for reading the group that both use")


def _placement(scale):
    """A collector that counts nothing by itself: what it adds where the core group is read anyway."""
    found = []
    for nodes in (1, 4):
        ours = Samples()
        for _ in range(scale.repeats):
            report = measure.run_json("bench_placement", scale.wide_containers, 128, 8, nodes,
                                      scale.placement_ticks)
            ours.append(report["tick_us"] / report["containers"])
        found.append(Row(
            f"placement: its CPU in a tick per container, {report['containers']} containers, "
            f"{nodes} NUMA node{'s' * (nodes > 1)}", "reported", ours.show("us", 2), "reported",
            f"128 CPUs, each container on 8 of them, one tier; a prediction for "
            f"{report['predictions']} containers; the group that core_latency reads is not read "
            "again" + (", nor are files: where memory is comes from the source" * (nodes > 1))))
    return found


def _numa_stat(scale):
    """What the row of 4 nodes leaves out: the kernel's files, of real cgroups."""
    mounts = harness.cgroup_mounts()
    hierarchy = next(((1, mount) for version, mount, options in mounts
                      if version == 1 and "memory" in options), None)
    reading, ours, report = Samples(), Samples(), {"containers": 0}
    with harness.Cgroups(hierarchy) as groups:
        folders = [groups.docker()[0] for _ in range(scale.wide_containers)]
        for _ in range(scale.repeats):
            report = measure.run_json("bench_numa_stat", scale.numa_stat_periods, *folders)
            if report["containers"]:
                reading.append(report["reading_us"])
                ours.append(report["tick_us"])
    if not report["containers"]:
        return []
    return [Row("placement: reading where memory is, CPU in a tick per container", "reported",
                ours.show("us", 3), "reported",
                f"only with several NUMA nodes; {report['containers']} real cgroups without memory, on "
                f"this machine's nodes. A reading of memory.numa_stat, kernel and parser, is "
                f"{reading.show('us', 1)}; each container has one in half a minute")]


def _waits(scale):
    """The files of lost_time, of real cgroups: of both hierarchies where this machine has v1."""
    reading, report = Samples(), {}
    hierarchy = harness.perf_hierarchy()
    if not hierarchy or hierarchy[0] != 2:
        return []
    with harness.Cgroups() as groups:
        folders = [groups.docker()[0] for _ in range(scale.wide_containers)]
        for mount in (mount for version, mount, options in harness.cgroup_mounts()
                      if version == 1 and {"cpu", "memory"} & set(options)):
            for folder in folders:
                (mount / folder.relative_to(groups.mount)).mkdir(parents=True)
        for _ in range(scale.repeats):
            report = measure.run_json("bench_waits", scale.waits_readings, *folders)
            reading.append(report["reading_us"])
    return [Row("lost_time: reading what containers wait for, CPU every 5 s per container",
                "25 us", reading.show("us", 1), verdict(reading.median(), 25),
                f"{report['containers']} real cgroups, {report['files']:.0f} files of each kept open; "
                "kernel and parser, with the levels that are read once a minute")]


def _resctrl(scale):
    """Every five seconds all groups are read in one tick: windows of other seconds could not be
    compared with each other, nor with the latencies in between."""
    containers, l3s, turns = scale.resctrl
    with tempfile.TemporaryDirectory() as folder:
        report = measure.run_json("bench_resctrl", folder, containers, l3s, turns)
    whole = report["scan_ms"] + report["read_ms"]
    return [Row(f"bandwidth: the tick in which the groups of {containers} containers are read",
                "reported", f"{whole:.1f} ms", "reported",
                f"one tick in five, the median of {turns}; {report['groups']:.0f} groups get a "
                f"descriptor, with {l3s} L3s of three files each: {whole * 1e3 / report['groups']:.0f} "
                f"us a group. To look who has one is {report['scan_ms']:.1f} ms of it. Plain files: "
                "the kernel's interrupts, one a file, come on top")]


def _blackbox(scale):
    """What is held of a made-up node whose counts have as many random digits as a busy one's."""
    rows = []
    for cpus in (1, 4, 8):
        report = measure.run_json("bench_blackbox", scale.wide_containers, cpus,
                                  scale.blackbox_seconds)
        rows.append(Row(
            f"black box: memory, {scale.wide_containers} containers, each on {cpus} CPUs at a time",
            "56 MiB", f"{report['memory_mib']:.1f} MiB", verdict(report["memory_mib"], 56),
            f"holds {report['held_seconds']:.0f} s of {scale.blackbox_seconds}; the loop pays "
            f"{report['tick_us_per_container']:.2f} us for a container in a tick; "
            f"{report['ticks_dropped']} ticks found no room, given up to 133 a second"))
    return rows


def _total(live, scale):
    """The same daemon with the kernel's reads, over real cgroups."""
    n = scale.live_containers
    live.reach(n)
    bare = measure.run_json("bench_kernel", scale.kernel_rounds, *live.cgroups)
    per_tick, slab = Samples(), _slab_kib()
    with live.exporter(f"--sampling.interval={scale.tick_ms}ms") as exporter:
        live.wait_counted(exporter, n)
        time.sleep(scale.settle_seconds)
        kernel_kib = (_slab_kib() - slab) / (n * measure.CPUS * measure.ROLES)
        for _ in range(scale.live_windows):
            ticks = exporter.tick()
            cpu = measure.cpu_seconds(exporter.pid)
            time.sleep(scale.live_window_seconds)
            ticks = exporter.tick() - ticks
            cpu = measure.cpu_seconds(exporter.pid) - cpu
            per_tick.append(cpu / ticks / n * 1e6)
    return Row("steady tick: total with reads, per container", "reported",
               per_tick.show("us", 2), "reported",
               f"{n} real cgroups, {n * measure.CPUS} group reads a tick: "
               f"{per_tick.median() * n / 1000:.2f} ms of CPU; the bare calls of these reads, in a "
               f"program that does nothing else: {bare['read_us'] * measure.CPUS:.2f} us a "
               "container"), {
                   "total_us": per_tick.median(), "event_kib": kernel_kib,
                   "bare_open_us": bare["open_us"]}


def _slab_kib():
    """The kernel's objects that are in use: pages of what was there before would be used again."""
    with open("/proc/slabinfo", encoding="ascii") as slabinfo:
        caches = [line.split() for line in slabinfo.readlines()[2:]]
    return sum(int(active) * int(size) for _, active, _, size, *_ in caches) / 1024


def _attribution(scale):
    """The arithmetic alone, with all slots taken."""
    found = []
    for containers, limit in scale.attribution:
        ours, worst, each, ledger, busy = (Samples() for _ in range(5))
        for _ in range(scale.repeats):
            report = measure.run_json("bench_attribution", containers, scale.attribution_ticks)
            ours.append(report["us"])
            worst.append(report["worst_us"])
            each.append(report["each_us"])
            ledger.append(report["ledger_us"])
            busy.append(report["ledger_busy_us"])
        found.append(Row(f"attribution: estimator's CPU in a tick, {containers:,} containers",
                         f"{limit} us", ours.show("us"), verdict(ours.median(), limit),
                         f"{report['candidates']} candidates, solved every fifth tick, the longest tick "
                         f"{worst.median():.0f} us; solved each tick {each.median():.0f} us; "
                         f"{report['domain_bytes'] / 1024:.0f} KiB a memory domain, "
                         f"{report['scratch_bytes'] / 1024:.0f} KiB for all, "
                         f"{report['container_bytes']} B a container"))
        kib = report["ledger_bytes"] / 1024
        small = containers == 250
        found.append(Row(f"attribution: ledger's CPU in a tick, {containers:,} containers",
                         "20 us, 128 KiB" if small else "reported", f"{ledger.show('us')}; {kib:.0f} KiB",
                         verdict(max(ledger.median() / 20, kib / 128), 1) if small else "reported",
                         f"each goes on and off every 8 minutes; every 20 seconds {busy.median():.1f} us"))
    for containers, _ in scale.attribution:
        for traffic in (False, True):
            found.append(_attribution_tick(scale, containers, traffic))
    return found


def _attribution_tick(scale, containers, traffic):
    ours = Samples()
    for _ in range(scale.repeats):
        report = measure.run_json("bench_attribution_tick", containers, 16, scale.attribution_ticks,
                                  *["traffic"] * traffic)
        ours.append(report["tick_us"] - report["source_us"])
    what = ("windows, traffic of each, two estimators, "
            f"{'who makes whom wait, ' if report['waits'] else ''}page" if traffic else
            "windows, who ran beside the probe, estimator, page")
    return Row("attribution: the whole collector in a tick" + ", by traffic" * traffic +
               f", {containers:,} containers", "reported", ours.show("us"), "reported",
               f"16 CPUs, one NUMA node: {what}; the longest tick {report['worst_us']:.0f} us")


def _activity(scale):
    """A container's CPU time, in each way that this machine has, beside a bare pread of its file."""
    through, bare = collections.defaultdict(Samples), collections.defaultdict(Samples)
    for _ in range(scale.repeats):
        for line in measure.run_text("bench_activity", scale.activity_readings).splitlines():
            way, ours, alone = line.split()
            through[way].append(float(ours) / 1000)
            bare[way].append(float(alone) / 1000)
    if not through:
        return []
    words = [f"{way} {through[way].show('us', 2)}" +
             (f", a bare pread of it {bare[way].median():.2f} us" if bare[way].median() else "")
             for way in through]
    best = next(iter(through))
    return [Row("steady tick: a container's CPU time", "reported", through[best].show("us", 2),
                "reported", "one idle cgroup; " + "; ".join(words))]


def rows(live, scale):
    measure.say("steady tick")
    found = [_steady(live, scale), *_own(scale), _slowdown(scale), *_placement(scale), *_numa_stat(scale), *_waits(scale),
             *_resctrl(scale),
             *_blackbox(scale),
             *_attribution(scale), *_activity(scale)]
    total, facts = _total(live, scale)
    return [*found, total], facts
