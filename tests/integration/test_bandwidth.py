#!/usr/bin/python3
"""Monitoring groups of resctrl, in a tree of our own, read by the whole exporter as nobody: who has
no group, a pod's, a container's; what is recorded of them is replayed."""
import json
import os
import pathlib
import secrets
import tempfile
import threading
import unittest
import uuid

import harness
from harness import Exporter, run_exporter, wait_until

BYTES = "interference_container_memory_bandwidth_bytes_total"
NODE = "interference_node_memory_bandwidth_bytes_total"
RATE = 64_000_000


class Groups(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.cgroups = self.enterContext(harness.Cgroups())
        self.work = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.work.chmod(0o755)
        self.mount = self.work / "resctrl"
        self.moved = {}
        self.end = threading.Event()

    def write(self, group):
        directory = self.mount / group / "mon_data/mon_L3_00"
        directory.mkdir(parents=True, exist_ok=True)
        for file in ("mbm_total_bytes", "mbm_local_bytes", "llc_occupancy"):
            (directory / f".{file}").write_text(f"{self.moved[group]}\n")
            (directory / f".{file}").rename(directory / file)

    def move(self):
        """What is in groups moves on, ten times a second."""
        while not self.end.wait(0.1):
            for group in list(self.moved):
                self.moved[group] += RATE // 10
                self.write(group)

    def make(self, group):
        self.moved[group] = 0
        self.write(group)

    def container(self, uid, container_id):
        cgroup = self.cgroups.make(f"kubepods/burstable/pod{uid}/{container_id}")
        self.cgroups.spawn(cgroup, ["sleep", "600"])

    def test_groups(self):
        uid, container_id, plain = uuid.uuid4(), secrets.token_hex(32), uuid.uuid4()
        self.container(uid, container_id)
        self.container(plain, secrets.token_hex(32))
        self.make(".")
        self.make("BE")
        mover = threading.Thread(target=self.move)
        mover.start()
        self.addCleanup(mover.join)
        self.addCleanup(self.end.set)
        events = self.work / "events.json"
        events.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        records = self.work / "records"
        records.mkdir()
        os.chown(records, 65534, 65534)
        recording = records / "recording.jsonl"
        with Exporter("--source=perf", f"--events.file={events}", f"--path.resctrl={self.mount}",
                      "--process.user=65534", self.cgroups.only(), "--no-collector.pebs_nvmm",
                      f"--source.record.file={recording}") as exporter:
            self.assertEqual(exporter.collector("bandwidth")["reason"], "no_groups")
            self.make(f"mon_groups/{uid}")
            self.make(f"BE/mon_groups/{container_id}")
            wait_until(lambda: exporter.collector("bandwidth")["reason"] == "ok", 20, "ok")
            self.assertIn("1 pods and 1 containers; classes, which are no container's: BE "
                          "(koordinator)", exporter.collector("bandwidth")["words"])
            short = container_id[:12]
            wait_until(lambda: exporter.scrape().get(BYTES, container_id=short, scope="total"), 60,
                       "bytes of the container")
            wait_until(lambda: exporter.scrape().get(BYTES, container_id="", scope="total"), 60,
                       "bytes of the pod")
            page = exporter.scrape()
            self.assertEqual(len(page.select(BYTES)), 4)
            # The root group and the class move as much, each of which has one of the groups in it.
            node = sum(page.select(NODE, scope="total").values())
            self.assertGreater(node, page.get(BYTES, container_id=short, scope="total"))
            self.assertEqual(page.get("interference_exporter_collector_success",
                                      collector="bandwidth"), 1)
        self.assertIn('"group":"bandwidth"', recording.read_text())
        result = run_exporter("--source=replay", f"--source.replay.file={recording}", "--once",
                              "--process.user=65534")  # whose it is
        self.assertEqual(result.returncode, 0, result.stderr)
        replayed = harness.parse_text(result.stdout)
        self.assertGreater(replayed.get(BYTES, container_id=short, scope="total"), 0)


if __name__ == "__main__":
    harness.main()
