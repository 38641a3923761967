"""Memory, start, how soon a container is counted, and load: the daemon over real cgroups."""
import contextlib
import os
import pathlib
import re
import subprocess
import time

import harness
import measure
from measure import Row, Samples, verdict


def _resident(live, n, **options):
    """KiB of a fresh exporter that counts n containers and has been scraped in every format."""
    live.reach(n)
    with live.exporter("--sampling.interval=100ms", **options) as exporter:
        live.wait_counted(exporter, n)
        for _ in range(5):
            exporter.wait_tick()
            exporter.text()
            exporter.scrape()
            exporter.get("/metrics", {"Accept-Encoding": "gzip"})
            exporter.get("/api/v1/containers")
        return measure.resident_bytes(exporter.pid) / 1024


def _per_cpu_bytes(containers):
    """What one more CPU costs a container in the collectors' and the set's buffers."""
    resident = []
    for cpus in (2, 130):
        with measure.Node(containers, cpus, 2) as node:
            node.tick(3)
            status = pathlib.Path(f"/proc/{node.process.pid}/status").read_text()
            resident.append(int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) * 1024)
    return (resident[1] - resident[0]) / containers / 128


def memory(live, scale):
    measure.say("memory")
    few, many = scale.memory_containers
    small, more, whole = Samples(), Samples(), Samples()
    for _ in range(scale.repeats):
        small.append(_resident(live, few))
        more.append((_resident(live, many) - small[-1]) / (many - few))
        whole.append((_resident(live, many, lean=False) - _resident(live, few, lean=False))
                     / (many - few))
    # perf.c keeps, per CPU: a row of 20 bytes, seven descriptors, nine totals.
    per_cpu = _per_cpu_bytes(scale.wide_containers) + 20 + 7 * 4 + 9 * 8
    wide = more.median() + per_cpu * (128 - measure.CPUS) / 1024
    small = Samples(x / 1024 for x in small)
    return [
        Row(f"memory: {few} containers, without the probe's buffer", "12 MiB",
            small.show("MiB", 2), verdict(small.median(), 12),
            "resident, all three processes, with --no-collector.probe, after scrapes in every format"),
        Row("memory: each further container", "32 KiB", more.show("KiB", 1),
            verdict(more.median(), 32), f"{many} containers against {few}, {measure.CPUS} CPUs"),
        Row("memory: each further container, with lost_time and attribution", "32 KiB",
            whole.show("KiB", 1), verdict(whole.median(), 32), "what is on by default"),
        Row("memory: each further container, 128 CPUs", "32 KiB", f"{wide:.1f} KiB (computed)",
            verdict(wide, 32),
            f"by {per_cpu:.0f} bytes per container and CPU: two readings and the source's "
            "descriptors and last totals; the kernel's own memory for the events comes to more "
            "than this and is not in it, see below"),
    ]


# ---- start ----


def _start(live, flags):
    """From fork to the first 200 of /-/ready: milliseconds, and those of CPU time."""
    port = harness.free_port()
    began = time.monotonic()
    argv = [harness.EXPORTER, f"--web.listen-address=127.0.0.1:{port}", *live.flags(), *flags]
    process = subprocess.Popen([str(a) for a in argv], stderr=subprocess.DEVNULL)
    try:
        while True:
            with contextlib.suppress(OSError):
                connection = harness.http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/-/ready")
                status = connection.getresponse().status
                connection.close()
                if status == 200:
                    return (time.monotonic() - began) * 1e3, measure.cpu_seconds(process.pid) * 1e3
            if time.monotonic() - began > 20 or process.poll() is not None:
                raise RuntimeError("the exporter did not become ready")
            time.sleep(0.0005)
    finally:
        harness.stop(process)


def start(live, scale):
    measure.say("start")
    found = []
    for n in scale.start_containers:
        live.reach(n)
        bare = measure.run_json("bench_kernel", 1, *live.cgroups)
        wall, cpu = (Samples(x) for x in zip(*(_start(live, ()) for _ in range(scale.starts))))
        events = n * measure.CPUS * measure.ROLES
        found.append(Row(f"start: ready, {n} containers", "100 ms", wall.show("ms"),
                         verdict(wall.median(), 100),
                         f"process start to /-/ready 200, with the probe; {cpu.median():.1f} ms of "
                         f"CPU. Opening the {events} events takes a program that does nothing else "
                         f"{events * bare['open_us'] / 1e3:.1f} ms, most of it interrupts to the "
                         "other CPU"))
    return found


