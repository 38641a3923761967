"""What the integration tests share: the running exporter, strict scrapes, real cgroups.

A test file is run as `test_x.py BUILD` (ctest does it as root), ends its own processes and removes
its own cgroups, also when it fails. Its main() exits 77 with a printed reason where the machine
cannot run it.
"""
import contextlib
import ctypes
import http.client
import json
import math
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from prometheus_client.openmetrics.parser import text_string_to_metric_families

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SOURCE / "build/plain"
EXPORTER = BUILD / "interference_exporter"
PROGRAMS = BUILD / "programs"
REPLAYS = SOURCE / "tests/replay"

# For --events.file: software events, which every machine has, in the places of all of the core
# group's; what is not given would be this CPU's own events.
SOFTWARE_EVENTS = {
    "machine": {"base_frequency_hz": 1e9, "cache_cycles": 44},
    "roles": {
        "cycles": "software:cpu-clock",
        "ref_cycles": "software:task-clock",
        "instructions": "software:context-switches",
        "l3_miss_reads": "software:page-faults",
        "l3_miss_read_occupancy": "software:minor-faults",
        "llc_reads": "software:major-faults",
        "l3_miss_read_active": "software:cpu-migrations",
    },
}

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"

_libc = ctypes.CDLL(None, use_errno=True)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need_root():
    if os.geteuid() != 0:
        skip("needs root")


def need_command(*names):
    for name in names:
        if not shutil.which(name):
            if name in ("node", "npm", "chromium") and os.environ.get("CI"):
                sys.exit(f"needs the command {name}, and CI is set")
            skip(f"needs the command {name}")


def main():
    """Runs the file's tests. Skipped as a whole only when every test of it was."""
    program = unittest.main(argv=[sys.argv[0], "-v", *sys.argv[2:]], exit=False)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun and len(result.skipped) == result.testsRun:
        skip(result.skipped[0][1])
    sys.exit(0)


# What a quiet machine does in a second may take a shared one some more.
PATIENCE = 4


def wait_until(condition, seconds=15.0, what="", step=0.02, patience=PATIENCE):
    """The first true result of condition(), or a failure that says what did not happen: within the
    seconds that suffice on a quiet machine, times patience, and after a few looks."""
    end = time.monotonic() + patience * seconds
    looks = 0
    while True:
        result = condition()
        if result:
            return result
        looks += 1
        if looks >= 5 and time.monotonic() > end:
            raise AssertionError(f"not within {patience * seconds:g} s: {what or condition}")
        time.sleep(step)


