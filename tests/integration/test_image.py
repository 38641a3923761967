#!/usr/bin/python3
"""The container image: a real build of the Dockerfile, its size, and the exporter run from it by
containerd exactly as the committed DaemonSet says, then with less.

The base image is made from Debian's packages on the spot. Everything stays below BUILD/image; the
base is kept there for the next run.
"""
import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import tempfile
import unittest
import uuid

import yaml

import harness
from containers import Containerd
from harness import wait_until

WORK = harness.BUILD / "image"
BASE = "docker.io/library/debian:bookworm-slim"
IMAGE = "localhost/interference_exporter:test"
REVISION = "0123456789ab"
MORE_THAN_BASE_BYTES = 40_000_000
CTR_DEFAULTS = ("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID",
                "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")
PERFMON = 1 << 38
CHANGE_USER = 1 << 6 | 1 << 7  # SETGID, SETUID
SECCOMP = harness.SOURCE / "deploy/kubernetes/seccomp/interference-exporter.json"


def run(*argv, seconds=300, **options):
    result = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=seconds,
                            env={**os.environ, "LC_ALL": "C"}, **options)
    assert result.returncode == 0, f"{argv}: {result.stdout[-4000:]}{result.stderr[-4000:]}"
    return result.stdout


def buildah(*argv, **options):
    return run("buildah", "--root", WORK / "store", "--runroot", WORK / "run", *argv, **options)


def make_base():
    """What Debian's slim image is: a minimal system without documentation."""
    base = WORK / "base.tar"
    if not base.exists():
        suite = re.search(r"debian:(\w+)-slim", (harness.SOURCE / "Dockerfile").read_text())[1]
        partial = WORK / "base.partial"
        excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in
                    ("doc", "man", "info", "locale")]
        run("mmdebstrap", "--variant=apt", "--mode=root", "--format=tar", *excluded, suite, partial)
        partial.rename(base)
    container = buildah("from", "scratch").strip()
    buildah("add", "--quiet", container, base, "/")
    buildah("commit", "--quiet", "--rm", container, BASE)


def setUpModule():
    """One build for all tests; of a store that an earlier run left nothing is taken."""
    WORK.mkdir(exist_ok=True)
    remove_store()
    make_base()
    buildah("bud", "--isolation", "chroot", "--pull-never", "--format", "docker", "--tag", IMAGE,
            "--build-arg", f"REVISION={REVISION}", harness.SOURCE)
    (WORK / "image.tar").unlink(missing_ok=True)
    buildah("push", "--quiet", "--disable-compression", IMAGE, f"oci-archive:{WORK / 'image.tar'}:{IMAGE}")


def tearDownModule():
    remove_store()
    (WORK / "image.tar").unlink(missing_ok=True)


def remove_store():
    if (WORK / "store").exists():
        buildah("rm", "--all")
        buildah("rmi", "--all", "--force")
    for name in ("store", "run"):
        shutil.rmtree(WORK / name, ignore_errors=True)