def start_many(scale):
    """What all containers that are there at the start cost together: must not grow with each other."""
    measure.say("start, many containers")
    few, many = scale.start_synthetic
    seconds = {}
    for n in (few, many):
        with measure.Node(n) as node:
            node.tick()
            seconds[n] = measure.cpu_seconds(node.process.pid)
    each = {n: 1e6 * seconds[n] / n for n in seconds}
    return [Row(f"start: a container of {many:,}, as of {few:,}", "2 times",
                f"{each[many] / each[few]:.2f} times", verdict(each[many] / each[few], 2),
                f"synthetic ones; until the first page {seconds[many]:.2f} s of CPU for {many:,}, "
                f"{seconds[few]:.2f} s for {few:,}")]


# ---- counted ----

def _delays(trace, pid, base):
    """Milliseconds from each mkdir to the moment its groups counted on every CPU."""
    threads = {int(t) for t in os.listdir(f"/proc/{pid}/task")}
    delays, made, enabled = Samples(), None, 0
    for tid, at, what, line in trace.lines():
        if what == "cgroup_mkdir" and base in line:
            made, enabled = at, 0
        elif made is not None and what.startswith("sys_ioctl") and tid in threads:
            enabled += 1
            if enabled == measure.CPUS:
                delays.append((at - made) * 1e3)
    return delays


def _counted(live, scale, n, trace):
    live.reach(n)
    with live.exporter() as exporter:
        live.wait_counted(exporter, n)
        time.sleep(1)
        trace.clear()
        for i in range(scale.counted):
            live.reach(n + i + 1)
            time.sleep(0.017)  # no multiple of the tick: every phase of it gets its turn
        time.sleep(0.2)
        return _delays(trace, exporter.pid, live.groups.base.name)


def counted(live, scale):
    measure.say("a container is counted")
    found = []
    with measure.tracing({**measure.PERF_ENABLED, "cgroup/cgroup_mkdir": None}) as trace:
        for n in (10, scale.counted_containers):
            what = f"start: a new container is counted, beside {n}"
            if trace is None:
                found.append(Row(what, "50 ms", "not measured", "missed", "no tracefs here"))
                continue
            delays = _counted(live, scale, n, trace)
            late = sum(d > 50 for d in delays)
            found.append(Row(
                what, "50 ms", f"{delays.show('ms', 2)}, at most {max(delays):.2f} ms",
                "met" if late == 0 and len(delays) == scale.counted else "missed",
                "the kernel's own trace, cgroup_mkdir to the ioctl that enables the last CPU's "
                f"group; {late} of {scale.counted} later than 50 ms, "
                f"{scale.counted - len(delays)} never"))
    return found


# ---- load ----


def real_load(live, scale):
    measure.say("load: real cgroups")
    n = scale.live_containers
    live.reach(n)
    with live.exporter(f"--sampling.interval={scale.load_tick_ms}ms") as exporter:
        live.wait_counted(exporter, n)
        exporter.wait_tick()
        before, cpu, began = exporter.scrape(), measure.cpu_seconds(exporter.pid), time.monotonic()
        scrapes = measure.run_json("bench_scrape", exporter.port, 16, scale.load_seconds, 1000, 8)
        exporter.wait_tick()
        after, cpu = exporter.scrape(), measure.cpu_seconds(exporter.pid) - cpu
        elapsed = time.monotonic() - began

    def grown(name, **labels):
        return after.get(name, **labels) - before.get(name, **labels)

    missed = grown("interference_exporter_missed_ticks_total")
    ticks = grown("interference_exporter_ticks_total")
    collect = grown("interference_exporter_collector_duration_seconds_total",
                    collector="core_latency")
    monitored = after.get("interference_exporter_containers", state="monitored")
    good = missed == 0 and scrapes["failed"] == 0 and monitored == n
    return [Row(f"load: {n} real cgroups, 16 scrapers a second each", "no missed tick",
                f"{missed:.0f} of {ticks:.0f} ticks missed; {scrapes['failed']} of "
                f"{scrapes['scrapes']} scrapes failed", "met" if good else "missed",
                f"{collect / ticks * 1e3:.1f} ms in collect a tick; the process used "
                f"{100 * cpu / elapsed:.1f} % of a CPU; a scrape took "
                f"{scrapes['median_ms']:.1f} ms, at most {scrapes['max_ms']:.1f} ms")]


