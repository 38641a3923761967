#!/usr/bin/python3
"""Samples for programs that these tests cannot run: VictoriaMetrics' operator, OpenTelemetry's collector, Artifact Hub, Butane.

VMPodScrape and VMRule fitted the operator's own schema (its commit d0d258c, August 2026) when they were written; here is
looked at what would go stale.
"""
import pathlib
import re
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = SOURCE / "deploy"


def load(file):
    return yaml.safe_load((DEPLOY / file).read_text())


class VictoriaMetrics(unittest.TestCase):
    def test_rules_are_those_that_are_rendered(self):
        rendered = [group for name in ("rules", "alerts")
                    for group in yaml.safe_load((SOURCE / f"dashboards/rendered/{name}.yaml").read_text())["groups"]]
        made = load("kubernetes/victoriametrics/vmrule.yaml")
        self.assertEqual((made["kind"], made["apiVersion"]), ("VMRule", "operator.victoriametrics.com/v1beta1"))
        self.assertTrue(made["spec"]["groups"] == rendered, "run deploy/kubernetes/update.sh")

    def test_scrapes_as_the_chart_does(self):
        helpers = (DEPLOY / "kubernetes/chart/templates/_helpers.tpl").read_text()
        (body,) = re.findall(r'define "interference-exporter.relabelings" -}}\n(.*?)\n{{- end }}', helpers, re.DOTALL)
        made = load("kubernetes/victoriametrics/vmpodscrape.yaml")
        self.assertEqual((made["kind"], made["apiVersion"]), ("VMPodScrape", "operator.victoriametrics.com/v1beta1"))
        (endpoint,) = made["spec"]["podMetricsEndpoints"]
        self.assertEqual(endpoint["relabelConfigs"], yaml.safe_load(body))
        self.assertIs(endpoint["honorLabels"], True)
        (container,) = load("kubernetes/manifests/daemonset.yaml")["spec"]["template"]["spec"]["containers"]
        self.assertIn(endpoint["port"], [port["name"] for port in container["ports"]])
        pods = load("kubernetes/manifests/daemonset.yaml")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(made["spec"]["selector"]["matchLabels"].items(), pods.items())
        self.assertRegex(pods[made["spec"]["jobLabel"]], "interference")


class OpenTelemetry(unittest.TestCase):
    def setUp(self):
        self.config = load("opentelemetry/collector.yaml")
        (self.names,) = self.config["processors"]["transform/names"]["metric_statements"]
        self.page = (DEPLOY / "opentelemetry/README.md").read_text()
        self.table = {name: attribute for name, attribute in re.findall(r"(?m)^\| `(\w+)`[^|]* \| `([\w.]+)` \|", self.page)}

    def test_what_is_used_is_defined(self):
        (pipeline,) = self.config["service"]["pipelines"].values()
        for kind, names in pipeline.items():
            self.assertEqual(set(names), set(self.config[kind]), kind)

    def test_statements_are_the_page(self):
        moved = {label: attribute for attribute, label in
                 (re.match(r'set\(attributes\["([\w.]+)"\], attributes\["(\w+)"\]\) where attributes\["\2"\] != nil', s).groups()
                  for s in self.names["statements"] if s.startswith("set("))}
        deleted = {re.fullmatch(r'delete_key\(attributes, "(\w+)"\)', s)[1] for s in self.names["statements"]
                   if not s.startswith("set(")}
        self.assertEqual(moved, self.table)
        self.assertEqual(deleted, set(moved))
        self.assertEqual(set(self.config["processors"]["groupbyattrs"]["keys"]), set(moved.values()))
        # Set before they are deleted.
        first = [s.startswith("set(") for s in self.names["statements"]]
        self.assertEqual(first, sorted(first, reverse=True))

    def test_labels_are_those_that_metrics_have(self):
        (container,) = re.findall(r"(?m)^\| `interference_container_info` \|[^\n]*?\| ([\w, ]+) \|",
                                  (SOURCE / "collectors/METRICS.md").read_text())
        known = set(container.split(", ")) - {"container"} | {"namespace", "pod", "container", "container_id", "node"}
        self.assertLessEqual(set(self.table), known)


class Others(unittest.TestCase):
    def test_artifact_hub(self):
        """Its annotations are text, and lists are YAML in it."""
        notes = load("kubernetes/chart/Chart.yaml")["annotations"]
        self.assertEqual({type(value) for value in notes.values()}, {str})
        for change in yaml.safe_load(notes["artifacthub.io/changes"]):
            self.assertIn(change["kind"], ("added", "changed", "deprecated", "removed", "fixed", "security"))
            self.assertTrue(change["description"])

    def test_settings_of_nodes_are_the_same(self):
        """As in the file for /etc/sysctl.d."""
        def settings(text):
            return dict(re.findall(r'(?m)^\s*"?(kernel\.\w+)"?\s*[=:]\s*"?(\d+)"?', text))

        nodes = DEPLOY / "kubernetes/nodes"
        expected = settings((nodes / "60-interference-exporter.conf").read_text())
        self.assertEqual(set(expected), {"kernel.perf_event_paranoid", "kernel.nmi_watchdog"})
        (file,) = load("kubernetes/nodes/flatcar.yaml")["storage"]["files"]
        self.assertEqual(settings(file["contents"]["inline"]), expected)
        for name in ("talos.yaml", "bottlerocket.toml"):
            self.assertEqual(settings((nodes / name).read_text()), expected, name)


if __name__ == "__main__":
    unittest.main(argv=[__file__])
