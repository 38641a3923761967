#!/usr/bin/python3
"""Hours of made-up nodes (tests/attribution/node_hour.h) through the collector and the real rules: who
starts once and stays is alerted within ten minutes and until it ends, and nobody is where nobody
hurts. The whole exporter, replaying the same hour, counts the same."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import harness
from harness import Exporter, wait_until

RULES = harness.SOURCE / "dashboards/rendered"
SCRAPE_S, EVALUATION_S = 30, 60
WITHIN_S, RESOLVED_S, HOUR_S = 600, 900, 3600
ALERT = 'ALERTS{alertname="InterferenceAggressor", alertstate="firing"}'
# Alerts before what they read: they see what was recorded a minute ago, as at worst in Prometheus.
ORDER = ["interference-nodes", "interference-containers", "interference-fleet.rules",
         "interference-baselines.rules", "interference-nodes.rules",
         *(f"interference-{what}.rules" for what in ("placement", "causes", "latency", "slowdown", "cpus", "lost"))]


def play(mode, kind, seed, seconds):
    return subprocess.run([harness.PROGRAMS / "attribution_hours", mode, kind, str(seed),
                           str(seconds)], check=True, capture_output=True, text=True).stdout


def onset_of(kind, seed):
    return int(play("series", kind, seed, 1).split()[2])


def series_of(kind, seed, seconds):
    """{name with labels: {second: value}}"""
    series = {}
    for line in play("series", kind, seed, seconds).splitlines():
        if not line.startswith("#"):
            name, value, second = line.rsplit(" ", 2)
            series.setdefault(name, {})[int(second)] = value
    return series


def input_series(kind, seed, seconds):
    """As a Prometheus has them, which says when one ends."""
    made = []
    for name, values in series_of(kind, seed, seconds).items():
        text, ended = [], True
        for second in range(0, seconds + 1, SCRAPE_S):
            text.append(values.get(second, "_" if ended else "stale"))
            ended = second not in values
        made.append({"series": name.replace("{", '{cluster="a", node="n1", instance="n1", ', 1),
                     "values": " ".join(text)})
    return made


def expect(second, pods):
    return {"expr": f"count by (pod) ({ALERT})", "eval_time": f"{second}s",
            "exp_samples": [{"labels": f'{{pod="{pod}"}}', "value": 1} for pod in pods]}


def never():
    return {"expr": f"max_over_time({ALERT}[3h])", "eval_time": f"{HOUR_S}s", "exp_samples": []}


class Alerts(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check_rules(self, kind, seed, seconds, expected):
        path = self.directory / "test.yaml"
        path.write_text(json.dumps({  # which is YAML, too
            "rule_files": [str(RULES / "rules.yaml"), str(RULES / "alerts.yaml")],
            "evaluation_interval": f"{EVALUATION_S}s",
            "group_eval_order": ORDER,
            "tests": [{"name": f"{kind} {seed}", "interval": f"{SCRAPE_S}s",
                       "input_series": input_series(kind, seed, seconds),
                       "promql_expr_test": expected}]}))
        result = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True,
                                timeout=120)
        self.assertEqual(result.returncode, 0, (result.stdout + result.stderr)[:4000])

    def the_pod(self, kind, seed, onset):
        """Whose effect it is: by the recording, not by what was named."""
        pods = {}
        for line in map(json.loads, play("record", kind, seed, onset + 60).splitlines()):
            if "container" in line:
                pods[line["container"]["key"]] = line["container"]["pod"]
            elif "truth" in line:
                return pods[line["truth"]["key"]]
        raise AssertionError(f"nobody hurts in {kind} {seed}")

    def test_who_starts_and_stays(self):
        """From ten minutes after its start until an hour after it, without a gap; nobody before."""
        for kind in ("new-pod-15", "new-pod-30", "new-pod-60"):
            for seed in (0, 1, 3):
                with self.subTest(kind, seed=seed):
                    onset = onset_of(kind, seed)
                    end = onset + HOUR_S + 60
                    pod = self.the_pod(kind, seed, onset)
                    self.check_rules(kind, seed, end, [
                        expect(onset, []),
                        *(expect(second, [pod])
                          for second in range(onset + WITHIN_S, end, SCRAPE_S))])

    def test_who_leaves(self):
        for seed in (0, 1):
            with self.subTest(seed=seed):
                onset = onset_of("hog-leaves", seed)
                gone = onset + 1200
                pod = self.the_pod("hog-leaves", seed, onset)
                self.check_rules("hog-leaves", seed, gone + HOUR_S, [
                    *(expect(second, [pod])
                      for second in range(onset + WITHIN_S, gone, SCRAPE_S)),
                    *(expect(second, [])
                      for second in range(gone + RESOLVED_S, gone + HOUR_S, SCRAPE_S))])

    def test_nobody(self):
        for kind in ("quiet", "deploys", "outside", "outside-deploys", "waiters"):
            for seed in (0, 1):
                with self.subTest(kind, seed=seed):
                    self.check_rules(kind, seed, HOUR_S, [never()])


class Counters(unittest.TestCase):
    """What the rules were given is what the product counts."""

    def test_the_exporter_counts_the_same(self):
        kind, seed = "new-pod-30", 1
        seconds = (onset_of(kind, seed) + HOUR_S + 60) // SCRAPE_S * SCRAPE_S
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        recording = directory / "hour.jsonl"
        recording.write_text(play("record", kind, seed, seconds))
        with Exporter("--source=replay", "--source.replay.speed=max",
                      f"--source.replay.file={recording}", "--collector.disable-defaults",
                      "--collector.attribution", "--collector.probe") as exporter:
            wait_until(lambda: exporter.tick() == seconds, 20, "the last tick")
            page = exporter.scrape()
        series = series_of(kind, seed, seconds)
        # Not equal to the last digit: caused latencies differ by 2e-5, far less than one reading,
        # and so does what is calm without them.
        for name, tolerance in (("interference_container_caused_latency_seconds_total", 1e-4),
                                ("interference_memory_excess_latency_seconds_total", 1e-4),
                                ("interference_memory_attribution_readings_total", 1e-9),
                                ("interference_memory_probe_latency_seconds", 1e-9)):
            wanted = sum(float(values[seconds]) for key, values in series.items()
                         if key.startswith(name + "{") and seconds in values)
            counted = sum(page.select(name).values())
            self.assertGreater(wanted, 0, name)
            self.assertTrue(harness.close(counted, wanted, tolerance), f"{name}: {counted}, {wanted}")


if __name__ == "__main__":
    harness.need_command("promtool")
    harness.main()