def synthetic_load(scale):
    found = []
    with measure.Node(scale.load_containers) as node:
        first = node.tick(measure.WARM_TICKS)
        for interval, words in ((1000, "once a second each"), (0, "without a pause")):
            measure.say(f"load: synthetic, scrapes {words}")
            cpu = measure.cpu_seconds(node.process.pid)
            node.send(f"run {scale.load_seconds + 0.2} {scale.load_tick_ms}")
            scrapes = measure.run_json("bench_scrape", node.port, 16, scale.load_seconds, interval,
                                       8)
            report = node.answer()
            cpu = measure.cpu_seconds(node.process.pid) - cpu
            enough = first["series"] >= 16 * scale.load_containers or scale.smoke
            good = report["missed"] == 0 and scrapes["failed"] == 0 and enough
            found.append(Row(
                f"load: synthetic, 16 scrapers {words}", "no missed tick",
                f"{report['missed']} of {report['ticks'] + report['missed']} ticks missed; "
                f"{scrapes['failed']} of {scrapes['scrapes']} scrapes failed",
                "met" if good else "missed",
                f"{report['containers']:,} containers, {report['series']:,} series; a tick took "
                f"{report['wall_ms']:.1f} ms, at most {report['wall_max_ms']:.1f} ms; the process "
                f"used {100 * cpu / scale.load_seconds:.0f} % of a CPU for "
                f"{scrapes['bytes'] / 1e9 / scale.load_seconds:.2f} GB/s; a scrape took "
                f"{scrapes['median_ms']:.1f} ms, at most {scrapes['max_ms']:.0f} ms"))
    return found


# ---- the probe ----


def probe(scale):
    measure.say("probe")
    text = measure.run_text("bench_probe", scale.probe_seconds, 1000)
    share = re.findall(r"CPU of initiator node (\d+): ([\d.]+) %", text)
    spread = re.findall(r"probe, (node \d+ to node \d+) +median +([\d.]+) ns.*deviation +([\d.]+)",
                        text)
    crossed = re.search(r"page by page, TLB warm +median +([\d.]+) ns", text)
    most = max((float(percent) for _, percent in share), default=None)
    if most is None:
        return [Row("probe: CPU of an initiator's thread", "0.1 %", "not measured", "missed",
                    "the probe cannot run here")]
    readings = "; ".join(f"{pair} {ns} ns, deviation {dev} %" for pair, ns, dev in spread)
    return [Row("probe: CPU of an initiator's thread", "0.1 %",
                ", ".join(f"node {node} {float(p):.4f} %" for node, p in share),
                verdict(most, 0.1),
                f"{scale.probe_seconds} s at three bursts a second; single bursts: {readings}" +
                (f"; without flushing, through 1 GiB: {crossed.group(1)} ns" if crossed else "")),
            bursts(scale)]


def bursts(scale):
    text = measure.run_text("bench_bursts", scale.bursts_seconds)
    percent = dict(re.findall(r"(.+?) +deviation +([\d.]+|nan) %", text))
    cost = re.search(r"CPU a second: (.*)", text).group(1)
    return Row("probe: noise of a second's reading", "reported",
               f"median of three short bursts {percent['median of three bursts of three runs']} %",
               "reported", f"beside one long burst {percent['one burst of ten runs']} %, one short one "
               f"{percent['one burst of three runs']} %, mean of the three "
               f"{percent['mean of three bursts of three runs']} %; {scale.bursts_seconds} s, levels "
               f"of a minute taken out; {cost}")
