#!/usr/bin/python3
"""A real Prometheus scrapes a replay at constant rates, and PromQL computes the latency again from
the raw counters. promtool finds nothing to complain about."""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

import harness
import web_files
from harness import Exporter, wait_until
from monitoring import Prometheus

BASE_HZ, CACHE_CYCLES = 2.1e9, 44
TICKS_PER_SECOND = 4
TICKS = 90 * TICKS_PER_SECOND
# Per second; the worked numbers of the formula, and a third at another frequency and mix.
RATES = {
    "cart": {"cycles": 2100000000, "ref_cycles": 2100000000, "l3_miss_reads": 1000000,
             "l3_miss_read_occupancy": 124500000},
    "db": {"cycles": 2600000000, "ref_cycles": 2100000000, "l3_miss_reads": 1000000,
           "l3_miss_read_occupancy": 156900000},
    "batch": {"cycles": 1234567890, "ref_cycles": 987654321, "l3_miss_reads": 7654321,
              "l3_miss_read_occupancy": 1999888777},
}

# Latency from the raw counters, over any range: FORMULAS.md section 1.
FROM_COUNTERS = """
(
  scalar(interference_core_cache_lookup_cycles)
  + rate(interference_container_memory_read_occupancy_cycles_total[10s])
  / rate(interference_container_memory_reads_total[10s])
)
/ (
  rate(interference_container_cpu_cycles_total[10s])
  / rate(interference_container_cpu_reference_cycles_total[10s])
  * scalar(interference_cpu_base_frequency_hertz)
)
"""
FROM_WAIT = """
rate(interference_container_memory_read_wait_seconds_total[10s])
/ rate(interference_container_memory_read_latency_reads_total[10s])
"""
# Whose counters have been seen to grow five times.
SEEN = "changes(interference_container_memory_reads_total[10s]) >= 5"


def latency(rates):
    frequency = rates["cycles"] / rates["ref_cycles"] * BASE_HZ
    return (CACHE_CYCLES + rates["l3_miss_read_occupancy"] / rates["l3_miss_reads"]) / frequency


