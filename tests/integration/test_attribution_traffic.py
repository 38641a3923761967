#!/usr/bin/python3
"""The simulated node's recording, whose truth lines say who makes whom wait, replayed through the
collectors core_latency and attribution: by traffic it names who does, by CPU time nobody, since all
of its containers always run. By traffic it also tells how long each makes the victim wait."""
import collections
import json
import pathlib
import subprocess
import tempfile
import unittest

import harness
from harness import BUILD, SOURCE, run_exporter

SIMNODE = BUILD / "tests/simnode/simnode"
SCENARIO = SOURCE / "tests/simnode/tests/attribution.json"
CAUSED = "interference_container_caused_latency_seconds_total"
WAIT = "interference_container_caused_wait_seconds_total"
VICTIM = "victim"
PROBE = {"key": "probe", "workload": "chase", "cpus": [5], "prefetch": False, "probe": True}


class Traffic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        scenario = json.loads(SCENARIO.read_text())
        scenario["containers"].append(PROBE)
        (directory / "scenario.json").write_text(json.dumps(scenario))
        cls.recording = directory / "recording.jsonl"
        subprocess.run([SIMNODE, directory / "scenario.json", cls.recording], check=True,
                       timeout=600)
        cls.truth = collections.Counter()  # ns of each read of the probe, added up over ticks
        cls.waited = collections.Counter()  # ns of all reads of the victim
        reads = before = 0
        for line in map(json.loads, cls.recording.read_text().splitlines()):
            if line.get("read") == VICTIM and line["group"] == "core":
                before, reads = reads, line["values"]["l3_miss_reads"]
            truth = line.get("truth", {})
            if truth.get("key") == PROBE["key"]:
                cls.truth.update(truth.get("caused_ns", {}))
            if truth.get("key") == VICTIM:
                for who, ns in truth.get("caused_ns", {}).items():
                    cls.waited[who] += ns * (reads - before)

    def caused(self, *flags, metric=CAUSED):
        """Counter of seconds by container's pod, which is its key."""
        result = run_exporter("--source=replay", f"--source.replay.file={self.recording}", "--once",
                              *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = harness.parse_text(result.stdout)
        return collections.Counter({dict(labels)["pod"]: value
                                    for (name, labels), value in page.samples.items()
                                    if name == metric and value > 0})

    def test_by_traffic(self):
        aggressors = {key for key, _ in self.truth.most_common(2)}
        self.assertEqual(aggressors, {"stream", "writer"})
        caused = self.caused("--collector.attribution.traffic")
        self.assertIn(caused.most_common(1)[0][0], aggressors)
        self.assertLessEqual(set(caused), aggressors)

    def test_who_makes_the_victim_wait(self):
        """The probe is nobody's neighbour for the exporter. A seventh of the wait is on the wrong
        one."""
        caused = self.caused("--collector.attribution.traffic", metric=WAIT)
        truth = {who: max(0, ns) for who, ns in self.waited.items() if who != PROBE["key"]}
        self.assertEqual([who for who, _ in caused.most_common(3)],
                         sorted(truth, key=truth.get, reverse=True)[:3])
        share = {who: ns / sum(truth.values()) for who, ns in truth.items()}
        wrong = sum(abs(caused[who] / sum(caused.values()) - share[who]) for who in truth) / 2
        self.assertLess(wrong, 0.2)
        self.assertLess(caused["compute"] + caused[VICTIM], 0.01 * sum(caused.values()))

    def test_by_cpu_time(self):
        self.assertEqual(self.caused(), {})


if __name__ == "__main__":
    harness.main()
