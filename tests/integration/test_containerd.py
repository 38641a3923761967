#!/usr/bin/python3
"""Real containers of a real containerd, with the names that Kubernetes would have given them.

containerd runs from a directory of the test, with its own root, state and socket; its image is a
hand-made archive around one static program. The exporter reads the names from containerd's state
through --path.rootfs. The sandbox (pause) container is not monitored; one that ends lingers.
"""
import json
import pathlib
import secrets
import tempfile
import time
import unittest

import harness
from containers import Containerd, Pod, oci_image
from harness import Exporter, wait_until

LINGER = 4
INFO = "interference_container_info"


class RealContainers(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.groups = self.enterContext(harness.Cgroups())
        self.containerd = self.enterContext(Containerd(self.directory))
        image = self.directory / "image.tar"
        oci_image(image, harness.PROGRAMS / "idle")
        self.containerd.ctr("images", "import", image)

    def events(self):
        path = self.directory / "events.json"
        path.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        return path

    def start_container(self, pod, name, container_id=None):
        container_id = container_id or secrets.token_hex(32)
        self.containerd.run(
            container_id, f"{pod.cgroup}/{container_id}",
            pod.annotations("container", container_name=name, image_name="registry/cart:1"),
            "/program")
        return container_id

    def test_life_of_containers(self):
        pod = Pod(self.groups.path(self.groups.base), "shop", "cart-0")
        early = self.start_container(pod, "early")
        self.containerd.run(pod.sandbox, f"{pod.cgroup}/{pod.sandbox}", pod.annotations("sandbox"),
                            "/program")
        with Exporter(f"--events.file={self.events()}", "--no-collector.probe",
                      f"--path.rootfs={self.containerd.rootfs}", "--sampling.interval=500ms",
                      f"--containers.linger={LINGER}s") as exporter:
            # One was there before the exporter, one comes while it runs.
            late = self.start_container(pod, "late")
            wait_until(lambda: {early[:12], late[:12]} <= set(exporter.containers()), 10,
                       "both are shown", 0.1)
            page = exporter.scrape()
            for container_id, name in ((early, "early"), (late, "late")):
                self.check_info(page, pod, container_id, name)
            self.assertGreater(page.get("interference_container_memory_reads_total",
                                        container_id=late[:12]), 0)

            # Sandboxes are not monitored, even once every name has had its time.
            exporter.wait_tick()
            self.assertEqual(exporter.scrape().select(INFO, container_id=pod.sandbox[:12]), {})

            # It ends: counters linger, gauges go, then all of it.
            gauges = exporter.scrape().names(container_id=late[:12])
            ended = time.monotonic()
            self.containerd.end(late)
            wait_until(lambda: exporter.containers()[late[:12]]["running"] is False, 5,
                       "it lingers")
            lingering = exporter.scrape().names(container_id=late[:12])
            self.assertIn("interference_container_memory_reads_total", lingering)
            self.assertNotIn("interference_container_memory_read_latency_seconds", lingering)
            self.assertLessEqual(lingering, gauges)
            wait_until(lambda: not exporter.scrape().names(container_id=late[:12]), LINGER + 10,
                       "it is forgotten", 0.2)
            self.assertGreater(time.monotonic() - ended, LINGER * 0.9)
            self.check_info(exporter.scrape(), pod, early, "early")

            # Its successor has the same names and another id: no duplicate, no mix-up.
            successor = self.start_container(pod, "late")
            wait_until(lambda: successor[:12] in exporter.containers(), 10, "it is shown", 0.1)
            self.check_info(exporter.scrape(), pod, successor, "late")

            # The same id again, as after `ctr run` with a fixed name.
            self.containerd.end(successor)
            again = self.start_container(pod, "late", successor)
            exporter.wait_tick()
            exporter.wait_tick()
            self.check_info(exporter.scrape(), pod, again, "late")

    def check_info(self, page, pod, container_id, name):
        found = page.select(INFO, container_id=container_id[:12])
        self.assertEqual(len(found), 1, f"{name}: {found}")
        labels = dict(next(iter(found)))
        cgroup = labels.pop("id")
        self.assertTrue(cgroup.endswith(f"{pod.cgroup}/{container_id}"), cgroup)
        self.assertEqual(labels, {
            "namespace": "shop", "pod": "cart-0", "container": name,
            "container_id": container_id[:12], "pod_uid": pod.uid, "image": "registry/cart:1",
            "runtime": "containerd", "qos_class": "burstable",
            "runtime_container_id": f"containerd://{container_id}"})

    def test_names_from_logs(self):
        """Where the state cannot be read, the kubelet's log links have the names."""
        pod = Pod(self.groups.path(self.groups.base), "bank", "ledger-7d9f")
        container_id = self.start_container(pod, "ledger")
        host = self.directory / "host"
        links = host / "var/log/containers"
        links.mkdir(parents=True)
        (links / f"{pod.name}_{pod.namespace}_ledger-{container_id}.log").symlink_to(
            f"/var/log/pods/{pod.namespace}_{pod.name}_{pod.uid}/ledger/0.log")
        with Exporter(f"--events.file={self.events()}", "--no-collector.probe",
                      f"--path.rootfs={host}", "--containers.names=logs",
                      "--sampling.interval=500ms") as exporter:
            wait_until(lambda: container_id[:12] in exporter.containers(), 10, "it is shown", 0.1)
            shown = exporter.containers()[container_id[:12]]
            self.assertEqual((shown["namespace"], shown["pod"], shown["container"]),
                             ("bank", "ledger-7d9f", "ledger"))


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("containerd", "ctr", "runc")
    harness.main()
