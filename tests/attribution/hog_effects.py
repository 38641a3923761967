#!/usr/bin/python3
"""How much the hogs of hours/ slow the probe down, and programs that only compute, for whom it may
have to wait for a CPU: each alone, and nobody, in turns that are drawn anew in every round.

    sudo hog_effects.py BUILD [SECONDS [NAME ...]]

They are there all the time and stopped but in their turns. Only ticks that lie in a turn count. The
effect is the median over rounds of the ratio to the turn of nobody; its error 1.25 sd / sqrt(rounds).
"""
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import harness  # noqa: E402
from harness import Cgroups, Exporter  # noqa: E402
from make_hours import HOGS, Pod, Running  # noqa: E402
from neighbours import drawing, own_share_of_cpus  # noqa: E402

TURN_S = 3.0
# As much CPU as the large one, no memory: beside the probe, on its CPU, anywhere.
COMPUTE = {"compute": "1", "compute-on-its-cpu": "0", "compute-anywhere": "any"}


def start(cgroups, name):
    pod = (Pod(name, "", "", "", "stream", mib=512, quota=HOGS[name]) if name in HOGS else
           Pod(name, "", "", "", "compute", cpu=COMPUTE[name]))
    running = Running(cgroups, pod)
    running.switch(False)
    return running


def turns(hogs, seconds):
    """[(round, name or None, from, to)], by the monotonic clock."""
    draw, found, names = drawing("effects"), [], [*hogs, None]
    for number in range(int(seconds / TURN_S / len(names))):
        for name in draw.sample(names, len(names)):
            began = time.monotonic()
            if name:
                hogs[name].switch(True)
            time.sleep(TURN_S)
            if name:
                hogs[name].switch(False)
            found.append((number, name, began, time.monotonic()))
    return found


def bursts(path):
    """[(from, to, [latency])]: what was measured between two ticks."""
    found, before, now = [], None, None
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if "tick" in line:
            before, now = now, line["mono_ns"] * 1e-9
            found.append((before, now, []))
        elif "probe" in line:
            found[-1][2].append(line["probe"]["latency_ns"])
    return [tick for tick in found if tick[0] is not None]


def effects(found, ticks):
    """{name: [latency in its turn / that in nobody's, per round]}"""
    latency = {}
    for number, name, began, ended in found:
        inside = [ns for a, b, values in ticks if began <= a and b <= ended for ns in values]
        if inside:
            latency[number, name] = statistics.median(inside)
    ratios = {}
    for (number, name), ns in latency.items():
        if name and (number, None) in latency:
            ratios.setdefault(name, []).append(ns / latency[number, None])
    calm = [ns for (_, name), ns in latency.items() if name is None]
    return statistics.median(calm), ratios


def main():
    harness.need_root()
    own_share_of_cpus()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 300.0
    with tempfile.TemporaryDirectory() as directory, Cgroups() as cgroups:
        path = pathlib.Path(directory, "raw.jsonl")
        hogs = {name: start(cgroups, name) for name in sys.argv[3:] or (*HOGS, *COMPUTE)}
        with Exporter("--collector.disable-defaults", "--collector.attribution",
                      "--collector.probe", "--containers.names=none", cgroups.only(),
                      "--sampling.interval=500ms", f"--source.record.file={path}",
                      command=("nice", "-n", "-15")) as exporter:
            exporter.wait_tick()
            found = turns(hogs, seconds)
        calm, ratios = effects(found, bursts(path))
    print(f"nobody: {calm:.1f} ns; load {os.getloadavg()[0]:.1f}")
    for name, values in ratios.items():
        error = 1.25 * statistics.pstdev(values) / len(values) ** 0.5
        print(f"{name}: {statistics.median(values) - 1:+.1%} +- {error:.1%}, {len(values)} rounds")


if __name__ == "__main__":
    main()
