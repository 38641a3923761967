"""Runs a program natively and under QEMU's user mode with slower memory. CPU time of whole processes
is what is measured, never wall-clock time: machines are shared."""
import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

QEMU = "qemu-x86_64"


class Trouble(Exception):
    """Something that the user can mend; its text says what."""


@dataclasses.dataclass
class Run:
    seconds: float  # CPU time, user and system
    report: dict  # the plugin's; empty for a native run


def _cpu_seconds(argv):
    try:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    except OSError as error:
        raise Trouble(f"{argv[0]}: {error.strerror}") from error
    with process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Trouble(f"{argv[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def native(program):
    return Run(_cpu_seconds(program), {})


TREE = pathlib.Path(__file__).resolve().parents[2]


def find_plugin(build=None, root=TREE):
    """The plugin of a build directory; without one, the newest in or below the tree's build/."""
    found = [pathlib.Path(build)] if build else [root / "build", *root.glob("build/*")]
    found = [folder / "programs/delay_plugin.so" for folder in found]
    found = sorted((path for path in found if path.exists()), key=lambda path: path.stat().st_mtime)
    if not found:
        raise Trouble("the plugin is not built: cmake -S . -B build && cmake --build build --target "
                      "delay_plugin, then --build=build")
    return found[-1]


def need_qemu():
    if not shutil.which(QEMU):
        raise Trouble(f"{QEMU} is missing: Debian's package qemu-user has it")


def emulated(plugin, program, **settings):
    """settings are the plugin's arguments (plugin.c lists them)."""
    program_path = shutil.which(program[0])
    if not program_path:
        raise Trouble(f"{program[0]}: No such file or directory")
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report"
        arguments = ",".join(f"{key}={value}" for key, value in
                             {**settings, "report": report}.items() if value is not None)
        seconds = _cpu_seconds([QEMU, "-plugin", f"{plugin},{arguments}", "-d", "plugin",
                                "-D", "/dev/null", program_path, *program[1:]])
        if not report.exists():
            raise Trouble("the plugin reported nothing: this QEMU may have another plugin interface "
                          "than Debian 12's 7.2")
        return Run(seconds, json.loads(report.read_text()))


def interleaved(settings, runs):
    """{name: [Run, ...]} of {name: function}: one of each, then again, so that what else the machine
    does meets all of them."""
    found = {name: [] for name in settings}
    for _ in range(runs):
        for name, run in settings.items():
            found[name].append(run())
    return found


def median(runs):
    return statistics.median(run.seconds for run in runs)


# Student's t, 97.5 %, of 1, 2, ... degrees of freedom; more have less than the last.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
           2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086)


@dataclasses.dataclass
class Effect:
    """How much longer some runs took than others that were interleaved with them, with half of its
    95 % interval; infinite of fewer than three runs."""
    seconds: float
    error: float
    alone: float  # of native runs, and so much of that is their own error
    alone_error: float

    @property
    def times(self):
        return 1 + self.seconds / self.alone

    @property
    def times_error(self):
        return math.hypot(self.error, self.seconds / self.alone * self.alone_error) / self.alone

    @property
    def is_known(self):
        """Not so if the interval holds no effect at all, unless that is known to a hundredth."""
        return self.alone > 0 and (self.times_error < abs(self.times - 1) or self.times_error < 0.01)


def interval(values):
    """Mean, and half of its 95 % interval."""
    if len(values) < 3:
        return statistics.mean(values), math.inf
    t = STUDENT[min(len(values) - 1, len(STUDENT)) - 1]
    return statistics.mean(values), t * statistics.stdev(values) / math.sqrt(len(values))


def effect(runs, base, native):
    """Of interleaved runs: each is compared with its neighbour."""
    more, error = interval([one.seconds - other.seconds for one, other in zip(runs, base)])
    return Effect(more, error, *interval([run.seconds for run in native]))


def misses(run):
    return run.report["near_misses"] + run.report["far_misses"]


def line(xs, ys):
    """Slope, intercept and R2 of the least squares' line."""
    slope, intercept = statistics.linear_regression(xs, ys)
    mean = statistics.fmean(ys)
    total = sum((y - mean) ** 2 for y in ys)
    rest = sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys))
    return slope, intercept, 1 - rest / total if total else 0.0


def weighted(near, far, far_share):
    """Equation 4 of Serrano's paper: CPU seconds of a mix from the seconds of the two pure runs;
    far_share is of the misses, not of the pages."""
    return near * (1 - far_share) + far * far_share


def write_recording(path, run, near_ns, far_ns):
    """A recording (version 1) of one run as one window of one container. Its counters say what was
    waited for; the probe's readings are the two tiers, NUMA nodes 0 and 1, and memory is on node 0
    but for the share of misses that went to the far tier. Everything that waited counts as a read
    that was waited for alone, as it was here: stores, too, which no CPU counts so."""
    hz = run.report["ticks_per_second"]
    cycles = round(run.seconds * hz)
    waited = run.report["waited_ticks"]
    far = run.report["far_misses"]
    container_id = "de1a" * 16
    zero = {"cycles": 0, "ref_cycles": 0, "instructions": 0, "l3_miss_reads": 0,
            "l3_miss_read_occupancy": 0, "llc_reads": 0, "l3_miss_read_active": 0}
    # Instructions are not counted; nothing that this recording is for reads them.
    whole = zero | {"cycles": cycles, "ref_cycles": cycles, "instructions": cycles,
                    "l3_miss_reads": misses(run), "llc_reads": misses(run),
                    "l3_miss_read_occupancy": waited, "l3_miss_read_active": waited}
    stalls = {"cycles": cycles, "stalls_l3_miss": waited, "loads_local_pmm": 0,
              "loads_local_dram": run.report["near_misses"], "loads_remote_dram": far}
    lines = [
        {"recording": 1, "about": "one run of an emulated program whose misses waited",
         "machine": {"microarchitecture": "clx", "base_frequency_hz": hz, "cache_cycles": 1,
                     "llc_hit_cycles": 1, "sockets": 2, "numa_nodes": 2, "cpus": 2,
                     "numa_node_cpus": ["0", "1"]},
         "interval_ns": 1000000000},
        {"container": {"key": "c1", "cgroup": f"/delay/{container_id}", "id": container_id,
                       "namespace": "delay", "pod": "delay", "container": "delay"}}]
    for tick, values in ((1, zero), (2, whole)):
        ran = round(values["cycles"] / hz * 1e9)
        lines.append({"tick": tick, "mono_ns": tick * 1000000000,
                      "wall_ns": 1790000000000000000 + tick * 1000000000})
        lines.append({"read": "c1", "group": "core", "cpu": 0, "enabled_ns": ran,
                      "running_ns": ran, "values": values})
        lines.append({"read": "c1", "group": "stalls", "cpu": 0, "enabled_ns": ran,
                      "running_ns": ran, "values": stalls if tick == 2 else dict.fromkeys(stalls, 0)})
        pages = (misses(run) - far, far) if tick == 2 and misses(run) else (1, 0)
        lines += [{"pages": "c1", "numa_node": node, "bytes": 4096 * n}
                  for node, n in enumerate(pages)]
        lines += [{"probe": {"initiator_numa_node": a, "target_numa_node": b,
                             "latency_ns": near_ns if a == b else far_ns}}
                  for a in (0, 1) for b in (0, 1)]
    pathlib.Path(path).write_text("".join(json.dumps(entry) + "\n" for entry in lines))
