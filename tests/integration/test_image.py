#!/usr/bin/python3
"""The container image: a real build of the Dockerfile with both programs, its size, and each run from
it by containerd exactly as its DaemonSet says, the exporter also with less.

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
import test_chart
from containers import Containerd
from harness import wait_until
from test_chart_governor import GIVEN, governed, of_governor
from test_chart_governor import pod as pod_of

WORK = harness.BUILD / "image"
BASE = "docker.io/library/debian:bookworm-slim"
IMAGE = "localhost/interference_exporter:test"
REVISION = "0123456789ab"
OWN = {"interference-exporter", "interference-governor"}
MORE_THAN_BASE_BYTES = 40_000_000
CTR_DEFAULTS = ("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID",
                "SETFCAP", "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE")
PERFMON = 1 << 38
BPF = 1 << 39
CHANGE_USER = 1 << 6 | 1 << 7  # SETGID, SETUID
SECCOMP = harness.SOURCE / "deploy/kubernetes/seccomp/interference-exporter.json"


def run(*argv, seconds=900, **options):
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
        # As in the published image: what is unpacked is not synced file by file.
        run("mmdebstrap", "--variant=apt", "--mode=root", "--format=tar", *excluded,
            "--dpkgopt=force-unsafe-io", suite, partial)
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
            "--build-arg", f"REVISION={REVISION}", "--build-arg", "GOVERNOR=ON", harness.SOURCE)
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
        self.assertLessEqual(OWN, more)
        self.assertEqual([name for name in more if name not in OWN and
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
sys.exit(subprocess.run(sys.argv[2:], timeout=60).returncode != 0)
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

    def mount(self, volume, mount):
        if "emptyDir" in volume:
            path = self.directory / volume["name"]
            path.mkdir(exist_ok=True)
            path.chmod(0o777)  # as the kubelet makes it
            return path, mount["mountPath"], "rw"
        self.assertIs(mount["readOnly"], True)
        path = volume["hostPath"]["path"]
        if path.startswith("/var/log"):
            path = self.directory / path[1:]
        return path, mount["mountPath"], "ro"

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
        self.assertIs(security["readOnlyRootFilesystem"], True)
        mounts = [self.mount(volume, mount) for mount in container["volumeMounts"]
                  for volume in pod["volumes"] if volume["name"] == mount["name"]]
        mounts.append((self.directory / "events.json", "/events.json", "ro"))
        link = f"exporter-0_monitoring_exporter-{self.id}.log"
        uid = uuid.uuid4()
        (self.directory / "var/log/containers" / link).symlink_to(
            f"/var/log/pods/monitoring_exporter-0_{uid}/exporter/0.log")
        self.launch(container, wanted, mounts, f"/kubepods/burstable/pod{uid}",
                    [*self.entrypoint, *container["args"], "--sampling.interval=200ms", *flags],
                    seccomp)
        self.port = 10066
        wait_until(self.is_ready, 20, "the exporter is ready", 0.1)

    def launch(self, container, capabilities, mounts, pod, argv, seccomp=()):
        limit = re.fullmatch(r"(\d+)Mi", container["resources"]["limits"]["memory"])[1]
        options = ["--read-only", "--seccomp", *seccomp,
                   *(f"--cap-drop=CAP_{name}" for name in CTR_DEFAULTS
                     if name not in capabilities),
                   *(f"--cap-add=CAP_{name}" for name in capabilities),
                   f"--memory-limit={int(limit) << 20}",
                   *(f"--mount=type=bind,src={source},dst={target},options=rbind:{mode}"
                     for source, target, mode in mounts)]
        cgroup = self.groups.path(self.groups.base) + pod
        self.containerd.ctr("run", "--detach", "--null-io", "--cgroup", f"{cgroup}/{self.id}",
                            *options, IMAGE, self.id, *argv)
        self.containerd.running.append(self.id)
        tasks = self.containerd.ctr("task", "list")
        self.pid = int(re.search(rf"^{self.id}\s+(\d+)", tasks, re.M)[1])

    def get(self, path):
        """From within the container's network, which nothing else is in."""
        return subprocess.run(
            ["nsenter", "--target", str(self.pid), "--net", "/usr/bin/python3", "-c",
             "import sys, urllib.request as r; "
             "print(r.urlopen('http://127.0.0.1:' + sys.argv[1], timeout=10).read().decode())",
             f"{self.port}{path}"], capture_output=True, text=True, timeout=30)

    def is_ready(self):
        return self.get("/-/ready").returncode == 0

    def collector(self, name):
        return next(c for c in json.loads(self.get("/api/v1/status").stdout)["collectors"]
                    if c["name"] == name)

    def status(self):
        return harness.process_status(self.pid)

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

        wait_until(lambda: self.execute(self.id, *self.healthcheck).returncode == 0, 20, "healthy", 0.1)

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

    def counts_by_bpf(self, **options):
        """As the chart has it with counters.bpf (test_chart)."""
        if self.groups.version != 2:
            self.skipTest("BPF counts cgroups of v2")
        add = daemonset()[1]["securityContext"]["capabilities"]["add"]
        self.start("--events.file=/events.json", "--source=bpf", capabilities=[*add, "BPF"], **options)
        status = json.loads(self.get("/api/v1/status").stdout)
        self.assertEqual(status["source"], "bpf", status["source_why"])
        self.assertEqual({name: int(self.status()[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")},
                         {"CapPrm": PERFMON | BPF, "CapEff": PERFMON | BPF,
                          "CapBnd": PERFMON | BPF | CHANGE_USER})
        self.assertEqual(set(self.status()["Uid"].split()), {"65534"})
        wait_until(self.counted, 10, "its own container is counted, by name", 0.1)
        self.assertEqual(self.collector("core_latency")["reason"], "ok")

    def test_counters_bpf(self):
        self.counts_by_bpf()

    def test_counters_bpf_with_own_profile(self):
        self.counts_by_bpf(seccomp=("--seccomp-profile", SECCOMP))

    def test_counters_bpf_without_the_capability(self):
        """cgroup events count, and it is said why."""
        self.start("--events.file=/events.json", "--source=bpf")
        status = json.loads(self.get("/api/v1/status").stdout)
        self.assertEqual(status["source"], "perf")
        if self.groups.version == 2:
            self.assertIn("grant CAP_BPF", status["source_why"])
        wait_until(self.counted, 10, "its own container is counted, by name", 0.1)

    # --- the governor, of the same image ---

    def start_governor(self):
        """As the chart's DaemonSet does, with folders of the test's for those of the host's /run."""
        test_chart.build_renderer()
        config = {**GIVEN["config"], "mode": "observe"}
        objects = governed({"config": config})
        pod = pod_of(of_governor(objects, "DaemonSet"))
        (container,) = pod["containers"]
        security = container["securityContext"]
        self.assertEqual((security["capabilities"], security["readOnlyRootFilesystem"]),
                         ({"drop": ["ALL"]}, True))
        for name in ("run/interference_exporter", "run/interference_governor", "config"):
            (self.directory / name).mkdir(parents=True, mode=0o700)
        (self.directory / "config/governor.json").write_text(
            of_governor(objects, "ConfigMap")["data"]["governor.json"])
        paths = {v["name"]: v.get("hostPath", {"path": "/config"})["path"] for v in pod["volumes"]}
        mounts = [(paths[m["name"]], m["mountPath"], "ro" if m.get("readOnly") else "rw")
                  for m in container["volumeMounts"]]
        mounts = [(source if source.startswith("/sys") else self.directory / source[1:], *rest)
                  for source, *rest in mounts]
        self.enterContext(harness.Exporter(
            f"--events.file={self.directory / 'events.json'}", "--no-collector.probe",
            "--sampling.interval=200ms",
            f"--web.listen-address=unix:{self.directory}/run/interference_exporter/exporter.sock"))
        args = [a.replace("$(POD_IP)", "127.0.0.2") for a in container["args"]]  # as the kubelet does
        self.launch(container, [], mounts, "/kubepods/governor", [*container["command"], *args])
        self.governor_files = [a for a in container["args"] if a.startswith(("--config", "--path"))]
        self.port = 10067

    def test_governor(self):
        """It observes, as user 0 without a capability, and writes nothing."""
        self.start_governor()
        wait_until(self.is_ready, 60, "the governor sees the exporter's ticks", 0.1)
        status = self.status()
        self.assertEqual({status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")},
                         {"0" * 16})
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
        page = harness.parse_text(self.get("/metrics").stdout[:-1])
        self.assertEqual(page.get("interference_governor_exporter_up"), 1)
        self.assertEqual(page.get("interference_governor_mode", mode="observe"), 1)
        self.assertEqual(list((self.directory / "run/interference_governor").iterdir()), [])
        refused = self.execute(self.id, "touch", "/written")
        self.assertIn("Read-only file system", refused.stdout + refused.stderr)
        program = "/usr/bin/interference_governor"
        said = self.execute("--user", "65534:65534", self.id, program, "--help")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("--enforce", said.stdout)
        checked = self.execute(self.id, program, "--check", *self.governor_files)
        self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("buildah", "mmdebstrap", "containerd", "ctr", "runc", "nsenter")
    harness.main()
