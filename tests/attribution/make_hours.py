#!/usr/bin/python3
"""Makes the recordings of hours/: half an hour each, in which pods come, go, and stay.

    sudo make_hours.py BUILD DIRECTORY [SCENARIO[:MINUTES] ...]
    make_hours.py --slim RAW DIRECTORY

Real programs in real cgroups and the real probe, as make_recordings.py, but a pod's cgroup is made
when it starts and removed when it ends. RAW is the exporter's own recording, beside it RAW.known with
the names and the truth; both are kept in DIRECTORY/raw, so that what is left out can be decided again.
"""
import contextlib
import dataclasses
import hashlib
import heapq
import json
import lzma
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import harness  # noqa: E402
from harness import Cgroups, Exporter  # noqa: E402
from neighbours import drawing, own_share_of_cpus  # noqa: E402

MINUTES = 30
SHORTEN_NS = 10000  # CPU time is kept to 10 us
# Kubernetes draws tails from these letters; a template's hash is decimal digits, encoded in ten of them.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"
HASH = str.maketrans(LETTERS, ("bcdf456789" * 3)[:len(LETTERS)])
PERIOD_US = 100000


@dataclasses.dataclass
class Pod:
    """What runs, and when, in seconds from the first tick."""

    name: str
    namespace: str
    container: str
    image: str
    mode: str  # of memory_hog, or idle
    mib: int = 64
    cpu: str = "1"
    start: float = 0
    end: float | None = None
    warm_s: float = 0  # busy all the time at first
    busy: tuple = (1, 1)  # of each second, from and to; (1, 1): never stopped
    quota: float | None = None  # of a CPU
    hurts: bool = False

    def pulses(self, draw, until):
        """[(t, on)] after the warm-up."""
        if self.busy == (1, 1) or self.mode == "idle":
            return
        t = self.start + self.warm_s
        while t < until:
            share = draw.uniform(*self.busy)
            yield t, False
            late = draw.uniform(0, 1 - share)
            yield t + late, True
            yield t + late + share, False
            t += 1


# --- what runs ------------------------------------------------------------------------------------


def generated(draw, n):
    return "".join(draw.choice(LETTERS) for _ in range(n))


class Cluster:
    """The pods of a node, and the names that Kubernetes would give them."""

    def __init__(self, draw, seconds):
        self.draw, self.seconds, self.pods = draw, seconds, []
        self.replicasets, self.job = {}, 29384400

    def pod(self, name, namespace, container, image, mode, **more):
        self.pods.append(Pod(name, namespace, container, image, mode, **more))
        return self.pods[-1]

    def deployment(self, namespace, owner, mode, new=False, tag=1, **more):
        if new or owner not in self.replicasets:
            self.replicasets[owner] = generated(self.draw, 10).translate(HASH)
        name = f"{owner}-{self.replicasets[owner]}-{generated(self.draw, 5)}"
        return self.pod(name, namespace, owner, f"registry.example/{namespace}/{owner}:1.{tag}",
                        mode, **more)

    def cron(self, namespace, owner, mode, **more):
        self.job += 5
        return self.pod(f"{owner}-{self.job}-{generated(self.draw, 5)}", namespace, owner,
                        f"registry.example/{namespace}/{owner}:2.0", mode, **more)

    def services(self):
        """Those who are there all the time: a few per cent of a CPU each."""
        self.pod(f"node-exporter-{generated(self.draw, 5)}", "monitoring", "node-exporter",
                 "registry.example/node-exporter:1.8", "compute", busy=(0.005, 0.02), cpu="any")
        self.deployment("kube-system", "coredns", "idle")
        self.pod("redis-0", "shop", "redis", "registry.example/redis:7", "idle")
        self.pod("postgres-0", "shop", "postgres", "registry.example/postgres:16", "random",
                 mib=128, busy=(0.005, 0.02))
        self.deployment("shop", "frontend", "compute", busy=(0.02, 0.12), cpu="any")
        self.deployment("shop", "checkout", "random", busy=(0.005, 0.015))
        self.deployment("shop", "search", "compute", busy=(0.03, 0.15))
        self.deployment("shop", "mailer", "compute", busy=(0.005, 0.03))

    def first(self, owner):
        """The pod of this owner that is there now."""
        return next(p for p in reversed(self.pods) if p.container == owner and p.end is None)

    def roll(self, owner, at, tag):
        """A new version: the new pod starts busily, the old one ends some seconds later."""
        old = self.first(owner)
        old.end = at + self.draw.uniform(6, 20)
        self.deployment(old.namespace, owner, old.mode, new=True, tag=tag, mib=old.mib, cpu=old.cpu,
                        busy=old.busy, start=at, warm_s=self.draw.uniform(2, 8) *
                        (old.mode == "compute"))

    def report(self, at):
        """A cron job that computes, and ends."""
        share = self.draw.uniform(0.3, 0.9)
        self.cron("batch", "report", "compute", start=at, end=at + self.draw.uniform(20, 70),
                  busy=(share - 0.05, share + 0.05))

    def hog(self, at, quota):
        return self.deployment("data", "feature-loader", "stream", mib=512, start=at, quota=quota,
                               hurts=True)


