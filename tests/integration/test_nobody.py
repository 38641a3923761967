#!/usr/bin/python3
"""Not as root: everything works that a container's names by its log link, counters and the probe take.

Two ways: started as root, which --process.user leaves behind, as in a pod; started as nobody with
CAP_PERFMON, as by systemd's User= and AmbientCapabilities=.
"""
import json
import pathlib
import secrets
import ssl
import subprocess
import tempfile
import unittest
import uuid

import harness
import web_files
from harness import Exporter, wait_until
from harness import process_status as status

NOBODY = 65534
PERFMON, BPF = 1 << 38, 1 << 39
AMBIENT = ["setpriv", f"--reuid={NOBODY}", "--regid=0", "--clear-groups",
           "--inh-caps=-all,+perfmon", "--ambient-caps=-all,+perfmon"]
FLAG = f"--process.user={NOBODY}"
STATE = "run/containerd/io.containerd.runtime.v2.task/k8s.io"


class Nobody(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.groups = self.enterContext(harness.Cgroups())
        self.host = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.host.chmod(0o755)
        self.events = self.host / "events.json"
        self.events.write_text(json.dumps(harness.SOFTWARE_EVENTS))

    def pod(self):
        """A container with its kubelet's link, in folders with the modes that the kubelet gives them,
        and the runtime's state, which is root's."""
        uid, container_id = uuid.uuid4(), secrets.token_hex(32)
        links, logs, state = (self.host / path for path in
                              ("var/log/containers", "var/log/pods", STATE))
        links.mkdir(parents=True)
        logs.mkdir(mode=0o750)
        state.mkdir(parents=True)
        (state / container_id).mkdir()
        (state / container_id / "config.json").write_text("{}")
        (self.host / "run").chmod(0o700)
        (links / f"cart-0_shop_cart-{container_id}.log").symlink_to(
            f"/var/log/pods/shop_cart-0_{uid}/cart/0.log")
        cgroup = self.groups.make(f"kubepods/burstable/pod{uid}/{container_id}")
        self.groups.spawn(cgroup, ["sh", "-c", "while :; do :; done"])

    def flags(self, *more):
        source = () if "--source=bpf" in more else ("--source=perf",)
        return (*source, f"--events.file={self.events}", f"--path.rootfs={self.host}",
                self.groups.only(), "--sampling.interval=200ms", "--no-collector.pebs_nvmm", *more)

    def test_it_works(self):
        self.pod()
        for how, options in (("flag", ({}, FLAG)), ("ambient", ({"command": AMBIENT},))):
            with self.subTest(how), Exporter(*self.flags(*options[1:]), **options[0]) as exporter:
                own = status(exporter.pid)
                self.assertEqual(set(own["Uid"].split()), {str(NOBODY)})
                self.assertEqual(own["Groups"], "")
                self.assertEqual({int(own[name], 16) for name in ("CapPrm", "CapEff")}, {PERFMON})
                self.assertEqual(own["NoNewPrivs"], "1")
                wait_until(lambda: exporter.scrape().get(
                    "interference_container_cpu_cycles_total", namespace="shop", pod="cart-0",
                    container="cart"), 20, "the container is counted, by name")
                for collector in ("core_latency", "probe", "attribution"):
                    self.assertEqual(exporter.collector(collector)["reason"], "ok")
                self.assertGreater(exporter.scrape().get("process_open_fds"), 5)

    def test_by_bpf(self):
        """The program is loaded by nobody, as in a pod with counters.bpf: its capabilities suffice."""
        if self.groups.version != 2:
            self.skipTest("BPF counts cgroups of v2")
        self.pod()
        with Exporter(*self.flags("--no-collector.probe", "--source=bpf", FLAG)) as exporter:
            own = status(exporter.pid)
            self.assertEqual(set(own["Uid"].split()), {str(NOBODY)})
            self.assertEqual({int(own[name], 16) for name in ("CapPrm", "CapEff")}, {PERFMON | BPF})
            self.assertEqual(exporter.status()["source"], "bpf")
            wait_until(lambda: exporter.scrape().get(
                "interference_container_cpu_cycles_total", namespace="shop", pod="cart-0",
                container="cart"), 20, "the container is counted, by name")

    def test_what_only_root_may_read(self):
        """Names of the runtime's state are not had, and the log says why."""
        self.pod()
        (self.host / "var").chmod(0o700)  # not even group root's
        with Exporter(*self.flags("--no-collector.probe"), FLAG) as exporter:
            exporter.wait_tick()
            wait_until(lambda: "this user may not read the runtime's state or the log links"
                       in exporter.log(), 20, "the reason")
            wait_until(lambda: exporter.scrape().select("interference_container_info"), 20,
                       "the container")
            self.assertEqual({dict(key)["namespace"] for key in
                              exporter.scrape().select("interference_container_info")}, {""})

    def test_with_certificates(self):
        """The server's processes, which read the keys, stay with the user of the start; and end."""
        harness.need_command("openssl")
        certificates = web_files.Certificates(self.host)
        certificates.authority("ca")
        certificates.server("server", "ca")
        config = self.host / "web.yml"
        config.write_text("tls_server_config: {cert_file: server.pem, key_file: server.key}\n")
        with web_files.SecureExporter(*self.flags(FLAG), f"--web.config.file={config}", context=
                                      ssl._create_unverified_context()) as exporter:
            self.assertEqual(status(exporter.pid)["Uid"].split()[0], str(NOBODY))
            self.assertEqual(exporter.get("/metrics")[0], 200)
            self.assertEqual(exporter.stop()[0], 0)

    def test_refused(self):
        """Not root by mistake: who may not change the user does not start."""
        for flags, command, code, words in (
                ((FLAG,), ["setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid"], 1,
                 "it takes CAP_SETUID"),
                ((FLAG, "--containers.names=runtime"), [], 2, "contradicts --containers.names")):
            result = subprocess.run([*command, harness.EXPORTER, "--once", *flags],
                                    capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    harness.need_command("setpriv")
    harness.main()
