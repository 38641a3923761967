#!/usr/bin/python3
"""The governor's unit, under a real systemd: nobody starts it, it runs without any capability, may write
cgroups and nothing else, and however it ends, the next one comes and what it took is given back. With
its drop-in it has one capability, and moves threads of others; without, it says what it lacks."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest
import urllib.request

import harness
import test_service
from harness import wait_until
from test_governor_threads import CPUS, Teller

UNIT = "interference_governor.service"
CONFIG = "/run/ie/governor.json"
SOCKET = "/run/ie/exporter.sock"
EXAMPLES = "run/ie/share/doc/interference-governor/examples"
NICE = 1 << 23
WRITER = "[Service]\nExecStart=/bin/sh -c 'sleep infinity & sleep infinity & wait'\n"
test_service.UNIT = UNIT  # whose properties the machine shows and changes


def install(directory):
    """As the package does it, which is a component of its own."""
    subprocess.run(["cmake", "--install", harness.BUILD, "--component", "governor", "--prefix",
                    "/run/ie"], check=True, capture_output=True,
                   env={**os.environ, "DESTDIR": str(directory)})
    return directory / "run/ie/lib/systemd/system" / UNIT


class Unit(unittest.TestCase):
    def test_verify(self):
        with tempfile.TemporaryDirectory(dir=harness.BUILD) as directory:
            subprocess.run(["cmake", "--install", harness.BUILD, "--component", "governor",
                            "--prefix", directory], check=True, capture_output=True)
            unit = pathlib.Path(directory, "lib/systemd/system", UNIT)
            test_service.verify(unit)
            # An exporter that restarts all the time must not restart it, too.
            self.assertNotRegex(unit.read_text(), r"(?m)^(BindsTo|Requires|PartOf)=")


class Service(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        if (harness.perf_hierarchy() or (0,))[0] != 2:
            self.skipTest("perf's cgroup hierarchy is not v2, systemd's own here would be")
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        machine = test_service.Machine(directory)
        unit = install(directory)
        # The machine's /etc cannot be written to.
        unit.write_text(unit.read_text().replace("/etc/interference_governor.json", CONFIG))
        (directory / "units/writer.service").write_text(WRITER)
        example = directory / EXAMPLES / "interference_governor.json"
        (directory / CONFIG[1:]).write_bytes(example.read_bytes())
        self.machine = self.enterContext(machine)
        self.port = harness.free_port()
        self.addCleanup(self.tell)

    def tell(self):
        if self._outcome.result.failures or self._outcome.result.errors:
            print(self.machine.systemctl("status", UNIT, check=False).stdout)

    def start(self, service=""):
        self.machine.change(f"[Service]\nEnvironment=ARGS=--web.listen-address=127.0.0.1:{self.port}\n"
                            f"{service}\n")
        self.machine.systemctl("start", UNIT)  # returns at READY=1
        self.assertEqual(self.machine.show("ActiveState"), "active")

    def expect_capabilities(self, expected):
        status = pathlib.Path(f"/proc/{self.machine.pid()}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        self.assertEqual({int(fields[name], 16) for name in ("CapBnd", "CapPrm", "CapEff")},
                         {expected})
        self.assertEqual((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"))

    def test_runs_with_nothing(self):
        """Not started by itself; without capabilities; its directory is its own, and outlives it."""
        self.assertEqual(self.machine.show("ActiveState"), "inactive")
        self.start()
        self.expect_capabilities(0)
        # systemd's own socket, by which user 0 has anything done, is another file there.
        private = "run/systemd/private"
        seen = [os.stat(f"/proc/{pid}/root/{private}") for pid in
                (self.machine.init, self.machine.pid(), *harness.children(self.machine.pid()))]
        self.assertEqual([status.st_ino == seen[0].st_ino for status in seen], [True, False, False])
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as answer:
            self.assertIn('interference_governor_mode{mode="observe"} 1', answer.read().decode())
        self.machine.systemctl("reload", UNIT)
        self.machine.systemctl("stop", UNIT)
        self.assertEqual(self.machine.show("Result"), "success")
        self.assertEqual(self.machine.inside("stat", "-c%a %U", "/run/interference_governor").stdout,
                         "700 root\n")

    def test_comes_back(self):
        """Killed, it is followed by --restore and the next one; a wrong file ends it for good."""
        self.start("RestartSec=100ms\nExecStopPost=/bin/sh -c 'echo $EXIT_STATUS >>/run/stopped'")
        first = self.machine.pid()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: self.machine.show("NRestarts") == "1", 20, "it is started again", 0.1)
        wait_until(lambda: self.machine.show("ActiveState") == "active", 10, "it is up again", 0.1)
        # Ours came after the unit's own, which must have ended well.
        self.assertEqual(self.machine.inside("cat", "/run/stopped").stdout, "KILL\n")
        self.machine.systemctl("stop", UNIT)
        # Also with a wrong file --restore ends well.
        self.machine.inside("rm", "/run/stopped")
        self.machine.systemctl("start", UNIT)
        self.machine.inside("bash", "-c", f"echo '{{}}' >{CONFIG}")
        os.kill(self.machine.pid(), signal.SIGKILL)
        wait_until(lambda: self.machine.show("ActiveState") == "failed", 20, "it stays away", 0.1)
        self.assertEqual(self.machine.inside("cat", "/run/stopped").stdout, "KILL\n2\n")
        self.assertNotEqual(self.machine.systemctl("start", UNIT, check=False).returncode, 0)
        self.assertEqual((self.machine.show("ActiveState"), self.machine.show("ExecMainStatus")),
                         ("failed", "2"))

    def test_watchdog(self):
        """Of the unit itself."""
        self.start("RestartSec=100ms")
        first = self.machine.pid()
        os.kill(first, signal.SIGSTOP)  # it hangs
        wait_until(lambda: int(self.machine.show("NRestarts") or 0) >= 1, 30, "it is restarted", 0.1)
        wait_until(lambda: self.machine.show("ActiveState") == "active", 10, "it is up again", 0.1)
        self.assertNotEqual(self.machine.pid(), first)

    def writers(self):
        """A service, and an exporter that says that it stores: (that, what tells its CPUs)."""
        self.machine.systemctl("start", "writer.service")
        inside = lambda *argv: self.machine.inside(*argv).stdout.split()
        (path,) = inside("systemctl", "show", "--value", "--property=ControlGroup", "writer.service")
        directory = pathlib.Path(f"{self.machine.groups.mount}{path}")
        wait_until(lambda: len((directory / "cgroup.procs").read_text().split()) == 3, 10, "it runs")
        pids = inside("cat", f"/sys/fs/cgroup{path}/cgroup.procs")
        exporter = Teller(directory, path, int(pids[0]), [int(pid) for pid in pids],
                          ("", "", "writer.service"), f"/proc/{self.machine.init}/root{SOCKET}")
        self.addCleanup(exporter.close)
        return exporter, lambda: set(inside("sed", "-n", r"s/^Cpus_allowed_list:\s*//p",
                                            *(f"/proc/{pid}/status" for pid in pids)))

    @unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
    def test_moves_threads(self):
        """With the drop-in of the package; without it, it does not start, and says what it lacks. It is
        killed: --restore has the capability as well."""
        exporter, cpus = self.writers()
        before = cpus()
        self.machine.inside("bash", "-c", f'printf %s "$1" >{CONFIG}', "-",
                            exporter.configuration("/run/interference_governor", SOCKET))
        self.machine.change(
            "[Service]\nRestart=no\nStandardError=append:/run/log\nEnvironment="
            f"'ARGS=--enforce --web.listen-address=127.0.0.1:{self.port}'\n")
        self.assertNotEqual(self.machine.systemctl("start", UNIT, check=False).returncode, 0)
        self.assertRegex(self.machine.inside("cat", "/run/log").stdout,
                         "no actuator affinity: .*needs CAP_SYS_NICE: give it to the service")
        self.assertEqual(cpus(), before)

        self.machine.inside("cp", f"/{EXAMPLES}/affinity.conf", f"/run/units/{UNIT}.d")
        self.machine.systemctl("daemon-reload")
        self.machine.systemctl("start", UNIT)
        self.expect_capabilities(NICE)
        wait_until(lambda: cpus() == {str(CPUS[-1])}, 20, "all are kept on the last CPU", 0.1)
        os.kill(self.machine.pid(), signal.SIGKILL)
        wait_until(lambda: self.machine.show("ActiveState") == "failed", 20, "it has ended", 0.1)
        self.assertEqual(cpus(), before)

    def test_what_is_forbidden(self):
        """All but what it is for: writing control files of cgroups, which are user 0's."""
        write = ("own=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup) && "
                 "echo max >$own/cgroup.max.depth")
        self.machine.change("[Service]\nType=oneshot\nWatchdogSec=0\nRestart=no\nExecStart=\n"
                            "ExecStopPost=\nExecStart=/usr/bin/python3 /run/ie/tries.py\n"
                            f"ExecStart=/bin/sh -c '{write.replace('$', '$$')}'\n"
                            "StandardOutput=append:/run/tries.out\n")
        self.machine.systemctl("start", UNIT)
        tried = json.loads(self.machine.inside("cat", "/run/tries.out").stdout)
        self.assertEqual([name for name, error in tried.items() if not error], [])


if __name__ == "__main__":
    harness.need_command("cmake", "systemd-analyze", "unshare", "nsenter")
    harness.main()
