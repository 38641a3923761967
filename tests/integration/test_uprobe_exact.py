#!/usr/bin/python3
"""Counts through the real kernel, exactly: one uprobe per role, on functions that are called a
known number of times inside and outside of containers' cgroups. What was recorded meanwhile
replays to the same exposition."""
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import tempfile
import time
import unittest

import harness
from harness import Cgroups, Exporter, run_exporter, wait_until

PROGRAM = harness.PROGRAMS / "uprobe_roles"
CPUS = harness.online_cpus()
FIRST, LAST = CPUS[0], CPUS[-1]
BASE_HZ, CACHE_CYCLES = 2.1e9, 44

COUNTERS = {
    "cycles": "interference_container_cpu_cycles_total",
    "ref_cycles": "interference_container_cpu_reference_cycles_total",
    "instructions": "interference_container_cpu_instructions_total",
    "l3_miss_reads": "interference_container_memory_reads_total",
    "l3_miss_read_occupancy": "interference_container_memory_read_occupancy_cycles_total",
    "llc_reads": "interference_container_llc_reads_total",
    "l3_miss_read_active": "interference_container_memory_read_active_cycles_total",
}
NODE = {
    "cycles": "interference_node_cpu_cycles_total",
    "ref_cycles": "interference_node_cpu_reference_cycles_total",
    "l3_miss_reads": "interference_node_memory_reads_total",
    "l3_miss_read_occupancy": "interference_node_memory_read_occupancy_cycles_total",
}
WAIT = "interference_container_memory_read_wait_seconds_total"
LATENCY = "interference_container_memory_read_latency_seconds"
OBSERVED = "interference_container_memory_read_latency_observed_seconds_total"


def calls(**counts):
    return counts


def arguments(work):
    """[(cpu, calls)] as the program takes them."""
    return [f"{cpu}:" + ",".join(f"{role}={n}" for role, n in counts.items())
            for cpu, counts in work]


def total(*works):
    """What all these works call together."""
    sums = collections.Counter()
    for work in works:
        for _, counts in work:
            sums.update(counts)
    return sums


def seconds_of(work):
    """Latency and wait, by hand: the sum over CPUs of (c_cache r + S) / (c / c_ref * f_base)."""
    wait = reads = 0
    for _, counts in work:
        frequency = counts["cycles"] / counts["ref_cycles"] * BASE_HZ
        wait += (CACHE_CYCLES * counts["l3_miss_reads"]
                 + counts["l3_miss_read_occupancy"]) / frequency
        reads += counts["l3_miss_reads"]
    return wait / reads, wait


# 12960 cycles at 1.4538 GHz and 7130 at 4.4625 GHz for 100 reads: 105.120 ns. At the mean frequency
# of both, 2.6 GHz, they would be 77.269 ns.
BOTH_CPUS = [
    (FIRST, calls(cycles=900, ref_cycles=1300, instructions=1500, l3_miss_reads=90,
                  l3_miss_read_occupancy=9000, llc_reads=301, l3_miss_read_active=700)),
    (LAST, calls(l3_miss_read_active=303, llc_reads=200, l3_miss_read_occupancy=6690,
                 l3_miss_reads=10, instructions=501, ref_cycles=800, cycles=1700)),
]
# c = c_ref and S / r = 124.5: 168.50 cycles at 2.1 GHz, 80.238 ns.
NESTED = [(LAST, calls(cycles=1000, ref_cycles=1000, instructions=37, l3_miss_reads=10,
                       l3_miss_read_occupancy=1245, llc_reads=11, l3_miss_read_active=13))]
SHORT_LIVED = [(FIRST, calls(cycles=210, ref_cycles=105, instructions=3, l3_miss_reads=20,
                             l3_miss_read_occupancy=1120, llc_reads=21, l3_miss_read_active=5))]
OUTSIDE = [(FIRST, calls(**dict.fromkeys(COUNTERS, 500))),
           (LAST, calls(**dict.fromkeys(COUNTERS, 500)))]
