#!/usr/bin/python3
"""Holds dashboards/alertmanager.yml to what Alertmanager makes of it: tests/check/test_alertmanager.py BUILD

Each alert of the mixin reaches the receiver that the file's words promise (amtool); in a real
Alertmanager, a node with one culprit and a hundred that wait is one group in which they are inhibited,
and nothing is inhibited by an alert of elsewhere, nor of another NUMA node.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))
SAMPLE = SOURCE / "dashboards/alertmanager.yml"
CULPRIT = {"namespace": "batch", "pod": "report-0", "container": "report", "numa_node": "0"}


def alerts():
    """The labels that every alert of a name has, for each name and severity."""
    for file in sorted((SOURCE / "dashboards/rendered").rglob("*alerts.yaml")):
        for group in yaml.safe_load(file.read_text())["groups"]:
            for rule in group["rules"]:
                yield {"alertname": rule["alert"],
                       **{name: text for name, text in rule["labels"].items() if "{{" not in text}}


def labels_of(name, **more):
    return {**next(labels for labels in alerts() if labels["alertname"] == name), "cluster": "a", **more}


def amtool(*arguments):
    """What it prints; it warns on stderr of the address that it does not need."""
    result = subprocess.run(["amtool", *map(str, arguments)], capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Routes(unittest.TestCase):
    def receivers(self, labels):
        output = amtool("config", "routes", "test", f"--config.file={SAMPLE}",
                        *(f"{key}={value}" for key, value in labels.items()))
        return output.strip().split(",")

    def test_the_sample_is_valid(self):
        self.assertIn("SUCCESS", amtool("check-config", SAMPLE))

    def test_each_alert_has_a_receiver(self):
        wanted = {"info": ["reading"], "exporter": ["monitoring"], "governor": ["monitoring"],
                  "memory": ["platform"], "cpu": ["platform"]}
        for labels in alerts():
            key = labels["severity"] if labels["severity"] == "info" else labels["area"]
            self.assertEqual(self.receivers(labels), wanted[key], labels)

    def test_a_team_is_told_of_its_containers(self):
        waits = labels_of("InterferenceContainerSlowdown", node="n1", namespace="shop-eu", pod="cart-0")
        self.assertEqual(self.receivers(waits), ["team-shop", "platform"])
        culprit = labels_of("InterferenceAggressor", node="n1", **CULPRIT)
        self.assertEqual(self.receivers(culprit), ["platform"])
        self.assertEqual(self.receivers({**culprit, "namespace": "shop"}), ["team-shop", "platform"])

    def test_others_alerts_are_left_alone(self):
        self.assertEqual(self.receivers({"alertname": "Watchdog", "severity": "critical"}), ["default"])


class Inhibition(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from monitoring import Alertmanager
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.manager = cls.enterClassContext(
            Alertmanager(cls.directory, yaml.safe_load(SAMPLE.read_text())))
        cls.sent = cls.storm()
        request = urllib.request.Request(
            f"http://127.0.0.1:{cls.manager.port}/api/v2/alerts", method="POST",
            data=json.dumps([{"labels": labels} for labels in cls.sent]).encode(),
            headers={"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=60).close()
        from harness import wait_until
        cls.found = wait_until(lambda: cls.all_of_them(), 20, "all alerts are there", 0.2)

    @classmethod
    def all_of_them(cls):
        found = json.loads(cls.manager.get("/api/v2/alerts"))
        return found if len(found) == len(cls.sent) else None

    @staticmethod
    def storm():
        """n1, of two sockets: one culprit, long queues on the other one, a hundred that wait, one of which is slowed
        down, and one slowed down by a model that may page. n2: long queues, two wait. n3: one is slowed
        down, and its neighbour waits. n6, of two sockets: a culprit, long queues, two wait. n7: a culprit, one waits.
        n2 and n7 have one NUMA node, and say so. Cluster b: a node called n1, where one waits. n8: who waits for its
        own quota, by our alert, by kube-prometheus', and for a page; who waits for others', and who by nobody's alert."""
        whole, unknown = {"numa_node": "0"}, {"numa_node": "unknown"}

        def waits(node, i, **more):
            return labels_of("InterferenceMemoryLatencyHigh", node=node, namespace="shop", pod=f"web-{i}",
                             container="web", **{**unknown, **more})

        def slow(node, i):
            return labels_of("InterferenceContainerSlowdown", node=node, namespace="shop",
                             pod=f"web-{i}", container="web", model="passive")

        def throttled(i, alertname="InterferenceOwnQuota", **more):
            return {"alertname": alertname, "cluster": "a", "namespace": "shop", "pod": f"web-{i}", "container": "web",
                    "severity": "info", **more}

        def culprit(node):
            return labels_of("InterferenceAggressor", node=node, **CULPRIT)

        queue = labels_of("InterferenceQueueLatencyHigh", node="n1", socket="1", numa_node="unknown")
        stuck = labels_of("InterferenceExporterStuck", node="n4", instance="n4")
        return [culprit("n1"), queue, slow("n1", 0), {**slow("n1", 100), "severity": "critical"},
                labels_of("InterferenceManyContainersWait", node="n1"),
                *(waits("n1", i) for i in range(100)),
                {**queue, "node": "n2", **whole}, waits("n2", 0, **whole), waits("n2", 1, **whole),
                slow("n3", 0), waits("n3", 0), waits("n3", 1), {**waits("n1", 0), "cluster": "b"},
                culprit("n6"), {**queue, "node": "n6"}, waits("n6", 0), waits("n6", 1),
                culprit("n7"), waits("n7", 0, **whole),
                throttled(80, node="n8"), waits("n8", 80, cause="own_quota"), {**slow("n8", 80), "cause": "own_quota"},
                throttled(81, "CPUThrottlingHigh"), waits("n8", 81, cause="own_quota"),
                {**slow("n8", 81), "cause": "own_quota", "severity": "critical"},
                throttled(82, node="n8"), waits("n8", 82, cause="cpu_neighbour"), waits("n8", 83, cause="own_quota"),
                labels_of("InterferenceSlowMinutes", namespace="shop", container="web"),
                labels_of("InterferenceSlowMinutes", namespace="shop", container="cron"),
                labels_of("InterferenceSlowMinutes", namespace="batch", container="web"),
                labels_of("InterferenceExporterAbsent"),
                labels_of("InterferenceExporterDown", job="interference"),
                {**labels_of("InterferenceExporterDown", job="interference"), "cluster": "b"},
                {"alertname": "KubeNodeNotReady", "cluster": "a", "node": "n4", "severity": "warning"},
                stuck, {**stuck, "node": "n5", "instance": "n5"}]

    def told(self):
        """What is left to tell."""
        return sorted(" ".join(alert["labels"].get(key, "-") for key in ("alertname", "cluster", "node", "pod"))
                      for alert in self.found if not alert["status"]["inhibitedBy"])

    def test_only_what_is_news_is_told(self):
        expected = sorted([
            "InterferenceAggressor a n1 report-0", "InterferenceManyContainersWait a n1 -",
            "InterferenceContainerSlowdown a n1 web-100",
            "InterferenceQueueLatencyHigh a n1 -", "InterferenceQueueLatencyHigh a n2 -",
            "InterferenceAggressor a n6 report-0", "InterferenceQueueLatencyHigh a n6 -",
            "InterferenceMemoryLatencyHigh a n6 web-0", "InterferenceMemoryLatencyHigh a n6 web-1",
            "InterferenceAggressor a n7 report-0",
            "InterferenceContainerSlowdown a n3 web-0",
            "InterferenceMemoryLatencyHigh a n3 web-1",
            "InterferenceMemoryLatencyHigh b n1 web-0",
            "InterferenceOwnQuota a n8 web-80", "CPUThrottlingHigh a - web-81", "InterferenceOwnQuota a n8 web-82",
            "InterferenceContainerSlowdown a n8 web-81", "InterferenceMemoryLatencyHigh a n8 web-82",
            "InterferenceMemoryLatencyHigh a n8 web-83",
            "InterferenceSlowMinutes a - -", "InterferenceSlowMinutes a - -",  # cron's, and batch's
            "InterferenceExporterAbsent a - -",
            "InterferenceExporterDown b - -",
            "InterferenceExporterStuck a n5 -",
            "KubeNodeNotReady a n4 -"])
        # Who inhibits is looked up after an alert is there; on a busy machine a moment later.
        for _ in range(100):
            type(self).found = self.all_of_them() or self.found
            if self.told() == expected:
                break
            time.sleep(0.2)
        self.assertEqual(self.told(), expected)

    def test_a_node_is_one_notification(self):
        for _ in range(100):  # alerts are sorted into groups a moment after they are there
            groups = [group for group in json.loads(self.manager.get("/api/v2/alerts/groups"))
                      if group["receiver"]["name"] == "platform"]
            of_node = {(group["labels"].get("cluster"), group["labels"].get("node")):
                       len(group["alerts"]) for group in groups}
            if of_node.get(("a", "n1")) == 105:
                break
            time.sleep(0.2)
        self.assertEqual(len(of_node), len(groups))
        self.assertEqual(of_node[("a", "n1")], 105)


if __name__ == "__main__":
    for command in ("amtool", "prometheus-alertmanager"):
        if not shutil.which(command):
            print(f"skipped: needs the command {command}")
            sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
