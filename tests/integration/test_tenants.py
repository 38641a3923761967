#!/usr/bin/python3
"""A tenant who may make cgroups inside his container: he becomes nobody else, takes nobody's place,
and is counted once."""
import json
import pathlib
import tempfile
import time
import unittest
import uuid

import harness
from harness import Cgroups, Exporter, wait_until

INFO = "interference_container_info"
READS = "interference_container_memory_reads_total"
NODE_READS = "interference_node_memory_reads_total"
STATE = "run/containerd/io.containerd.runtime.v2.task/k8s.io"


class Tenants(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.groups = self.enterContext(Cgroups())
        self.events = self.directory / "events.json"
        self.events.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        self.host = self.directory / "host"

    def container(self, namespace, pod, name):
        """A container as the kubelet and containerd make it: its cgroup and its state."""
        uid, container_id = uuid.uuid4(), harness.hex_id()
        cgroup = self.groups.make(f"kubepods/burstable/pod{uid}/{container_id}")
        state = self.host / STATE / container_id
        state.mkdir(parents=True)
        prefix = "io.kubernetes.cri."
        (state / "config.json").write_text(json.dumps({"annotations": {
            prefix + "container-type": "container", prefix + "container-name": name,
            prefix + "sandbox-name": pod, prefix + "sandbox-namespace": namespace,
            prefix + "sandbox-uid": str(uid)}}))
        return cgroup, container_id

    def exporter(self, *flags):
        return Exporter("--source=perf", f"--events.file={self.events}", "--no-collector.probe",
                        f"--path.rootfs={self.host}", self.groups.only(),
                        "--sampling.interval=300ms", *flags)

    def names(self, exporter):
        """Path below the tenant's or the victim's pod, and by whose names it is shown."""
        exporter.wait_tick()
        exporter.wait_tick()
        return {pathlib.Path(c["id"]).name if not c["namespace"] else
                f"{c['namespace']}/{c['pod']}/{c['container']}": c["id"]
                for c in (dict(key) for key in exporter.scrape().select(INFO))}

    def test_impostor(self):
        """The victim's id is public. Whoever was there first, its series are the victim's."""
        evil, _ = self.container("tenant", "evil-0", "evil")
        victim, victim_id = self.container("prod", "payments-0", "payments")
        (evil / victim_id).mkdir()
        pod = evil / "kubepods" / victim.parent.name
        (pod / victim_id).mkdir(parents=True)
        honest = {"prod/payments-0/payments": self.below(victim),
                  "tenant/evil-0/evil": self.below(evil)}
        with self.exporter() as exporter:
            self.assertEqual(self.names(exporter), honest)
            (evil / "x" / victim_id).mkdir(parents=True)  # beside a victim that is known
            self.assertEqual(self.names(exporter), honest)
        victim.rmdir()
        with self.exporter() as exporter:  # before it
            self.assertEqual(set(self.names(exporter)), {"tenant/evil-0/evil"})
            victim.mkdir()
            self.assertEqual(self.names(exporter), honest)
        with self.exporter("--containers.nested") as exporter:
            shown = self.names(exporter)
            for name, path in honest.items():
                self.assertEqual(shown[name], path)
            self.assertEqual(set(shown), set(honest) | {victim_id})
            self.assertEqual(len(exporter.scrape().select(INFO, container_id=victim_id[:12])), 1)

    def below(self, cgroup):
        return "/" + str(cgroup.relative_to(self.groups.base))

    def watches(self, exporter):
        return sum(text.count("inotify wd:") for text in harness.fd_infos(exporter.pid))

    def flood(self, cgroup, number=600):
        for _ in range(number):
            (cgroup / harness.hex_id()).mkdir()

    def test_flood(self):
        """600 directories: who comes later is monitored; no watch, no descriptor, no memory."""
        evil, _ = self.container("tenant", "evil-0", "evil")
        with self.exporter() as exporter:
            exporter.wait_tick()
            watches, fds, rss = self.watches(exporter), exporter.fds(), exporter.rss_bytes()
            self.flood(evil)
            exporter.wait_tick()
            exporter.wait_tick()
            self.assertEqual((self.watches(exporter), exporter.fds()), (watches, fds))
            if not harness.sanitized():
                self.assertLess(exporter.rss_bytes() - rss, 1 << 20)
            self.container("prod", "payments-0", "payments")
            wait_until(lambda: "prod/payments-0/payments" in self.names(exporter), 10,
                       "who comes later is shown")
            state = "interference_exporter_containers"
            wait_until(lambda: exporter.scrape().get(state, state="monitored") == 2, 10,
                       "both are counted")
            self.assertEqual(exporter.scrape().get(state, state="over_limit"), 0)

    def test_flood_of_nested(self):
        """Where they count, 16 do, and a counter says how many were refused."""
        evil, _ = self.container("tenant", "evil-0", "evil")
        with self.exporter("--containers.nested", "--containers.max=40") as exporter:
            self.flood(evil)
            for i in range(20):
                self.container("prod", f"payments-{i}", "payments")
            wait_until(lambda: sum(name.startswith("prod/") for name in self.names(exporter)) == 20,
                       10, "who comes later is shown")
            page = exporter.scrape()
            self.assertEqual(page.get("interference_exporter_containers", state="monitored"), 37)
            self.assertEqual(page.get("interference_exporter_containers", state="over_limit"), 0)
            refused = "interference_exporter_cgroups_refused_total"
            self.assertGreaterEqual(page.get(refused, reason="places"), 256 - 16)
            self.assertGreaterEqual(page.get(refused, reason="directories"), 600 - 256)

    def test_counted_once(self):
        """A process below 50 levels of container-like directories."""
        for flags in ((), ("--containers.nested",)):
            evil, evil_id = self.container("tenant", "evil-0", "evil")
            deep = evil
            for _ in range(20 if flags else 50):
                deep = deep / harness.hex_id()
            deep.mkdir(parents=True)
            with self.exporter(*flags) as exporter:
                before = exporter.scrape().get(NODE_READS) or 0
                self.groups.run(deep, [harness.PROGRAMS / "touch_pages", "3000"])
                exporter.wait_tick()
                exporter.wait_tick()
                page = exporter.scrape()
                reads = page.get(READS, container_id=evil_id[:12])
                self.assertGreater(reads, 3000)
                self.assertEqual(page.get(NODE_READS) - before, reads)
                nested = [one for labels, one in page.select(READS).items()
                          if dict(labels)["container_id"] != evil_id[:12] and one >= 3000]
                self.assertEqual(len(nested), 16 if flags else 0)

    def test_lines(self):
        """3,000 cgroups of a victim's id come and go: a handful of lines."""
        evil, _ = self.container("tenant", "evil-0", "evil")
        _, victim_id = self.container("prod", "payments-0", "payments")
        with self.exporter("--containers.nested", "--containers.names=none") as exporter:
            exporter.wait_tick()
            before = len(exporter.log().splitlines())
            end = time.monotonic() + 5
            for i in range(3000):
                (evil / f"{i}").mkdir()
                (evil / f"{i}" / victim_id).mkdir()
                (evil / f"{i}" / victim_id).rmdir()
                (evil / f"{i}").rmdir()
                if time.monotonic() > end:
                    break
            exporter.wait_tick()
            self.assertLess(len(exporter.log().splitlines()) - before, 10)


if __name__ == "__main__":
    harness.need_root()
    harness.main()