CAP_BPF = 1 << 39


class WindowWasSplit(Exception):
    pass


class UprobeTest(unittest.TestCase):
    ROLES = tuple(COUNTERS)
    COUNTERS, NODE = COUNTERS, NODE  # metric by role
    LEAST_SERIES = 30
    SOURCE = "perf"
    MACHINE = {"base_frequency_hz": BASE_HZ, "cache_cycles": CACHE_CYCLES}

    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.groups = self.enterContext(Cgroups())
        self.events = self.directory / "events.json"
        offsets = harness.function_offsets(PROGRAM, "role_")
        self.events.write_text(json.dumps({
            "machine": self.MACHINE,
            "roles": {role: f"uprobe:{PROGRAM}:{offsets['role_' + role]:#x}"
                      for role in self.ROLES},
        }))
        self.recording = self.directory / "recording.jsonl"

    def exporter(self, interval):
        if self.SOURCE == "bpf" and self.groups.version != 2:
            self.skipTest("BPF counts cgroups of v2")
        return Exporter(f"--source={self.SOURCE}", f"--events.file={self.events}",
                        "--no-collector.probe", "--no-collector.lost_time",  # whose files are below the same paths
                        "--containers.names=none", self.groups.only(),
                        f"--sampling.interval={interval}",
                        f"--source.record.file={self.recording}",
                        ends_within=60)  # the kernel takes its time to close a uprobe

    def wait_counted(self, exporter, containers):
        """Until the counters of that many containers are open."""
        if self.SOURCE == "bpf":
            # Of a container it holds the directory; the program is told of it right afterwards.
            wait_until(lambda: exporter.fds("/docker-") == containers, 30,
                       f"{containers} containers are known", 0.002)
            time.sleep(0.5)
            return
        expected = containers * len(self.ROLES) * len(CPUS)
        wait_until(lambda: exporter.fds("perf_event") == expected, 30,
                   f"{expected} counters are open", 0.002)

    def in_one_window(self):
        """On a busy machine what was counted stays right, and the window does not: a longer one."""
        for i, interval in enumerate(("2s", "2s", "4s", "8s", "16s")):
            self.recording = self.directory / f"recording-{i}.jsonl"
            with self.exporter(interval) as exporter:
                with contextlib.suppress(WindowWasSplit):
                    self.attempt(exporter)
                    self.check_replay(exporter)
                    return
        self.fail("the machine is too slow for one window")

    def check_counters(self, page, container_id, sums):
        for role, metric in self.COUNTERS.items():
            self.assertEqual(page.get(metric, container_id=container_id[:12]), sums[role], metric)

    def check_replay(self, exporter):
        """The recording, once the exporter has ended, against its last page."""
        page = exporter.scrape()
        self.assertEqual(exporter.stop()[0], 0)
        replay = run_exporter("--source=replay", f"--source.replay.file={self.recording}",
                              "--once", "--containers.names=none")
        self.assertEqual(replay.returncode, 0, replay.stderr)
        replayed = harness.parse_text(replay.stdout)

        def ours(samples):
            return {key: value for key, value in samples.items()
                    if key[0].startswith(("interference_container_", "interference_node_"))}

        self.assertGreater(len(ours(page.samples)), self.LEAST_SERIES)
        self.assertEqual(ours(replayed.samples), ours(page.samples))


