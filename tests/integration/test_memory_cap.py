#!/usr/bin/python3
"""The most that cgroups can make the exporter remember: as many directories as it looks at, with
paths as long as their owners' shares allow, while it samples, which needs each of them. The tree is
made of directories in memory, which is what discovery reads; no kernel has cgroups for it."""
import os
import pathlib
import re
import unittest
import uuid

import harness
import storing
from harness import Exporter, wait_until

CAP_BYTES = 128 << 20
CONTAINERS = 512
NODES = 100_000
# 192 directories of a container have paths of 670 bytes: 126 of its 128 KiB.
LONG, INSIDE = 236, 190


class Cap(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.top = pathlib.Path(self.enterContext(storing.memory_folder()))
        self.tree = self.top / "cgroup"
        self.tree.mkdir()
        (self.tree / "cgroup.controllers").write_text("cpu\n")

    def make(self):
        """Returns how many there are."""
        n = 1
        for _ in range(CONTAINERS):
            pod = f"kubepods/pod{uuid.uuid4()}/{harness.hex_id()}"
            deep = f"{pod}/{'a' * LONG}/{'b' * LONG}"
            os.makedirs(self.tree / deep)
            directory = os.open(self.tree / deep, os.O_PATH)
            for _ in range(INSIDE):
                os.mkdir(harness.hex_id(), dir_fd=directory)
            os.close(directory)
            n += 4 + INSIDE
        return n + 1

    def memory(self, exporter):
        """Of all its processes; what they share, once."""
        pids, total = [exporter.pid], 0
        for pid in pids:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
            pids += [int(child) for child in children.split()]
            rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss: +(\d+) kB", rollup, re.MULTILINE).group(1)) * 1024
        return total

    def test_cap(self):
        n = self.make()
        self.assertGreater(n, NODES * 0.95)
        events = storing.write_events(self.top / "events.json")
        with Exporter("--source=perf", f"--events.file={events}", "--collector.disable-defaults",
                      "--collector.pebs_nvmm", "--collector.pebs_nvmm.period=1000000",
                      "--containers.nested", f"--containers.max={CONTAINERS}",
                      f"--path.cgroupfs={self.tree}", env={"PMEM_DIRECTORY": str(self.top)},
                      ready=False, program=harness.PROGRAMS / "exporter_pmem") as exporter:
            wait_until(exporter.is_ready, 200, "the exporter has seen all of them", 0.5)
            exporter.wait_tick()
            exporter.wait_tick()
            (found,) = re.findall(r"(\d+) cgroups, ", exporter.log())
            self.assertGreaterEqual(int(found), NODES * 0.9)  # a tenth is not for tenants
            containers = exporter.status()["containers"]
            self.assertEqual(containers["monitored"], CONTAINERS)
            self.assertGreater(containers["over_limit"], CONTAINERS * 14)
            memory = self.memory(exporter)
            print(f"{found} directories, {memory / (1 << 20):.0f} MiB")
            self.assertLess(memory, CAP_BYTES)


if __name__ == "__main__":
    harness.main()