def few_deploys(cluster, hog_at):
    """Beside a hog: a job every six minutes or so, two rollouts, a sleeper; none of them within 20 s
    of the hog's start, and one within a minute after it."""
    draw, last = cluster.draw, cluster.seconds
    for minute in range(2, int(last / 60), 6):
        at = minute * 60 + draw.uniform(0, 200)
        if abs(at - hog_at) > 20 and at < last - 20:
            cluster.report(at)
    cluster.roll("search", 0.12 * last + draw.uniform(0, 30), 2)
    cluster.roll("mailer", hog_at + draw.uniform(30, 60), 2)
    cluster.roll("search", 0.62 * last + draw.uniform(0, 60), 3)
    cluster.deployment("shop", "feature-flags", "idle", start=0.45 * last)


def many_deploys(cluster):
    """Nobody hurts: a start every minute or so, of services, of jobs, of those who compute and stay,
    and of sleepers."""
    draw, at, tag = cluster.draw, 60.0, 2
    order = []
    while at < cluster.seconds - 30:
        order = order or draw.sample(("search", "frontend", "checkout", "mailer", "report", "report",
                                      "encoder", "sleeper", "encoder"), 9)
        what = order.pop()
        if what == "report":
            cluster.report(at)
        elif what == "encoder":  # computes; two thirds of them end within minutes
            share = draw.uniform(0.1, 0.35)
            cluster.deployment("media", "encoder", "compute", start=at, busy=(share, share + 0.04),
                               end=at + draw.uniform(90, 400) if draw.random() < 0.67 else None)
        elif what == "sleeper":
            cluster.deployment("shop", "feature-flags", "idle", new=True, tag=tag, start=at)
        else:
            cluster.roll(what, at, tag)
            tag += 1
        at += draw.uniform(20, 110)
        if draw.random() < 0.15:  # two at once
            cluster.report(at - 0.5)


# The share of a CPU that each hog has; None: all that it gets.
HOGS = {"hog-large": None, "hog-medium": 0.5, "hog-small": 0.25}


def scenario(name, seconds):
    """[Pod], sorted by nothing."""
    cluster = Cluster(drawing(name), seconds)
    cluster.services()
    if name in HOGS:
        at = min(8 * 60, 0.4 * seconds) + cluster.draw.uniform(-20, 20)
        cluster.hog(at, HOGS[name])
        few_deploys(cluster, at)
    elif name == "deploys":
        many_deploys(cluster)
    elif name != "own-steps":
        sys.exit(f"no scenario {name}")
    return cluster.pods


# --- running it -----------------------------------------------------------------------------------