@contextlib.contextmanager
def within(seconds):
    """What it holds ends within so many seconds, or fails and says where it stood: also where a
    call of the kernel does not return. In the main thread."""
    def fail(*_):
        raise AssertionError(f"not done within {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def process_status(pid):
    """/proc/PID/status, by field."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return dict(re.findall(r"^(\w+):[ \t]*(.*)$", text, re.MULTILINE))


def is_gone(pid):
    """Also when it ends between two looks, or between open and read."""
    try:
        return process_status(pid)["State"].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def fd_targets(pid):
    """What a process that goes on has open: what it closes meanwhile is not there."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(f"/proc/{pid}/fd/{fd}")


def fd_infos(pid):
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(FileNotFoundError):
            yield pathlib.Path(f"/proc/{pid}/fdinfo/{fd}").read_text()


_reserved = []  # sockets: their names say, until this process ends, which ports are its own


def free_port():
    """Below the ports that the kernel gives to connections: until a server listens there, no client
    of another test gets it. No other test is given it while this one runs."""
    while True:
        name = socket.socket(socket.AF_UNIX)
        port = 20000 + secrets.randbelow(12000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            name.bind(f"\0ie-test-port-{port}")
            probe.bind(("127.0.0.1", port))
            _reserved.append(name.detach())
            return port
        name.close()


def die_with_parent():
    """In a child before exec: a test that is killed leaves nothing running."""
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(argv, **options):
    """A process of the test's; to be ended by stop()."""
    return subprocess.Popen([str(a) for a in argv], preexec_fn=die_with_parent, **options)


def text_of(log):
    """What a process has written to its log so far. The place in the file is the process's as well: to
    move it would lose lines."""
    return os.pread(log.fileno(), 1 << 24, 0).decode(errors="replace")


def stop(process, with_signal=signal.SIGTERM, seconds=40.0):
    if process.poll() is None:
        process.send_signal(with_signal)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"{process.args[0]} did not end within {seconds:g} s") from None
    return process.returncode


# --- the exposition formats ---------------------------------------------------------------------


class Page:
    """Samples by (name, labels); names as in the text, so counters end in _total."""

    def __init__(self, samples):
        self.samples = samples

    def select(self, name, **labels):
        """{labels: value} of the series that carry these labels."""
        wanted = set(labels.items())
        return {key: value for (sample, key), value in self.samples.items()
                if sample == name and wanted <= set(key)}

    def get(self, name, **labels):
        """The value of the one such series; None when there is none."""
        found = self.select(name, **labels)
        assert len(found) <= 1, f"{name}{labels} is ambiguous: {found}"
        return next(iter(found.values()), None)

    def names(self, **labels):
        wanted = set(labels.items())
        return {name for name, key in self.samples if wanted <= set(key)}


def _add(samples, name, labels, value):
    key = (name, tuple(sorted(labels.items())))
    assert key not in samples, f"duplicate series: {key}"
    samples[key] = value


def parse_openmetrics(text):
    """By the strict parser of prometheus_client, which lets duplicates pass: refused here."""
    samples, families = {}, set()
    for family in text_string_to_metric_families(text):
        assert family.name not in families, f"family {family.name} appears twice"
        families.add(family.name)
        assert family.documentation, f"{family.name} has no HELP"
        for sample in family.samples:
            _add(samples, sample.name, sample.labels, sample.value)
    return Page(samples)


_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')


def parse_text(text):
    """Text 0.0.4, the part of it that an exporter may write."""
    assert text == "" or text.endswith("\n"), "the last line is cut"
    samples, typed = {}, set()
    for line in text.split("\n")[:-1]:
        if line.startswith("# TYPE "):
            name = line.split()[2]
            assert name not in typed, f"family {name} appears twice"
            typed.add(name)
        if line.startswith("#"):
            continue
        match = _SAMPLE.match(line)
        assert match, f"not a sample: {line!r}"
        labels, position, inside = {}, 0, match.group(2) or ""
        while position < len(inside):
            label = _LABEL.match(inside, position)
            assert label, f"bad labels: {line!r}"
            assert label.group(1) not in labels, f"label twice: {line!r}"
            escapes = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
            labels[label.group(1)] = re.sub(r'\\[\\"n]', lambda m: escapes[m.group()],
                                            label.group(2))
            position = label.end()
        _add(samples, match.group(1), labels, float(match.group(3)))
    return Page(samples)


# --- the exporter -------------------------------------------------------------------------------


def sanitized():
    """Whether BUILD is a sanitizer build, which is slower and larger."""
    return b"__asan_init" in EXPORTER.read_bytes() or b"__tsan_init" in EXPORTER.read_bytes()


class Exporter:
    """A running exporter on a free loopback port. A context manager."""

    def __init__(self, *flags, ready=True, command=(), env=None, port=None, ends_within=40.0,
                 program=None):
        self.port = port or free_port()
        self.ends_within = ends_within
        self.log_file = tempfile.TemporaryFile("w+b")
        argv = [*command, program or EXPORTER, f"--web.listen-address=127.0.0.1:{self.port}", *flags]
        self.process = start(argv, stdin=subprocess.DEVNULL, stdout=self.log_file,
                             stderr=self.log_file, env={**os.environ, **(env or {})})
        if ready:
            try:
                wait_until(self.is_ready, 20, "the exporter is ready")
            except BaseException:
                self.process.kill()
                self.process.wait()
                print(self.log(), file=sys.stderr)
                raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print("--- the exporter's log ends so:\n" + self.log()[-4000:], file=sys.stderr)
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self.log_file.close()

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return text_of(self.log_file)

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the exporter ended with {self.process.returncode}")
        try:
            return self.get("/-/ready")[0] == 200
        except OSError:
            return False

    def get(self, path, headers=None, method="GET"):
        """(status, headers, body)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def text(self, path="/metrics", accept="text/plain"):
        status, _, body = self.get(path, {"Accept": accept})
        assert status == 200, f"{path}: {status} {body[:200]!r}"
        return body.decode()

    def scrape(self):
        """A page in OpenMetrics, parsed strictly."""
        return parse_openmetrics(self.text(accept=OPENMETRICS))

    def json(self, path):
        status, headers, body = self.get(path)
        assert status == 200, f"{path}: {status}"
        assert headers["Content-Type"].startswith("application/json"), headers["Content-Type"]
        return json.loads(body)

    def status(self):
        return self.json("/api/v1/status")

    def containers(self):
        return {c["container_id"]: c for c in self.json("/api/v1/containers")["containers"]}

    def collector(self, name):
        return next(c for c in self.status()["collectors"] if c["name"] == name)

    def tick(self):
        return self.status()["tick"]["number"]

    def wait_tick(self, seconds=20.0):
        """Waits for the next publication; returns its tick."""
        before = self.tick()
        wait_until(lambda: self.tick() > before, seconds, "another tick", 0.005)
        return self.tick()

    def fds(self, kind=""):
        """How many descriptors it holds; with kind, those whose target contains it."""
        return sum(kind in target for target in fd_targets(self.pid))

    def rss_bytes(self):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024

    def stop(self, with_signal=signal.SIGTERM):
        """Ends it in order; returns (exit code, seconds it took)."""
        began = time.monotonic()
        code = stop(self.process, with_signal, self.ends_within)
        return code, time.monotonic() - began


def run_exporter(*flags, seconds=30, **options):
    """One run to its end: CompletedProcess with text output."""
    return subprocess.run([EXPORTER, *map(str, flags)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=seconds, **options)


# --- cgroups ------------------------------------------------------------------------------------


def cgroup_mounts():
    """[(version, mount point, options)]"""
    found = []
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        before, after = line.split(" - ")
        kind, _, options = after.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            found.append((2 if kind == "cgroup2" else 1, pathlib.Path(before.split()[4]),
                          options.split(",")))
    return found


def perf_hierarchy():
    """(version, mount point) of the hierarchy that owns perf_event; None without cgroups."""
    for version, mount, options in cgroup_mounts():
        if version == 1 and "perf_event" in options:
            return version, mount
    return next(((version, mount) for version, mount, _ in cgroup_mounts() if version == 2), None)


def hex_id():
    return secrets.token_hex(32)


class Cgroups:
    """A subtree of its own in perf's hierarchy, removed at the end with all that runs in it."""

    def __init__(self, hierarchy=None):
        found = hierarchy or perf_hierarchy()
        if not found:
            raise unittest.SkipTest("no cgroup hierarchy is mounted")
        self.version, self.mount = found
        if not os.access(self.mount, os.W_OK):
            raise unittest.SkipTest(f"{self.mount} cannot be written to")
        for _, mount, _ in cgroup_mounts():
            for stale in mount.glob("ie-test-*"):  # of tests that were killed
                if not pathlib.Path("/proc", stale.name.split("-")[2]).exists():
                    self._remove_tree(stale)
        self.base = self.mount / f"ie-test-{os.getpid()}-{secrets.token_hex(3)}"
        self.base.mkdir()
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(60)
        # A container runtime puts its containers below this name in every hierarchy.
        for _, mount, _ in cgroup_mounts():
            self._remove_tree(mount / self.base.name)

    def make(self, relative):
        path = self.base / relative
        path.mkdir(parents=True)
        return path

    def docker(self, container_id=None):
        """A container's cgroup as Docker under systemd names it: (path, its id)."""
        container_id = container_id or hex_id()
        return self.make(f"docker-{container_id}.scope"), container_id

    def only(self):
        """The flag for an exporter that shall see this subtree and nothing else of the machine."""
        return f"--path.cgroupfs={self.base}"

    def path(self, cgroup):
        """As the exporter shows it: below the hierarchy's root."""
        return "/" + str(cgroup.relative_to(self.mount))

    def spawn(self, cgroup, argv, cpu=None, **options):
        """Starts a program inside the cgroup: it has run nowhere else."""
        procs = os.open(cgroup / "cgroup.procs", os.O_WRONLY)

        def enter():
            die_with_parent()
            os.write(procs, b"0")
            if cpu is not None:
                os.sched_setaffinity(0, {cpu})

        try:
            process = subprocess.Popen([str(a) for a in argv], preexec_fn=enter, **options)
        finally:
            os.close(procs)
        self.processes.append(process)
        return process

    def run(self, cgroup, argv, **options):
        process = self.spawn(cgroup, argv, **options)
        assert process.wait(60) == 0, f"{argv} ended with {process.returncode}"

    @staticmethod
    def _remove_tree(top):
        def remove_below(directory):
            """By descriptors: a test that was killed can leave paths that no call accepts whole."""
            for name in [entry.name for entry in os.scandir(directory) if entry.is_dir()]:
                with contextlib.suppress(OSError):
                    child = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=directory)
                    try:
                        kill_members(child)
                        remove_below(child)
                    finally:
                        os.close(child)
                    os.rmdir(name, dir_fd=directory)

        def kill_members(directory):
            procs = os.open("cgroup.procs", os.O_RDONLY, dir_fd=directory)
            with os.fdopen(procs, encoding="ascii") as members:
                for pid in members.read().split():
                    with contextlib.suppress(OSError):
                        os.kill(int(pid), signal.SIGKILL)

        def once():
            with contextlib.suppress(OSError):
                directory = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    kill_members(directory)
                    remove_below(directory)
                finally:
                    os.close(directory)
                os.rmdir(top)
            return not top.exists()

        if top.exists():
            wait_until(once, 10, f"{top} is removed", 0.01)

    def remove(self, cgroup):
        """Once its processes are gone; children too."""
        def once():
            for directory, _, _ in os.walk(cgroup, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)
            return not cgroup.exists()

        wait_until(once, 10, f"{cgroup} is empty", 0.005)