class Image(unittest.TestCase):
    def test_size(self):
        def layers(name):
            manifest = json.loads(json.loads(buildah("inspect", "--type", "image", name))["Manifest"])
            return [layer["size"] for layer in manifest["layers"]]
        base, whole = layers(BASE), layers(IMAGE)
        self.assertEqual(whole[:len(base)], base)
        more = sum(whole) - sum(base)
        print(f"{more / 1e6:.1f} MB above the base's {sum(base) / 1e6:.0f} MB ", end="")
        self.assertLess(more, MORE_THAN_BASE_BYTES)

    def test_contents(self):
        """Libraries and the program; no compiler, no headers, nothing of the build."""
        def packages(image):
            root = pathlib.Path(buildah("mount", buildah("from", "--pull-never", image).strip())
                                .strip())
            return set(re.findall(r"^Package: (.*)$", (root / "var/lib/dpkg/status").read_text(),
                                  re.M)), root
        whole, root = packages(IMAGE)
        more = whole - packages(BASE)[0]
        self.assertIn("interference-exporter", more)
        self.assertEqual([name for name in more if name != "interference-exporter" and
                          (not name.startswith("lib") or name.endswith("-dev"))], [])
        sbom = (root / "usr/share/doc/interference-exporter/sbom.spdx").read_text()
        self.assertEqual(set(re.findall(r"^PackageName: (.*)$", sbom, re.M)), whole)
        # What the shared libraries are for is run below; here, that apt left nothing behind.
        self.assertEqual(list((root / "var/lib/apt/lists").iterdir()), [])

    def test_config(self):
        config = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        self.assertEqual(config["Entrypoint"], ["/usr/bin/interference_exporter"])
        self.assertEqual(list(config["ExposedPorts"]), ["10066/tcp"])
        self.assertIn("org.opencontainers.image.title", config["Labels"])
        (kind, *check) = config["Healthcheck"]["Test"]
        self.assertEqual(kind, "CMD")
        labels = config["Labels"]
        self.assertEqual(labels["org.opencontainers.image.version"], re.search(
            r"VERSION (\S+)", (harness.SOURCE / "CMakeLists.txt").read_text().split("project(")[1])[1])
        self.assertEqual(labels["org.opencontainers.image.base.name"], BASE)
        self.assertEqual(labels["org.opencontainers.image.revision"], REVISION)
        self.assertEqual(check[0], config["Entrypoint"][0])
        check[0] = str(harness.EXPORTER)
        for answer, healthy in ((200, True), (503, False), (0, False)):
            # In a network of its own, where the port is free.
            result = subprocess.run(
                ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "-",
                 "/usr/bin/python3", "-c", ANSWERS, str(answer), *check],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode == 0, healthy, f"{answer}: {result.stderr}")


# A server that gives the answer, or none at all (0), and the check against it.
ANSWERS = r"""
import http.server, subprocess, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[1]) if self.path == "/-/healthy" else 404)
        self.end_headers()
    def log_message(self, *_):
        pass
if int(sys.argv[1]):
    server = http.server.HTTPServer(("127.0.0.1", 10066), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
sys.exit(subprocess.run(sys.argv[2:], timeout=10).returncode != 0)
"""


def daemonset():
    text = (harness.SOURCE / "deploy/kubernetes/manifests/daemonset.yaml").read_text()
    pod = yaml.safe_load(text)["spec"]["template"]["spec"]
    return pod, pod["containers"][0]


