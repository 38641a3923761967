#!/usr/bin/python3
"""interference_governor --replay --report: what it says of recordings whose truth is known.

A read takes 100 ns, and 15 more for each core that the hog uses: three for twenty seconds of each
minute; a service uses one core at other times and slows nobody. What the report says is
computed once more from the truth and from its own list of decisions.
"""
import gzip
import json
import pathlib
import random
import subprocess
import tempfile
import unittest

from governing import GOVERNOR, POD_UID, cgroup_of, id_of
from harness import EXPORTER, Exporter, main, wait_until

TICKS, HURTS_NS, CALM_NS, HOG_CORES, FACTOR = 900, 15, 100, 3, 1.25
HERTZ, CACHE_CYCLES, READS = 2.1e9, 44, 200_000
NAMES = {"cart": "shop", "hog": "batch", "service": "other"}


def used(name, tick):
    if name == "hog":
        return HOG_CORES * (tick // 20 % 3 == 2)
    return 1 if name == "cart" else tick // 7 % 2


def latency_ns(tick):
    return CALM_NS + HURTS_NS * used("hog", tick)


def recording(hog_hurts=True):
    """Lines of JSON."""
    noise = random.Random(29)
    yield {"recording": 1, "interval_ns": 10**9,
           "machine": {"microarchitecture": "clx", "base_frequency_hz": HERTZ, "sockets": 1,
                       "cache_cycles": CACHE_CYCLES, "llc_hit_cycles": 20, "numa_nodes": 1, "cpus": 8}}
    for name, namespace in NAMES.items():
        yield {"container": {"key": name, "cgroup": f"/{cgroup_of(name)}", "id": id_of(name),
                             "pod": f"{name}-0", "container": name, "namespace": namespace,
                             "pod_uid": POD_UID}}
    yield {"thread": {"key": "p0", "kind": "probe", "initiator_numa_node": 0, "target_numa_node": 0,
                      "cpu": 0}}
    sums = {name: [0, 0, 0] for name in NAMES}
    for tick in range(1, TICKS + 1):
        yield {"tick": tick, "mono_ns": tick * 10**9, "wall_ns": (1790000000 + tick) * 10**9}
        takes = latency_ns(tick) if hog_hurts else CALM_NS
        yield {"probe": {"initiator_numa_node": 0, "target_numa_node": 0, "cpu": 0,
                         "latency_ns": takes + noise.gauss(0, 1)}}
        for name, (cycles, reads, occupancy) in sums.items():
            cores = used(name, tick)
            n = READS * {"cart": 1, "hog": 5 * cores}.get(name, 0)
            cycles += round(HERTZ * cores)
            reads += n
            occupancy += round(n * ((takes + noise.gauss(0, 1)) * HERTZ * 1e-9 - CACHE_CYCLES))
            sums[name] = [cycles, reads, occupancy]
            yield {"read": name, "group": "core",
                   "enabled_ns": round(cycles / HERTZ * 1e9), "running_ns": round(cycles / HERTZ * 1e9),
                   "values": {"cycles": cycles, "ref_cycles": cycles, "instructions": cycles,
                              "l3_miss_reads": reads, "l3_miss_read_occupancy": occupancy,
                              "llc_reads": reads, "l3_miss_read_active": reads}}


CONFIG = {"governor": 1, "classes": [
    {"name": "web", "role": "protected",
     "match": [{"namespace": "shop", "pod": "*", "container": "cart"}]},
    {"name": "batch", "role": "best_effort",
     "match": [{"namespace": namespace, "pod": "*", "container": "*"} for namespace in ("batch", "other")],
     "cpu": {"base_cores": 0.5, "step_cores": 0.5}}],
    "policies": {"threshold": {"classes": ["batch"], "factor": FACTOR}}}


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.folder / "governor.json").write_text(json.dumps(CONFIG))
        cls.plain = cls.write("hurts.jsonl", recording())
        cls.report = json.loads(cls.run_report(cls.plain, "--report=json").stdout)

    @classmethod
    def write(cls, name, lines):
        path = cls.folder / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    @classmethod
    def run_report(cls, path, *flags, status=0):
        result = subprocess.run([GOVERNOR, f"--config.file={cls.folder}/governor.json", f"--replay={path}",
                                 *flags], capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == status, (result.returncode, result.stderr)
        return result

    def quotas(self, report, name="batch/hog-0/hog"):
        """{tick: what it may have in this tick}, as the decisions before it say; None: everything."""
        changes = {d["tick"]: None if d["action"] == "release" else float(d["to"])
                   for d in report["decisions"] if d["container"] == name}
        quota, told = None, {}
        for tick in range(1, TICKS + 1):
            told[tick] = quota
            quota = changes.get(tick, quota)
        return told

    def test_what_it_says_is_what_comes_of_the_decisions(self):
        self.assertEqual((self.report["ticks"], self.report["seconds"], self.report["cpus"]),
                         (TICKS, TICKS - 1, 8))
        self.assertEqual([(pair["container"], pair["for"]) for pair in self.report["held"]],
                         [("batch/hog-0/hog", "shop/cart-0/cart")], self.report)
        pair = self.report["held"][0]
        held = {tick: quota for tick, quota in self.quotas(self.report).items() if quota is not None}
        self.assertEqual(pair["held_seconds"], len(held))
        self.assertEqual(pair["first_timestamp_seconds"], 1790000000 + min(held))
        self.assertEqual(pair["last_timestamp_seconds"], 1790000000 + max(held))
        given = {tick: max(used("hog", tick) - quota, 0) for tick, quota in held.items()}
        self.assertAlmostEqual(pair["cpu_seconds"] / sum(given.values()), 1, delta=0.02)
        self.assertGreater(pair["cpu_seconds"], TICKS / 4)

    def test_the_truth_is_within_its_interval(self):
        pair = self.report["held"][0]
        on = {tick: quota for tick, quota in self.quotas(self.report).items()
              if quota is not None and used("hog", tick)}
        truth_ns = HURTS_NS * sum(max(HOG_CORES - quota, 0) for quota in on.values()) / len(on)
        self.assertGreater(pair["told_seconds"], 0.9 * len(on))
        self.assertLess(pair["latency_seconds_lower"] * 1e9, truth_ns)
        self.assertGreater(pair["latency_seconds_upper"] * 1e9, truth_ns)
        self.assertLess(pair["latency_seconds_per_core_lower"] * 1e9, HURTS_NS)
        self.assertGreater(pair["latency_seconds_per_core_upper"] * 1e9, HURTS_NS)
        self.assertAlmostEqual(pair["latency_seconds"] * 1e9 / truth_ns, 1, delta=0.2)
        self.assertGreater(pair["latency_seconds_lower"], 0)

    def test_it_goes_on_as_if_it_had_acted(self):
        """The reads stay as slow in the recording, whatever is decided; but once the hog is named it is
        believed that holding it helps, and it gets more than its base again: 25 ns more are 1.7 cores."""
        quotas = self.quotas(self.report)
        self.assertEqual(quotas[TICKS // 10], 0.5)
        self.assertGreaterEqual(quotas[TICKS], 1)
        self.assertLess(quotas[TICKS], 2)

    def test_the_table_and_a_compressed_file(self):
        packed = self.folder / "hurts.jsonl.gz"
        subprocess.run([EXPORTER, "--once", f"--source.replay.file={self.plain}",
                        f"--source.record.file={packed}"], capture_output=True, timeout=120, check=True)
        self.assertEqual(packed.read_bytes()[:2], b"\x1f\x8b")
        text = self.run_report(packed, "--report").stdout
        self.assertIn(self.report["held"][0]["sentence"] + "\n", text)
        self.assertRegex(text, r"would have taken \d\.\d cores from batch/hog-0/hog for \d+ minutes; "
                               r"shop/cart-0/cart would have waited \d+ ns less \(\d+ to \d+\) "
                               r"in \d+ minutes of them\n")
        self.assertIn("would have been held", text)

    def test_a_file_of_the_black_box(self):
        """Its totals begin with it, and it has lines that no other recording has; the same is said."""
        box = self.folder / "box"
        box.mkdir()
        with Exporter(f"--blackbox.directory={box}", "--web.api", "--source.replay.speed=max",
                      f"--source.replay.file={self.plain}") as exporter:
            wait_until(lambda: exporter.json("/api/v1/containers")["replay_ended"], 60, "its end")
        header, *lines = gzip.decompress(sorted(box.iterdir())[-1].read_bytes()).decode().splitlines()
        self.assertIn('{"mark":"', "".join(lines))
        path = self.folder / "box.jsonl"
        path.write_text("\n".join([header, '{"learned":"00ff"}', *lines]) + "\n")
        self.assertEqual(json.loads(self.run_report(path, "--report=json").stdout), self.report)

    def test_nobody_waits(self):
        path = self.write("calm.jsonl", recording(hog_hurts=False))
        report = json.loads(self.run_report(path, "--report=json").stdout)
        self.assertEqual((report["held"], report["decisions"]), ([], []))
        self.assertIn("Nobody would have been held.", self.run_report(path, "--report").stdout)

    def test_what_is_refused(self):
        for flags, path in ((["--report", "--enforce"], self.plain), ([], self.plain),
                            (["--report=html"], self.plain), (["--report"], "/nonexistent"),
                            (["--report", "--web.listen-address=" + 8 * ":1," + ":1"], self.plain)):
            with self.subTest(flags=flags, path=path):
                self.assertEqual(self.run_report(path, *flags, status=2).stdout, "")
        empty = self.write("empty.jsonl", list(recording())[:1])
        self.assertIn("no tick", self.run_report(empty, "--report", status=2).stderr)


if __name__ == "__main__":
    main()
