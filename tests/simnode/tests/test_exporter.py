#!/usr/bin/env python3
"""The exporter on simulated nodes' recordings: test_exporter.py SIMNODE EXPORTER.

Its latency is the true one; the memory controllers' is the alternative that falls short of it; the
probe finds the machine's constant; memory on another socket shows. The same from AMD's counters.
"""
import re
import tempfile

import simulated


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


def replay(scenario, **machine):
    """The exporter's page after the last tick, and the recording's lines. Facts of the recorded
    machine are replaced first; None: left out."""
    with tempfile.TemporaryDirectory() as folder:
        recording, lines = simulated.record(scenario, folder)
        facts = {**lines[0]["machine"], **machine}
        lines[0]["machine"] = {key: value for key, value in facts.items() if value is not None}
        simulated.write(lines, recording)
        return simulated.replay(recording), lines


def samples(page, name, label="pod"):
    """{the label's value: value} of a metric."""
    pattern = re.compile(r"^%s\{(?:[^}]*,)?%s=\"([^\"]*)\"[^}]*\} (\S+)$" % (name, label), re.M)
    return {key: float(value) for key, value in pattern.findall(page)}


def readings(lines, key, group):
    """Totals of one group, tick by tick."""
    return [line["values"] for line in lines
            if line.get("read") == key and line["group"] == group]


def truths(lines, key):
    """True latencies in ns, tick by tick."""
    return [line["truth"]["latency_ns"] for line in lines
            if line.get("truth", {}).get("key") == key]


def core_latency():
    page, lines = replay(SCENARIO)
    latency = samples(page, "interference_container_memory_read_latency_seconds")
    reads = samples(page, "interference_container_memory_reads_total")
    occupancy = samples(page, "interference_container_memory_read_occupancy_cycles_total")

    expected = {"local", "remote", "optane", "app", "late"}
    assert set(latency) == expected, (latency, "gauges are of those that run, and of no other")
    for key in expected:
        error = latency[key] * 1e9 / truths(lines, key)[-1] - 1
        assert abs(error) < 0.005, (key, latency[key], truths(lines, key)[-1])
    for key in expected | {"gone"}:  # an ended container's counters linger
        counted = readings(lines, key, "core")[-1]
        assert reads[key] == counted["l3_miss_reads"], key
        assert occupancy[key] == counted["l3_miss_read_occupancy"], key
    assert latency["local"] < latency["remote"] < latency["optane"]
    return page, lines


def controllers(page, lines):
    """imc_rpq and pmm_rpq show the units' counters, and less than what the cores wait."""
    pairs = (("interference_imc_read_queue_inserts_total", "rpq", "rpq_inserts"),
             ("interference_imc_read_queue_occupancy_cycles_total", "rpq", "rpq_occupancy"),
             ("interference_pmm_read_queue_inserts_total", "pmm_rpq", "pmm_rpq_inserts"),
             ("interference_pmm_read_queue_occupancy_cycles_total", "pmm_rpq",
              "pmm_rpq_occupancy"))
    for name, group, role in pairs:
        shown = re.findall(r"^%s\{[^}]*socket=\"(\d)\"[^}]*\} (\S+)$" % name, page, re.M)
        sums = {"0": 0, "1": 0}
        for socket, value in shown:
            sums[socket] += float(value)
        for socket in (0, 1):
            units = [line["unit"]["key"] for line in lines
                     if line.get("unit", {}).get("socket") == socket]
            last = [readings(lines, key, group)[-1:] for key in units]
            assert sums[str(socket)] == sum(values[0][role] for values in last if values), name
    truth = {key: truths(lines, key)[-1] for key in ("local", "remote", "optane")}
    dram = samples(page, "interference_imc_read_latency_seconds", "socket")
    pmm = samples(page, "interference_pmm_read_latency_seconds", "socket")
    cas = samples(page, "interference_imc_cas_latency_seconds", "socket")
    assert abs(cas["0"] / (21 / (4.4e9 / 3)) - 1) < 1e-6, cas
    assert cas["0"] < dram["0"] < truth["local"] * 0.9e-9, (dram, truth)
    assert dram["1"] < truth["remote"] * 0.5e-9, (dram, truth)
    assert 50e-9 < pmm["0"] < truth["optane"] * 0.9e-9, (pmm, truth)


CALM, BUSY = 36, 6  # ticks; the exporter calibrates from the first 30 bursts


