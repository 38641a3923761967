#!/usr/bin/python3
"""VictoriaMetrics in the place of Prometheus: it scrapes a replay and computes the latency from its raw counters, it takes
each query of rules, alerts and dashboards, and vmalert takes the rules."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.error

import yaml

import harness
import monitoring
import test_prometheus
from harness import Exporter, wait_until

RENDERED = harness.SOURCE / "dashboards/rendered"


def rule_files():
    files = sorted(RENDERED.rglob("*.yaml"))
    assert len(files) == 5, files
    return files


class Victoria(monitoring.Prometheus):
    """Answers at the same addresses."""

    def argv(self, config):
        return ["victoria-metrics", f"-promscrape.config={config}", f"-storageDataPath={self.directory / 'data'}",
                f"-httpListenAddr=127.0.0.1:{self.port}", "-search.latencyOffset=1s", "-loggerLevel=ERROR",
                "-memory.allowedBytes=256MB"]

    def ready(self):
        assert self.process.poll() is None, f"{self.name} ended: {self.words()}"
        try:
            return self.get("/health") == b"OK"
        except OSError:
            return False


def queries():
    """(where, expression), with Grafana's variables filled in."""
    for file in rule_files():
        for group in yaml.safe_load(file.read_text())["groups"]:
            yield from ((rule.get("record") or rule["alert"], rule["expr"]) for rule in group["rules"])
    for file in sorted(RENDERED.rglob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", []):
                expr = re.sub(r"\$__(rate_interval|interval|range)", "1m", target["expr"])
                yield f"{file.name}: {panel['title']}", re.sub(r"\$top\b", "10", re.sub(r"\$\w+", ".*", expr).replace("(.*,", "(10,"))


class Rules(unittest.TestCase):
    def check(self, *files):
        return subprocess.run(["vmalert", "-dryRun", *(f"-rule={file}" for file in files)], capture_output=True, text=True,
                              timeout=120, check=False)

    def test_vmalert_takes_them(self):
        done = self.check(*rule_files())
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])

    def test_vmalert_would_say_so(self):
        """Of what cannot be parsed; a function that nobody has is seen when it is asked for, below."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rules.yaml"
            file.write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": [
                {"record": "a:b:c", "expr": "sum by (node) (rate(x[5m])"}]}]}))
            self.assertNotEqual(self.check(file).returncode, 0)


class Scraper(unittest.TestCase):
    def test_scrapes_and_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            test_prometheus.write_recording(folder / "r.jsonl")
            with Exporter("--source=replay", f"--source.replay.file={folder / 'r.jsonl'}") as exporter:
                config = {"scrape_configs": [{"job_name": "interference", "scrape_interval": "1s", "static_configs": [
                    {"targets": [f"127.0.0.1:{exporter.port}"], "labels": {"node": "n1", "cluster": "a"}}]}]}
                with Victoria(folder, config) as victoria:
                    self.latencies(victoria)
                    self.takes_every_query(victoria)

    def latencies(self, victoria):
        expr = re.sub(r"scalar\((\w+)\)", r"scalar(max(\1))", test_prometheus.FROM_COUNTERS)

        def found():
            seen = test_prometheus.containers_of(victoria.query(test_prometheus.SEEN))
            return set(seen) >= set(test_prometheus.RATES)

        wait_until(found, 60, "the counters have grown five times", 0.5)
        computed = test_prometheus.containers_of(victoria.query(expr))
        for name, rates in test_prometheus.RATES.items():
            self.assertAlmostEqual(computed[name] / test_prometheus.latency(rates), 1, delta=0.01, msg=name)
        self.assertEqual({labels["node"] for labels, _ in victoria.query("interference_container_memory_reads_total")}, {"n1"})

    def takes_every_query(self, victoria):
        n = 0
        for where, expr in queries():
            n += 1
            with self.subTest(where):
                try:
                    victoria.query(expr)
                except urllib.error.HTTPError as error:
                    self.fail(f"{expr}: {error.read(500)}")
        self.assertGreater(n, 200)
        with self.assertRaises(urllib.error.HTTPError):
            victoria.query("rates(x[5m])")


if __name__ == "__main__":
    for command in ("victoria-metrics", "vmalert"):
        if not shutil.which(command):
            harness.skip(f"needs {command}")
    harness.main()
