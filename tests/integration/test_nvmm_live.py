#!/usr/bin/python3
"""The whole exporter on the real kernel, where a directory stands for persistent memory: page faults
at period 1 are both what is counted and what is sampled, so that the estimates are exact. What was
recorded meanwhile replays to the same page."""
import pathlib
import sys
import time
import unittest

import harness
import storing
from harness import Cgroups, Exporter, run_exporter, wait_until

PROGRAM = harness.PROGRAMS / "store_forms"
C = "interference_container_"
COUNT = 20
# Sizes that only registers know: no bytes for these.
UNKNOWABLE = ("repeated", "masked", "variable")


class SamplesLost(Exception):
    """Page faults of the whole machine are sampled: with too many, estimates are no longer exact."""


class Live(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.top = pathlib.Path(self.enterContext(storing.memory_folder()))
        self.nvmm = self.top / "nvmm"
        self.nvmm.mkdir()
        self.events = self.top / "events.json"
        self.recording = self.top / "recording.jsonl"
        self.groups = self.enterContext(Cgroups())

    def exporter(self, *flags, **roles):
        storing.write_events(self.events, **roles)
        return storing.sampling_exporter(self.nvmm, self.events, self.groups.only(),
                                         "--sampling.interval=1s",
                                         f"--source.record.file={self.recording}", *flags)


    def wait_monitored(self, exporter, n):
        wait_until(lambda: exporter.status()["containers"]["monitored"] == n, 20,
                   f"{n} containers are monitored", 0.01)
        exporter.wait_tick()

    def page(self, exporter, container_id, stored):
        """A page on which all that was stored has arrived."""
        samples = lambda page: page.get(C + "memory_samples_total",  # noqa: E731
                                        container_id=container_id[:12], access="store",
                                        medium="nvmm")
        expected = sum(s["count"] for s in stored)
        deadline = time.monotonic() + 80
        while True:
            page = exporter.scrape()
            if page.get("interference_sampler_samples_lost_total", access="store") or \
                    page.get("interference_sampler_reads_hung_total"):
                raise SamplesLost
            if samples(page) == expected:
                exporter.wait_tick()  # the window that they are of is settled by now
                exporter.wait_tick()
                return exporter.scrape()
            self.assertLess(time.monotonic(), deadline, f"{samples(page)} of {expected} samples")
            exporter.wait_tick()

    def check_container(self, page, container_id, stored):
        labels = {"container_id": container_id[:12], "access": "store"}
        accesses = sum(s["count"] for s in stored)
        self.assertEqual(page.get(C + "memory_samples_total", medium="nvmm", **labels), accesses)
        # Samples of a program's start may be unknown: their share of the count then falls to the
        # others, at most.
        unknown = page.get(C + "memory_samples_total", medium="unknown", **labels)
        estimated = page.get(C + "nvmm_accesses_total", **labels)
        self.assertLessEqual(abs(estimated - accesses), unknown + 2)
        sized = sum(s["count"] * s["bytes"] for s in stored)
        self.assertLessEqual(abs(page.get(C + "nvmm_bytes_total", **labels) - sized),
                             (unknown + 2) * sized / accesses + 1)
        self.assertGreaterEqual(page.get(C + "nvmm_rfo_accesses_total",
                                         container_id=container_id[:12]), accesses)
        by_process = page.select("interference_process_nvmm_accesses_total",
                                 container_id=container_id[:12])
        self.assertEqual({int(dict(key)["pid"]) for key in by_process}, {s["pid"] for s in stored})
        self.assertLessEqual(abs(sum(by_process.values()) - estimated), len(by_process))

    def check_replay(self, exporter):
        page = exporter.scrape()
        self.assertEqual(exporter.stop()[0], 0)
        replay = run_exporter("--source=replay", f"--source.replay.file={self.recording}",
                              "--collector.disable-defaults", "--collector.pebs_nvmm", "--once",
                              "--collector.pebs_nvmm.rfo", "--collector.pebs_nvmm.per-process",
                              "--containers.names=none")
        self.assertEqual(replay.returncode, 0, replay.stderr)

        # Who looks into processes, a recording does not have.
        live_only = ("interference_sampler_reads_hung_total",
                     "interference_sampler_containers_refused")

        def ours(samples):
            return {key: value for key, value in samples.items()
                    if key[0].startswith(("interference_container_", "interference_process_",
                                          "interference_sampler_"))
                    and key[0] not in live_only}

        self.assertGreater(len(ours(page.samples)), 15)
        self.assertEqual(ours(harness.parse_text(replay.stdout).samples), ours(page.samples))

    def until_nothing_is_lost(self, test, attempts=5):
        for attempt in range(attempts):
            try:
                return test()
            except SamplesLost:
                print("samples were lost", file=sys.stderr)
                if attempt == attempts - 1:
                    raise

    def test_two_containers(self):
        self.until_nothing_is_lost(self.two_containers)

    def two_containers(self):
        for left in self.groups.base.glob("docker-*"):
            self.groups.remove(left)
        # The other way to count, which has no samples; here it counts the same faults.
        with self.exporter("--collector.pebs_nvmm.rfo",
                           "--collector.pebs_nvmm.per-process",
                           pmm_rfo="software:minor-faults") as exporter:
            a, a_id = self.groups.docker()
            b, b_id = self.groups.docker()
            self.wait_monitored(exporter, 2)
            with storing.Storer(self.groups, a) as first, storing.Storer(self.groups, b) as second:
                stored_b = self.store(exporter, first, a_id, second, b_id)
            self.groups.remove(b)
            self.wait_monitored(exporter, 1)
            self.check_container(exporter.scrape(), b_id, stored_b)
            self.check_replay(exporter)

    def store(self, exporter, first, a_id, second, b_id):
        """All that the second one stored."""
        stored_a = first.tell("forms", self.nvmm / "file", COUNT)
        stored_b = second.tell("stay", self.nvmm / "file", COUNT, 7)
        first.tell("forms", "-", COUNT)  # ordinary memory
        self.check_container(self.page(exporter, a_id, stored_a), a_id, stored_a)
        page = self.page(exporter, b_id, stored_b)
        self.check_container(page, b_id, stored_b)
        undecoded = "interference_sampler_samples_undecoded_total"
        for reason in UNKNOWABLE:
            self.assertEqual(page.get(undecoded, access="store", reason=reason),
                             sum(s["count"] for s in stored_a if s["size"] == reason), reason)
        # Who writes now, down to the thread.
        stored = []
        for _ in range(10):
            again = second.tell("stay", self.nvmm / "file", COUNT, 5)
            stored += again
            if self.check_now(exporter, b_id, {s["pid"] for s in again}):
                break
        else:
            self.fail("the writers were never listed")
        second.tell("stay", "-", 1, 1)
        self.page(exporter, b_id, stored_b + stored)
        return stored_b + stored

    def check_now(self, exporter, container_id, pids):
        """The page of threads lists exactly these, soon and for a second. False: nobody looked."""
        def listed():
            document = exporter.json("/api/v1/nvmm")
            return next((c["processes"] for c in document["containers"]
                         if c["container_id"] == container_id[:12]), [])

        def writers():
            return exporter.scrape().get(C + "nvmm_writer_threads", container_id=container_id[:12])

        def seen():
            processes = listed()
            return processes if {p["pid"] for p in processes} == pids and all(
                p["store"]["bytes_per_second"] > 0 for p in processes) else None

        try:
            found = wait_until(seen, 4, "the writers are listed", 0.01, patience=1)
        except AssertionError:
            return False
        for process in found:
            self.assertEqual([t["tid"] for t in process["threads"]], [process["pid"]])
        wait_until(lambda: not listed() and writers() == 0, 10, "nobody is listed any more", 0.01)
        return True

    def test_without_such_memory(self):
        """The installed program, on a machine that has none: it says so."""
        with Exporter("--source=perf", "--collector.disable-defaults", "--collector.pebs_nvmm",
                      "--containers.names=none", self.groups.only()) as exporter:
            said = exporter.collector("pebs_nvmm")
            if said["available"]:
                self.skipTest("this machine has persistent memory")
            self.assertEqual(said["reason"], "no_device")
            self.assertIn("persistent memory", said["words"])
            self.assertEqual(exporter.fds("perf_event"), 0)


if __name__ == "__main__":
    harness.need_root()
    harness.main()