class OneWindow(UprobeTest):
    """Everything happens between two ticks, so that each latency has one hand-computed value."""

    def test_exact(self):
        self.in_one_window()

    def attempt(self, exporter):
        for left in self.groups.base.glob("docker-*"):
            self.groups.remove(left)
        self.wait_counted(exporter, 0)
        big, big_id = self.groups.docker()
        nested, nested_id = self.groups.docker()
        payload = nested / "payload" / "deeper"
        payload.mkdir(parents=True)
        self.wait_counted(exporter, 2)
        exporter.wait_tick()
        node_before = exporter.scrape()
        tick = exporter.wait_tick()

        outside = self.groups.spawn(self.groups.base, [PROGRAM, *arguments(OUTSIDE)])
        inside = self.groups.spawn(big, [PROGRAM, *arguments(BOTH_CPUS)])
        self.groups.run(payload, [PROGRAM, *arguments(NESTED)])
        short, short_id = self.groups.docker()
        self.wait_counted(exporter, 3)
        self.groups.run(short, [PROGRAM, *arguments(SHORT_LIVED)])
        self.groups.remove(short)
        self.assertEqual((outside.wait(), inside.wait()), (0, 0))
        done = time.time()

        exporter.wait_tick()
        page = exporter.scrape()
        now = exporter.status()["tick"]
        if now["number"] != tick + 1 or now["last_timestamp_seconds"] < done:
            raise WindowWasSplit
        for container_id, work in ((big_id, BOTH_CPUS), (nested_id, NESTED),
                                   (short_id, SHORT_LIVED)):
            sums = total(work)
            self.check_counters(page, container_id, sums)
            latency, wait = seconds_of(work)
            label = {"container_id": container_id[:12]}
            self.assertAlmostEqual(page.get(WAIT, **label), wait, delta=wait * 1e-12)
            if work is SHORT_LIVED:
                self.assertIsNone(page.get(LATENCY, **label), "the gauge of an ended container")
            else:
                self.assertAlmostEqual(page.get(LATENCY, **label), latency, delta=latency * 1e-12)
                # Too few reads for a container at work: its windows are not judged.
                self.assertEqual(page.get(OBSERVED, **label), 0)
        self.assertAlmostEqual(seconds_of(BOTH_CPUS)[0], 105.120e-9, delta=1e-12)
        self.assertAlmostEqual(seconds_of(NESTED)[0], 80.238e-9, delta=1e-12)

        sums = total(BOTH_CPUS, NESTED, SHORT_LIVED)
        for role, metric in self.NODE.items():
            self.assertEqual(page.get(metric) - node_before.get(metric), sums[role], metric)

        # A window without reads has no latency: absent, neither zero nor the last one.
        exporter.wait_tick()
        page = exporter.scrape()
        self.assertIsNone(page.get(LATENCY, container_id=big_id[:12]))
        self.check_counters(page, big_id, total(BOTH_CPUS))
        self.check_counters(page, short_id, total(SHORT_LIVED))


class ManyWindows(UprobeTest):
    """Work over many ticks and containers that come and go: totals are exact, whatever the
    windows were, and the recording replays to the same page."""

    STEP = [(FIRST, calls(cycles=130, ref_cycles=105, instructions=31, l3_miss_reads=5,
                          l3_miss_read_occupancy=700, llc_reads=7, l3_miss_read_active=40)),
            (LAST, calls(cycles=70, ref_cycles=65, l3_miss_reads=3,
                         l3_miss_read_occupancy=455, l3_miss_read_active=17))]

    def test_exact(self):
        step = self.STEP
        with self.exporter("250ms") as exporter:
            expected = {}
            steady, steady_id = self.groups.docker()
            self.wait_counted(exporter, 1)
            rounds = 12
            for i in range(rounds):
                guest, guest_id = self.groups.docker()
                self.wait_counted(exporter, 2)
                guest_work = step * (1 + i % 3)
                running = self.groups.spawn(steady, [PROGRAM, *arguments(step * 2)])
                self.groups.run(guest, [PROGRAM, *arguments(guest_work)])
                self.groups.remove(guest)
                self.assertEqual(running.wait(), 0)
                expected[guest_id] = total(guest_work)
                # Its last counts are read at the next tick; then its counters are closed.
                self.wait_counted(exporter, 1)
            expected[steady_id] = total(step * 2 * rounds)

            exporter.wait_tick()
            page = exporter.scrape()
            for container_id, sums in expected.items():
                self.check_counters(page, container_id, sums)
            for role, metric in self.NODE.items():
                self.assertEqual(page.get(metric), sum(s[role] for s in expected.values()), metric)
            self.assertEqual(page.get("interference_exporter_containers", state="lingering"),
                             rounds)
            self.check_replay(exporter)


