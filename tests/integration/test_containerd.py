#!/usr/bin/python3
"""Real containers of a real containerd, with the names that Kubernetes would have given them.

containerd runs from a directory of the test, with its own root, state and socket; its image is a
hand-made archive around one static program. The exporter reads the names from containerd's state
through --path.rootfs. The sandbox (pause) container is not monitored; one that ends lingers.
"""
import hashlib
import io
import json
import os
import pathlib
import secrets
import subprocess
import tarfile
import tempfile
import time
import unittest
import uuid

import harness
from harness import Exporter, wait_until

IMAGE = "docker.io/library/ie-test:1"
LINGER = 4
INFO = "interference_container_info"


def oci_image(path, program):
    """An OCI archive whose only file is /program."""
    def add(archive, name, data, mode=0o644):
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), mode
        archive.addfile(info, io.BytesIO(data))

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        add(archive, "program", pathlib.Path(program).read_bytes(), 0o755)
    layer = layer.getvalue()
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)

    blobs = {}

    def blob(data, kind):
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}",
                "size": len(data)}

    layer_blob = blob(layer, "layer.v1.tar")
    config = blob({"architecture": machine, "os": "linux", "config": {"Cmd": ["/program"]},
                   "rootfs": {"type": "layers", "diff_ids": [layer_blob["digest"]]}},
                  "config.v1+json")
    manifest = blob({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                     "config": config, "layers": [layer_blob]}, "manifest.v1+json")
    manifest["annotations"] = {"io.containerd.image.name": IMAGE,
                               "org.opencontainers.image.ref.name": "1"}
    with tarfile.open(path, "w") as archive:
        add(archive, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        for digest, data in blobs.items():
            add(archive, f"blobs/sha256/{digest}", data)
        add(archive, "index.json", json.dumps({"schemaVersion": 2,
                                               "manifests": [manifest]}).encode())


class Containerd:
    """A daemon of the test's own, with everything below one directory."""

    def __init__(self, directory):
        self.rootfs = directory / "rootfs"
        self.state = self.rootfs / "run/containerd"
        self.socket = directory / "c.sock"
        self.state.mkdir(parents=True)
        config = directory / "config.toml"
        config.write_text(f'''
version = 2
root = "{directory / 'root'}"
state = "{self.state}"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt",
  "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{self.socket}"
[ttrpc]
  address = "{directory / 't.sock'}"
''')
        self.log = open(directory / "containerd.log", "w+b")
        self.process = harness.start(["containerd", "--config", config], stdin=subprocess.DEVNULL,
                                     stdout=self.log, stderr=self.log)
        self.running = []

    def __enter__(self):
        try:
            wait_until(lambda: subprocess.run(self.command("version"), capture_output=True,
                                              timeout=10).returncode == 0,
                       20, "containerd answers", 0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for container_id in list(self.running):
            self.end(container_id)
        harness.stop(self.process)
        self.log.close()

    def command(self, *arguments):
        return ["ctr", "--address", self.socket, "-n", "k8s.io", *arguments]

    def ctr(self, *arguments):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True,
                                timeout=60)
        assert result.returncode == 0, f"ctr {arguments}: {result.stdout}{result.stderr}"
        return result.stdout

    def run(self, container_id, cgroup, annotations, *argv):
        flags = [x for k, v in annotations.items() for x in ("--annotation", f"{k}={v}")]
        self.ctr("run", "--detach", "--null-io", "--cgroup", cgroup, *flags, IMAGE, container_id,
                 *argv)
        self.running.append(container_id)

    def end(self, container_id):
        """As a runtime does: the process, then the task with its cgroup, then the container."""
        self.running.remove(container_id)
        subprocess.run(self.command("task", "kill", "--signal", "SIGKILL", container_id),
                       capture_output=True, timeout=60)
        # delete waits for the exit; a task that is still going down says so.
        def deleted():
            return subprocess.run(self.command("task", "delete", container_id),
                                  capture_output=True, timeout=60).returncode == 0
        wait_until(deleted, 20, f"{container_id} has ended", 0.05)
        self.ctr("container", "delete", container_id)


class Pod:
    """One pod: names, cgroup parent, and what the CRI plugin would annotate."""

    def __init__(self, groups, namespace, name):
        self.namespace, self.name = namespace, name
        self.uid = str(uuid.uuid4())
        self.cgroup = f"{groups}/kubepods/burstable/pod{self.uid}"
        self.sandbox = secrets.token_hex(32)

    def annotations(self, kind, **more):
        prefix = "io.kubernetes.cri."
        return {prefix + "container-type": kind, prefix + "sandbox-id": self.sandbox,
                prefix + "sandbox-name": self.name, prefix + "sandbox-namespace": self.namespace,
                prefix + "sandbox-uid": self.uid,
                **{prefix + key.replace("_", "-"): value for key, value in more.items()}}


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
        path.write_text(json.dumps({
            "machine": {"base_frequency_hz": 1e9, "cache_cycles": 44},
            "roles": {"cycles": "software:cpu-clock", "ref_cycles": "software:task-clock",
                      "l3_miss_reads": "software:page-faults",
                      "l3_miss_read_occupancy": "software:minor-faults"}}))
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
            wait_until(lambda: exporter.containers()[late[:12]]["values"]["running"] == 0, 5,
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
        (links / f"{pod.name}_{pod.namespace}_ledger-{container_id}.log").symlink_to("/none")
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
