#!/usr/bin/python3
"""The same containers on each kind of machine: hybrid or as it is, v2 only, and with perf_event in
a v1 hierarchy. Work of known size is counted exactly on each."""
import contextlib
import json
import pathlib
import subprocess
import tempfile
import time
import unittest

import harness
from harness import Cgroups, Exporter, wait_until

PROGRAM = harness.PROGRAMS / "uprobe_roles"
ROLES = ("cycles", "ref_cycles", "l3_miss_reads", "l3_miss_read_occupancy")
V2_ONLY = """
umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"
"""


def perf_event_is_v2():
    for line in pathlib.Path("/proc/cgroups").read_text().splitlines():
        fields = line.split()
        if fields[0] == "perf_event":
            return fields[1] == "0"
    return True


def give_back(directory, mount):
    """What is unmounted while the kernel still holds a cgroup of it stays where it is; mounting it
    again takes hold of the same hierarchy, for the next try. Nor can it be unmounted while another
    program, which looks at all that is mounted, has a file of it open."""
    for _ in range(30):
        time.sleep(1)
        if subprocess.run(["umount", directory]).returncode != 0:
            continue
        with contextlib.suppress(AssertionError):
            return wait_until(perf_event_is_v2, 1.5, patience=1)
        subprocess.run(mount, check=True)
    subprocess.run(["umount", "--lazy", directory], check=True)
    raise AssertionError("perf_event is still in a v1 hierarchy")


@contextlib.contextmanager
def perf_event_v1():
    """perf_event in a v1 hierarchy of its own, for the whole machine; given back at the end, which
    takes effect only once the kernel has let go of all its cgroups."""
    with tempfile.TemporaryDirectory() as directory:
        mount = ["mount", "-t", "cgroup", "-o", "perf_event", "ie-test", directory]
        result = subprocess.run(mount, capture_output=True, text=True)
        if result.returncode != 0:
            raise unittest.SkipTest(f"perf_event cannot be mounted as v1: {result.stderr.strip()}")
        try:
            yield 1, pathlib.Path(directory)
        finally:
            give_back(directory, mount)


class Hierarchies(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        offsets = harness.function_offsets(PROGRAM, "role_")
        self.events = self.directory / "events.json"
        self.events.write_text(json.dumps({
            **harness.SOFTWARE_EVENTS,
            "roles": {**harness.SOFTWARE_EVENTS["roles"],
                      **{role: f"uprobe:{PROGRAM}:{offsets['role_' + role]:#x}" for role in ROLES}}}))

    def check(self, groups, *flags, command=()):
        early, early_id = groups.docker()
        with Exporter("--source=perf", f"--events.file={self.events}", "--no-collector.probe",
                      "--containers.names=none", "--sampling.interval=300ms", *flags,
                      command=command) as exporter:
            late, late_id = groups.docker()
            wait_until(lambda: {early_id[:12], late_id[:12]} <= set(exporter.containers()), 10,
                       "both are shown")
            child = late / "child"
            child.mkdir()
            groups.run(early, [PROGRAM, "0:cycles=1234,l3_miss_reads=77"])
            groups.run(child, [PROGRAM, f"{harness.online_cpus()[-1]}:cycles=321"])
            groups.run(groups.base, [PROGRAM, "0:cycles=5000"])
            groups.remove(late)
            wait_until(lambda: exporter.containers()[late_id[:12]]["running"] is False, 10,
                       "one has ended")
            exporter.wait_tick()
            page = exporter.scrape()
            cycles = "interference_container_cpu_cycles_total"
            self.assertEqual(page.get(cycles, container_id=early_id[:12]), 1234)
            self.assertEqual(page.get(cycles, container_id=late_id[:12]), 321)
            self.assertEqual(page.get("interference_container_memory_reads_total",
                                      container_id=early_id[:12]), 77)
            (info,) = page.select("interference_container_info", container_id=early_id[:12])
            self.assertEqual(dict(info)["id"], groups.path(early))

    def test_as_it_is(self):
        with Cgroups() as groups:
            self.check(groups)

    def test_path_given(self):
        with Cgroups() as groups:
            self.check(groups, f"--path.cgroupfs={groups.mount}")

    def test_v2_only(self):
        if not perf_event_is_v2():
            self.skipTest("perf_event is in a v1 hierarchy here")
        with Cgroups() as groups:
            self.check(groups, command=("unshare", "--mount", "bash", "-c", V2_ONLY, "bash"))

    def test_v1(self):
        if not perf_event_is_v2():
            self.skipTest("perf_event is in a v1 hierarchy already: that is test_as_it_is")
        with perf_event_v1() as hierarchy, Cgroups(hierarchy) as groups:
            self.check(groups)
        self.assertTrue(perf_event_is_v2())

    def test_all_cgroups(self):
        """A plain cgroup is shown under its name; its parent includes it: by perf, and by BPF."""
        for source in ("perf", "bpf"):
            if source == "perf" or perf_event_is_v2():
                with self.subTest(source):
                    self.check_all_cgroups(source)

    def check_all_cgroups(self, source):
        with Cgroups() as groups:
            parent = groups.make("parent")
            child = groups.make("parent/child")
            groups.spawn(parent, [harness.PROGRAMS / "idle"])
            groups.spawn(child, [harness.PROGRAMS / "idle"])
            with Exporter(f"--source={source}", f"--events.file={self.events}",
                          "--no-collector.probe", "--containers.all-cgroups",
                          "--sampling.interval=300ms", r"--containers.include=//(parent|child)") as exporter:
                def shown():
                    return {c["container"]: c for c in exporter.containers().values()}
                wait_until(lambda: {"parent", "child"} <= set(shown()), 10, "both are shown")
                self.assertEqual(set(shown()), {"parent", "child"})
                identity = f"{child.stat().st_ino:012x}"[-12:]
                self.assertEqual(shown()["child"]["container_id"], identity)
                self.assertEqual(exporter.status()["source"], source)
                exporter.wait_tick()  # both are counted by now
                groups.run(child, [PROGRAM, "0:cycles=55"])
                exporter.wait_tick()
                exporter.wait_tick()
                page = exporter.scrape()
                for name in ("parent", "child"):
                    self.assertEqual(page.get("interference_container_cpu_cycles_total",
                                              container=name), 55)


if __name__ == "__main__":
    harness.need_root()
    harness.main()
