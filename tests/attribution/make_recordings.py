#!/usr/bin/python3
"""Makes the recordings of recordings/: real programs in real cgroups, the real probe, no counters.

    sudo make_recordings.py BUILD DIRECTORY [SCENARIO ...]

Each takes three minutes. What a recording does not need is left out of it, names included; what is
known of it is its line "attribution_truth": who uses memory ("hurts"; whether it is felt is another
question), who goes along with whom ("alike"), and when each was on, in seconds from the first tick.
"""
import json
import lzma
import os
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import harness  # noqa: E402
from harness import Cgroups, Exporter  # noqa: E402
from neighbours import (  # noqa: E402
    Neighbour, drawing, intervals, own_share_of_cpus, play, pulses, unlike)

SECONDS = 152
ALWAYS = [(0, SECONDS)]
# All others run on CPU 1; the probe is on CPU 0.
WANDER = {"hog-always", "service-1"}
WANDER_IN = {"stores": {"compute-1"}, "copy": {"compute-1"}}


def switching(draw):
    return intervals(draw, SECONDS, 5, 18)


def bystanders(draw):
    return {"sleeper-1": ("idle", ALWAYS), "sleeper-2": ("idle", ALWAYS),
            "service-1": ("compute", pulses(draw, SECONDS, 0.05, 0.35)),
            "service-2": ("random", pulses(draw, SECONDS, 0, 0.02))}


def scenario(name):
    """({container: (program, when it is on)}, who hurts, who are alike)"""
    draw = drawing(name)
    alike, extra = [], {}
    hog = switching(draw)
    if name == "stores":  # two that know nothing of each other
        extra = {"hog-nt": ("nt", hog), "hog-copy": ("copy", switching(draw)),
                 "compute-1": ("compute", switching(draw))}
    elif name == "copy":
        extra = {"hog-copy": ("copy", hog), "compute-1": ("compute", switching(draw)),
                 "compute-2": ("compute", switching(draw))}
    elif name == "pair":
        extra = {"hog-a": ("copy", hog), "hog-b": ("nt", hog),
                 "compute-1": ("compute", switching(draw))}
        alike = [["hog-a", "hog-b"]]
    elif name == "always-on":
        extra = {"hog-always": ("nt", ALWAYS), "hog-copy": ("copy", hog),
                 "compute-1": ("compute", switching(draw))}
    elif name == "decoy":
        extra = {"hog-nt": ("nt", hog), "decoy": ("compute", unlike(draw, hog, SECONDS, 0.85)),
                 "compute-1": ("compute", switching(draw))}
        alike = [["hog-nt", "decoy"]]
    elif name == "compute":
        extra = {f"compute-{i}": ("compute", switching(draw)) for i in (1, 2, 3)}
    elif name == "idle":
        extra = {"sleeper-3": ("idle", ALWAYS)}
    elif name == "start":  # and stays
        extra = {"hog-nt": ("nt", [(100, SECONDS)]), "compute-1": ("compute", switching(draw))}
    elif name == "random":
        extra = {"hog-random": ("random", hog), "compute-1": ("compute", switching(draw)),
                 "compute-2": ("compute", switching(draw))}
    else:
        sys.exit(f"no scenario {name}")
    hurts = [key for key in extra if key.startswith("hog")]
    return {**extra, **bystanders(draw)}, hurts, alike


SCENARIOS = ("stores", "copy", "pair", "always-on", "decoy", "compute", "idle", "start", "random")


def record(name, path):
    """The exporter's own recording; returns what is known: {container id: name}, truth."""
    containers, hurts, alike = scenario(name)
    wander = WANDER | WANDER_IN.get(name, set())
    with Cgroups() as cgroups:
        programs = {}
        for key, (mode, on) in containers.items():
            programs[Neighbour(cgroups, key, mode, ["any" if key in wander else "1"])] = on
        with Exporter("--collector.disable-defaults", "--collector.attribution",
                      "--collector.probe", "--containers.names=none", cgroups.only(),
                      "--sampling.interval=1s", f"--source.record.file={path}",
                      command=("nice", "-n", "-15")) as exporter:
            exporter.wait_tick()
            exporter.wait_tick()
            began = time.monotonic()
            first_tick = exporter.tick()
            play(programs, SECONDS)
            print(f"{name}: {SECONDS} s in {time.monotonic() - began:.1f} s, "
                  f"load {os.getloadavg()[0]:.1f}", flush=True)
        names = {program.container_id: program.name for program in programs}
    truth = {"scenario": name, "hurts": hurts, "alike": alike, "first_tick": first_tick,
             "on": {key: [[round(a, 2), round(b, 2)] for a, b in on]
                    for key, (mode, on) in containers.items()
                    if mode != "idle" and not key.startswith("service")}}
    return names, truth


def slim(lines, names, truth):
    """What attribution needs of it."""
    keys, seen, zero_mono, zero_wall = {}, set(), None, None
    for text in lines:
        line = json.loads(text)
        if "recording" in line:
            line["machine"] = {key: line["machine"][key] for key in ("sockets", "numa_nodes", "cpus")}
            yield line
            yield {"attribution_truth": truth}
        elif "container" in line:
            name = names[line["container"]["id"]]
            keys[line["container"]["key"]] = name
            if name not in seen:
                seen.add(name)
                yield {"container": {"key": name, "cgroup": "/" + name, "id": name,
                                     "namespace": "test", "pod": name, "container": name,
                                     "image": "", "pod_uid": ""}}
        elif "thread" in line:
            yield line
        elif "tick" in line:
            if zero_mono is None:
                zero_mono, zero_wall = line["mono_ns"], line["wall_ns"]
            yield {"tick": line["tick"], "mono_ns": line["mono_ns"] - zero_mono + 1000000000,
                   "wall_ns": line["wall_ns"] - zero_wall + 1790000000000000000}
        elif "activity" in line:
            yield {**line, "activity": keys.get(line["activity"], line["activity"])}
        elif "probe" in line:
            line["probe"]["latency_ns"] = round(line["probe"]["latency_ns"], 3)
            line["probe"].pop("llc_hit_ns", None)
            yield line


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    harness.need_root()
    own_share_of_cpus()
    to = pathlib.Path(sys.argv[2])
    to.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[3:] or SCENARIOS:
        with tempfile.TemporaryDirectory() as directory:
            raw = pathlib.Path(directory, "raw.jsonl")
            known = record(name, raw)
            with raw.open() as lines:
                text = "".join(json.dumps(line, separators=(",", ":")) + "\n"
                               for line in slim(lines, *known))
        (to / f"{name}.jsonl.xz").write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