class Running:
    """A pod's container and its process."""

    def __init__(self, cgroups, pod):
        self.pod, self.limit = pod, None
        self.cgroup, self.container_id = cgroups.docker()
        argv = [harness.PROGRAMS / "idle"] if pod.mode == "idle" else [
            "nice", "-n", "-5", harness.PROGRAMS / "memory_hog", pod.mode, pod.cpu, pod.mib]
        self.process = cgroups.spawn(self.cgroup, argv, stdout=subprocess.DEVNULL)
        self.running = True
        if pod.quota:
            self.limit_to(cgroups.base.name, pod.quota)

    def limit_to(self, base, quota):
        """By the hierarchy that has the controller of CPU time: version 2's own or version 1's."""
        if (self.cgroup / "cpu.max").exists():
            (self.cgroup / "cpu.max").write_text(f"{int(quota * PERIOD_US)} {PERIOD_US}")
            return
        mount = next(mount for version, mount, options in harness.cgroup_mounts()
                     if version == 1 and "cpu" in options)
        self.limit = mount / base / self.cgroup.name
        self.limit.mkdir(parents=True)
        (self.limit / "cpu.shares").write_text("4096")
        (self.limit / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.limit / "cpu.cfs_quota_us").write_text(str(int(quota * PERIOD_US)))
        (self.limit / "cgroup.procs").write_text(str(self.process.pid))

    def switch(self, on):
        if on != self.running and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT if on else signal.SIGSTOP)
        self.running = on

    def end(self):
        self.process.kill()
        self.process.wait()
        for directory in (self.cgroup, self.limit):
            if directory is not None:
                harness.wait_until(lambda d=directory: removed(d), 10, "a cgroup is empty", 0.02)


def removed(directory):
    with contextlib.suppress(FileNotFoundError):
        try:
            directory.rmdir()
        except OSError:
            return False
    return True


class Play:
    """Starts, switches and ends pods by the clock."""

    def __init__(self, cgroups, pods, draw, seconds):
        self.cgroups, self.seconds = cgroups, seconds
        self.running, self.ids, self.load = {}, {}, []
        self.lives = {pod.name: [pod.start, min(seconds, pod.end or seconds)] for pod in pods}
        edges = []
        for pod in pods:
            end = self.lives[pod.name][1]
            edges.append((pod.start, 0, pod, "start"))
            edges += [(t, 1, pod, on) for t, on in pod.pulses(draw, end)]
            if end < seconds:
                edges.append((end, 2, pod, "end"))
        self.edges = [(t, rank, number, pod, what)
                      for number, (t, rank, pod, what) in enumerate(edges)]
        heapq.heapify(self.edges)

    def act(self, t, pod, what):
        if what == "start":
            self.running[pod.name] = running = Running(self.cgroups, pod)
            self.ids[running.container_id] = pod.name
        elif pod.name in self.running and what == "end":
            self.running.pop(pod.name).end()
        elif pod.name in self.running:
            self.running[pod.name].switch(what)

    def before(self):
        """Those who are there from the start, and wait for their turn."""
        while self.edges[0][4] == "start" and self.edges[0][0] == 0:
            t, _, _, pod, what = heapq.heappop(self.edges)
            self.act(t, pod, what)
            if pod.busy != (1, 1):
                self.running[pod.name].switch(False)

    def run(self):
        began, next_load = time.monotonic(), 0.0
        while self.edges and self.edges[0][0] < self.seconds:
            t, _, _, pod, what = heapq.heappop(self.edges)
            time.sleep(max(0.0, began + t - time.monotonic()))
            if what in ("start", "end"):  # as it really was
                self.lives[pod.name][what == "end"] = round(time.monotonic() - began, 2)
            self.act(t, pod, what)
            if t >= next_load:
                self.load.append(round(os.getloadavg()[0], 1))
                next_load += 60
        time.sleep(max(0.0, began + self.seconds - time.monotonic()))


def record(name, path, minutes):
    """The exporter's own recording, and what is known of it."""
    seconds = minutes * 60
    pods = scenario(name, seconds)
    with Cgroups() as cgroups:
        play = Play(cgroups, pods, drawing(name + " pulses"), seconds)
        play.before()
        with Exporter("--collector.disable-defaults", "--collector.attribution",
                      "--collector.probe", "--containers.names=none", cgroups.only(),
                      "--sampling.interval=1s", f"--source.record.file={path}",
                      command=("nice", "-n", "-15")) as exporter:
            exporter.wait_tick()
            exporter.wait_tick()
            first_tick = exporter.tick()
            print(f"{time.strftime('%H:%M:%S')} {name} begins", flush=True)
            play.run()
    truth = {"scenario": name, "hurts": [pod.name for pod in pods if pod.hurts], "alike": [],
             "first_tick": first_tick,
             "on": {pod.name: [[round(t, 2) for t in play.lives[pod.name]]] for pod in pods
                    if pod.mode != "idle"},
             "load_1m": play.load}
    known = {"ids": play.ids, "truth": truth,
             "pods": {pod.name: dataclasses.asdict(pod) for pod in pods}}
    path.with_suffix(".known").write_text(json.dumps(known))
    print(f"{time.strftime('%H:%M:%S')} {name}: load {play.load}", flush=True)


