#!/usr/bin/env python3
"""The exporter on a simulated node's recording says what is true: test_exporter.py SIMNODE EXPORTER."""
import json
import os
import re
import subprocess
import sys
import tempfile

simnode, exporter = sys.argv[1:3]

SCENARIO = {
    "scenario": 1, "ticks": 5, "tick_cycles": 1050000, "machine": {"preset": "clx"},
    "workloads": {
        "chase": {"kind": "chase", "sequential": True},
        "app": {"kind": "random", "instructions_per_access": 40, "dependence": 0.3,
                "store_share": 0.2},
        "stress": {"kind": "stream", "bytes": 134217728, "instructions_per_access": 30},
    },
    "containers": [
        {"key": "local", "workload": "chase", "cpus": [0]},
        {"key": "remote", "workload": "chase", "cpus": [1], "memory": [{"node": 1}]},
        {"key": "optane", "workload": "chase", "cpus": [2],
         "memory": [{"node": 0, "medium": "pmm"}]},
        {"key": "app", "workload": "app", "cpus": [3, 25], "memory": [{"node": 0}]},
        {"key": "late", "workload": "stress", "cpus": [4, 5, 6, 7], "start_tick": 3},
        {"key": "gone", "workload": "app", "cpus": [8], "stop_tick": 2},
        {"key": "p0", "workload": "chase", "cpus": [20], "probe": True},
    ],
}


def samples(text, name):
    """{pod: value} of a metric."""
    pattern = re.compile(r"^%s\{[^}]*pod=\"([^\"]*)\"[^}]*\} (\S+)$" % name, re.M)
    return {pod: float(value) for pod, value in pattern.findall(text)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        scenario, recording = os.path.join(folder, "s.json"), os.path.join(folder, "r.jsonl")
        with open(scenario, "w", encoding="utf-8") as out:
            json.dump(SCENARIO, out)
        subprocess.run([simnode, scenario, recording], check=True)
        text = subprocess.run(
            [exporter, "--source=replay", "--source.replay.file=" + recording, "--once",
             "--log.level=error"], check=True, capture_output=True, text=True).stdout
        with open(recording, encoding="utf-8") as lines:
            lines = [json.loads(line) for line in lines]

    truth = {line["truth"]["key"]: line["truth"] for line in lines if "truth" in line
             and line["truth"]["tick"] == 5}
    cores = {line["read"]: line["values"] for line in lines if line.get("group") == "core"}
    latency = samples(text, "interference_container_memory_read_latency_seconds")
    reads = samples(text, "interference_container_memory_reads_total")
    occupancy = samples(text, "interference_container_memory_read_occupancy_cycles_total")

    expected = {"local", "remote", "optane", "app", "late"}
    assert set(latency) == expected, (latency, "gauges are of those that run, and of no other")
    for key in expected:
        error = latency[key] * 1e9 / truth[key]["latency_ns"] - 1
        assert abs(error) < 0.005, (key, latency[key], truth[key])
        assert reads[key] == cores[key]["l3_miss_reads"], key
        assert occupancy[key] == cores[key]["l3_miss_read_occupancy"], key
    assert reads["gone"] == cores["gone"]["l3_miss_reads"], "an ended container's counters linger"
    assert latency["local"] < latency["remote"] < latency["optane"]
    print("exporter and truth agree on %d containers" % len(expected))


main()
