"""What the rows of the table share: samples, verdicts, CPU clocks, the programs of this folder."""
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import harness

PROGRAMS = harness.BUILD / "bench"


@dataclasses.dataclass
class Row:
    """One line of the table. verdict: "met", "missed", "reported"."""
    budget: str
    limit: str
    measured: str
    verdict: str
    note: str = ""


class Samples(list):
    """Repeated measurements of one thing."""

    def median(self):
        return statistics.median(self)

    def quantile(self, q):
        ordered = sorted(self)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))]

    def show(self, unit, digits=1):
        """The median, and between which values the middle four fifths lie."""
        low, high = self.quantile(0.1), self.quantile(0.9)
        return (f"{self.median():.{digits}f} {unit} "
                f"({low:.{digits}f} to {high:.{digits}f}, n {len(self)})")


def verdict(value, limit):
    return "met" if value <= limit else "missed"


def tree(pid):
    """The process and all below it."""
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(below for child in children for below in tree(int(child)))]


def cpu_seconds(pid):
    """CPU time that a process and those below it have used so far, to the nanosecond."""
    return sum(time.clock_gettime(~one << 3 | 2) for one in tree(pid))  # CPUCLOCK_SCHED of others


def resident_bytes(pid):
    """Resident memory of a process, and of those below it what they do not share with others."""
    def kib(one, file, name):
        text = pathlib.Path(f"/proc/{one}/{file}").read_text()
        return int(re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE).group(1))
    first, *others = tree(pid)
    return 1024 * (kib(first, "status", "VmRSS") + sum(kib(o, "smaps_rollup", "Pss") for o in others))


def run_json(name, *arguments, seconds=120):
    """A program of this folder that prints one line of JSON."""
    result = subprocess.run([PROGRAMS / name, *map(str, arguments)], capture_output=True,
                            text=True, timeout=seconds, check=False)
    if result.returncode:
        raise RuntimeError(f"{name} failed: {result.stderr.strip()}")
    return json.loads(result.stdout)


def run_text(name, *arguments, seconds=120):
    return subprocess.run([PROGRAMS / name, *map(str, arguments)], capture_output=True, text=True,
                          timeout=seconds, check=True).stdout


class Trace:
    """An instance of the kernel's tracing."""

    LINE = re.compile(r"-(?P<tid>\d+)\s+\[\d+\]\s+\S+\s+(?P<at>\d+\.\d+): (?P<what>\w+)\W")

    def __init__(self, instance):
        self.file = instance / "trace"

    def clear(self):
        self.file.write_text("")

    def lines(self):
        """[(thread, seconds of time.monotonic(), event, line)]"""
        found = ((self.LINE.search(line), line) for line in self.file.read_text().splitlines())
        return [(int(m["tid"]), float(m["at"]), m["what"], line) for m, line in found if m]


# What has the kernel count a container by perf, on one CPU: PERF_EVENT_IOC_ENABLE.
PERF_ENABLED = {"syscalls/sys_enter_ioctl": "cmd == 0x2400"}


def _start_tracing(instance, events):
    try:
        instance.mkdir()
        (instance / "trace_clock").write_text("mono")
        (instance / "buffer_size_kb").write_text("4096")
        for event, wanted in events.items():
            if wanted:
                (instance / "events" / event / "filter").write_text(wanted)
            (instance / "events" / event / "enable").write_text("1")
        return Trace(instance)
    except OSError as error:
        say(f"no tracing here: {error}")
        return None


@contextlib.contextmanager
def tracing(events):
    """A Trace of {event: filter, or None for all}; None where the kernel refuses."""
    with tempfile.TemporaryDirectory() as mount:
        if subprocess.run(["mount", "-t", "tracefs", "bench", mount], check=False).returncode:
            yield None
            return
        instance = pathlib.Path(mount, "instances", f"ie-bench-{os.getpid()}")
        try:
            yield _start_tracing(instance, events)
        finally:
            with contextlib.suppress(OSError):
                instance.rmdir()
            subprocess.run(["umount", mount], check=False)


# As synthetic.h: then every series that a synthetic container can have is there.
WARM_TICKS = 40


class Node:
    """A running bench_node. A context manager."""

    def __init__(self, containers, cpus=2, busy=2, apart=False):
        """'apart': the HTTP server is a process of its own, as the exporter has it."""
        self.process = harness.start([PROGRAMS / "bench_node", containers, cpus, busy,
                                      *(["apart"] if apart else [])], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = self.answer()["port"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def tick(self, n=1):
        self.send(f"tick {n}")
        return self.answer()

    def samples(self, name):
        """How many series of a metric its page has."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as page:
            return sum(line.startswith(name.encode() + b"{") for line in page)


# Software events stand in for the core group's seven roles: they cost the kernel the same calls,
# but no register of a PMU is touched.
EVENTS = harness.SOFTWARE_EVENTS
ROLES = len(EVENTS["roles"])
CPUS = len(harness.online_cpus())


class Live:
    """Real cgroups, and exporters that count them and nothing else of this machine."""

    def __init__(self, directory, groups):
        self.groups = groups
        self.events = directory / "events.json"
        self.events.write_text(json.dumps(EVENTS))
        self.cgroups = []

    def reach(self, n):
        """Makes or removes containers until there are n. The first two have a subtree of their
        own."""
        while len(self.cgroups) < n:
            parent = "pair/" if len(self.cgroups) < 2 else ""
            self.cgroups.append(self.groups.make(f"{parent}docker-{harness.hex_id()}.scope"))
        while len(self.cgroups) > n:
            self.groups.remove(self.cgroups.pop())

    def flags(self, subtree=""):
        return ("--source=perf", f"--events.file={self.events}", "--containers.names=none",
                f"--path.cgroupfs={self.groups.base / subtree}")

    def exporter(self, *flags, subtree="", lean=True, **options):
        off = ("--no-collector.probe", "--no-collector.lost_time") if lean else ()
        return harness.Exporter(*self.flags(subtree), *off, *flags, **options)

    @staticmethod
    def wait_counted(exporter, containers):
        """Until that many are counted on all CPUs."""
        def counted():
            value = exporter.scrape().get("interference_exporter_open_counters")
            return (value or 0) >= containers * CPUS * ROLES

        harness.wait_until(counted, 20, f"{containers} containers are counted", 0.05)


def _busy_idle():
    with open("/proc/stat", encoding="ascii") as stat:
        fields = [int(x) for x in stat.readline().split()[1:]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, idle, fields[7]


class Load:
    """What else ran on this machine while the bench did."""

    def __init__(self):
        self.began = _busy_idle()
        self.children = os.times()

    def others(self):
        """CPUs kept busy by others, and CPUs stolen by the hypervisor, on average so far."""
        now, times = _busy_idle(), os.times()
        busy, idle, stolen = (b - a for a, b in zip(self.began, now))
        own = sum(times[:4]) - sum(self.children[:4])
        scale = CPUS / max(1, busy + idle)
        return max(0, busy * scale - own / max(0.01, times.elapsed - self.children.elapsed)), \
            stolen * scale


def wait_for_quiet(seconds):
    """Gives others a little time to finish; the table says how busy they were all the same."""
    end = time.monotonic() + seconds
    while True:
        before = _busy_idle()
        time.sleep(0.3)
        after = _busy_idle()
        if after[0] - before[0] <= 0.1 * (after[1] - before[1]) or time.monotonic() > end:
            return


def say(text):
    print(text, file=sys.stderr, flush=True)
