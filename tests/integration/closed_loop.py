"""A closed loop on this machine: a container that waits for memory, one that hurts it or only
computes, the real exporter and the real governor, and quotas that the kernel enforces.

Without counters of the CPU the container that waits measures its own loads and tells them by calls
that uprobes count (programs/memory_chase.c); everything behind that is as on any machine: windows,
the baseline of calm ones, the policy, cpu.cfs_quota_us. Who waits, who streams and who computes take
turns on one CPU, as on a node that has given away more CPUs than it has: who waits serves a request after
each pause, and who runs meanwhile leaves the core's own caches as he found them, or filled with what he
streamed, and then each read of the request takes twice as long. Other effects of a neighbour (a shared L3,
memory's bandwidth) need CPUs that share them, which a virtual machine has only now and then.

Round by round each arm has its turn of two seconds, in an order that is drawn: what the machine does
besides lasts longer, and falls on all of them. Between its turns an arm is stopped: it reads nothing, so
that it is not cut, and its quota climbs while memory is fast. What is left of the CPU has a loop that
touches no memory: in a virtual machine a CPU that idles leaves, and its caches are others' meanwhile.
"""
import contextlib
import json
import os
import pathlib
import random
import re
import secrets
import signal
import statistics
import subprocess
import time
import unittest
import uuid

import harness
from governing import GOVERNOR
from harness import Exporter, free_port, start, stop, wait_until

CHASE = harness.PROGRAMS / "memory_chase"
HOG = harness.PROGRAMS / "memory_hog"
LATENCY = "interference_container_memory_read_latency_seconds"
BASELINE = "interference_container_memory_read_latency_baseline_seconds"
INTERVAL_S = 0.25
BASE, STEP, MOST, FACTOR = 0.1, 0.1, 1.0, 1.5
MIB = 256  # the hog's
PAPER = {"mode": "paper", "factor": FACTOR, "window": "10ms",  # each tick
         "culprit_share": 1}  # whoever reads now
DEFAULT_FACTOR = 1.25
CHASED_KIB = 128
UNIT_NS = 10  # in which programs/memory_chase.c tells how long reads take
TELL_RATE = 10000  # reads a second, so that a neighbour at work is no calm neighbour
FREE, GOVERNED, COMPUTE = ARMS = "stream without quota", "stream governed", "compute governed"


def cpu_hierarchy():
    """cpu.cfs_quota_us of cgroup v1, beside a v2 tree that counts."""
    for version, mount, options in harness.cgroup_mounts():
        if version == 1 and "cpu" in options:
            return mount
    raise unittest.SkipTest("needs the controller cpu in a hierarchy of cgroup v1")


def told_events(program, unit_ns):
    """For --events.file: a program's calls say what it reads, and how long that takes in such units."""
    offsets = harness.function_offsets(program, "role_")
    uprobe = lambda role: f"uprobe:{program}:{offsets['role_' + role]:#x}"
    clock = "software:task-clock"
    return {"machine": {"base_frequency_hz": 1e9 / unit_ns, "cache_cycles": 1e-6},
            "roles": {"cycles": clock, "ref_cycles": clock, "instructions": clock,
                      "l3_miss_reads": uprobe("l3_miss_reads"),
                      "l3_miss_read_occupancy": uprobe("l3_miss_read_occupancy"),
                      "llc_reads": uprobe("l3_miss_reads"), "l3_miss_read_active": clock}}


def own_tree(directory, groups):
    """For --path.cgroupfs of a governor: nothing of the machine but these groups, in both hierarchies."""
    tree = pathlib.Path(directory) / "tree"
    tree.mkdir()
    (tree / "cpu").symlink_to(cpu_hierarchy() / groups.base.name)
    (tree / "unified").symlink_to(groups.base)
    return tree


