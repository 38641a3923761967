#!/usr/bin/python3
"""deploy/compose: docker-compose takes the file, promtool Prometheus' part, and the exporter its flags;
what is mounted is there, and nothing listens for the network. No engine runs it here.
"""
import pathlib
import subprocess
import tempfile
import unittest

import yaml

import harness

FOLDER = harness.SOURCE / "deploy/compose"


def run(*argv):
    result = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, f"{argv}: {result.stdout}{result.stderr}"
    return result.stdout


class Compose(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.services = yaml.safe_load(run(
            "docker-compose", "-f", FOLDER / "compose.yaml", "config"))["services"]

    def test_services(self):
        self.assertEqual(set(self.services), {"exporter", "prometheus", "grafana"})
        for name, service in self.services.items():
            for port in service["ports"]:
                text = port if isinstance(port, str) else f"{port['host_ip']}:{port['published']}"
                self.assertTrue(text.startswith("127.0.0.1:"), f"{name}: {port}")
            # An image of a registry that is named: nobody else's is taken in its place.
            self.assertRegex(service["image"], r"^(localhost|docker\.io/(prom|grafana))/")
            for volume in service["volumes"]:
                source = pathlib.Path((volume if isinstance(volume, str) else volume["source"])
                                      .split(":")[0])
                if harness.SOURCE in source.parents:
                    self.assertTrue(source.exists(), source)

    def test_exporter(self):
        exporter = self.services["exporter"]
        self.assertEqual((exporter["cap_drop"], exporter["cap_add"], exporter["read_only"]),
                         (["ALL"], ["PERFMON"], True))
        self.assertEqual(exporter["security_opt"], ["no-new-privileges:true"])
        for volume in exporter["volumes"]:
            self.assertTrue(volume.endswith(":ro") if isinstance(volume, str)
                            else volume["read_only"], volume)
        self.assertEqual(harness.run_exporter(*exporter["command"], "--version").returncode, 0)

    def test_prometheus(self):
        config = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
        (pattern,) = config["rule_files"]
        self.assertEqual(str(pathlib.Path(pattern).parent), "/etc/prometheus/rules")
        config["rule_files"] = [str(harness.SOURCE / "dashboards/rendered/*.yaml")]
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            yaml.safe_dump(config, file)
            file.flush()
            self.assertIn("rules found", run("promtool", "check", "config", file.name))
        (target,) = config["scrape_configs"][0]["static_configs"][0]["targets"]
        self.assertEqual(target, "exporter:10066")
        self.assertIs(config["scrape_configs"][0]["honor_labels"], True)

    def test_grafana(self):
        (source,) = yaml.safe_load((FOLDER / "grafana-datasource.yaml").read_text())["datasources"]
        self.assertEqual((source["type"], source["url"]), ("prometheus", "http://prometheus:9090"))
        (provider,) = yaml.safe_load((FOLDER / "grafana-dashboards.yaml").read_text())["providers"]
        mounted = [v for v in self.services["grafana"]["volumes"]
                   if provider["options"]["path"] in str(v)]
        self.assertEqual(len(mounted), 1)
        self.assertIn("dashboards/rendered", str(mounted[0]))


if __name__ == "__main__":
    harness.need_command("docker-compose", "promtool")
    harness.main()