def calibration(true_cycles, effects, **machine):
    """Of machines that differ in how long their last-level cache takes: (constant, error)."""
    page, lines = replay({
        "scenario": 1, "ticks": CALM + BUSY, "tick_cycles": 105000, "effects": effects,
        "machine": {"preset": "clx", "llc": {"lookup_cycles": true_cycles - 18, "ports": 4}},
        "workloads": {"chase": {"kind": "chase", "sequential": True},
                      "hog": {"kind": "stream", "bytes": 134217728, "streams": 2,
                              "instructions_per_access": 14, "store_share": 0.3}},
        "containers": [
            {"key": "p0", "workload": "chase", "cpus": [0], "probe": True},
            {"key": "hogs", "workload": "hog", "cpus": list(range(1, 17)), "start_tick": CALM + 1},
        ],
    }, **machine)
    truth = truths(lines, "p0")
    assert truth[-1] > truth[CALM - 1] + 10, ("the load is one", truth[CALM - 1], truth[-1])
    constant, = re.findall(r"^interference_core_cache_lookup_cycles (\S+)$", page, re.M)
    error = samples(page, "interference_core_latency_error_ratio", "numa_node")
    return float(constant), error["0"]


def probe_calibrates():
    for cycles in (30, 44, 70):
        constant, error = calibration(cycles, {}, cache_cycles=None)
        assert abs(constant - cycles) < 0.1, (cycles, constant)
        assert error < 0.005, (cycles, error, "the frozen constant holds under load")
    for cycles in (30, 70):
        constant, error = calibration(cycles, {})
        assert constant == cycles and error < 0.005, (constant, error)
        constant, error = calibration(cycles, {}, cache_cycles=44)
        assert constant == 44 and error > 0.04, (cycles, error, "a wrong constant shows")
    # What load adds to the way through the caches no constant knows; the gauge says so.
    constant, error = calibration(44, {"llc_busy": True}, cache_cycles=None)
    assert abs(constant - 44) < 0.1 and 0.003 < error < 0.2, (constant, error)


def dissection():
    """One workload twice, its memory on the first socket: pinned there, and on both by turns."""
    backend = {"workload": "backend", "memory": [{"node": 0}]}
    page, lines = replay({
        "scenario": 1, "ticks": 13, "tick_cycles": 420000, "machine": {"preset": "clx"},
        "workloads": {"backend": {"kind": "random", "bytes": 268435456, "shared": True,
                                  "instructions_per_access": 60, "dependence": 0.5}},
        "containers": [{"key": "pinned", "cpus": [0, 1], **backend},
                       {"key": "wanders", "cpus": [2, 3], "wander_cycles": 680400, **backend}],
    })
    wait = samples(page, "interference_container_memory_read_wait_seconds_total")
    reads = samples(page, "interference_container_memory_reads_total")
    mean = {}
    for key, total in reads.items():
        counts = [values["l3_miss_reads"] for values in readings(lines, key, "core")]
        windows = [now - before for now, before in zip(counts, [0] + counts)]
        truth = sum(n * ns for n, ns in zip(windows, truths(lines, key))) / sum(windows)
        mean[key] = wait[key] / total * 1e9
        assert abs(mean[key] / truth - 1) < 0.005, (key, mean[key], truth)
    loads = {key: readings(lines, key, "stalls")[-1] for key in mean}
    remote = loads["wanders"]["loads_remote_dram"] / reads["wanders"]
    assert loads["pinned"]["loads_remote_dram"] == 0 and 0.3 < remote < 0.6, loads
    # Two hops of 29 ns for that share of the reads.
    assert abs(mean["wanders"] - mean["pinned"] - remote * 58) < 3, (mean, remote)


def fills():
    """A node that counts as AMD's do: the same metrics, from misses of the L1 in flight."""
    page, lines = replay({
        "scenario": 1, "ticks": 4, "tick_cycles": 925000,
        "machine": {"preset": "zen4", "cores_per_socket": 16},
        "workloads": {"chase": {"kind": "chase", "sequential": True},
                      "app": {"kind": "random", "instructions_per_access": 20, "dependence": 0.3,
                              "hot_bytes": 524288, "hot_share": 0.5}},
        "containers": [{"key": "chase", "workload": "chase", "cpus": [0]},
                       {"key": "app", "workload": "app", "cpus": [1, 8]},
                       {"key": "p0", "workload": "chase", "cpus": [2], "probe": True}],
    })
    latency = samples(page, "interference_container_memory_read_latency_seconds")
    counters = {"memory_reads": ("l1d_fills_memory",),
                "llc_reads": ("l1d_fills_l3", "l1d_fills_memory"),
                "l1d_fills_from_l2": ("l1d_fills_l2",),
                "l1d_misses_in_flight_cycles": ("l1d_miss_occupancy",)}
    for key in ("chase", "app"):
        error = latency[key] * 1e9 / truths(lines, key)[-1] - 1
        assert abs(error) < 0.01, (key, latency[key], truths(lines, key)[-1])
        counted = readings(lines, key, "fills")[-1]
        for name, roles in counters.items():
            shown = samples(page, f"interference_container_{name}_total")[key]
            assert shown == sum(counted[role] for role in roles), (key, name)
    error = samples(page, "interference_core_latency_error_ratio", "numa_node")
    assert error["0"] < 0.005, error


def main():
    page, lines = core_latency()
    controllers(page, lines)
    probe_calibrates()
    dissection()
    fills()


main()
