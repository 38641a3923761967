#!/usr/bin/python3
"""What the governor costs, and how soon it acts: a document of 250 containers, plain files.

    sudo tests/bench/rows_governor.py build/plain > tests/bench/RESULTS-governor.md
"""
import datetime
import json
import os
import pathlib
import platform
import sys
import tempfile
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import harness  # noqa: E402
import measure  # noqa: E402
from governing import POD_UID, cgroup_of, id_of  # noqa: E402
from json_server import JsonServer  # noqa: E402
from measure import Row, Samples, verdict  # noqa: E402

GOVERNOR = harness.BUILD / "interference_governor"
CONTAINERS, HELD_CONTAINERS, INTERVAL_S = 250, 64, 0.2
ORIGINAL, HELD = "300000 100000\n", "100000 100000\n"
FAMILY = "interference_container_"
FILLER = {f"{FAMILY}filler_{i}_total": [{"labels": {}, "value": 123456789 + i}] for i in range(14)}


class Node:
    """Containers of which the first is protected. With 'held' so many behind it are best effort, and
    it waits from the start, so that they are held; else all others are, and it does not. An exporter
    that ticks by the clock."""

    def __init__(self, directory, held):
        self.best_effort = held or CONTAINERS - 1
        self.tree, self.state = directory / "cgroup", directory / "state"
        self.over, self.bytes = 1 if held else 0, 0
        self.origin = time.monotonic()
        self.tree.mkdir()
        self.state.mkdir(mode=0o700)
        (self.tree / "cgroup.controllers").write_text("cpuset cpu\n")
        for i in range(CONTAINERS):
            group = self.cgroup(i)
            group.mkdir(parents=True)
            for name, text in (("cpu.max", ORIGINAL), ("cpu.weight", "1\n"),
                               ("cpuset.cpus.effective", "0-7\n")):
                (group / name).write_text(text)
        self.server = JsonServer(lambda _: self.document())
        self.config = directory / "governor.json"
        anything = {"pod": "*", "container": "*"}
        self.config.write_text(json.dumps({
            "governor": 1, "mode": "enforce", "state_directory": str(self.state),
            "exporter": {"socket": self.server.socket},
            "classes": [{"name": "web", "role": "protected",
                         "match": [{"namespace": "shop", **anything}]},
                        {"name": "batch", "role": "best_effort",
                         "match": [{"namespace": "jobs", **anything}],
                         "cpu": {"step_cores": 0.1 if held else 0.5}}],  # held after a step or two
            "policies": {"threshold": {"classes": ["batch"], "mode": "paper", "factor": 1.1,
                                       "window": "10ms", "culprit_share": 0}},
            "limits": {"claims": CONTAINERS, "writes_per_second": 1000}}))

    def cgroup(self, i):
        return self.tree / cgroup_of(str(i))

    def close(self):
        self.server.close()

    def tick(self):
        return int((time.monotonic() - self.origin) / INTERVAL_S)

    def began(self, tick):
        return self.origin + tick * INTERVAL_S

    def document(self):
        tick = self.tick()
        latency = 1.31e-7 if self.over and tick >= self.over else 1e-7

        def container(i):
            values = {**FILLER, f"{FAMILY}info": [
                {"labels": {"pod_uid": POD_UID, "image": "registry.example/image:tag",
                            "runtime": "containerd", "qos_class": "burstable", "id": f"/{cgroup_of(str(i))}",
                            "runtime_container_id": "y" * 64}, "value": 1}],
                f"{FAMILY}memory_reads_total": [{"labels": {}, "value": tick * 1000000}],
                f"{FAMILY}memory_read_latency_seconds": [{"labels": {}, "value": latency}],
                f"{FAMILY}memory_read_latency_baseline_seconds": [
                    {"labels": {"basis": "calm"}, "value": 1e-7}]}
            kind = "shop" if i == 0 else "jobs" if i <= self.best_effort else "other"
            return {"namespace": kind, "pod": f"p{i}", "container": f"c{i}",
                    "container_id": id_of(str(i))[:12], "cgroup_id": self.cgroup(i).stat().st_ino,
                    "values": values}

        body = json.dumps({
            "source": "perf", "replay_ended": False,
            "tick": {"number": tick + 1, "monotonic_seconds": self.began(tick),
                     "interval_seconds": INTERVAL_S},
            "containers": [container(i) for i in range(CONTAINERS)]}).encode()
        self.bytes = len(body)
        return body

    def held(self):
        return sum((self.cgroup(i) / "cpu.max").read_text() != ORIGINAL
                   for i in range(CONTAINERS))

    def written(self):
        """When each control file, and the journal, was changed last."""
        files = [*self.tree.rglob("cpu.max"), *self.state.iterdir()]
        return {str(file): file.stat().st_mtime_ns for file in files}