class Container:
    """Of a pod, with the kubelet's link to its log, and a cgroup in both hierarchies."""

    def __init__(self, loop, namespace, name):
        self.loop, self.processes = loop, []
        self.container_id, uid = secrets.token_hex(32), uuid.uuid4()
        qos = "besteffort" if namespace != "shop" else "burstable"
        relative = f"kubepods/{qos}/pod{uid}/{self.container_id}"
        (loop.links / f"{name}-0_{namespace}_{name}-{self.container_id}.log").symlink_to(
            f"/var/log/pods/{namespace}_{name}-0_{uid}/{name}/0.log")
        self.cgroup = loop.groups.make(relative)
        self.cpu = loop.cpu_mount / self.cgroup.relative_to(loop.groups.mount)
        self.cpu.mkdir(parents=True)
        if qos == "besteffort":  # it asks for nothing, and may have one core
            (self.cpu.parent.parent / "cpu.shares").write_text("2")
            (self.cpu / "cpu.shares").write_text("2")
            (self.cpu / "cpu.cfs_quota_us").write_text(f"{MOST * 1e5:.0f}")

    def run(self, *argv):
        procs = [os.open(folder / "cgroup.procs", os.O_WRONLY) for folder in (self.cpu, self.cgroup)]

        def enter():
            harness.die_with_parent()
            for fd in procs:
                os.write(fd, b"0")

        process = subprocess.Popen([str(a) for a in argv], preexec_fn=enter, text=True,
                                   stdout=subprocess.PIPE)
        for fd in procs:
            os.close(fd)
        self.processes.append(process)
        assert process.stdout.readline() == "ready\n", f"{argv} did not start"
        process.stdout.close()
        return process

    def quota(self):
        """In cores."""
        return int((self.cpu / "cpu.cfs_quota_us").read_text()) / 1e5

    def signal(self, number):
        for process in self.processes:
            process.send_signal(number)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
        for folder in (self.cpu, self.cgroup):
            with contextlib.suppress(OSError):
                wait_until(lambda: not (folder / "cgroup.procs").read_text(), 10, "it is empty")
                folder.rmdir()


