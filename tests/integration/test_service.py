#!/usr/bin/python3
"""The systemd unit, under a real systemd that is PID 1 of the test's own namespaces.

The installed files, the restrictions of the unit as systemd applies them, the watchdog, and what
is said with fewer capabilities. What the sandbox forbids is tried from inside, with a control
outside it.
"""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.request

import harness
from harness import wait_until

UNIT = "interference_exporter.service"
PERFMON = 1 << 38
# Where 'unit' says less, the exposure of systemd-analyze security is at most this.
EXPOSURE = 2.5

# The machine for systemd: its own view of cgroups and processes, an /etc that cannot be written
# to, and units of the test alone, so that nothing of the host is started.
BOOT = r"""
set -eu
mount --make-rprivate /
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/systemd /run/units
cp -a "$1/run/ie" /run/ie
cp "$1"/run/ie/lib/systemd/system/* "$1"/units/* /run/units/
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /var/tmp
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount --bind /etc /etc
mount -o remount,bind,ro /etc
hostname ie-test
exec env -i container=ie-test PATH="$PATH" SYSTEMD_UNIT_PATH=/run/units \
    /lib/systemd/systemd --system --unit=ie.target --log-target=console
"""

# Tries what the unit forbids; prints {name: was it refused}. Each try is its own process.
TRIES = r"""
import ctypes, errno, json, mmap, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
def writes(path):
    open(path, "w").close(); os.unlink(path)
def wx():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
TRIES = {
    "write /usr": lambda: writes("/usr/ie-test"),
    "write /var/lib": lambda: writes("/var/lib/ie-test"),
    "make a cgroup": lambda: (os.mkdir("/sys/fs/cgroup/ie-try"), os.rmdir("/sys/fs/cgroup/ie-try")),
    "a sysctl": lambda: open("/proc/sys/kernel/hostname", "w").close(),
    "a disk": lambda: os.stat("/dev/kmsg"),
    "raw sockets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "user namespaces": lambda: call(libc.unshare(0x10000000)),
    "mount": lambda: call(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None)),
    "another user": lambda: os.setuid(1000),
    "another hostname": lambda: socket.sethostname("ie-test"),
    "code that can be written": wx,
    "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "another process's files": lambda: os.listdir("/proc/1/root"),
    "a process's memory": lambda: call(libc.ptrace(0x4206, os.getppid(), 0, 0)),
}
refused = {}
for name, attempt in TRIES.items():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            attempt()
        except OSError as error:
            os.write(write, errno.errorcode[error.errno].encode())
        os._exit(0)
    os.close(write)
    refused[name] = os.read(read, 64).decode()
    os.close(read)
    os.waitpid(pid, 0)
print(json.dumps(refused))
"""


def install(directory):
    """As `cmake --install` does it, for the prefix /run/ie."""
    subprocess.run(["cmake", "--install", harness.BUILD, "--prefix", "/run/ie"], check=True,
                   capture_output=True, env={**os.environ, "DESTDIR": str(directory)})