# --- what is kept ---------------------------------------------------------------------------------


def container_line(pod):
    """Under its pod's name, as in what attribution_replay is told."""
    name = pod["name"]
    assert len(name) < 32, f"{name} is too long for a key"
    return {"container": {"key": name, "cgroup": "/" + name,
                          "id": hashlib.sha256(name.encode()).hexdigest()[:12],
                          "namespace": pod["namespace"], "pod": name,
                          "container": pod["container"], "image": pod["image"], "pod_uid": ""}}


class Slim:
    """What attribution needs of a recording, line by line. CPU time begins with 0, and is said where
    it has changed."""

    def __init__(self, known):
        self.known, self.keys, self.live = known, {}, set()
        self.zero = None

    def activity(self, line):
        name = self.keys.get(line["activity"], line["activity"])
        return {**line, "activity": name,
                "cpu_time_ns": line["cpu_time_ns"] // SHORTEN_NS * SHORTEN_NS}

    def container(self, line):
        name = self.known["ids"][line["id"]]
        self.keys[line["key"]] = name
        if name in self.live:  # found before, named now
            return None
        self.live.add(name)
        found = container_line(self.known["pods"][name])
        if self.zero is not None:
            found["container"]["found_mono_ns"] = self.mono_ns(line["found_mono_ns"])
        return found

    def gone(self, key):
        """Its last reading is still to come."""
        name = self.keys[key]
        self.live.discard(name)
        return {"gone": name}

    def mono_ns(self, mono_ns):
        return (mono_ns - self.zero[0]) // 1000 * 1000 + 1000000000

    def tick(self, line):
        if self.zero is None:
            self.zero = line["mono_ns"], line["wall_ns"]
        return {"tick": line["tick"], "mono_ns": self.mono_ns(line["mono_ns"]),
                "wall_ns": (line["wall_ns"] - self.zero[1]) // 1000 * 1000 + 1790000000000000000}

    def probe(self, line):
        return {**line, "probe": {key: round(value, 2) if key == "latency_ns" else value
                                  for key, value in line["probe"].items() if key != "llc_hit_ns"}}

    def line(self, line):
        if "recording" in line:
            machine = {key: line["machine"][key] for key in ("sockets", "numa_nodes", "cpus")}
            return {**line, "machine": machine}
        if "container" in line:
            return self.container(line["container"])
        if "gone" in line:
            return self.gone(line["gone"])
        for kind in ("activity", "tick", "probe"):
            if kind in line:
                return getattr(self, kind)(line)
        return line if "thread" in line else None


def slim(raw, to):
    known = json.loads(raw.with_suffix(".known").read_text())
    kept, keep = [], Slim(known)
    for text in raw.read_text().splitlines():
        line = keep.line(json.loads(text))
        if line is not None:
            kept.append(line)
    kept.insert(1, {"attribution_truth": known["truth"]})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in kept)
    packed = to / f"{known['truth']['scenario']}.jsonl.xz"
    packed.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{packed.name}: {packed.stat().st_size / 1024:.0f} KiB", flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    to = pathlib.Path(sys.argv[-1] if sys.argv[1] == "--slim" else sys.argv[2])
    to.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "--slim":
        slim(pathlib.Path(sys.argv[2]), to)
        return
    harness.need_root()
    own_share_of_cpus()
    (to / "raw").mkdir(exist_ok=True)
    for wanted in sys.argv[3:] or ("hog-large", "deploys", "hog-small", "hog-medium", "own-steps"):
        name, _, minutes = wanted.partition(":")
        raw = to / "raw" / f"{name}.jsonl"
        record(name, raw, float(minutes or MINUTES))
        slim(raw, to)


if __name__ == "__main__":
    main()
