#!/usr/bin/env python3
"""The exporter's placement on simulated nodes' recordings: test_placement.py SIMNODE EXPORTER.

A container with its memory on the own node, the other node or both; the probe measures both from
node 0. What the exporter predicts for each node is compared with the truth: an alone run of the same
instructions with all memory there. By the kernel's pages and by counted loads alike; a container
that only writes is predicted too low, as its metric's help says.

On a second machine, the container runs on node 1, the probe reads from both nodes with CPUs, and a
third node is as far as memory behind CXL, and has none. Of such memory there are pages only.
"""
import json
import os
import re
import tempfile

import simulated

TICKS = 5

# cpu: of the container. readers: a CPU for each probe's first target, by initiator; the others follow.
TWO = {"machine": {}, "nodes": (0, 1), "cpu": 0, "readers": (10,), "slack": 2}
THREE = {"machine": {"sockets": 4, "interconnect": {"board_sockets": 2, "board_hop_ns": 85.7}},
         "nodes": (0, 1, 2), "cpu": 24, "readers": (10, 34), "slack": 4,
         "places": {"sockets": 2, "cpus": 48, "numa_nodes": 3, "numa_node_cpus": ["0-23", "24-47", ""]}}

WORKLOADS = {
    "chase": {"kind": "chase", "bytes": 67108864, "instructions_per_access": 30},
    "half": {"kind": "random", "dependence": 0.5, "instructions_per_access": 20},
    "hash": {"kind": "hash", "bytes": 16777216},
    "memset": {"kind": "stream", "store_share": 1, "instructions_per_access": 8},
}
ON = {"near": [{"node": 0}], "far": [{"node": 1}], "third": [{"node": 2}],
      "both": [{"node": 0, "share": 0.6}, {"node": 1, "share": 0.4}]}
# Machine, workload, memory, worst error of the ratio; None: predicted too low.
CASES = [(TWO, "chase", "near", 0.02), (TWO, "chase", "far", 0.02), (TWO, "half", "near", 0.05),
         (TWO, "half", "both", 0.05), (TWO, "hash", "near", 0.05), (TWO, "memset", "near", None),
         (THREE, "chase", "far", 0.02), (THREE, "half", "near", 0.05), (THREE, "chase", "third", 0.02)]


def scenario(ticks, machine, containers):
    return {"scenario": 1, "ticks": ticks, "tick_cycles": 700000, "seed": 5,
            "machine": {"preset": "clx", "llc": {"bytes": 4325376}, **machine["machine"]},
            "effects": {"super_queue": True},
            "workloads": {**WORKLOADS, "probe": {"kind": "chase"}}, "containers": containers}


def container(machine, workload, memory):
    return {"key": "app", "workload": workload, "cpus": [machine["cpu"]], "memory": memory, "seed": 7,
            "page_bytes": 4096}


def probes(machine):
    return [{"key": "p%d" % (first + node), "workload": "probe", "cpus": [first + node],
             "probe": True, "memory": [{"node": node}]}
            for first in machine["readers"] for node in machine["nodes"]]


def write_pages(lines, path, machine, memory):
    """With the pages as the kernel would say it, after the counts of each tick."""
    with open(path, "w", encoding="utf-8") as out:
        for line in lines:
            if "recording" in line and "places" in machine:
                line = {**line, "machine": {**line["machine"], **machine["places"]}}
            if line.get("read") == "app" and "places" in machine:
                line = {**line, "cpu": machine["cpu"]}  # as a live node counts: by CPU
            print(json.dumps(line), file=out)
            if line.get("read") == "app" and line["group"] == "core":
                for place in memory:
                    print(json.dumps({"pages": "app", "numa_node": place["node"],
                                      "bytes": int(1e9 * place.get("share", 1))}), file=out)


def replay(path, *flags):
    return simulated.replay(path, "--collector.placement", *flags)


def seconds(text, name, more=""):
    found = re.search(r"^interference_container_placement_%s_seconds_total\{[^}]*%s[^}]*\} (\S+)$"
                      % (name, more), text, re.M)
    return float(found.group(1)) if found else 0


def ratios(machine, text):
    """[T of T now with all memory on that node]; empty without a prediction."""
    observed = seconds(text, "observed")
    return [seconds(text, "predicted", 'target="node%d"' % node) / observed
            for node in machine["nodes"]] if observed else []


def totals(lines):
    return [(line["values"]["instructions"], line["values"]["cycles"]) for line in lines
            if line.get("read") == "app" and line["group"] == "core"]


def cycles_at(points, instructions):
    """Between two ticks instructions are taken as evenly spread."""
    before = (0, 0)
    for point in points:
        if point[0] >= instructions:
            part = (instructions - before[0]) / (point[0] - before[0])
            return before[1] + part * (point[1] - before[1])
        before = point
    raise AssertionError("the run elsewhere is too short")


def truth(folder, machine, workload, lines):
    """By node, of all its instructions but the first tick's: the first window begins there."""
    here = totals(lines)
    first, last = here[0], here[-1]
    there = []
    for node in machine["nodes"]:
        elsewhere = scenario(TICKS * machine["slack"], machine,
                             [container(machine, workload, [{"node": node}])])
        points = totals(simulated.record(elsewhere, folder, "alone")[1])
        there.append((cycles_at(points, last[0]) - cycles_at(points, first[0]))
                     / (last[1] - first[1]))
    return there


def check(folder, machine, workload, memory, worst):
    now = scenario(TICKS, machine, [container(machine, workload, ON[memory])] + probes(machine))
    _, lines = simulated.record(now, folder, "now")
    path = os.path.join(folder, "r.jsonl")
    write_pages(lines, path, machine, ON[memory])
    by_pages = ratios(machine, replay(path))
    found = {"pages": by_pages}
    write_pages(lines, path, machine, [])
    # Nothing says where the memory is: no prediction, rather than a wrong one. What does not read
    # needs none.
    assert bool(ratios(machine, replay(path))) == (worst is None)
    if machine is TWO:
        found["loads"] = ratios(machine, replay(path, "--collector.placement.loads"))
    true = truth(folder, machine, workload, lines)
    for by, predicted in found.items():
        for node in machine["nodes"]:
            print("%s, %s, to node %d: true %.3f, by %s %.3f" % (
                workload, memory, node, true[node], by, predicted[node]))
            if worst is not None:
                assert abs(predicted[node] / true[node] - 1) < worst
    if worst is None:
        assert true[1] > 1.4 and by_pages[1] < 1.05


def main():
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            check(folder, *case)


main()