class Fills(UprobeTest):
    """The same through the group of AMD's CPUs: t1 4, t2 10, t3 46 cycles."""

    ROLES = ("cycles", "ref_cycles", "instructions", "l1d_miss_occupancy", "l1d_fills_l2",
             "l1d_fills_l3", "l1d_fills_memory")
    LEAST_SERIES = 15
    MACHINE = {"base_frequency_hz": BASE_HZ, "cache_cycles": 50,
               "l2_fill_cycles": 10, "l3_fill_cycles": 46}
    # 400 cycles at 4.2 GHz and 200 at 2.1 GHz: 95.238 ns each, whatever the share of each CPU.
    WORK = [(FIRST, calls(cycles=2000, ref_cycles=1000, instructions=1500, l1d_fills_l2=20,
                          l1d_fills_l3=10, l1d_fills_memory=10,
                          l1d_miss_occupancy=20 * 10 + 10 * 46 + 10 * 396)),
            (LAST, calls(cycles=1000, ref_cycles=1000, instructions=700, l1d_fills_l2=2,
                         l1d_fills_l3=3, l1d_fills_memory=5,
                         l1d_miss_occupancy=2 * 10 + 3 * 46 + 5 * 196))]
    SUMS = {"cpu_cycles": 3000, "cpu_reference_cycles": 2000, "cpu_instructions": 2200,
            "memory_reads": 15, "llc_reads": 28, "l1d_fills_from_l2": 22,
            "l1d_misses_in_flight_cycles": 4620 + 1138,
            "memory_read_occupancy_cycles": 10 * 350 + 5 * 150}

    def test_exact(self):
        self.in_one_window()

    def attempt(self, exporter):
        for left in self.groups.base.glob("docker-*"):
            self.groups.remove(left)
        self.wait_counted(exporter, 0)
        group, container_id = self.groups.docker()
        self.wait_counted(exporter, 1)
        tick = exporter.wait_tick()
        self.groups.run(group, [PROGRAM, *arguments(self.WORK)])
        done = time.time()
        exporter.wait_tick()
        page = exporter.scrape()
        now = exporter.status()["tick"]
        if now["number"] != tick + 1 or now["last_timestamp_seconds"] < done:
            raise WindowWasSplit
        label = {"container_id": container_id[:12]}
        for name, count in self.SUMS.items():
            self.assertEqual(page.get(f"interference_container_{name}_total", **label), count, name)
        self.assertAlmostEqual(page.get(LATENCY, **label), 200 / 2.1e9, delta=1e-20)
        self.assertAlmostEqual(page.get(WAIT, **label), 15 * 200 / 2.1e9, delta=1e-18)


class ManyWindowsOfFills(ManyWindows):
    """The same through that group. Nothing of it is beyond the caches for sure in every window, so
    that only counts are compared."""

    ROLES, MACHINE, LEAST_SERIES = Fills.ROLES, Fills.MACHINE, 20
    COUNTERS = {
        "cycles": "interference_container_cpu_cycles_total",
        "ref_cycles": "interference_container_cpu_reference_cycles_total",
        "instructions": "interference_container_cpu_instructions_total",
        "l1d_miss_occupancy": "interference_container_l1d_misses_in_flight_cycles_total",
        "l1d_fills_l2": "interference_container_l1d_fills_from_l2_total",
        "l1d_fills_memory": "interference_container_memory_reads_total",
    }
    NODE = {
        "cycles": "interference_node_cpu_cycles_total",
        "ref_cycles": "interference_node_cpu_reference_cycles_total",
        "l1d_fills_memory": "interference_node_memory_reads_total",
    }
    STEP = [(FIRST, calls(cycles=130, ref_cycles=105, instructions=31, l1d_fills_l2=7,
                          l1d_fills_l3=2, l1d_fills_memory=5, l1d_miss_occupancy=900)),
            (LAST, calls(cycles=70, ref_cycles=65, l1d_fills_l2=1, l1d_fills_memory=3,
                         l1d_miss_occupancy=455))]