class ClosedLoop(contextlib.ExitStack):
    def __init__(self, directory):
        super().__init__()
        self.cpu_mount = cpu_hierarchy()
        self.host = pathlib.Path(directory) / "host"
        self.links = self.host / "var/log/containers"
        self.links.mkdir(parents=True)
        self.state = pathlib.Path(directory) / "state"
        self.state.mkdir(mode=0o700)
        self.groups = self.enter_context(harness.Cgroups())
        if self.groups.version != 2:
            raise unittest.SkipTest("needs perf_event in cgroup v2")
        base = self.cpu_mount / self.groups.base.name
        base.mkdir()
        (base / "cpu.shares").write_text("262144")  # whatever else the machine does
        self.tree = own_tree(directory, self.groups)
        self.port = free_port()
        self.directory = pathlib.Path(directory)
        self.cpus = harness.online_cpus()
        self.leave_alone(self.cpus[0])
        self.exporter = self.enter_context(Exporter(
            "--source=perf", f"--events.file={self.events()}", f"--path.rootfs={self.host}",
            "--collector.disable-defaults", "--collector.core_latency", "--containers.names=logs",
            self.groups.only(), f"--sampling.interval={INTERVAL_S:g}s",
            f"--web.listen-address=unix:{directory}/exporter.sock", ends_within=60))

    def leave_alone(self, cpu):
        """This process, the exporter and the governor run beside the neighbours, and before them: a burst
        during which one of them runs where the container waits says nothing."""
        self.callback(os.sched_setaffinity, 0, self.cpus)
        self.callback(os.setpriority, os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
        os.sched_setaffinity(0, set(self.cpus) - {cpu})
        os.setpriority(os.PRIO_PROCESS, 0, -15)

    def events(self):
        path = self.directory / "events.json"
        path.write_text(json.dumps(told_events(CHASE, UNIT_NS)))
        return path

    def govern(self, threshold=PAPER, limits={"cuts_per_10m": 63}):  # noqa: B006: nobody changes it
        anything = {"pod": "*", "container": "*"}
        config = self.directory / "governor.json"
        config.write_text(json.dumps({
            "governor": 1, "mode": "enforce", "state_directory": str(self.state),
            "exporter": {"socket": str(self.directory / "exporter.sock")},
            "classes": [{"name": "web", "role": "protected",
                         "match": [{"namespace": "shop", **anything}]},
                        {"name": "batch", "role": "best_effort",
                         "match": [{"namespace": "jobs", **anything}],
                         "cpu": {"base_cores": BASE, "step_cores": STEP}}],
            "policies": {"threshold": {"classes": ["batch"], **threshold}}, "limits": limits}))
        with (self.directory / "log").open("wb") as log:
            process = start([GOVERNOR, f"--config.file={config}", "--enforce",
                             f"--state-directory={self.state}",
                             f"--path.cgroupfs={self.tree}",
                             f"--web.listen-address=127.0.0.1:{self.port}"], stderr=log)
        self.callback(stop, process)
        return process

    def measured(self, container):
        """Latency and baseline of the last window in ns, None where there is none."""
        page = self.exporter.scrape()
        label = {"container_id": container.container_id[:12]}
        return [value and value * 1e9
                for value in (page.get(LATENCY, **label), page.get(BASELINE, **label))]

    def fill(self):
        """What others leave of the CPU of who waits."""
        cgroups = [self.cpu_mount / self.groups.base.name / "rest", self.groups.base / "rest"]
        for cgroup in cgroups:
            cgroup.mkdir()
        (cgroups[0] / "cpu.shares").write_text("2")

        def enter():
            harness.die_with_parent()
            for cgroup in cgroups:
                (cgroup / "cgroup.procs").write_text("0")

        self.callback(stop, subprocess.Popen([HOG, "compute", str(self.cpus[0])], preexec_fn=enter,
                                             stdout=subprocess.DEVNULL))

    def victim(self):
        """A container that waits, alone until its baseline is known."""
        victim = Container(self, "shop", "cart")
        self.callback(victim.end)
        victim.run(CHASE, "chase", self.cpus[0], CHASED_KIB)
        wait_until(lambda: self.measured(victim)[1], 90, "a baseline", INTERVAL_S / 2)
        return victim

    def neighbours(self):
        """{arm: container}, all of them stopped, and those that are governed with all they may have."""
        made = {}
        for name in ARMS:
            neighbour = made[name] = Container(self, "free" if name == FREE else "jobs",
                                               f"report-{len(made)}")
            self.callback(neighbour.end)
            neighbour.run(CHASE, "tell", self.cpus[-1], TELL_RATE)
            neighbour.run(HOG, "compute" if name == COMPUTE else "stream", self.cpus[0], MIB)
            neighbour.signal(signal.SIGSTOP)
        return made

    def turn(self, victim, neighbour, ticks):
        """[(latency in ns, quota in cores)] of so many ticks, after one that is partly another's."""
        seen = []
        neighbour.signal(signal.SIGCONT)
        for tick in range(1 + ticks):
            quota = neighbour.quota()  # in force during the tick
            self.exporter.wait_tick()
            latency = self.measured(victim)[0]
            if latency and tick:
                seen.append((latency, quota))
        neighbour.signal(signal.SIGSTOP)
        return seen


def cpu_seconds(path):
    return int(re.search(r"usage_usec (\d+)", path.read_text()).group(1)) / 1e6


def busy_seconds():
    """Of all CPUs, since the boot."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


class Results:
    """{arm: [round]} of (latency in ns, quota in cores) by tick, and what was normal."""

    def __init__(self):
        self.arms, self.normal = {name: [] for name in ARMS}, None
        self.others = 0.0  # CPUs that somebody else had

    def column(self, name, which):
        return [[tick[which] for tick in round] for round in self.arms[name]]

    def superiority(self, which, low, high):
        """P(a tick of the second arm is above one of the first), both of the same round."""
        parts = []
        for a, b in zip(self.column(low, which), self.column(high, which)):
            wins = sum((y > x) + 0.5 * (y == x) for x in a for y in b)
            parts.append(wins / (len(a) * len(b)))
        return statistics.mean(parts)

    def kept(self):
        """Of the CPU that it may have, what who computes had. Each window that noise puts over theta
        costs nine ticks of climbing, so that this falls with the noise, and slowly: with one of
        twenty such windows to 0.8, with one of six to 0.5."""
        quotas = [q for round in self.column(COMPUTE, 1) for q in round]
        return statistics.mean(quotas) / MOST

    def quota_p(self):
        return self.superiority(1, GOVERNED, COMPUTE)

    def latency_p(self):
        return self.superiority(0, GOVERNED, FREE)

    def harm_p(self):
        """What the hog does here, whatever the governor does to it."""
        return self.superiority(0, COMPUTE, FREE)

    def above_limit(self):
        """Share of the hog's ticks without a quota in which reads take what the governor cuts for."""
        reads = [ns for round in self.column(FREE, 0) for ns in round]
        return statistics.mean(ns >= FACTOR * self.normal for ns in reads)

    def __str__(self):
        lines = [f"normal {self.normal:.1f} ns, others had {self.others:.2f} CPUs"]
        for name in ARMS:
            latency, quota = (
                [statistics.mean(round) for round in self.column(name, which)] for which in (0, 1))
            lines.append(f"{name:22} latency {' '.join(f'{x:5.1f}' for x in latency)} ns   "
                         f"quota {' '.join(f'{x:.2f}' for x in quota)}")
        lines.append(f"P(latency beside stream > beside compute) {self.harm_p():.2f}")
        lines.append(f"P(quota of compute > of stream) {self.quota_p():.2f}, P(latency without > "
                     f"with governor) {self.latency_p():.2f}, compute keeps {self.kept():.0%}")
        return "\n".join(lines)


def play(loop, rounds, ticks):
    """So many rounds: who stops as soon as it looks well finds what noise makes of it."""
    draw, results = random.Random("closed loop"), Results()
    own = loop.groups.base / "cpu.stat"
    loop.fill()
    victim = loop.victim()
    results.normal = loop.measured(victim)[1]
    neighbours = loop.neighbours()
    loop.govern()
    wait_until(lambda: all(c.quota() == MOST for c in neighbours.values()), 60, "all have climbed")
    began, busy, ours = time.monotonic(), busy_seconds(), cpu_seconds(own)
    for _ in range(rounds):
        for name in draw.sample(ARMS, len(ARMS)):
            results.arms[name].append(loop.turn(victim, neighbours[name], ticks))
    results.others = ((busy_seconds() - busy - cpu_seconds(own) + ours)
                      / (time.monotonic() - began))
    return results


def stay(loop, minutes):
    """Who streams, and then who computes, begins and stays, under the policy's defaults, beside one that has
    waited alone for a while: by minute what reads took, how many ticks of them took more than theta, and the
    quota. Last, what the same neighbour does without a quota."""
    loop.fill()
    victim = loop.victim()
    normal = loop.measured(victim)[1]
    print(f"normal {normal:.1f} ns, theta {DEFAULT_FACTOR * normal:.1f} ns", flush=True)
    time.sleep(20 * minutes)
    neighbours = loop.neighbours()
    loop.govern(threshold={}, limits={})
    for name, n in ((GOVERNED, minutes), (COMPUTE, minutes // 3), (FREE, 2)):
        for minute in range(n):
            reads, quotas = zip(*loop.turn(victim, neighbours[name], int(60 / INTERVAL_S)))
            above = statistics.mean(ns > DEFAULT_FACTOR * normal for ns in reads)
            print(f"{name:22} minute {minute + 1:2}: {statistics.mean(reads):5.1f} ns, above theta in "
                  f"{above:4.0%} of ticks, quota {statistics.mean(quotas):.2f}, normal "
                  f"{loop.measured(victim)[1]:.1f} ns", flush=True)