def _settle(node, seconds, held):
    """Until so many are held, and nothing was changed for so long."""
    last, since = node.written(), time.monotonic()
    while time.monotonic() < since + seconds or node.held() != held:
        time.sleep(0.1)
        now = node.written()
        if now != last:
            last, since = now, time.monotonic()


def _steady(node, process, counter, seconds):
    """CPU by tick in ms, allocations and changed files in all."""
    cpu = Samples()
    malloc = lambda: int.from_bytes(counter.read_bytes()[:8], sys.byteorder)
    written, allocated, first = node.written(), malloc(), node.tick()
    if not allocated:
        raise RuntimeError("allocations are not counted: is preload_malloc built?")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before, tick = measure.cpu_seconds(process.pid), node.tick()
        time.sleep(min(2, seconds))
        cpu.append((measure.cpu_seconds(process.pid) - before) / (node.tick() - tick) * 1000)
    changed = sum(node.written().get(file) != at for file, at in written.items())
    return cpu, malloc() - allocated, changed, node.tick() - first


def _soon(node, times, held):
    """From the beginning of the tick in which it is too slow to the first cut, in ms. With 'held',
    of containers that are restricted, and have just been raised by a step or two; else of those that
    have all."""
    delays = Samples()
    first = node.cgroup(1) / "cpu.max"
    for _ in range(times):
        node.over = 0
        if held:
            harness.wait_until(lambda: first.read_text() != HELD, 60, "the first raise", 0.005)
        else:
            harness.wait_until(lambda: node.held() == 0, 60, "all is given back", 0.05)
        node.over = node.tick() + 2
        while first.read_text() != HELD:
            time.sleep(0.0005)
        delays.append((time.monotonic() - node.began(node.over)) * 1000)
        if held and node.held() != held:
            raise RuntimeError(f"{node.held()} containers are held, not {held}: this measures another thing")
    return delays


def _measure(scale, held):
    """Document's bytes; CPU by tick, allocations, changed files, ticks of the steady state; delays."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=place) as directory:
        directory = pathlib.Path(directory)
        node, counter = Node(directory, held), directory / "allocations"
        first = node.cgroup(1) / "cpu.max"
        made = first.stat().st_mtime_ns
        counter.write_bytes(bytes(8))
        environment = {**os.environ, "LD_PRELOAD": str(measure.PROGRAMS / "preload_malloc.so"),
                       "BENCH_MALLOC_FILE": str(counter)}
        process = harness.start(
            [GOVERNOR, f"--config.file={node.config}", f"--state-directory={node.state}",
             f"--path.cgroupfs={node.tree}", "--enforce",
             f"--web.listen-address=127.0.0.1:{harness.free_port()}", "--log.level=error"],
            env=environment)
        try:
            # A start takes, with the fifth tick: before that nothing is steady.
            harness.wait_until(lambda: first.stat().st_mtime_ns != made, 30, "it acts")
            _settle(node, 0.5 if scale.smoke else 2, held)
            steady = _steady(node, process, counter, 1 if scale.smoke else 8)
            return node.bytes, *steady, _soon(node, 1 if scale.smoke else 5, held)
        finally:
            harness.stop(process)
            node.close()


def _rows_of(scale, held):
    size, cpu, allocated, changed, ticks, delays = _measure(scale, held)
    what = f"{held or 'none'} of them held"
    before = ("with their claims in the journal, and raised by a step before" if held
              else "whose claims it opens first")
    return [
        Row(f"governor: CPU of a tick, {CONTAINERS} containers, {what}", "reported",
            cpu.show("ms", 2), "reported", f"the document has {size / 1000:.0f} kB; the bound is "
            "0.5 % of a CPU at one tick a second, 5 ms"),
        Row(f"governor: steady ticks allocate and write nothing, {what}", "0 and 0",
            f"{allocated} allocations, {changed} changed files in {ticks} ticks",
            verdict(max(allocated, changed), 0), "control files and journal"),
        Row(f"governor: from the exporter's tick to the cut, {what}", "reported",
            delays.show("ms", 1), "reported", "20 ms of it are left to the exporter to publish its "
            f"tick; {held or CONTAINERS - 1} containers are cut at once, {before}; this is the first"),
    ]


def rows(scale):
    measure.say("governor")
    return [row for held in (0, HELD_CONTAINERS) for row in _rows_of(scale, held)]


class Scale:
    smoke = False


def main():
    found = rows(Scale)
    print(f"""# What the governor costs

    sudo tests/bench/rows_governor.py build/plain > tests/bench/RESULTS-governor.md

Measured {datetime.date.today():%Y-%m-%d}, {os.cpu_count()} CPUs, a virtual machine, Linux {platform.release()}; load
{os.getloadavg()[1]:.1f}. A figure is the median, in brackets the middle four fifths of n measurements.

| budget | limit | measured | verdict | how |
|---|---|---|---|---|""")
    for row in found:
        print(f"| {row.budget} | {row.limit} | {row.measured} | {row.verdict} | {row.note} |")


if __name__ == "__main__":
    main()