def write_recording(path):
    second = 10**9
    interval = second // TICKS_PER_SECOND
    lines = [{"recording": 1, "interval_ns": interval,
              "machine": {"microarchitecture": "clx", "base_frequency_hz": BASE_HZ,
                          "cache_cycles": CACHE_CYCLES, "sockets": 1, "numa_nodes": 1, "cpus": 4}}]
    for i, name in enumerate(RATES):
        lines.append({"container": {"key": name, "cgroup": f"/docker/{i:064x}", "id": f"{i:064x}",
                                    "namespace": "shop", "pod": f"{name}-0", "container": name}})
    for tick in range(1, TICKS + 1):
        lines.append({"tick": tick, "mono_ns": tick * interval,
                      "wall_ns": 1790000000 * second + tick * interval})
        for name, rates in RATES.items():
            lines.append({"read": name, "group": "core", "enabled_ns": tick * interval,
                          "running_ns": tick * interval,
                          "values": {role: rate * tick // TICKS_PER_SECOND
                                     for role, rate in rates.items()}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def containers_of(result):
    """{container: value}"""
    return {labels.get("container", ""): value for labels, value in result}


class Scrape(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_latency_in_promql(self):
        recording = self.directory / "constant.jsonl"
        write_recording(recording)
        with Exporter("--source=replay", f"--source.replay.file={recording}",
                      "--source.replay.speed=1") as exporter, \
                Prometheus(self.directory, {
                    "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
                    "scrape_configs": [{"job_name": "interference", "static_configs": [
                        {"targets": [f"127.0.0.1:{exporter.port}"]}]}]}) as prometheus:
            # One scrape of many may take longer than the interval.
            wait_until(lambda: (prometheus.target() or {}).get("health") == "up", 20,
                       "Prometheus has scraped", 0.2)
            wait_until(lambda: set(containers_of(prometheus.query(SEEN))) == set(RATES), 20,
                       "each container has several samples in the range", 0.1)
            for query in (FROM_COUNTERS, FROM_WAIT):
                result = containers_of(prometheus.query(query))
                self.assertEqual(set(result), set(RATES))
                for name, rates in RATES.items():
                    self.assertTrue(harness.close(result[name], latency(rates), 1e-3),
                                    f"{name}: {result[name]} is not {latency(rates)}")
            wait_until(lambda: containers_of(prometheus.query("up")) == {"": 1}, 20, "it is up", 0.2)
            page = exporter.scrape()
            self.assertEqual(page.get("interference_exporter_source_info", source="replay",
                                      microarchitecture="clx"), 1)
            asked = page.select("interference_exporter_http_requests_total", handler="metrics",
                                format="openmetrics", code="200")
            self.assertGreaterEqual(sum(asked.values()), 5)


class Secure(unittest.TestCase):
    """deploy/web-config.yml and deploy/prometheus/secure.yml fit together."""

    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def serve(self):
        certificates = web_files.Certificates(self.directory)
        certificates.authority("ca")
        certificates.server("server", "ca", rsa=True)
        certificates.signed("client", "ca", "DNS:prometheus.example.org")
        certificates.signed("stranger", "ca", "DNS:grafana.example.org")
        for name, copy in (("ca.pem", "ca.crt"), ("server.pem", "tls.crt"),
                           ("server.key", "tls.key"), ("client.pem", "prometheus.crt"),
                           ("client.key", "prometheus.key")):
            shutil.copy(self.directory / name, self.directory / copy)
        (self.directory / "password").write_text("change-me")
        shutil.copy(harness.SOURCE / "deploy/web-config.yml", self.directory)
        return self.enterContext(web_files.SecureExporter(
            "--source=replay", f"--source.replay.file={harness.REPLAYS / 'worked.jsonl'}",
            f"--web.config.file={self.directory / 'web-config.yml'}",
            context=web_files.client(self.directory / "ca.pem", self.directory / "client.pem"),
            headers=web_files.basic("prometheus", "change-me")))

    def scraped(self, port, **changes):
        """How the target fares with the example, so changed: (health, last error)."""
        example = harness.SOURCE / "deploy/prometheus/secure.yml"
        (job,) = yaml.safe_load(example.read_text())["scrape_configs"]
        job["static_configs"][0]["targets"] = [f"127.0.0.1:{port}"]
        for key, value in changes.items():
            job[key] = value(job[key])
        with Prometheus(self.directory, {
                "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
                "scrape_configs": [job]}) as prometheus:
            def answered():
                """A password takes its time to be checked, and beside other tests more than the timeout.
                The server's reason is lost where it has closed before the client has written."""
                target = prometheus.target()
                return (target and not re.search("deadline exceeded|broken pipe|connection reset",
                                                 target["lastError"]) and target)

            target = wait_until(answered, 60, "Prometheus has an answer", 0.1)
            if target["health"] == "up":
                wait_until(lambda: prometheus.query("interference_exporter_build_info"), 20,
                           "metrics are there", 0.2)
        shutil.rmtree(self.directory / "tsdb")
        return target["health"], target["lastError"]

    def test_example(self):
        exporter = self.serve()
        self.assertEqual(self.scraped(exporter.port), ("up", ""))
        for what, changes, words in (
                ("no TLS", {"scheme": lambda _: "http"}, ""),
                ("another's certificate", {"tls_config": lambda t: {
                    **t, "cert_file": "stranger.pem", "key_file": "stranger.key"}}, "access denied"),
                ("no certificate", {"tls_config": lambda t: {"ca_file": t["ca_file"]}},
                 "certificate required"),
                ("no password", {"basic_auth": lambda _: None}, "401"),
                ("wrong password", {"basic_auth": lambda b: {**b, "username": "grafana"}}, "401")):
            with self.subTest(what):
                health, error = self.scraped(exporter.port, **changes)
                self.assertEqual(health, "down")
                self.assertIn(words, error)


class Promtool(unittest.TestCase):
    def check(self, text, what):
        harness.parse_text(text)
        result = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                capture_output=True, timeout=30)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""), what)

    def test_live(self):
        with Exporter("--source=perf") as exporter:
            exporter.wait_tick()
            self.check(exporter.text(), "live")
            # Both formats say the same.
            text = harness.parse_text(exporter.text())
            self.assertLessEqual({name for name, _ in text.samples},
                                 {name for name, _ in exporter.scrape().samples})

    def test_replays(self):
        """Pages on which each collector and every kind of metric shows something."""
        for recording in sorted(harness.REPLAYS.glob("*.jsonl")):
            result = harness.run_exporter("--source=replay", f"--source.replay.file={recording}",
                                          "--once")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.check(result.stdout, recording.stem)


if __name__ == "__main__":
    harness.need_command("prometheus", "promtool", "openssl")
    harness.main()
