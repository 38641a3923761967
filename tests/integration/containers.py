"""A real containerd of the test's own, and containers in it as the CRI plugin would start them."""
import contextlib
import hashlib
import io
import json
import os
import pathlib
import secrets
import subprocess
import tarfile
import uuid

import harness
from harness import wait_until

IMAGE = "docker.io/library/ie-test:1"


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
        def answers():
            with contextlib.suppress(subprocess.TimeoutExpired):
                return subprocess.run(self.command("version"), capture_output=True,
                                      timeout=30).returncode == 0
            return False

        try:
            wait_until(answers, 20, "containerd answers", 0.1)
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

    def run(self, container_id, cgroup, annotations, *argv, flags=()):
        flags = [*flags, *(x for k, v in annotations.items() for x in ("--annotation", f"{k}={v}"))]
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
