#!/usr/bin/python3
"""Real containers of a real containerd, with the names that Kubernetes would have given them.

containerd runs from a directory of the test, with its own root, state and socket; its image is a
hand-made archive around one static program. The exporter reads the names from containerd's state
through --path.rootfs. The sandbox (pause) container is not monitored; one that ends lingers. And
the governor, which goes by these names, cuts the quota of who is meant and gives it back.
"""
import contextlib
import json
import pathlib
import secrets
import signal
import tempfile
import time
import unittest

import harness
from closed_loop import BASELINE, cpu_hierarchy, own_tree, told_events
from containers import Containerd, Pod, oci_image
from governing import GOVERNOR, GovernorPage
from harness import Exporter, free_port, start, stop, wait_until

LINGER = 15
INFO = "interference_container_info"
TELLER = harness.PROGRAMS / "uprobe_roles"


class WithContainerd(unittest.TestCase):
    EVENTS = harness.SOFTWARE_EVENTS

    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.groups = self.enterContext(harness.Cgroups())
        self.containerd = self.enterContext(Containerd(self.directory))
        image = self.directory / "image.tar"
        oci_image(image, harness.PROGRAMS / "idle")
        self.containerd.ctr("images", "import", image)

    def events(self):
        path = self.directory / "events.json"
        path.write_text(json.dumps(self.EVENTS))
        return path

    def start_container(self, pod, name, container_id=None, argv=("/program",), flags=()):
        container_id = container_id or secrets.token_hex(32)
        self.containerd.run(
            container_id, f"{pod.cgroup}/{container_id}",
            pod.annotations("container", container_name=name, image_name="registry/cart:1"),
            *argv, flags=flags)
        return container_id


class RealContainers(WithContainerd):

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
            "workload": "cart", "container_id": container_id[:12], "pod_uid": pod.uid, "image": "registry/cart:1",
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


# What containers do in turn: no reads, reads of 100 ns, of 200 ns.
IDLE, FAST, SLOW = (f"l3_miss_reads={reads},l3_miss_read_occupancy={waits},repeat"
                    for reads, waits in ((0, 0), (200, 200), (200, 400)))
WHOLE, LEAST = 80000, 50000  # of 100000 us


class Governed(GovernorPage, WithContainerd):
    """Real quotas of containers that are known by the names that the CRI plugin gave them."""

    EVENTS = told_events(TELLER, 100)

    def setUp(self):
        self.cpu_mount = cpu_hierarchy()
        super().setUp()
        if self.groups.version != 2:
            self.skipTest("needs perf_event in cgroup v2")
        self.port = free_port()

    def start_teller(self, pod, name, *work):
        """A container that asks for no CPU and may have 0.8 of one."""
        cpu = harness.online_cpus()[0 if pod.namespace == "shop" else -1]
        return self.start_container(
            pod, name, argv=("/programs/uprobe_roles", *(f"{cpu}:{terms}" for terms in work)),
            flags=("--mount", f"type=bind,src={TELLER.parent},dst=/programs,options=rbind:ro",
                   "--cpu-shares", "2", "--cpu-period", "100000", "--cpu-quota", str(WHOLE)))

    def quota(self, pod, container_id):
        group = self.cpu_mount / pod.cgroup.removeprefix("/") / container_id
        return int((group / "cpu.cfs_quota_us").read_text())

    def govern(self):
        state, config = self.directory / "state", self.directory / "governor.json"
        state.mkdir(mode=0o700)
        config.write_text(json.dumps({
            "governor": 1, "mode": "enforce", "state_directory": str(state),
            "exporter": {"socket": f"{self.directory}/exporter.sock"},
            "classes": [
                {"name": "web", "role": "protected",
                 "match": [{"namespace": "shop", "pod": "cart-0", "container": "cart"}]},
                {"name": "batch", "role": "best_effort", "cpu": {"base_cores": LEAST / 1e5},
                 "match": [{"namespace": "jobs", "pod": "report-*", "container": "report"}]}],
            "policies": {"threshold": {"classes": ["batch"], "mode": "paper", "factor": 1.5,
                                       "window": "10ms"}}}))
        log = self.enterContext((self.directory / "governor.log").open("w+b"))
        process = start([GOVERNOR, f"--config.file={config}", "--enforce",
                         f"--state-directory={state}",
                         f"--path.cgroupfs={own_tree(self.directory, self.groups)}",
                         f"--web.listen-address=127.0.0.1:{self.port}"], stderr=log)
        self.addCleanup(stop, process, signal.SIGKILL)
        return process

    def is_active(self):
        with contextlib.suppress(OSError):
            return self.metric("policy_active", policy="threshold")
        return False

    def listed(self, page, rows, *keys):
        return [tuple(row[key] for key in keys)
                for row in json.loads(self.ask(f"/api/v1/{page}"))[rows]]

    def test_whom_the_names_mean(self):
        """Who waits is known by them, and who is cut; the other container of that pod, which does the
        same, is not, nor who waits."""
        top = self.groups.path(self.groups.base)
        cart, report = Pod(top, "shop", "cart-0"), Pod(top, "jobs", "report-7")
        waiting = self.start_teller(cart, "cart", FAST, SLOW)
        batch = self.start_teller(report, "report", IDLE, FAST)
        sidecar = self.start_teller(report, "sidecar", IDLE, FAST)
        # Whatever else the machine does, each reads in every window.
        (self.cpu_mount / self.groups.base.name / "cpu.shares").write_text("262144")
        with Exporter("--source=perf", f"--events.file={self.events()}",
                      "--collector.disable-defaults", "--collector.core_latency",
                      f"--path.rootfs={self.containerd.rootfs}", self.groups.only(),
                      f"--web.listen-address=unix:{self.directory}/exporter.sock",
                      "--sampling.interval=250ms", ends_within=60) as exporter:
            baseline = lambda: exporter.scrape().get(BASELINE, container_id=waiting[:12])
            wait_until(baseline, 60, "what is normal is known", 0.1)
            process = self.govern()
            wait_until(self.is_active, 20, "the governor knows it, too")
            self.assertEqual(self.quota(report, batch), WHOLE)
            for container_id in (batch, sidecar, waiting):
                self.containerd.ctr("task", "kill", "--signal", "SIGUSR1", container_id)
            wait_until(lambda: self.quota(report, batch) == LEAST, 20, "it is cut")
            wait_until(lambda: self.listed("state", "claims", "container", "value") ==
                       [("jobs/report-7/report", LEAST / 1e5)], 20, "it is the only claim")
            for pod, container_id in ((report, sidecar), (cart, waiting)):
                self.assertEqual(self.quota(pod, container_id), WHOLE)
            self.assertEqual(
                self.listed("decisions", "decisions", "action", "container", "cause")[-1],
                ("cut", "jobs/report-7/report", "shop/cart-0/cart"))
            self.assertEqual(stop(process), 0)
            self.assertEqual(self.quota(report, batch), WHOLE)


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("containerd", "ctr", "runc")
    harness.main()
