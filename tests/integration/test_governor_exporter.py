#!/usr/bin/python3
"""interference_governor and the real exporter in lock-step.

The exporter replays a recording that is written while it runs: what a tick's containers read depends
on the quotas that the governor has set by then, in a tree of plain files. No tick goes by unseen, so
that quotas are those of algorithm 1, one by one. Then the exporter stands still, dies, begins anew.
"""
import contextlib
import json
import os
import random
import signal
import subprocess
import unittest
import urllib.request

from harness import EXPORTER, free_port, main, start, stop, wait_until
from governing import cgroup_of
from test_governor import BATCH, ORIGINAL, Scene

CALM_NS, FACTOR, BASE, STEP = 100, 1.1, 1.0, 0.5
THETA_NS, MOST = CALM_NS * FACTOR, 3.0
# What the algorithm's page works out by hand: latencies, and the quota that follows each.
WORKED = [(100, 1.5), (104, 2), (103, 2.5), (131, 1), (129, 1), (101, 1.5), (102, 2), (103, 2.5),
          (104, 3), (105, 3), (99, 3)]
INTERVAL_NS = 100_000_000
HERTZ, CACHE_CYCLES = 2.1e9, 44


class Recording:
    """A recording that grows: a tick's lines, and then the next one's first, which lets it go."""

    READS = {"cart": 100000, BATCH[0]: 1000000, BATCH[1]: 20000}

    def __init__(self, path):
        self.tick, self.sums = 0, {}
        self.open(path)
        self.put({"recording": 1, "interval_ns": INTERVAL_NS,
                  "machine": {"microarchitecture": "clx", "base_frequency_hz": HERTZ,
                              "cache_cycles": CACHE_CYCLES, "llc_hit_cycles": 20, "sockets": 1,
                              "numa_nodes": 1, "cpus": 8}})
        for i, name in enumerate(self.READS):
            self.put({"container": {"key": name, "cgroup": self.cgroup(name),
                                    "id": f"{i:x}" * 64, "pod": f"{name}-x", "container": name,
                                    "namespace": "shop" if name == "cart" else "jobs"}})
        self.begin()

    def cgroup(self, name):
        return f"/{cgroup_of(name)}"

    def open(self, path):
        os.mkfifo(path)
        self.path = path
        self.fd = os.open(path, os.O_RDWR)  # no end of the file while this is open

    def put(self, line):
        os.write(self.fd, json.dumps(line).encode() + b"\n")

    def begin(self):
        self.tick += 1
        self.put({"tick": self.tick, "mono_ns": self.tick * INTERVAL_NS,
                  "wall_ns": 1790000000_000000000 + self.tick * INTERVAL_NS})

    def cpu_time_ns(self, _key):
        return self.tick * INTERVAL_NS

    def play(self, latency_ns, neighbours):
        """What was counted up to this tick; returns its number."""
        seconds = INTERVAL_NS * 1e-9
        for key, reads in self.READS.items():
            reads *= key == "cart" or neighbours
            sums = self.sums.setdefault(key, [0, 0, 0])
            occupancy = round(reads * (latency_ns * HERTZ * 1e-9 - CACHE_CYCLES))
            for i, more in enumerate((round(HERTZ * seconds), reads, occupancy)):
                sums[i] += more
            ran = self.cpu_time_ns(key)
            self.put({"read": key, "group": "core", "enabled_ns": ran, "running_ns": ran,
                      "values": {"cycles": sums[0], "ref_cycles": sums[0], "instructions": sums[0],
                                 "l3_miss_reads": sums[1], "l3_miss_read_occupancy": sums[2],
                                 "llc_reads": sums[1], "l3_miss_read_active": sums[1]}})
        self.begin()
        return self.tick - 1

    def end(self):
        os.close(self.fd)
        os.unlink(self.path)


class WithAProbe(Recording):
    """Memory is slow for the probe while the container that hardly reads works: six ticks, then it
    rests for as long. The one that reads most works all the time, and harms nobody."""

    def begin(self):
        if not self.tick:
            self.used = 0
            self.put({"thread": {"key": "p0", "kind": "probe", "initiator_numa_node": 0,
                                 "target_numa_node": 0, "cpu": 0}})
        super().begin()

    def works(self):
        return self.tick // 6 % 2 == 0

    def cpu_time_ns(self, key):
        return self.used if key == BATCH[1] else super().cpu_time_ns(key)

    def play(self, latency_ns, neighbours):
        self.used += INTERVAL_NS if self.works() else INTERVAL_NS // 10
        self.put({"probe": {"initiator_numa_node": 0, "target_numa_node": 0, "cpu": 0,
                            "latency_ns": (160 if self.works() else 100) + self.tick * 7 % 3}})
        return super().play(latency_ns, neighbours)