class Edges(UprobeTest):
    """What a program in the kernel has to do otherwise than cgroup events: the same counts by both."""

    ROLES = ("cycles", "ref_cycles", "l3_miss_reads", "l3_miss_read_occupancy")
    COUNTERS = {role: COUNTERS[role] for role in ROLES}

    def counts(self, exporter, container_id, **sums):
        """Once the tick after next has ended: the next one may be running."""
        exporter.wait_tick()
        exporter.wait_tick()
        self.check_counters(exporter.scrape(), container_id, collections.Counter(sums))

    def test_exact(self):
        with self.exporter("150ms") as exporter:
            for edge in (self.forked, self.moved, self.never_switches, self.made_again):
                with self.subTest(edge.__name__):
                    edge(exporter)
                for left in self.groups.base.glob("docker-*"):
                    self.groups.remove(left)
                self.wait_counted(exporter, 0)
            self.check_replay(exporter)

    def forked(self, exporter):
        group, container_id = self.groups.docker()
        self.wait_counted(exporter, 1)
        self.groups.run(group, [PROGRAM, f"{FIRST}:cycles=30,fork,l3_miss_reads=11",
                                f"{LAST}:cycles=5,fork,ref_cycles=7"])
        self.counts(exporter, container_id, cycles=30 + 2 * 5, l3_miss_reads=2 * 11,
                    ref_cycles=4 * 7)

    def moved(self, exporter):
        """Into a child cgroup of the container, into another container, and out of both."""
        one, one_id = self.groups.docker()
        other, other_id = self.groups.docker()
        (one / "child").mkdir()
        self.wait_counted(exporter, 2)
        process = self.groups.spawn(one, [
            PROGRAM, f"{FIRST}:cycles=100,stop,cycles=10,stop,cycles=1000,stop,cycles=5000"])
        for place in (one / "child", other, self.groups.base):
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)
            (place / "cgroup.procs").write_text(str(process.pid))
            process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(), 0)
        self.counts(exporter, one_id, cycles=110)
        self.counts(exporter, other_id, cycles=1000)

    def never_switches(self, exporter):
        """Counted by the tick, not only once it has left its CPU. On a busy machine it may have left
        before a tick came: then once more."""
        for _ in range(5):
            group, container_id = self.groups.docker()
            self.wait_counted(exporter, 1)
            process = self.groups.spawn(group, [
                PROGRAM, f"{LAST}:spin,cycles=123,l3_miss_reads=4"])
            seen_at_work = False
            while process.poll() is None and not seen_at_work:
                page = exporter.scrape()
                counted = page.get(COUNTERS["cycles"], container_id=container_id[:12]) == 123
                seen_at_work = counted and process.poll() is None
            self.assertEqual(process.wait(), 0)
            self.counts(exporter, container_id, cycles=123, l3_miss_reads=4)
            if seen_at_work:
                return
            self.groups.remove(group)
            self.wait_counted(exporter, 0)
        self.fail("never counted before it left its CPU")

    def made_again(self, exporter):
        """A slot of the program's that was another's: what that one has counted is its own."""
        group, container_id = self.groups.docker()
        self.wait_counted(exporter, 1)
        self.groups.run(group, [PROGRAM, f"{FIRST}:cycles=40"])
        self.counts(exporter, container_id, cycles=40)
        self.groups.remove(group)
        self.wait_counted(exporter, 0)
        other, other_id = self.groups.docker()
        self.wait_counted(exporter, 1)
        self.groups.run(other, [PROGRAM, f"{LAST}:cycles=2"])
        self.counts(exporter, other_id, cycles=2)
        self.counts(exporter, container_id, cycles=40)


