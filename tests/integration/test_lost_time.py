#!/usr/bin/python3
"""Where the time of real containers went: each kind of wait is made, and told from the others.

A container's cgroup is in the v2 hierarchy, which has the pressures, and in those of v1's
controllers, where this machine has them: limits are set there. `test_lost_time.py BUILD --table 5`
makes every kind five times and prints what the verdicts were (RESULTS-lost-time.md): right, unknown
or wrong.
"""
import collections
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

SPIN = "while :; do :; done"
WINDOW = 2  # seconds
KIB_OF_FILE = 64 << 10  # what is read again and again, below a limit of half of it


@contextlib.contextmanager
def first_of_all():
    """This process and its children run before others. Where the kernel makes a group of each session,
    a process's own priority counts within it only."""
    with contextlib.suppress(PermissionError):  # it leads a group of processes
        os.setsid()
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    session = pathlib.Path("/proc/self/autogroup")
    if not session.exists():
        yield
        return
    before = session.read_text().split()[-1]
    session.write_text("-20")
    try:
        yield
    finally:
        time.sleep(0.2)  # it is not changed more often than ten times a second
        session.write_text(before)


class Everywhere(harness.Cgroups):
    """Its cgroups are in the hierarchies of v1's controllers as well."""

    def __init__(self):
        super().__init__()
        self.v1 = {controller: mount for version, mount, controllers in harness.cgroup_mounts()
                   if version == 1 for controller in controllers
                   if controller in ("cpu", "cpuacct", "cpuset", "memory", "blkio")}
        if self.version != 2 or "cpu" not in self.v1:
            raise unittest.SkipTest("limits of CPU time are not v1's here, beside v2")
        # What else runs on this machine shall not be the neighbour; but whoever looks at those
        # that take every CPU must get to run beside them.
        self.write(self.base, "cpu", "cpu.shares", 65536)
        self.first = contextlib.ExitStack()
        self.first.enter_context(first_of_all())
        self.made = []

    def __exit__(self, *error):
        super().__exit__(*error)
        self.first.close()

    def at(self, cgroup, controller):
        path = self.v1[controller] / cgroup.relative_to(self.mount)
        if not path.exists():
            path.mkdir(parents=True)
        return path

    def write(self, cgroup, controller, file, value):
        (self.at(cgroup, controller) / file).write_text(str(value))

    def container(self, quota=None, memory=None, weight=None, slow_disk_of=None):
        cgroup, _ = self.docker()
        if quota:
            self.write(cgroup, "cpu", "cpu.cfs_quota_us", int(quota * 100000))
        if weight:
            self.write(cgroup, "cpu", "cpu.shares", weight)
        if memory:
            self.write(cgroup, "memory", "memory.limit_in_bytes", memory)
        if slow_disk_of:
            self.slow_down(cgroup, os.stat(slow_disk_of).st_dev)
        self.at(cgroup, "cpu")
        self.made.append(cgroup)
        return cgroup

    def slow_down(self, cgroup, device):
        """Fifty reads a second, which the kernel allows it of the disk."""
        if "blkio" not in self.v1:
            raise unittest.SkipTest("no controller blkio, which makes a disk slow")
        disk = pathlib.Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
        if not disk.exists():
            raise unittest.SkipTest("/var/tmp is not on a disk")
        if (disk / "partition").exists():
            disk = disk.resolve().parent
        number = (disk / "dev").read_text().strip()
        self.write(cgroup, "blkio", "blkio.throttle.read_iops_device", f"{number} 50")

    def start(self, cgroup, shell, cpus, tasks=1):
        folders = [cgroup] + [self.at(cgroup, controller) for controller in self.v1
                              if (self.v1[controller] / cgroup.relative_to(self.mount)).exists()]
        files = [os.open(folder / "cgroup.procs", os.O_WRONLY) for folder in folders]

        def enter():
            harness.die_with_parent()
            for file in files:
                os.write(file, b"0")
            os.sched_setaffinity(0, cpus)

        try:
            for _ in range(tasks):
                self.processes.append(subprocess.Popen(["/bin/sh", "-c", shell], preexec_fn=enter,
                                                       start_new_session=True))
        finally:
            for file in files:
                os.close(file)

    def end(self, cgroup):
        """Everything in it."""
        self.made.remove(cgroup)
        for line in (cgroup / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                os.kill(int(line), 9)
        self.remove(cgroup)

    def end_all(self):
        """Also those of whom nothing is expected: they would take the next ones' CPUs."""
        for cgroup in list(self.made):
            self.end(cgroup)


# ---- what is made: each returns {container's cgroup: the verdict that is right} -----------------


def own_quota(groups, _):
    one = groups.container(quota=0.2)
    groups.start(one, SPIN, {0})
    return {one: "own_quota"}


def own_quota_two_tasks(groups, _):
    one = groups.container(quota=0.2)
    groups.start(one, SPIN, {0}, 1)
    groups.start(one, SPIN, {1}, 1)
    return {one: "own_quota"}


def neighbour(groups, _):
    both = [groups.container(), groups.container()]
    for one in both:
        groups.start(one, SPIN, {0})
    return dict.fromkeys(both, "cpu_neighbour")


def itself(groups, _):
    one = groups.container()
    groups.start(one, SPIN, {1}, 3)
    return {one: "itself"}


def quota_not_reached(groups, _):
    limited, other = groups.container(quota=0.8), groups.container()
    for one in (limited, other):
        groups.start(one, SPIN, {0})
    return dict.fromkeys((limited, other), "cpu_neighbour")


def read_again(groups, cgroup, file, *duty):
    """Programs that read what their limit makes them give up: in nobody else's memory is it."""
    forget(file)
    command = " ".join(["exec", *map(str, (harness.PROGRAMS / "read_again", file, *duty))])
    groups.start(cgroup, command, {1}, 2)


def memory_limit(groups, file):
    one = groups.container(memory=(KIB_OF_FILE << 10) // 2)
    read_again(groups, one, file)
    return {one: "own_memory_limit"}


def disk(groups, file):
    """Reads that no memory keeps."""
    one = groups.container(slow_disk_of=file)
    groups.start(one, f"while :; do dd if={file} of=/dev/null bs=4k iflag=direct 2>/dev/null; done",
                 {1})
    return {one: "disk"}


def nothing(groups, _):
    alone, asleep = groups.container(), groups.container()
    groups.start(alone, SPIN, {1})
    groups.start(asleep, "while :; do sleep 0.1; done", {0})
    return {alone: "nothing", asleep: "nothing"}


def taken(groups, _):
    """One that has a CPU and a part of the other, by half the weight."""
    victim, hog = groups.container(weight=1024), groups.container(weight=512)
    groups.start(hog, SPIN, {0})
    groups.start(hog, SPIN, {1})
    groups.start(victim, SPIN, {0})
    return {victim: "cpu_neighbour"}


def two_causes(groups, file):
    """Its CPU limit costs it most, and by how slow the disk is, its memory's limit something."""
    one = groups.container(quota=0.4, memory=(KIB_OF_FILE << 10) // 2)
    groups.start(one, SPIN, {0})
    read_again(groups, one, file, 80, 200)
    return {one: "own_quota"}


KINDS = {make.__name__: make for make in (
    own_quota, own_quota_two_tasks, neighbour, itself, quota_not_reached, memory_limit, disk,
    nothing, taken, two_causes)}


# ---- what is said of it --------------------------------------------------------------------------


class Watch:
    """An exporter that sees the containers of 'groups', and what it says of them."""

    def __init__(self, groups, *flags):
        self.groups = groups
        self.exporter = harness.Exporter(
            "--containers.include=.*docker-.*", "--no-collector.probe", "--web.api",
            f"--collector.lost_time.period={WINDOW}s", *flags)

    def __enter__(self):
        self.exporter.__enter__()
        return self

    def __exit__(self, *error):
        return self.exporter.__exit__(*error)

    def of(self, cgroup):
        inode = cgroup.stat().st_ino
        return next((one for one in self.exporter.json("/api/v1/containers")["containers"]
                     if one["cgroup_id"] == inode), None)

    def verdicts(self, expected, seconds):
        """All that were said meanwhile, in order, by cgroup; up to a window after the last first
        one."""
        said = collections.defaultdict(list)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for cgroup in expected:
                found = self.of(cgroup)
                said[cgroup].append(found["verdict"] if found else None)
            if all(said[cgroup][-1] for cgroup in expected):
                end = min(end, time.monotonic() + 2 * WINDOW)
            time.sleep(0.5)
        return said


@contextlib.contextmanager
def file_to_read():
    """On a disk: what is in memory anyway cannot be given up."""
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        file.write(os.urandom(1 << 20) * (KIB_OF_FILE >> 10))
        file.flush()
        os.fsync(file.fileno())
        yield pathlib.Path(file.name)


def forget(path):
    """Whoever reads it first has it in his memory."""
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def judge(watch, make, file):
    """(right, unknown, wrong) containers, and those that were wrong with what was said."""
    count = collections.Counter()
    wrong = []
    try:
        expected = make(watch.groups, file)
        said = watch.verdicts(expected, 8 * WINDOW)
        for cgroup, right in expected.items():
            others = {verdict for verdict in said[cgroup] if verdict not in (None, right)}
            verdict = "wrong" if others else "right" if right in said[cgroup] else "unknown"
            count[verdict] += 1
            if others:
                wrong.append((right, said[cgroup], (watch.of(cgroup) or {}).get("lost")))
        last = {cgroup: watch.of(cgroup) for cgroup in expected}
    finally:
        watch.groups.end_all()
    return count, wrong, last


class LostTime(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_root()
        if len(harness.online_cpus()) < 2:
            raise unittest.SkipTest("two CPUs are needed")
        cls.stack = contextlib.ExitStack()
        cls.groups = cls.stack.enter_context(Everywhere())
        cls.file = cls.stack.enter_context(file_to_read())
        cls.watch = cls.stack.enter_context(Watch(cls.groups))

    @classmethod
    def tearDownClass(cls):
        cls.stack.close()

    def setUp(self):
        self.addCleanup(self.groups.end_all)
        self.enterContext(harness.within(150))  # the longest takes 25 s

    def kind(self, make):
        count, wrong, last = judge(self.watch, make, self.file)
        self.assertEqual((count["unknown"], wrong), (0, []), last)
        return list(last.values())

    def test_own_quota(self):
        (one,) = self.kind(own_quota)
        self.assertGreater(one["lost"]["own_quota"], 0.5)
        self.assertIn("its own CPU limit of 0.2 CPUs", one["why"])
        self.assertEqual(one["state"], "waits")
        page = self.watch.exporter.scrape()
        self.assertGreater(page.get("interference_container_lost_seconds_total",
                                    container_id=one["container_id"], cause="own_quota"), 3)

    def test_own_quota_two_tasks(self):
        (one,) = self.kind(own_quota_two_tasks)
        self.assertLessEqual(one["lost"]["own_quota"], 1.3)  # pressures are as of up to 2 s ago

    def test_neighbour(self):
        for one in self.kind(neighbour):
            self.assertEqual(set(one["lost"]), {"cpu_neighbour"})

    def test_itself(self):
        self.kind(itself)

    def test_quota_not_reached(self):
        self.kind(quota_not_reached)

    def test_memory_limit(self):
        (one,) = self.kind(memory_limit)
        self.assertIn("its own memory limit of 32 MiB", one["why"])

    def test_disk(self):
        (one,) = self.kind(disk)
        self.assertGreater(one["lost"]["disk"], 0.5)
        self.assertEqual(self.series(one), {"lost_seconds_total": 1})

    def series(self, container):
        """How many of the collector's it has, by name."""
        page = self.watch.exporter.scrape()
        names = collections.Counter(name for name, labels in page.samples
                                    if ("container_id", container["container_id"]) in labels)
        return {name.removeprefix("interference_container_"): n for name, n in names.items()
                if re.search("lost|exposed|taken", name)}

    def test_nothing(self):
        for one in self.kind(nothing):
            self.assertEqual(one["lost"], {})
            self.assertEqual(self.series(one), {})  # fleets have millions

    def test_taken(self):
        (victim,) = self.kind(taken)
        page = self.watch.exporter.scrape()
        hog = re.search(r"mostly docker-([0-9a-f]{12})", victim["why"]).group(1)
        taken_seconds = page.get("interference_container_cpu_taken_seconds_total",
                                 container_id=hog)
        lost = page.get("interference_container_lost_seconds_total",
                        container_id=victim["container_id"], cause="cpu_neighbour")
        self.assertAlmostEqual(taken_seconds, lost, delta=0.5 * lost)

    def test_two_causes(self):
        (one,) = self.kind(two_causes)
        self.assertGreater(one["lost"]["own_quota"], 0.3)  # how much the other costs, disks decide

    def test_moved_and_ended(self):
        """The neighbour goes to another CPU: nothing is lost any more. Its counters stay for a
        while after it has ended."""
        both = list(neighbour(self.groups, self.file))
        self.watch.verdicts(both, 8 * WINDOW)
        for pid in (both[1] / "cgroup.procs").read_text().split():
            os.sched_setaffinity(int(pid), {1})
        harness.wait_until(lambda: self.watch.of(both[0])["verdict"] == "nothing", 8 * WINDOW,
                           "nobody waits")
        ended = self.watch.of(both[1])
        self.groups.end(both[1])
        self.exporter_has_still(ended["container_id"])

    def exporter_has_still(self, container_id):
        def lost():
            return self.watch.exporter.scrape().get("interference_container_lost_seconds_total",
                                                    container_id=container_id, cause="cpu_neighbour")

        time.sleep(2 * WINDOW)
        last = lost()
        self.assertGreater(last, 0)
        time.sleep(2 * WINDOW)
        self.assertEqual(lost(), last)  # who has ended loses nothing more

    def test_slow_memory(self):
        """As it was recorded: by a container that is named, or by nobody."""
        for recording, words in (("attribution", "timer .* slow, because of batch/hog-0/hog: move"),
                                 ("attribution", "hog .* slow, because of itself:"),
                                 ("baseline", "victim .* slow; who makes them slow is not known")):
            result = harness.run_exporter(
                "--source=replay", f"--source.replay.file={harness.REPLAYS / recording}.jsonl",
                "--once", "--table")
            self.assertRegex(result.stdout, f"(?m)^\\S+/{words}")

    def test_table(self):
        """Without a server, in ten seconds."""
        own_quota(self.groups, self.file)
        began = time.monotonic()
        result = harness.run_exporter("--once", "--table", "--containers.include=.*docker-.*",
                                      seconds=100)
        self.assertLess(time.monotonic() - began, 15 * harness.PATIENCE)
        first = result.stdout.splitlines()[0]
        self.assertIn("loses most here. It waits for its own CPU limit of 0.2 CPUs", first)
        self.assertIn("CONTAINER", result.stdout)


class Delays(unittest.TestCase):
    """What the tasks of containers wait for a CPU, as BPF counts it switch by switch."""

    def setUp(self):
        harness.need_root()
        for file in ("/proc/self/schedstat", "/sys/kernel/btf/vmlinux"):
            if not pathlib.Path(file).exists():
                self.skipTest(f"without {file} BPF counts no delays")
        self.enterContext(harness.within(150))
        self.groups = self.enterContext(Everywhere())
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.recording = directory / "recording.jsonl"
        roles = dict.fromkeys(("cycles", "ref_cycles", "instructions"), "software:page-faults")
        (directory / "events.json").write_text(json.dumps(
            {"machine": {"base_frequency_hz": 1e9, "cache_cycles": 44}, "roles": roles}))
        self.watch = self.enterContext(Watch(
            self.groups, "--source=bpf", f"--events.file={directory}/events.json",
            f"--source.record.file={self.recording}"))
        status = self.watch.exporter.status()
        if status["source"] != "bpf":
            self.skipTest(f"BPF does not count here: {status['source_why']}")

    def stopped(self, pids):
        """Once all are: seconds that they have waited so far, as the kernel has them."""
        for pid in pids:
            harness.wait_until(lambda: harness.process_status(pid)["State"][0] == "T", 20, pid)
        return sum(int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[1])
                   for pid in pids) * 1e-9

    def both(self, tasks, seconds):
        """Two containers that want one CPU, with so many tasks each, for so long:
        {container: (seconds that they waited, those that were counted)}"""
        both = [self.groups.container(), self.groups.container()]
        harness.wait_until(lambda: all(map(self.watch.of, both)), 20, "both are counted")
        for one in both:
            self.groups.start(one, "kill -STOP $$; " + SPIN, {0}, tasks)
        harness.wait_until(lambda: all(len(self.pids(one)) == tasks for one in both), 20, "tasks")
        before = self.look(both)
        for one in both:
            self.signal(one, signal.SIGCONT)
        time.sleep(seconds)
        for one in both:
            self.signal(one, signal.SIGSTOP)
        after = self.look(both)
        return {one: tuple(now - then for now, then in zip(after[one], before[one]))
                for one in both}

    def pids(self, cgroup):
        return (cgroup / "cgroup.procs").read_text().split()

    def signal(self, cgroup, number):
        for pid in self.pids(cgroup):
            os.kill(int(pid), number)

    def look(self, cgroups):
        waited = [self.stopped(self.pids(one)) for one in cgroups]
        self.watch.exporter.wait_tick()
        self.watch.exporter.wait_tick()
        return {one: (seconds, self.counted(one)) for one, seconds in zip(cgroups, waited)}

    def counted(self, cgroup):
        """Seconds, as of the last tick that was recorded."""
        lines = [json.loads(line) for line in self.recording.read_text().splitlines()]
        key = next(line["container"]["key"] for line in lines if line.get("container", {}).get(
            "cgroup") == self.groups.path(cgroup))
        return [line["values"]["run_delay_ns"] for line in lines
                if line.get("read") == key and line["group"] == "delays"][-1] * 1e-9

    def test_as_schedstat(self):
        for tasks in (1, 3):
            with self.subTest(tasks=tasks):
                for waited, counted in self.both(tasks, 3).values():
                    print(f"{tasks} tasks: {waited:.4f} s by schedstat, {counted:.4f} by BPF")
                    self.assertGreater(waited, 0.9 * (tasks - 0.5))
                    self.assertAlmostEqual(counted, waited, delta=0.002 * waited)
                self.groups.end_all()

    def test_what_is_told(self):
        """Of the whole windows in it, and by whom."""
        (one, (waited, _)), (other, _) = self.both(1, 5 * WINDOW).items()
        time.sleep(WINDOW)
        page = self.watch.exporter.scrape()
        lost, = page.select("interference_container_lost_seconds_total", container_id=self.watch.of(
            one)["container_id"], cause="cpu_neighbour").values()
        self.assertLess(lost, 1.02 * waited)
        self.assertGreater(lost, 0.6 * waited)
        taken = page.get("interference_container_cpu_taken_seconds_total",
                         container_id=self.watch.of(other)["container_id"])
        self.assertAlmostEqual(taken, lost, delta=0.2 * lost)


def print_table(runs):
    print("| kind | containers | right | unknown | wrong |\n|---|---|---|---|---|")
    with Everywhere() as groups, file_to_read() as file, Watch(groups) as watch:
        for name, make in KINDS.items():
            total = collections.Counter()
            for _ in range(runs):
                try:
                    count, wrong, _ = judge(watch, make, file)
                except unittest.SkipTest as why:
                    print(name, why, file=sys.stderr)
                    break
                total += count
                for one in wrong:
                    print(name, *one, file=sys.stderr)
            print(f"| {name} | {sum(total.values())} | {total['right']} | {total['unknown']} "
                  f"| {total['wrong']} |", flush=True)


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_table(int(sys.argv[sys.argv.index("--table") + 1]))
    else:
        harness.main()