class Loop(Scene):
    """The exporter replays, the governor enforces."""

    def __init__(self, dead="60s", recording=Recording):
        super().__init__()
        self.make_recording = recording
        self.socket, self.listen = self.folder / "socket", free_port()
        self.configure("enforce", factor=FACTOR, exporter={"dead": dead, "socket": str(self.socket)})
        (self.cgroup(BATCH[0]) / "cpu.max").write_text(ORIGINAL)
        self.recording = self.source = None
        self.begin_anew()

    def begin_anew(self):
        if self.recording:
            self.recording.end()
        self.recording = self.make_recording(self.folder / "recording")
        self.source = start(
            [EXPORTER, f"--source.replay.file={self.recording.path}", "--source.replay.speed=max",
             f"--web.listen-address=127.0.0.1:{self.listen}", f"--web.listen-address=unix:{self.socket}"],
            stderr=subprocess.DEVNULL)

    def close(self):
        stop(self.source, signal.SIGKILL)
        self.recording.end()
        super().close()

    def looked(self, tick):
        """Whether the governor has seen this tick, and done what it does."""
        with contextlib.suppress(OSError):
            return json.loads(self.get("/api/v1/state")[1]).get("tick") == tick
        return False

    def play(self, latency_ns, neighbours=True):
        """A tick; the quotas after it, in cores."""
        tick = self.recording.play(latency_ns, neighbours)
        wait_until(lambda: self.looked(tick), 20, f"tick {tick}", 0.005)
        return self.quotas()

    def quotas(self):
        return [int(self.quota(name).split()[0]) / 1e5 for name in BATCH]

    def learn(self):
        """Calm ticks until theta is known. Then best effort begins at its base, and this tick is the
        first that is below theta."""
        for _ in range(40):
            if self.play(CALM_NS, neighbours=False) == [BASE + STEP] * 2:
                return
            assert self.snapshot() == self.before
        raise AssertionError("no theta after 40 calm ticks")

    def caused(self, name):
        """What attribution says that the container has caused, once it was suspected."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.listen}/api/v1/containers",
                                    timeout=5) as page:
            values = next(c["values"] for c in json.load(page)["containers"]
                          if c["container"] == name)
        samples = values.get("interference_container_caused_latency_seconds_total", [])
        return sum(sample["value"] for sample in samples)

    def total(self, name, **labels):
        return self.metrics().get(f"interference_governor_{name}_total", **labels)

    def changes(self):
        return [self.total("decisions", action=action, outcome="applied", policy="threshold")
                for action in ("cut", "raise", "release")]


def algorithm_1(quota, latency_ns, culprit=True):
    """Shen & Li (2020), section 5.1; whoever does not read is not cut."""
    if latency_ns < THETA_NS:
        return min(quota + STEP, MOST)
    return BASE if culprit else quota


class RealExporter(unittest.TestCase):
    def loop(self, **options):
        loop = Loop(**options)
        self.addCleanup(loop.close)
        process = start(loop.argv("--enforce", "--allow-replay"), stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(stop, process, signal.SIGKILL)
        return loop, process

    def expect_algorithm(self, loop, latencies):
        quotas = loop.quotas()
        for latency in latencies:
            quotas = [algorithm_1(quota, latency, name == BATCH[0])
                      for quota, name in zip(quotas, BATCH)]
            self.assertEqual(loop.play(latency), quotas, f"after {latency} ns")

    def test_quotas_follow_algorithm_1(self):
        loop, process = self.loop()
        loop.learn()  # has the first of them
        for latency, quota in WORKED[1:]:
            self.assertEqual(loop.play(latency)[0], quota, f"after {latency} ns")
        draw = random.Random(loop.recording.tick)
        self.expect_algorithm(loop, [draw.choice((95, 105, 109.9, 110.1, 140)) for _ in range(30)])
        self.assertEqual(loop.quota("cart"), ORIGINAL.strip())
        stop(process)
        self.assertEqual(loop.snapshot(), loop.before)

    def test_the_loop_is_closed(self):
        """Latency rises with the quota: best effort climbs until it hurts, and begins again."""
        loop, process = self.loop()
        loop.learn()
        seen = loop.quotas()[:1]
        for _ in range(12):
            seen.append(loop.play(CALM_NS + 5 * seen[-1])[0])  # over theta from 2 cores on
        self.assertEqual(seen, [1.5, 2, 1] * 4 + [1.5])
        stop(process)
        self.assertEqual(loop.snapshot(), loop.before)

    def test_attribution_chooses(self):
        """Who reads 98 % is let alone: it is the other one whom the latency follows."""
        loop, _ = self.loop(recording=WithAProbe)
        loop.learn()
        for _ in range(200):
            loop.play(CALM_NS)
            if loop.recording.works() and loop.caused(BATCH[1]) > 0:
                break
        else:
            self.fail("nobody was named in 200 ticks")
        self.assertEqual(loop.quotas(), [MOST, MOST])
        self.assertEqual(loop.play(131), [MOST, BASE])
        self.assertEqual(loop.total("culprits_chosen", by="latency"), 1)
        last = json.loads(loop.get("/api/v1/decisions")[1])["decisions"][-1]
        self.assertEqual((last["action"], last["chosen_by"]), ("cut", "latency"))

    def test_standing_still(self):
        """Within the dead man's time nothing changes, and the loop goes on where it was."""
        loop, _ = self.loop()
        loop.learn()
        self.expect_algorithm(loop, [100, 100])
        changes, files = loop.changes(), loop.snapshot()
        loop.source.send_signal(signal.SIGSTOP)
        up = lambda: loop.metrics().get("interference_governor_exporter_up")
        wait_until(lambda: up() == 0, 20, "no answer")
        self.assertEqual((loop.changes(), loop.snapshot()), (changes, files))
        loop.source.send_signal(signal.SIGCONT)
        wait_until(lambda: up() == 1, 20, "an answer")
        self.assertEqual((loop.changes(), loop.snapshot()), (changes, files))
        self.expect_algorithm(loop, [100, 131])

    def test_standing_still_for_long(self):
        """Then everything is given back, and five fresh ticks come before the next change."""
        loop, _ = self.loop(dead="2s")
        loop.learn()
        loop.play(100)
        loop.source.send_signal(signal.SIGSTOP)
        wait_until(lambda: loop.snapshot() == loop.before, 20, "given back")
        wait_until(lambda: loop.total("released", reason="dead_man") == 2, what="both are counted")
        self.assertEqual(loop.total("dead_man", reason="down"), 1)
        loop.source.send_signal(signal.SIGCONT)
        for _ in range(4):
            loop.play(100)
            self.assertEqual(loop.snapshot(), loop.before)
        self.assertEqual(loop.play(131)[0], BASE)

    def test_begun_anew(self):
        """The exporter is killed; the next one's ticks begin at one. It has no baseline yet: theta is
        what it was."""
        loop, _ = self.loop()
        loop.learn()
        loop.play(100)
        stop(loop.source, signal.SIGKILL)
        changes = loop.changes()
        wait_until(lambda: loop.metrics().get("interference_governor_exporter_up") == 0, 20, "down")
        self.assertEqual(loop.changes(), changes)
        loop.begin_anew()
        wait_until(lambda: loop.total("dead_man", reason="tick_reset") == 1, 20, "another exporter")
        for _ in range(4):
            loop.play(131)
            self.assertEqual(loop.snapshot(), loop.before)
        self.assertEqual(loop.play(131)[0], BASE)
        self.assertEqual(loop.total("dead_man", reason="tick_reset"), 1)
        self.expect_algorithm(loop, [100, 131, 100])

    def test_a_recording_that_ends(self):
        """Its last state stays on the page for ever, and is not acted on."""
        loop, _ = self.loop()
        loop.learn()
        loop.play(100)
        os.close(loop.recording.fd)
        loop.recording.fd = os.open(os.devnull, os.O_WRONLY)
        wait_until(lambda: loop.snapshot() == loop.before, 20, "given back")
        wait_until(lambda: loop.total("dead_man", reason="replay") == 1, what="it is counted")
        self.assertEqual(loop.get("/-/ready")[0], 503)


if __name__ == "__main__":
    main()
