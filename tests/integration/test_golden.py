#!/usr/bin/python3
"""Replays of hand-written recordings, byte for byte, with their main numbers checked by hand.

tests/replay/NAME.jsonl is replayed with the flags in NAME.flags (one a line, may be missing; {dir}
is the folder) and printed as NAME.prom, which leaves out what the exporter says of itself. After a
change that is meant to change pages, write them anew with
`tests/integration/test_golden.py BUILD --write` and read the difference.
"""
import subprocess
import sys
import unittest

import harness

RECORDINGS = sorted(harness.REPLAYS.glob("*.jsonl"))


def replay(recording):
    flags = recording.with_suffix(".flags")
    extra = flags.read_text().replace("{dir}", str(harness.REPLAYS)).split("\n") \
        if flags.exists() else []
    result = harness.run_exporter(
        "--source=replay", f"--source.replay.file={recording}", "--once",
        "--web.disable-exporter-metrics", *filter(None, extra))
    assert result.returncode == 0, f"{recording}: {result.stderr}"
    return result.stdout


def golden_part(page):
    def of_itself(line):
        name = line.split()[2] if line.startswith("#") else line
        return name.startswith("interference_exporter_")
    return "".join(line for line in page.splitlines(keepends=True) if not of_itself(line))


class Golden(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreaterEqual(len(RECORDINGS), 5)

    def test_pages(self):
        for recording in RECORDINGS:
            with self.subTest(recording.stem):
                page = replay(recording)
                harness.parse_text(page)
                page = golden_part(page)
                golden = recording.with_suffix(".prom")
                self.assertTrue(golden.exists(), f"{golden} is missing: --write makes it")
                if page != golden.read_text():
                    result = subprocess.run(["diff", "-u", golden, "-"], input=page, text=True,
                                            stdout=subprocess.PIPE)
                    self.fail(result.stdout)


class ByHand(unittest.TestCase):
    """The numbers that the recordings' notes promise, so that a golden page cannot be wrong."""

    C = "interference_container_"
    LATENCY = C + "memory_read_latency_seconds"

    def page(self, name):
        return harness.parse_text(replay(harness.REPLAYS / f"{name}.jsonl"))

    def near(self, value, expected):
        self.assertIsNotNone(value)
        self.assertAlmostEqual(value, expected, delta=abs(expected) * 1e-9)

    def test_l3(self):
        page = self.page("l3")
        name = "interference_l3_miss_read_"
        for l3, source, latency, reads in (("0", "near_dram", 120e-9, 3e5), ("1", "near_dram", 360e-9, 3e5),
                                           ("8", "any", 62.5e-9, 3e6)):
            labels = {"l3": l3, "source": source}
            self.near(page.get(name + "latency_seconds", **labels), latency)
            self.assertEqual(page.get(name + "latency_reads_total", **labels), reads)
            self.near(page.get(name + "wait_seconds_total", **labels), latency * reads)
        self.assertEqual(page.get(name + "latency_reads_total", l3="0", source="far_dram"), 0)
        self.assertIsNone(page.get(name + "latency_seconds", l3="0", source="far_dram"))
        self.assertIsNone(page.get(name + "latency_reads_total", l3="0", source="cxl"))

    def test_sources(self):
        """Half of the time, scaled: twice 900, 60, 30 and 10 a second, for three seconds."""
        result = harness.run_exporter(
            "--source=replay", f"--source.replay.file={harness.REPLAYS / 'sources.jsonl'}",
            "--once", "--collector.fill_sources")
        page = harness.parse_text(result.stdout)
        for source, count in (("near_dram", 5400), ("far_dram", 360), ("other_ccx", 180), ("cxl", 60)):
            self.assertEqual(page.get(self.C + "memory_reads_by_source_total", container="cart",
                                      source=source), count)
        self.assertEqual(page.get(self.C + "memory_reads_by_source_total", container="train",
                                  source="far_dram"), 0)

    def test_placement(self):
        """By where the memory is, and by where the CPU is that reads it."""
        result = harness.run_exporter(
            "--source=replay", f"--source.replay.file={harness.REPLAYS / 'placement.jsonl'}",
            "--once", "--collector.placement", "--collector.placement.tier=pmm=174.5ns")
        page = harness.parse_text(result.stdout)
        observed, serial = 1e9 / 2.1e9, 4e8 / (300 + 44 / 3)
        ratios = {"node0": 0.952269, "node1": 1.111371}

        def predicted(container, target):
            return page.get(self.C + "placement_predicted_seconds_total", container=container,
                            target=target)
        for container, n in (("cart", 4), ("train", 4), ("idle", 4), ("lost", 0)):
            self.near(page.get(self.C + "placement_observed_seconds_total", container=container),
                      n * observed)
        self.near(page.get(self.C + "memory_serial_reads_total", container="cart"), 4 * serial)
        self.near(page.get(self.C + "memory_serial_reads_total", container="train"), 4 * 1e6)
        for target, ratio in ratios.items():  # three windows of the mix, one all near
            alone = observed + serial * (0 if target == "node0" else 59.6e-9)
            self.assertAlmostEqual(predicted("cart", target), 3 * ratio * observed + alone, 5)
            self.near(predicted("idle", target), 4 * observed)
        self.near(predicted("train", "node1"), 4 * observed)
        self.near(predicted("train", "node0"), 4 * (observed + 1e6 * 59.6e-9))
        self.near(predicted("train", "node2"), 4 * (observed + 1e6 * (310 - 88.8) * 1e-9))
        self.near(predicted("train", "pmm"), 4 * (observed + 1e6 * (174.5 - 88.8) * 1e-9))
        self.assertIsNone(predicted("train", "node3"))
        self.assertEqual(page.get("interference_exporter_windows_discarded_total",
                                  collector="placement", reason="no_target"), 4)

    def test_zen(self):
        page = self.page("zen")
        self.near(page.get(self.LATENCY, container="cart"), 160e-9)
        self.near(page.get(self.LATENCY, container="train"), 120e-9)
        self.assertIsNone(page.get(self.LATENCY, container="odd"))
        wait = {"cart": 6 * 0.16, "train": 3 * 0.12, "odd": 0.12}
        occupancy = {"cart": 3 * (350e6 + 590e6), "train": 3 * 250e6, "odd": 250e6}
        for container, seconds in wait.items():
            self.near(page.get(self.C + "memory_read_wait_seconds_total", container=container),
                      seconds)
            self.assertEqual(page.get(self.C + "memory_read_occupancy_cycles_total",
                                      container=container), occupancy[container])
        self.assertEqual(page.get(self.C + "memory_reads_total", container="odd"), 2e6)
        self.assertEqual(page.get(self.C + "llc_reads_total", container="odd"), 3.5e6)
        self.assertEqual(page.get("interference_core_cache_lookup_cycles"), 50)

    def test_any_cpu(self):
        page = self.page("any_cpu")
        self.assertEqual(page.get(self.C + "cpu_cycles_total", container="cart"), 5e9)
        self.assertEqual(page.get(self.C + "cpu_instructions_total", container="cart"), 2e9)
        self.assertEqual(page.get("interference_node_cpu_cycles_total"), 5e9)
        self.assertIsNone(page.get(self.C + "memory_reads_total", container="cart"))
        self.assertIsNone(page.get("interference_node_memory_reads_total"))

    def test_windows(self):
        page = self.page("windows")
        reads = {"mux": 7000000, "starved": 2000000, "reset": 7000000, "idle": 1000000,
                 "late_cpu": 4400000, "late": 1000000, "torn": 3000000}
        for container, expected in reads.items():
            self.assertEqual(page.get(self.C + "memory_reads_total", container=container), expected)
        self.assertEqual(page.get("interference_node_memory_reads_total"), sum(reads.values()))
        for container in ("mux", "starved", "reset", "late_cpu", "torn"):
            self.near(page.get(self.LATENCY, container=container), 168.5 / 2.1e9)
        self.near(page.get(self.LATENCY, container="late"), 200.9 / 2.6e9)
        self.assertIsNone(page.get(self.LATENCY, container="idle"))
        # Seconds in windows with a known latency: the last is the first of `late`.
        observed = {"mux": 3, "starved": 2, "reset": 2, "idle": 1, "late_cpu": 3, "late": 1,
                    "torn": 2}
        for container, expected in observed.items():
            self.assertEqual(page.get(self.C + "memory_read_latency_observed_seconds_total",
                                      container=container), expected, container)
        # Reads whose window gave no latency did not wait, as far as anybody knows.
        self.near(page.get(self.C + "memory_read_wait_seconds_total", container="torn"),
                  2e6 * 168.5 / 2.1e9)

    def test_windows_discarded(self):
        result = harness.run_exporter(
            "--source=replay", f"--source.replay.file={harness.REPLAYS / 'windows.jsonl'}",
            "--once")
        page = harness.parse_text(result.stdout)
        for reason, expected in (("starved", 1), ("reset", 1), ("implausible", 1),
                                 ("read_error", 0)):
            self.assertEqual(page.get("interference_exporter_windows_discarded_total",
                                      collector="core_latency", reason=reason), expected, reason)

    def test_lifecycle(self):
        page = self.page("lifecycle")
        reads = page.select(self.C + "memory_reads_total")
        names = {dict(key)["container_id"]: (dict(key)["pod"], dict(key)["container"])
                 for key in reads}
        self.assertEqual(names, {"a" * 12: ("web-0", "web-renamed"), "b" * 12: ("cart-0", "cart"),
                                 "c" * 12: ("cart-0", "cart")})
        self.assertEqual(page.get(self.C + "memory_reads_total", container_id="a" * 12), 600000)
        self.assertEqual(page.get(self.C + "memory_reads_total", container_id="b" * 12), 2500000)
        self.assertEqual(page.get(self.C + "llc_reads_total", container_id="b" * 12), 7000000)
        self.assertIsNone(page.get(self.C + "llc_reads_total", container_id="a" * 12))
        self.assertIsNone(page.get(self.LATENCY, container_id="b" * 12))
        self.assertEqual(page.get("interference_node_memory_reads_total"), 3300000)

    def test_linger(self):
        page = self.page("linger")
        self.assertEqual(page.names(container="short"), set())
        self.assertEqual(page.get("interference_node_memory_reads_total"), 900000)

    def test_labels(self):
        page = self.page("labels")
        self.assertEqual(page.get(self.C + "memory_reads_total", namespace='a"b',
                                  pod="back\\slash", container="two\nlines"), 1000000)
        self.assertIsNotNone(page.get(self.C + "info", image="größe/日本:1"))

    def test_baseline(self):
        page = self.page("baseline")
        self.near(page.get(self.C + "memory_read_latency_baseline_seconds", container="victim"),
                  168.5 / 2.1e9)
        self.near(page.get(self.C + "memory_read_latency_threshold_seconds", container="victim"),
                  (1.25 * 124.5 + 44) / 2.1e9)
        self.near(page.get(self.LATENCY, container="victim"), 240 / 2.1e9)
        self.assertEqual(page.get(self.C + "memory_read_latency_threshold_seconds",
                                  container="limited"), 1e-7)
        over = self.C + "memory_read_latency_over_threshold_seconds_total"
        self.assertEqual(page.get(over, container="victim"), 10)
        self.assertEqual(page.get(over, container="limited"), 10)
        # The neighbour's neighbours are calm all the time: what it sees is its normal.
        self.near(page.get(self.C + "memory_read_latency_baseline_seconds", container="neighbour"),
                  344 / 2.1e9)
        self.assertEqual(page.get(over, container="neighbour"), 0)

    def test_calm(self):
        page = self.page("calm")
        baseline = self.C + "memory_read_latency_baseline_seconds"
        self.near(page.get(baseline, container="victim", basis="calm"), 168.5 / 2.1e9)
        self.assertEqual(page.get(self.C + "memory_read_latency_over_threshold_seconds_total",
                                  container="victim"), 6)
        self.near(page.get(self.LATENCY, container="victim"), 240 / 2.1e9)

    def test_histogram(self):
        page = self.page("histogram")
        bucket = self.C + "memory_read_window_latency_seconds_bucket"
        for container, below, at in (("edge", "9e-08", "1e-07"), ("beyond", "2e-06", "+Inf")):
            self.assertEqual(page.get(bucket, container=container, le=below), 0)
            self.assertEqual(page.get(bucket, container=container, le=at), 3)
        node = "interference_node_memory_read_window_latency_seconds_bucket"
        self.assertEqual(page.get(node, le="1e-07"), 3)
        self.assertEqual(page.get(node, le="+Inf"), 6)

    def test_probe_and_wrong_cache_cycles(self):
        page = self.page("probe")
        latency = "interference_memory_probe_latency_seconds"
        self.near(page.get(latency, target_numa_node="0"), 168.5 / 2.1e9)
        self.near(page.get(latency, target_numa_node="1"), 140e-9)
        self.assertEqual(page.get("interference_memory_probe_window_latency_seconds_count",
                                  target_numa_node="1"), 4)
        # 60 cycles where 44 are true: 184.5 against 168.5.
        self.near(page.get("interference_core_latency_error_ratio", numa_node="0"), 16 / 168.5)
        self.assertEqual(page.get("interference_core_cache_lookup_cycles"), 60)

    def test_attribution(self):
        """The hog adds 25 of 125 ns; nobody else has a series."""
        page = self.page("attribution")
        caused = self.C + "caused_latency_"
        now = page.get(caused + "current_seconds", container="hog", numa_node="0")
        self.assertAlmostEqual(now, 25e-9, delta=10e-9)
        self.assertLess(page.get(caused + "uncertainty_seconds", container="hog"), now / 4)
        for container in ("service", "timer"):
            self.assertFalse([name for name in page.names(container=container)
                              if name.startswith(caused)])
        # The tick without a reading is none; timer is busy on the probe's CPU only.
        self.assertEqual(page.get("interference_memory_attribution_readings_total"), 77)
        self.assertEqual(page.get("interference_memory_attribution_candidates"), 2)
        # The calm latency is 100 ns, the present one a mean of the last five or so.
        excess = sum(page.select("interference_memory_excess_latency_current_seconds").values())
        self.assertTrue(0 < excess < 25e-9)
        total = "interference_memory_excess_latency_seconds_total"
        self.assertEqual(page.get(total, by="group"), 0)
        self.assertGreater(page.get(total, by="named"), 0)

    def test_nvmm(self):
        page = self.page("nvmm")
        accesses, size = self.C + "nvmm_accesses_total", self.C + "nvmm_bytes_total"
        stores = {"writer": (2500 + 4000, 2500 * 64 + 3000 * 20), "reader": (0, 0),
                  "ended": (200 + 300, 200 * 64 + 300 * 8)}
        for container, (count, written) in stores.items():
            self.assertEqual(page.get(accesses, container=container, access="store"), count)
            self.assertEqual(page.get(size, container=container, access="store"), written)
        self.assertEqual(page.get(accesses, container="reader", access="load"), 2000)
        self.assertEqual(page.get(size, container="reader", access="load"), 32000)
        self.assertIsNone(page.get(accesses, container="writer", access="load"))
        writers = self.C + "nvmm_writer_threads"
        self.assertEqual([page.get(writers, container=c) for c in stores], [3, 0, None])
        self.assertEqual(page.get(self.C + "nvmm_rfo_accesses_total", container="writer"), 270)
        sampler = "interference_sampler_"
        self.assertEqual(page.get(sampler + "samples_lost_total", access="store"), 15)
        self.assertEqual(page.get(sampler + "throttles_total", access="store"), 2)
        undecoded = sampler + "samples_undecoded_total"
        self.assertEqual(page.get(undecoded, access="store", reason="repeated"), 1)
        self.assertEqual(page.get(undecoded, access="store", reason="unreadable"), 1)
        self.assertEqual(page.get("interference_pmem_dimms"), 6)


def write():
    for recording in RECORDINGS:
        recording.with_suffix(".prom").write_text(golden_part(replay(recording)))
        print(f"written: {recording.with_suffix('.prom')}")


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    else:
        harness.main()
