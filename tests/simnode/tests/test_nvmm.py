#!/usr/bin/env python3
"""The exporter's use of persistent memory on a simulated node's recording: test_nvmm.py SIMNODE
EXPORTER.

Three containers store to DRAM and persistent memory in different shares; the third one's samples are
lost in part, and it ends early. Counters must be those of FORMULAS.md section 4, written here once
more, on the recording's own counts and samples; and near the truth.
"""
import math
import re
import tempfile

import simulated
from simulated import samples

TICKS, PERIOD = 40, 23


def stores(share, **more):
    return {"workload": "w", "sample_period": PERIOD, "page_bytes": 4096,
            "memory": [{"node": 0, "medium": "pmm", "share": share},
                       {"node": 0, "medium": "dram", "share": 1 - share}], **more}


SCENARIO = {
    "scenario": 1, "ticks": TICKS, "tick_cycles": 210000,
    "machine": {"preset": "clx", "memory": {"preset": "ddr4-2933", "channels": 6},
                "pmm": {"dimms": 6}},
    "workloads": {"w": {"kind": "stream", "bytes": 67108864, "streams": 4,
                        "instructions_per_access": 6, "store_share": 0.6, "nt_share": 0.2,
                        "store_bytes": 32}},
    "containers": [
        {"key": "most", "cpus": [0, 1, 2, 3], **stores(0.9)},
        {"key": "half", "cpus": [4, 5], **stores(0.5)},
        {"key": "early", "cpus": [6], **stores(0.7, stop_tick=TICKS - 5)},
        {"key": "none", "workload": "w", "cpus": [7], "sample_period": PERIOD},
    ],
}


def record(folder):
    """The recording's lines, of which some samples of "early" are then taken out, tick by tick."""
    recording, lines = simulated.record(SCENARIO, folder)
    kept, seen = [], 0
    for line in lines:
        if line.get("sample") == "early":
            seen += 1
            if seen % 100 < 60:
                kept.append({"lost": 1, "access": "store"})
                continue
        kept.append(line)
    simulated.write(kept, recording)
    return recording, kept


class Estimate:
    """Of one container, window by window."""

    def __init__(self):
        self.total = self.carried = 0
        self.known, self.sizes = 0, []
        self.accesses = self.bytes = self.spread = 0.0
        self.taken = {"nvmm": 0, "other": 0}

    def sample(self, line):
        self.known += 1
        self.taken[line["medium"]] += 1
        if line["medium"] == "nvmm":
            self.sizes.append(line["bytes"])

    def settle(self, total):
        self.carried += total - self.total
        self.total = total
        if self.known:
            accesses = self.carried * len(self.sizes) / self.known
            self.accesses += accesses
            if self.sizes:
                self.bytes += accesses * sum(self.sizes) / len(self.sizes)
            self.spread += self.carried ** 2 / self.known
            self.carried = 0
        self.known, self.sizes = 0, []


def by_hand(lines):
    estimates, totals = {}, {}
    for line in lines + [{"tick": TICKS + 1}]:
        if "tick" in line:
            for key, total in totals.items():
                estimates[key].settle(total)
            totals = {}
        elif line.get("group") == "stores":
            estimates.setdefault(line["read"], Estimate())
            totals[line["read"]] = line["values"]["stores"]
        elif "sample" in line:
            estimates[line["sample"]].sample(line)
    return estimates


def main():
    with tempfile.TemporaryDirectory() as folder:
        recording, lines = record(folder)
        text = simulated.replay(recording, "--collector.disable-defaults", "--collector.pebs_nvmm")
    estimates = by_hand(lines)
    accesses = samples(text, "interference_container_nvmm_accesses_total", 'access="store"')
    written = samples(text, "interference_container_nvmm_bytes_total", 'access="store"')
    truth = {}
    for line in lines:
        if "truth" in line:
            key = line["truth"]["key"]
            truth[key] = truth.get(key, 0) + line["truth"]["nvmm_store_bytes"]
    assert set(accesses) == set(written) == set(estimates) == {"most", "half", "early", "none"}
    for key, e in estimates.items():
        assert abs(accesses[key] - e.accesses) <= 1, (key, accesses[key], e.accesses)
        assert abs(written[key] - e.bytes) <= 1, (key, written[key], e.bytes)
        for medium, n in e.taken.items():
            series = samples(text, "interference_container_memory_samples_total",
                             'access="store",medium="%s"' % medium)
            assert series[key] == n, (key, medium, series, n)
        if key == "none":
            assert accesses[key] == written[key] == truth[key] == 0 and e.taken["other"] > 100
            continue
        p = e.taken["nvmm"] / sum(e.taken.values())
        bound = max(0.02, 3 * math.sqrt(e.spread * p) * 40 / truth[key])
        assert abs(written[key] / truth[key] - 1) < bound, (key, written[key], truth[key], bound)
    lost = re.search(r'samples_lost_total\{access="store"\} (\d+)', text)
    assert int(lost.group(1)) == sum(line.get("lost", 0) for line in lines) > 100
    writers = samples(text, "interference_container_nvmm_writer_threads")
    assert writers == {"most": 4, "half": 2, "none": 0}, writers
    assert 'access="load"' not in text  # counted, but not sampled
    print("the exporter's use of persistent memory is that of the equations, and near the truth")


main()