class Container(unittest.TestCase):
    """As a pod of the DaemonSet, by containerd with its default seccomp profile."""

    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.groups = cls.enterClassContext(harness.Cgroups())
        cls.containerd = cls.enterClassContext(Containerd(cls.directory))
        cls.containerd.ctr("images", "import", WORK / "image.tar")
        config = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        cls.entrypoint = config["Entrypoint"]
        cls.healthcheck = config["Healthcheck"]["Test"][1:]
        (cls.directory / "events.json").write_text(json.dumps(harness.SOFTWARE_EVENTS))
        for name in ("containers", "pods"):
            (cls.directory / "var/log" / name).mkdir(parents=True)

    def setUp(self):
        self.id = secrets.token_hex(32)
        self.addCleanup(self.end)

    def end(self):
        if self.id in self.containerd.running:
            self.containerd.end(self.id)

    def start(self, *flags, capabilities=None, seccomp=()):
        """The pod's settings in ctr's words; the host's log folders are the test's."""
        pod, container = daemonset()
        security = container["securityContext"]
        self.assertEqual(security["capabilities"]["drop"], ["ALL"])
        self.assertEqual((security["privileged"], security["allowPrivilegeEscalation"]),
                         (False, False))
        self.assertEqual((pod["hostPID"], pod["hostNetwork"], pod["securityContext"]["runAsUser"]),
                         (False, False, 0))
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        wanted = security["capabilities"]["add"] if capabilities is None else capabilities
        options = ["--read-only", "--seccomp", *seccomp,
                   *(f"--cap-drop=CAP_{name}" for name in CTR_DEFAULTS
                     if name not in wanted),
                   *(f"--cap-add=CAP_{name}" for name in wanted)]
        self.assertIs(security["readOnlyRootFilesystem"], True)
        paths = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"]}
        mounts = [(paths[m["name"]], m["mountPath"]) for m in container["volumeMounts"]]
        mounts.append((self.directory / "events.json", "/events.json"))
        for source, target in mounts:
            if str(source).startswith("/var/log"):
                source = self.directory / str(source)[1:]
            options.append(f"--mount=type=bind,src={source},dst={target},options=rbind:ro")
        link = f"exporter-0_monitoring_exporter-{self.id}.log"
        uid = uuid.uuid4()
        (self.directory / "var/log/containers" / link).symlink_to(
            f"/var/log/pods/monitoring_exporter-0_{uid}/exporter/0.log")
        cgroup = self.groups.path(self.groups.base) + f"/kubepods/burstable/pod{uid}"
        self.containerd.ctr("run", "--detach", "--null-io", "--cgroup", f"{cgroup}/{self.id}",
                            *options, IMAGE, self.id, *self.entrypoint,
                            *container["args"], "--sampling.interval=200ms", *flags)
        self.containerd.running.append(self.id)
        tasks = self.containerd.ctr("task", "list")
        self.pid = int(re.search(rf"^{self.id}\s+(\d+)", tasks, re.M)[1])
        wait_until(self.is_ready, 20, "the exporter is ready", 0.1)

    def get(self, path):
        """From within the container's network, which nothing else is in."""
        return subprocess.run(
            ["nsenter", "--target", str(self.pid), "--net", "/usr/bin/python3", "-c",
             "import sys, urllib.request as r; "
             "print(r.urlopen('http://127.0.0.1:10066' + sys.argv[1], timeout=10).read().decode())",
             path], capture_output=True, text=True, timeout=30)

    def is_ready(self):
        return self.get("/-/ready").returncode == 0

    def collector(self, name):
        return next(c for c in json.loads(self.get("/api/v1/status").stdout)["collectors"]
                    if c["name"] == name)

    def status(self):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return dict(re.findall(r"^(\w+):\t(.*)$", text, re.M))

    def execute(self, *argv):
        return subprocess.run(
            [str(a) for a in self.containerd.command("task", "exec", "--exec-id",
                                                     secrets.token_hex(4), *argv)],
            capture_output=True, text=True, timeout=30)

    def counted(self):
        page = harness.parse_text(self.get("/metrics").stdout[:-1])
        return page.select("interference_container_cpu_cycles_total", namespace="monitoring",
                           pod="exporter-0", container="exporter")

    def test_as_documented(self):
        self.start("--events.file=/events.json")
        status = self.status()
        self.assertEqual({name: int(status[name], 16) for name in
                          ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")},
                         {"CapPrm": PERFMON, "CapEff": PERFMON, "CapBnd": PERFMON | CHANGE_USER,
                          "CapInh": 0, "CapAmb": 0})
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        self.assertEqual(set(status["Uid"].split()), {"65534"})
        wait_until(self.counted, 10, "its own container is counted, by name", 0.1)
        self.assertEqual(self.collector("core_latency")["reason"], "ok")
        self.assertEqual(self.collector("probe")["reason"], "ok", self.collector("probe"))

        healthy = self.execute(self.id, *self.healthcheck)
        self.assertEqual(healthy.returncode, 0, healthy.stderr)

        # Another user in the same container has none of root's capabilities, and the exporter says so.
        result = self.execute("--user", "65534:65534", self.id, *self.entrypoint, "--once",
                              "--path.cgroupfs=/host/sys/fs/cgroup", "--events.file=/events.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ('collector="core_latency",reason="no_permission"} 1',
                      'collector="probe",reason="ok"} 1'):
            self.assertIn("interference_exporter_collector_info{" + words, result.stdout)

    def test_without_perfmon(self):
        """It runs, and says what is missing."""
        self.start("--events.file=/events.json", capabilities=["SETUID", "SETGID"])
        self.assertEqual(int(self.status()["CapBnd"], 16), CHANGE_USER)
        core = self.collector("core_latency")
        self.assertEqual(core["reason"], "no_permission")
        self.assertIn("CAP_PERFMON", core["words"])
        self.assertEqual(self.collector("probe")["reason"], "ok")

    def test_own_profile(self):
        """The Localhost profile: all that is used is in it, and what is not is refused."""
        self.start("--events.file=/events.json", seccomp=("--seccomp-profile", SECCOMP))
        wait_until(self.counted, 10, "its own container is counted, by name", 0.1)
        self.assertEqual(self.collector("probe")["reason"], "ok")
        refused = self.execute(self.id, "unshare", "--user", "true")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("Operation not permitted", refused.stdout + refused.stderr)


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("buildah", "mmdebstrap", "containerd", "ctr", "runc", "nsenter")
    harness.main()