# --- programs with countable functions ----------------------------------------------------------


def function_offsets(program, prefix):
    """File offsets of the functions whose names begin so, from the ELF symbol table."""
    import struct

    data = pathlib.Path(program).read_bytes()
    assert data[:6] == b"\x7fELF\x02\x01", f"{program} is no 64-bit little-endian ELF file"
    phoff, shoff = struct.unpack_from("<QQ", data, 0x20)
    phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", data, 0x36)
    loads = []
    for i in range(phnum):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize)
        if kind == 1:  # PT_LOAD
            loads.append((address, size, offset))
    offsets = {}
    sections = [struct.unpack_from("<IIQQQQII", data, shoff + i * shentsize) for i in range(shnum)]
    for _, kind, _, _, offset, size, link, _ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = sections[link][4]
        for at in range(offset, offset + size, 24):
            name_at, info, _, _, value, _ = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 != 2:  # STT_FUNC
                continue
            name = data[strings + name_at : data.index(b"\0", strings + name_at)].decode()
            if name.startswith(prefix):
                address, _, base = next(l for l in loads if l[0] <= value < l[0] + l[1])
                offsets[name] = value - address + base
    return offsets


def online_cpus():
    return sorted(os.sched_getaffinity(0))


def close(a, b, relative):
    return math.isclose(a, b, rel_tol=relative)
