"""A node through a day, second by second, whose truth is known: containers that read memory, what a read
takes them, and who makes it take longer. It writes a recording, version 1, one tick at a time; the same
kind and seed give the same day.

A read takes what the memory takes (beyond the caches), more of it the more all read together, and more
while somebody hurts. Who hurts, when, and whose reads take how much longer, is the truth.
"""
import json
import math
import random

BASE_HZ, CACHE_CYCLES, LLC_NS = 2.1e9, 44, 20
IDLE_NS = 70  # of a read, beyond the caches
PROBE_NS = 91
BANDWIDTH = 600e6  # reads per second of a socket
WAITS = 1.25  # times its normal: the exporter's default
DAY, HOUR, MINUTE = 86400, 3600, 60


def loaded(share):
    return 1 + 0.5 * share * share / (1 - min(share, 0.9))


def always(value):
    return lambda t: value


class Container:
    """Reads and CPUs are functions of the second. From 'comes' until before 'goes'."""

    def __init__(self, name, reads=5e6, cpus=1.0, *, pod=None, namespace="shop", comes=0, goes=DAY,
                 latency=1.0, hurts=0.0, socket=0, noise=0.03, cgroup=None):
        self.name, self.pod, self.namespace = name, pod or f"{name}-0", namespace
        self.reads = reads if callable(reads) else always(reads)
        self.cpus = cpus if callable(cpus) else always(cpus)
        self.latency = latency if callable(latency) else always(latency)
        self.comes, self.goes = comes, goes
        self.hurts = hurts  # of everybody's latency, a share, per CPU that it uses
        self.socket = socket if callable(socket) else always(socket)
        self.noise = noise
        self.cgroup = cgroup
        self.wander = 0.0
        self.totals = [0] * 7
        self.cpu_ns = self.enabled_ns = self.running_ns = 0


