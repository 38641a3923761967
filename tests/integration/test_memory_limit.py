#!/usr/bin/python3
"""A memory limit: as many containers as --containers.max allows by default fit into that of the
DaemonSet; where they do not fit into a smaller one, the exporter says so and lives."""
import json
import pathlib
import re
import resource
import tempfile
import unittest

import yaml

import harness
from harness import Cgroups, Exporter, wait_until

ROWS_BYTES = 2 * 80 + 80  # for a container and CPU: two readings, and the program's cell
LARGE_CPUS = 128
SMALL_BYTES = 48 << 20


def memory_hierarchy():
    """(version, mount point) of the hierarchy in which memory can be limited; None without."""
    for version, mount, options in harness.cgroup_mounts():
        if version == 1 and "memory" in options:
            return version, mount
        control = mount / "cgroup.subtree_control"
        if version == 2 and control.exists() and "memory" in control.read_text().split():
            return version, mount
    return None


def daemonset():
    text = (harness.SOURCE / "deploy/kubernetes/manifests/daemonset.yaml").read_text()
    return yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]


class MemoryLimit(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.groups = self.enterContext(Cgroups())
        found = memory_hierarchy()
        if not found:
            self.skipTest("no cgroup's memory can be limited here")
        self.memory = self.enterContext(Cgroups(found)).make("exporter")
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.events = directory / "events.json"
        self.events.write_text(json.dumps(harness.SOFTWARE_EVENTS))

    def file(self, *names):
        return next((path for path in map(self.memory.joinpath, names) if path.exists()), None)

    def exporter(self, limit, *flags):
        self.file("memory.max", "memory.limit_in_bytes").write_text(str(limit))
        enter = f'echo $$ > "{self.memory}/cgroup.procs" && exec "$@"'
        return Exporter(*flags, f"--events.file={self.events}", self.groups.only(),
                        "--containers.names=none", "--no-collector.probe", ends_within=60,
                        command=["sh", "-c", enter, "-"])

    def peak_bytes(self):
        return int(self.file("memory.peak", "memory.max_usage_in_bytes",
                             "memory.current").read_text())

    def times_at_limit(self):
        """How often the kernel had to take memory back before it gave some."""
        count = self.file("memory.events", "memory.failcnt").read_text()
        return int(re.search(r"^(?:max )?(\d+)$", count, re.M).group(1))

    def make(self, n):
        for _ in range(n):
            self.groups.docker()

    def wait_all(self, exporter, n):
        def all_known():
            found = exporter.status()["containers"]
            return found["monitored"] + found["over_limit"] == n
        wait_until(all_known, 60, f"{n} containers are known", 0.2)
        exporter.wait_tick()
        exporter.wait_tick()

    def test_the_default_fits(self):
        """By BPF; what more containers than can be had here would take, and more CPUs, is computed."""
        container = daemonset()
        (default,) = re.findall(r"--containers.max=(\d+)", " ".join(container["args"]))
        (limit_mib,) = re.findall(r"^(\d+)Mi$", container["resources"]["limits"]["memory"])
        default, limit = int(default), int(limit_mib) << 20
        if self.groups.version != 2:
            self.skipTest("BPF counts cgroups of v2")
        # An eighth of the descriptors is for containers.
        n = min(default, resource.getrlimit(resource.RLIMIT_NOFILE)[1] // 8)
        self.make(n)
        with self.exporter(limit, "--source=bpf") as exporter:
            self.wait_all(exporter, n)
            status = exporter.status()
            self.assertEqual(status["source"], "bpf", status["source_why"])
            self.assertEqual(status["containers"]["monitored"], n)
            self.assertEqual(exporter.collector("core_latency")["reason"], "ok")
            self.assertNotIn("memory limit of", exporter.log())
            exporter.scrape()
            used = self.peak_bytes()
            cpus = default * (LARGE_CPUS - len(harness.online_cpus())) * ROWS_BYTES
            whole = used / n * default + cpus
            print(f"{n} containers: {used / 2**20:.0f} MiB; {default} on {LARGE_CPUS} CPUs: "
                  f"{whole / 2**20:.0f} ", end="")
            self.assertLess(whole, limit)

    def test_less_is_told(self):
        """By perf, which takes the most."""
        self.make(2000)
        with self.exporter(SMALL_BYTES, "--source=perf") as exporter:
            self.wait_all(exporter, 2000)
            (most,) = re.findall(r"a memory limit of 48 MiB is enough for at most (\d+) containers "
                                 r"on \d+ CPUs, not for \d+: raise it", exporter.log())
            containers = exporter.status()["containers"]
            self.assertEqual(containers["monitored"], int(most))
            self.assertGreater(containers["over_limit"], 0)
            self.assertEqual(exporter.scrape().get("interference_exporter_containers_limit"),
                             int(most))
            self.assertEqual(self.times_at_limit(), 0)


if __name__ == "__main__":
    harness.main()
