#!/usr/bin/python3
"""The simulated node's recording, whose truth lines say who makes whom wait, replayed through the
collector attribution: by traffic it names who does, by CPU time nobody, since all of its containers
always run."""
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
        for line in cls.recording.read_text().splitlines():
            truth = json.loads(line).get("truth", {})
            if truth.get("key") == PROBE["key"]:
                cls.truth.update(truth.get("caused_ns", {}))

    def caused(self, *flags):
        """Counter of seconds by container's pod, which is its key."""
        result = run_exporter("--source=replay", f"--source.replay.file={self.recording}", "--once",
                              *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = harness.parse_text(result.stdout)
        return collections.Counter({dict(labels)["pod"]: value
                                    for (name, labels), value in page.samples.items()
                                    if name == CAUSED and value > 0})

    def test_by_traffic(self):
        aggressors = {key for key, _ in self.truth.most_common(2)}
        self.assertEqual(aggressors, {"stream", "writer"})
        caused = self.caused("--collector.attribution.traffic")
        self.assertIn(caused.most_common(1)[0][0], aggressors)
        self.assertLessEqual(set(caused), aggressors)

    def test_by_cpu_time(self):
        self.assertEqual(self.caused(), {})


if __name__ == "__main__":
    harness.main()