class Machine:
    """A systemd with the exporter's unit. Ends with all its processes. A context manager."""

    def __init__(self, directory):
        self.directory = directory
        self.groups = harness.Cgroups()
        self.process = None
        units = directory / "units"
        units.mkdir()
        for name in ("ie", "basic", "sysinit", "shutdown", "multi-user", "sockets"):
            (units / f"{name}.target").write_text(f"[Unit]\nDescription={name}\n")
        install(directory)
        (directory / "run/ie/tries.py").write_text(TRIES)
        (directory / "run/ie/events.json").write_text(json.dumps(harness.SOFTWARE_EVENTS))
        (directory / "run/ie/idle.jsonl").write_bytes(
            (harness.REPLAYS / "idle.jsonl").read_bytes())

    def __enter__(self):
        self.groups.__enter__()
        self.log = open(self.directory / "systemd.log", "w+b")
        self.process = self.groups.spawn(
            self.groups.base,
            ["unshare", "--mount", "--pid", "--fork", "--ipc", "--uts", "--kill-child", "bash",
             "-c", BOOT, "boot", self.directory],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            wait_until(self.is_running, 20, "systemd is running", 0.05, patience=2)
        except AssertionError:
            reason = pathlib.Path(self.log.name).read_text(errors="replace").strip()
            self.__exit__()
            raise unittest.SkipTest(f"systemd does not run here: {reason[-300:]}") from None
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()
        self.groups.__exit__()

    def is_running(self):
        if self.process.poll() is not None:
            raise AssertionError("it has ended")
        children = pathlib.Path(
            f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            return False
        self.init = int(children[0])
        return self.systemctl("is-system-running", check=False).stdout.strip() == "running"

    def inside(self, *argv, check=True):
        result = subprocess.run(["nsenter", "--target", str(self.init), "--all", *argv],
                                capture_output=True, text=True, timeout=60)
        assert not check or result.returncode == 0, f"{argv}: {result.stdout}{result.stderr}"
        return result

    def systemctl(self, *argv, **options):
        return self.inside("systemctl", "--no-pager", *argv, **options)

    def show(self, name):
        return self.systemctl("show", "--value", "--property", name, UNIT).stdout.strip()

    def change(self, text):
        """The drop-in of this test, in place of the one before."""
        path = f"/run/units/{UNIT}.d"
        self.inside("bash", "-c", f'mkdir -p {path} && printf %s "$1" >{path}/test.conf', "-", text)
        self.systemctl("daemon-reload")

    def pid(self):
        """The main process, by the host's numbers."""
        inner = self.show("MainPID")
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                match = re.search(r"^NSpid:\s+(\d+)\s+(\d+)$", status.read_text(), re.M)
                if match and match[2] == inner and os.path.samefile(
                        status.parent / "ns/pid", f"/proc/{self.init}/ns/pid"):
                    return int(match[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
        raise AssertionError(f"no process {inner}")


def verify(unit, *others):
    """As systemd reads it, and how much it exposes."""
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", unit, *others],
                            capture_output=True, text=True, timeout=60)
    # Other units of the machine are not judged here.
    complaints = [line for line in result.stderr.splitlines()
                  if UNIT.removesuffix(".service") in line]
    assert complaints == [], complaints
    subprocess.run(["systemd-analyze", "security", "--offline=true",
                    f"--threshold={int(EXPOSURE * 10)}", unit],
                   check=True, stdout=subprocess.DEVNULL, timeout=60)


class Unit(unittest.TestCase):
    def test_verify(self):
        with tempfile.TemporaryDirectory(dir=harness.BUILD) as directory:
            subprocess.run(["cmake", "--install", harness.BUILD, "--prefix", directory],
                           check=True, capture_output=True)
            unit = f"{directory}/lib/systemd/system/{UNIT}"
            verify(unit, unit.replace(".service", ".socket"))


class Service(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        if (harness.perf_hierarchy() or (0,))[0] != 2:
            self.skipTest("perf's cgroup hierarchy is not v2, systemd's own here would be")
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.machine = self.enterContext(Machine(directory))
        self.port = harness.free_port()
        self.addCleanup(self.tell)

    def tell(self):
        if self._outcome.result.failures or self._outcome.result.errors:
            print(self.machine.systemctl("status", UNIT, check=False).stdout,
                  self.machine.systemctl("show", "--property=ExecMainStatus", UNIT).stdout)

    def start(self, *flags, service=""):
        arguments = " ".join(("--sampling.interval=100ms", *flags))
        self.machine.change(f"[Service]\nEnvironment=LISTEN_ADDRESS=127.0.0.1:{self.port}\n"
                            f"Environment='ARGS={arguments}'\n{service}\n")
        self.machine.systemctl("start", UNIT)  # returns at READY=1
        self.assertEqual(self.machine.show("ActiveState"), "active")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def collector(self, name):
        return next(c for c in json.loads(self.get("/api/v1/status"))["collectors"]
                    if c["name"] == name)

    def test_measures(self):
        """Everything works within the restrictions, with CAP_PERFMON and no more."""
        self.start("--events.file=/run/ie/events.json", "--containers.all-cgroups")
        status = pathlib.Path(f"/proc/{self.machine.pid()}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        self.assertEqual(int(fields["CapBnd"], 16), PERFMON)
        self.assertEqual(int(fields["CapPrm"], 16), PERFMON)
        self.assertEqual((fields["NoNewPrivs"], fields["Seccomp"]), ("1", "2"))

        def counted():
            page = harness.parse_text(self.get("/metrics"))
            own = page.select("interference_container_cpu_cycles_total",
                              container=UNIT)
            return own and all(value > 0 for value in own.values())
        wait_until(counted, 10, "the service's own cgroup is counted", 0.1)
        self.assertEqual(self.collector("core_latency")["reason"], "ok")
        self.assertEqual(self.collector("probe")["reason"], "ok", self.collector("probe"))
        wait_until(lambda: "interference_memory_probe_latency_seconds{" in self.get("/metrics"),
                   20, "the probe has measured", 0.1)

        self.machine.systemctl("reload", UNIT)
        self.machine.systemctl("stop", UNIT)
        self.assertEqual(self.machine.show("Result"), "success")

    def test_what_it_writes(self):
        """The black box without a flag, and a state file that is asked for: in its own directory."""
        directory = "/var/lib/interference_exporter"

        def document(name):
            return json.loads(self.get(f"/api/v1/{name}"))

        def files():
            return self.machine.inside("ls", f"{directory}/blackbox").stdout.split()
        self.start("--events.file=/run/ie/events.json", "--containers.all-cgroups",
                   f"--state.file={directory}/state")
        self.assertIn("there was none", document("status")["state"]["at_start"])
        self.assertEqual(document("blackbox")["directory"], f"{directory}/blackbox")
        self.machine.systemctl("kill", "--signal=SIGUSR2", UNIT)
        wait_until(lambda: any("-asked" in name for name in files()), 20, "a file")
        self.machine.systemctl("stop", UNIT)
        self.assertEqual(self.machine.show("Result"), "success")
        self.assertEqual(self.machine.inside("stat", "-c%a %U", directory, f"{directory}/blackbox",
                                             f"{directory}/state").stdout,
                         "700 root\n700 root\n600 root\n")
        self.start("--events.file=/run/ie/events.json", "--containers.all-cgroups",
                   f"--state.file={directory}/state", service="Environment=BLACKBOX=")
        self.assertRegex(document("status")["state"]["at_start"], "^read: [1-9]")
        self.assertNotIn("interference_exporter_blackbox_active 1", self.get("/metrics"))
        self.machine.systemctl("stop", UNIT)

    def test_another_user(self):
        """The documented drop-in: no process is root, and the counters work."""
        self.start("--events.file=/run/ie/events.json", "--containers.all-cgroups",
                   service="DynamicUser=yes\nAmbientCapabilities=CAP_PERFMON")
        status = pathlib.Path(f"/proc/{self.machine.pid()}/status").read_text()
        self.assertNotIn("\t0\t", re.search(r"^Uid:.*$", status, re.M)[0])
        self.assertEqual(int(re.search(r"^CapPrm:\t(\w+)$", status, re.M)[1], 16), PERFMON)
        for collector in ("core_latency", "probe"):
            self.assertEqual(self.collector(collector)["reason"], "ok")

    def test_loopback_only(self):
        """Unless told otherwise, also where ARGS has other things to say."""
        self.machine.change("[Service]\nEnvironment=ARGS=--no-collector.probe\n"
                            "PrivateNetwork=yes\n")
        self.machine.systemctl("start", UNIT)
        listening = subprocess.run(
            ["nsenter", f"--net=/proc/{self.machine.pid()}/ns/net", "ss", "-Hltn"],
            capture_output=True, text=True, check=True).stdout
        self.assertEqual([line.split()[3] for line in listening.splitlines()],
                         ["127.0.0.1:10066"])

    def test_socket(self):
        """On systemd's socket it serves from a network namespace that leads nowhere."""
        self.machine.inside("bash", "-c", f"sed -i s/^ListenStream=.*/ListenStream=127.0.0.1:{self.port}/ "
                            "/run/units/interference_exporter.socket")
        self.machine.change("[Service]\nEnvironment=ARGS=--web.systemd-socket\n"
                            "PrivateNetwork=yes\nRestrictAddressFamilies=\n"
                            "RestrictAddressFamilies=AF_UNIX\n")
        self.machine.systemctl("start", "interference_exporter.socket", UNIT)
        self.assertEqual(self.get("/-/healthy"), "healthy\n")
        self.assertNotEqual(os.readlink(f"/proc/{self.machine.pid()}/ns/net"),
                            os.readlink("/proc/self/ns/net"))

    def test_fewer_capabilities(self):
        self.start("--events.file=/run/ie/events.json", "--containers.all-cgroups",
                   service="CapabilityBoundingSet=")
        wait_until(lambda: self.collector("core_latency")["reason"] == "no_permission", 10,
                   "core_latency gives its reason", 0.1)
        self.assertIn("CAP_PERFMON", self.collector("core_latency")["words"])
        self.assertEqual(self.collector("probe")["reason"], "ok")

    def test_watchdog(self):
        self.start(service="WatchdogSec=15s\nRestartSec=100ms")
        first = self.machine.pid()
        os.kill(first, 19)  # it hangs
        wait_until(lambda: int(self.machine.show("NRestarts") or 0) >= 1, 30, "it is restarted", 0.1)
        wait_until(lambda: self.machine.show("ActiveState") == "active", 10, "it is up again", 0.1)
        self.assertNotEqual(self.machine.pid(), first)

    def test_watchdog_of_a_replay(self):
        """A recording ends after two seconds of the watchdog's one, and it goes on."""
        self.start("--source=replay", "--source.replay.file=/run/ie/idle.jsonl",
                   "--source.replay.speed=max", service="WatchdogSec=1s")
        before = self.machine.pid()
        self.machine.inside("sleep", "2.5")
        self.assertEqual(self.machine.pid(), before)
        self.assertEqual(self.get("/-/healthy"), "healthy\n")

    def test_what_is_forbidden(self):
        def tries(settings):
            self.machine.change("[Service]\nType=oneshot\nWatchdogSec=0\nRestart=no\nExecStart=\n"
                                "ExecStart=/usr/bin/python3 /run/ie/tries.py\n"
                                f"StandardOutput=truncate:/run/tries.out\n{settings}")
            self.machine.systemctl("start", UNIT)
            return json.loads(self.machine.inside("cat", "/run/tries.out").stdout)

        inside = tries("")
        self.assertEqual([name for name, error in inside.items() if not error], [])

        # The same tries as a service that nothing is forbidden: they are tries indeed.
        self.machine.inside("bash", "-c", f"sed -i -e '/^[A-Z][A-Za-z]*=/!b' -e '/^Description/b' "
                            f"-e 's/.*//' /run/units/{UNIT}")
        outside = tries("")
        self.assertEqual([name for name, error in outside.items() if error], [])


if __name__ == "__main__":
    harness.need_command("cmake", "systemd-analyze", "unshare", "nsenter")
    harness.main()
