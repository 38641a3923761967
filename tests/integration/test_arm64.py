#!/usr/bin/python3
"""For 64-bit Arm, by Debian's cross compiler, and run by qemu-user: the recordings' pages, a page of
this machine, and the system calls of the seccomp profile.

qemu-user has no perf events, no seccomp and no Landlock, so neither counters nor the confinement are
seen here: counters are in test_pmu_vm.
"""
import json
import re
import subprocess
import tempfile
import unittest
import urllib.request

import arm64
import harness
import test_golden
from arm64 import run
from harness import wait_until

PROFILE = harness.SOURCE / "deploy/kubernetes/seccomp/interference-exporter.json"
PROGRAM = arm64.PROGRAM
QEMU = ["qemu-aarch64", "-L", arm64.ROOT]
# Those that this qemu has no name for; the numbers are the same on all newer architectures.
NUMBERS = {"293": "rseq", "437": "openat2", "439": "faccessat2", "444": "landlock_create_ruleset"}


def setUpModule():
    arm64.build()


def near(one, other):
    """The same line, but for the last digits of its number: Arm multiplies and adds in one step."""
    (name, number), (other_name, other_number) = (s.rsplit(" ", 1) for s in (one, other))
    if name != other_name or one == other:
        return one == other
    return abs(float(number) - float(other_number)) <= 1e-12 * abs(float(number))


class Arm64(unittest.TestCase):
    def test_it_is(self):
        self.assertIn("ARM aarch64", run("file", PROGRAM))
        self.assertRegex(run(*QEMU, PROGRAM, "--version"), r"^interference_exporter \d")

    def test_pages(self):
        """Those of the recordings, as on x86-64."""
        self.assertGreaterEqual(len(test_golden.RECORDINGS), 5)
        same = 0
        for recording in test_golden.RECORDINGS:
            flags = recording.with_suffix(".flags")
            extra = flags.read_text().replace("{dir}", str(harness.REPLAYS)).split("\n") \
                if flags.exists() else []
            page = test_golden.golden_part(run(
                *QEMU, PROGRAM, "--source=replay", f"--source.replay.file={recording}", "--once",
                "--web.disable-exporter-metrics", *filter(None, extra))).splitlines()
            golden = recording.with_suffix(".prom").read_text().splitlines()
            self.assertEqual(len(page), len(golden), recording.stem)
            self.assertEqual([(a, b) for a, b in zip(page, golden) if not near(a, b)], [],
                             recording.stem)
            same += page == golden
        self.assertGreater(same, len(test_golden.RECORDINGS) // 2)

    def test_this_machine(self):
        """The probe works, and what cannot is said."""
        page = harness.parse_text(run(*QEMU, PROGRAM, "--once"))
        def reason(collector):
            ((key, _),) = page.select("interference_exporter_collector_info",
                                      collector=collector).items()
            return dict(key)["reason"]
        self.assertEqual((reason("probe"), reason("core_latency"), reason("attribution")),
                         ("ok", "no_pmu", "ok"))

    def test_profile(self):
        """Serving a page takes no system call that the seccomp profile does not name."""
        profile = json.loads(PROFILE.read_text())
        self.assertEqual(profile["architectures"], ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"])
        allowed = {name for rule in profile["syscalls"] for name in rule["names"]}
        port = harness.free_port()
        trace = self.enterContext(tempfile.TemporaryFile("w+"))
        process = harness.start([*QEMU, "-strace", PROGRAM, "--sampling.interval=200ms",
                                 f"--web.listen-address=127.0.0.1:{port}"],
                                stdout=subprocess.DEVNULL, stderr=trace)

        def served():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
                    return b"\ninterference_memory_probe_latency_seconds{" in page.read()
            except OSError:
                return False
        try:
            wait_until(served, 30, "a page with the probe's latency", 0.2)
        finally:
            harness.stop(process)
        trace.seek(0)
        text = trace.read()
        called = set(re.findall(r"^\d+ ([a-z]\w+)\(", text, re.M))
        called |= {NUMBERS.get(n, n) for n in re.findall(r"Unknown syscall (\d+)", text)}
        self.assertGreaterEqual(called, {"openat", "epoll_pwait", "perf_event_open", "sendmsg"})
        self.assertEqual(called - allowed, set())


if __name__ == "__main__":
    harness.need_command("aarch64-linux-gnu-gcc", "qemu-aarch64", "mmdebstrap", "cmake", "ninja",
                         "file")
    harness.main()