class EdgesByBpf(Edges):
    SOURCE = "bpf"


class OneWindowByBpf(OneWindow):
    SOURCE = "bpf"


class ManyWindowsByBpf(ManyWindows):
    SOURCE = "bpf"


class ManyWindowsOfFillsByBpf(ManyWindowsOfFills):
    SOURCE = "bpf"


class FillsByBpf(Fills):
    SOURCE = "bpf"


class Auto(unittest.TestCase):
    """Which source it takes, and why: where few descriptors are allowed, cgroup events are too many."""

    def source(self, *flags, command=()):
        events = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "events.json"
        events.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        groups = self.enterContext(Cgroups())
        if groups.version != 2:
            self.skipTest("BPF counts cgroups of v2")
        with Exporter(f"--events.file={events}", groups.only(), "--no-collector.probe",
                      "--containers.names=none", *flags, command=command) as exporter:
            status = exporter.status()
            self.assertEqual(exporter.scrape().get("interference_exporter_source_info",
                                                   source=status["source"]), 1)
            return status["source"], status["source_why"], exporter.log()

    def test_all_fits(self):
        source, why, log = self.source("--containers.max=4")
        self.assertEqual(source, "perf", why)
        self.assertIn(" fit: ", why)
        self.assertNotIn("perf counts instead", log)

    def test_too_many(self):
        source, why, _ = self.source(command=["prlimit", "--nofile=512"])
        self.assertEqual(source, "bpf", why)
        self.assertRegex(why, r"would take \d+ file descriptors, of which counters may have \d+$")

    def test_too_many_without_permission(self):
        """SYS_ADMIN, which some distributions' perf takes, is nobody's leave to load programs."""
        for without in ("-bpf", "-bpf,-sys_admin"):
            with self.subTest(without):
                source, why, log = self.source(command=[
                    "prlimit", "--nofile=512", "setpriv", f"--bounding-set={without}",
                    f"--inh-caps={without}"])
                self.assertEqual(source, "perf", why)
                self.assertRegex(why, "would take .*; BPF could count it with CAP_BPF, which is not "
                                      "granted$")
                self.assertRegex(log, "level=info .*would take .*perf counts")


class Privilege(unittest.TestCase):
    """CAP_BPF is kept where it is used: not where perf has taken over, nor where nothing is counted."""

    def check(self, source, why, *flags):
        with Exporter("--source=bpf", "--no-collector.probe", "--containers.names=none",
                      *flags) as exporter:
            info = exporter.scrape().get("interference_exporter_source_info", source=source)
            self.assertEqual(info, 1)
            self.assertIn(why, exporter.status()["source_why"])
            status = pathlib.Path(f"/proc/{exporter.pid}/status").read_text()
            for capabilities in re.findall(r"Cap(?:Prm|Eff):\t(\w+)", status):
                self.assertEqual(bool(int(capabilities, 16) & CAP_BPF), source == "bpf")

    def test_given_back(self):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        events = directory / "events.json"
        events.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        with self.subTest("no cgroup v2"):
            self.check("perf", "where alone BPF counts", f"--path.cgroupfs={directory}")
        groups = self.enterContext(Cgroups())
        if groups.version != 2:
            self.skipTest("BPF counts cgroups of v2")
        with self.subTest("it counts"):
            self.check("bpf", "--source=bpf asks for it", groups.only(), f"--events.file={events}")
        nothing = "no group of containers could be counted by it"
        with self.subTest("no collector wants it"):
            self.check("perf", nothing, groups.only(), f"--events.file={events}",
                       *(f"--no-collector.{name}" for name in
                         ("core_latency", "attribution", "slowdown", "placement")))
        if not list(pathlib.Path("/sys/bus/event_source/devices").glob("cpu*")):
            with self.subTest("no PMU"):
                self.check("perf", "--source=bpf asks for it; ", groups.only())


if __name__ == "__main__":
    harness.need_root()
    harness.main()