class Day:
    """What a kind sets, and its defaults. 'true' are spans in which memory is slow by somebody's doing:
    (from, to, names of who waits; None: everybody)."""

    seconds = DAY
    sockets, numa_nodes = 1, 1
    microarchitecture = "clx"
    probed = True

    def __init__(self, kind, seed):
        self.kind, self.random = kind, random.Random(f"{kind} {seed}")
        self.containers, self.true = [], []
        self.alerts = {}  # name: (from, to): fires within a quarter of an hour of 'from', not after 'to'
        self.perhaps = []  # alerts that may fire: what they say is true at times
        self.restarts = {}  # second: flags of the next exporter
        self.gaps = []  # (from, to): Prometheus does not scrape
        self.missing = set()  # seconds without a tick
        self.resets, self.start_total, self.wraps = set(), 0, 0
        self.rules_until = DAY  # promtool takes no more: of many containers it is slow
        self.exporters = 1  # on this node, which say the same
        self.state = False  # there is a state file
        self.far_node = False  # one more NUMA node, without CPUs
        self.hz = lambda t, c: BASE_HZ
        self.running = lambda t: 1.0  # share of the time that counters are on
        self.steal = lambda t: 0.0
        self.mono = lambda t: t
        self.wall = lambda t: t  # of the node; Prometheus has a clock of its own
        self.prometheus = lambda t: t
        self.silent = lambda t: False  # the probe has no reading
        self.cpu = lambda t, c: None  # on which CPU the counts are; None: their sum

    def add(self, *args, **more):
        container = Container(*args, **more)
        container.key = f"c{len(self.containers)}"
        container.id = f"{len(self.containers) + 1:012x}" + 52 * "0"
        self.containers.append(container)
        return container

    def services(self, n, reads=5e6, **more):
        return [self.add(f"svc{i}", reads, latency=1 + 0.1 * (i % 3), **more) for i in range(n)]

    # ---- the recording ----

    def header(self, t):
        machine = {"microarchitecture": self.microarchitecture, "base_frequency_hz": BASE_HZ,
                   "cache_cycles": CACHE_CYCLES, "llc_hit_cycles": LLC_NS, "sockets": self.sockets,
                   "numa_nodes": self.numa_nodes, "cpus": 32 * self.sockets}
        if self.sockets > 1:
            cpus = [f"{32 * s}-{32 * s + 31}" for s in range(self.sockets)]
            machine["socket_cpus"] = cpus
            nodes = self.numa_nodes // self.sockets
            machine["numa_node_cpus"] = [
                f"{32 * s + 32 // nodes * n}-{32 * s + 32 // nodes * (n + 1) - 1}"
                for s in range(self.sockets) for n in range(nodes)] if nodes else cpus
        if self.far_node:
            machine["numa_nodes"] = 2
            machine["numa_node_cpus"] = ["0-31", ""]
        lines = [{"recording": 1, "machine": machine, "interval_ns": 1000000000}]
        for n in range(self.numa_nodes if self.probed else 0):
            lines.append({"thread": {"key": f"p{n}", "kind": "probe", "initiator_numa_node": n,
                                     "target_numa_node": n}})
        self.live = []
        self.waiting = sorted(self.containers, key=lambda c: -c.comes)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return text + self.comings(t, reopened=True)

    def comings(self, t, reopened=False):
        text = []
        while self.waiting and self.waiting[-1].comes <= t:
            c = self.waiting.pop()
            if c.goes <= t:
                continue
            c.totals = [self.start_total] * 7
            c.cpu_ns = c.enabled_ns = c.running_ns = 0
            self.live.append(c)
            text.append(json.dumps({"container": {
                "key": c.key, "cgroup": c.cgroup or f"/kubepods/burstable/pod{c.key}/{c.id}", "id": c.id,
                "namespace": c.namespace, "pod": c.pod, "container": c.name, "image": c.name + ":1",
                "pod_uid": f"uid-{c.key}"}}) + "\n")
        return "".join(text)

    def tick(self, t):
        """The lines of a second; "" for one that was missed."""
        if t in self.missing:
            self.work(t)
            return ""
        head = f'{{"tick":{t + 1},"mono_ns":{int((self.mono(t) + 1) * 1e9)},' \
               f'"wall_ns":{int((self.wall(t) + 1) * 1e9)}}}\n'
        gone = "".join(f'{{"gone":"{c.key}"}}\n' for c in self.live if c.goes <= t)
        self.live = [c for c in self.live if c.goes > t]
        return head + gone + self.comings(t) + self.work(t)

    def work(self, t):
        gauss = self.random.gauss
        share = self.running(t)
        reads, cpus, hurt = [], [], 0.0
        load = [0.0] * self.sockets
        for c in self.live:
            c.wander = 0.98 * c.wander + 0.02 * gauss(0, 1)
            cpus.append(c.cpus(t) * (1 - self.steal(t)))
            reads.append(c.reads(t) * math.exp(c.wander) * (1 - self.steal(t)))
            load[c.socket(t)] += reads[-1] / BANDWIDTH
            hurt += c.hurts * cpus[-1]
        out = []
        for c, r, used in zip(self.live, reads, cpus):
            slow = loaded(load[c.socket(t)]) * (1 if c.hurts else 1 + hurt)
            ns = IDLE_NS * c.latency(t) * slow * math.exp(gauss(0, c.noise))
            hz = self.hz(t, c)
            occupancy = r * ns * 1e-9 * hz
            counts = (used * hz, used * BASE_HZ, 0.8 * used * hz, r, occupancy, 3 * r, occupancy / 2)
            c.enabled_ns += int(used * 1e9)
            c.running_ns += int(used * 1e9 * share)
            c.cpu_ns += int(used * 1e9)
            if t in self.resets:
                c.totals = [0] * 7
            c.totals = [total + int(count * share) for total, count in zip(c.totals, counts)]
            if self.wraps:
                c.totals = [total % self.wraps for total in c.totals]
            if t in self.missing:
                continue
            v = c.totals
            cpu = self.cpu(t, c)
            on = "" if cpu is None else f'"cpu":{cpu},'
            out.append(
                f'{{"read":"{c.key}","group":"core",{on}"enabled_ns":{c.enabled_ns},'
                f'"running_ns":{c.running_ns},"values":{{"cycles":{v[0]},"ref_cycles":{v[1]},'
                f'"instructions":{v[2]},"l3_miss_reads":{v[3]},"l3_miss_read_occupancy":{v[4]},'
                f'"llc_reads":{v[5]},"l3_miss_read_active":{v[6]}}}}}\n'
                f'{{"activity":"{c.key}",{on}"cpu_time_ns":{c.cpu_ns}}}\n')
        self.host_ns = getattr(self, "host_ns", 0) + int(sum(cpus) * 1e9)
        if t in self.missing:
            return ""
        out.append(f'{{"activity":"host","cpu_time_ns":{self.host_ns}}}\n')
        for n in range(self.numa_nodes if self.probed and not self.silent(t) else 0):
            socket = min(n * self.sockets // self.numa_nodes, self.sockets - 1)
            ns = PROBE_NS * loaded(load[socket]) * (1 + hurt) * math.exp(gauss(0, 0.02))
            out.append(f'{{"probe":{{"initiator_numa_node":{n},"target_numa_node":{n},'
                       f'"latency_ns":{ns:.3f}}}}}\n')
        if self.far_node:
            out.append('{"probe":{"initiator_numa_node":0,"target_numa_node":1,"latency_ns":%.3f}}\n'
                       % (250 * math.exp(gauss(0, 0.02))))
        return "".join(out)

    def waits(self, c, t):
        return any(a <= t < b and (names is None and not c.hurts or names and c.name in names)
                   for a, b, names in self.true)
