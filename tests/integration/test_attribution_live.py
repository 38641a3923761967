#!/usr/bin/python3
"""The collector attribution on the real kernel: the real probe, the CPU time of real containers.

Two containers compute for half a second at a time and rest in between, so both become candidates.
Nothing is said of who is named: computing alone should be nobody's fault, and how fast this
machine's memory is nobody knows here. What was recorded meanwhile replays to the same numbers,
which depend on every reading of the probe and on every CPU second of every container and of the
host.
"""
import json
import pathlib
import sys
import tempfile
import unittest

import harness
from harness import Cgroups, Exporter, run_exporter, wait_until

READINGS = 70  # beyond those in which nobody is named
SPIN = """
import time
while True:
    until = time.monotonic() + %s
    while time.monotonic() < until:
        pass
    time.sleep(%s)
"""
MEMORY = "interference_memory_"


def of_attribution(page):
    """Without the probe's own, which are not of this collector."""
    return {key: value for key, value in page.samples.items()
            if key[0].startswith(("interference_container_caused_", MEMORY + "excess_",
                                  MEMORY + "attribution_"))}


def up_to_tick(recording, number):
    """The recording's lines before those of the next tick."""
    kept = []
    for line in recording.read_text().splitlines(keepends=True):
        tick = json.loads(line).get("tick")
        if isinstance(tick, int) and tick > number:
            break
        kept.append(line)
    recording.write_text("".join(kept))


class Live(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.groups = self.enterContext(Cgroups())
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.recording = self.directory / "recording.jsonl"
        for busy, idle in ((0.5, 0.7), (0.4, 0.5)):
            group, _ = self.groups.docker()
            self.groups.spawn(group, [sys.executable, "-c", SPIN % (busy, idle)])

    def readings(self, page):
        return page.get(MEMORY + "attribution_readings_total", numa_node="0") or 0

    def test_numbers_replay(self):
        with Exporter("--containers.names=none", self.groups.only(), "--sampling.interval=100ms",
                      f"--source.record.file={self.recording}") as exporter:
            collectors = json.loads(exporter.text("/api/v1/status"))["collectors"]
            own = next(c for c in collectors if c["name"] == "attribution")
            if not own["available"]:
                self.skipTest(f"not here: {own}")
            wait_until(lambda: self.readings(exporter.scrape()) >= READINGS, 60, "readings")
            live = exporter.scrape()
            document = json.loads(exporter.text("/api/v1/interference"))
            self.assertEqual(exporter.stop()[0], 0)
        self.assertEqual(document["source"], "perf")
        domain = document["domains"][0]
        self.assertEqual(domain["basis"], "cpu_time")
        self.assertNotEqual(domain["state"], "learning")
        self.assertEqual(live.get(MEMORY + "attribution_candidates", numa_node="0"), 2)
        up_to_tick(self.recording, live.get("interference_exporter_ticks_total"))
        result = run_exporter("--source=replay", f"--source.replay.file={self.recording}", "--once",
                              "--containers.names=none")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(of_attribution(harness.parse_text(result.stdout)), of_attribution(live))


if __name__ == "__main__":
    harness.main()
