#!/usr/bin/python3
"""What others ask Prometheus for is what promtool tests: the descheduler by its policy, which fits its types, and who
writes the file about other nodes.

The fields are those of kubernetes-sigs/descheduler, commit 7d2b28b: pkg/api/v1alpha2/types.go, and types.go and
validation.go of the plugins nodeutilization and defaultevictor, which take no others (strict decoding).
"""
import copy
import pathlib
import re
import unittest

import jsonschema
import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


def fields(required=(), **properties):
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": list(required)}


WORD, COUNT, YES = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
NAMES = {"type": "array", "items": WORD}
SOURCES = {"enum": ["KubernetesMetrics", "Prometheus"]}
# With a query there is one resource, by this name.
PERCENT = fields(["MetricResource"], MetricResource={"type": "number", "minimum": 0, "maximum": 100})
LABELS = fields(matchLabels={"type": "object", "additionalProperties": {"type": "string"}},
                matchExpressions={"type": "array"})
PROTECTIONS = {"type": "array", "items": {"enum": [
    "PodsWithLocalStorage", "DaemonSetPods", "SystemCriticalPods", "FailedBarePods", "PodsWithPVC", "PodsWithoutPDB",
    "PodsWithResourceClaims"]}}
ARGUMENTS = {
    "LowNodeUtilization": fields(
        ["thresholds", "targetThresholds", "metricsUtilization"], useDeviationThresholds=YES, thresholds=PERCENT,
        targetThresholds=PERCENT, numberOfNodes=COUNT, evictableNamespaces=fields(exclude=NAMES),
        evictionLimits=fields(node=COUNT), metricsUtilization=fields(
            ["source", "prometheus"], source={"const": "Prometheus"}, prometheus=fields(["query"], query=WORD))),
    "DefaultEvictor": fields(
        nodeSelector=WORD, labelSelector=LABELS, namespaceLabelSelector=LABELS,
        priorityThreshold=fields(value={"type": "integer"}, name=WORD), nodeFit=YES, minReplicas=COUNT,
        minPodAge={"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h))+$"}, noEvictionPolicy=WORD,
        podProtections=fields(extraEnabled=PROTECTIONS, defaultDisabled=PROTECTIONS, config={"type": "object"})),
}
POINTS = ("presort", "sort", "deschedule", "balance", "filter", "preevictionfilter")
POLICY = fields(
    ["apiVersion", "kind", "profiles", "metricsProviders"], apiVersion={"const": "descheduler/v1alpha2"},
    kind={"const": "DeschedulerPolicy"}, nodeSelector=WORD, maxNoOfPodsToEvictPerNode=COUNT,
    maxNoOfPodsToEvictPerNamespace=COUNT, maxNoOfPodsToEvictTotal=COUNT, evictionFailureEventNotification=YES,
    gracePeriodSeconds=COUNT,
    metricsProviders={"type": "array", "items": fields(
        ["source"], source=SOURCES, prometheus=fields(["url"], url=WORD, authToken=fields(
            secretReference=fields(["namespace", "name"], namespace=WORD, name=WORD))))},
    profiles={"type": "array", "minItems": 1, "items": fields(
        ["name", "pluginConfig", "plugins"], name=WORD,
        pluginConfig={"type": "array", "items": {"oneOf": [
            fields(["name", "args"], name={"const": name}, args=args) for name, args in ARGUMENTS.items()]}},
        plugins=fields(**{point: fields(enabled=NAMES, disabled=NAMES) for point in POINTS}))})


class Policy(unittest.TestCase):
    def setUp(self):
        self.policy = yaml.safe_load((SOURCE / "deploy/kubernetes/descheduler/policy.yaml").read_text())
        (profile,) = self.policy["profiles"]
        self.args = {plugin["name"]: plugin["args"] for plugin in profile["pluginConfig"]}
        self.enabled = profile["plugins"]["balance"]["enabled"]

    def test_fits_the_types(self):
        jsonschema.validate(self.policy, POLICY)
        self.assertEqual(self.enabled, ["LowNodeUtilization"])
        args = self.args["LowNodeUtilization"]
        self.assertLess(args["thresholds"]["MetricResource"], args["targetThresholds"]["MetricResource"])
        self.assertIn("Prometheus", [provider["source"] for provider in self.policy["metricsProviders"]])

    def test_what_does_not_fit_is_seen(self):
        def broken(change):
            policy = copy.deepcopy(self.policy)
            change(policy, policy["profiles"][0]["pluginConfig"][1]["args"])
            return policy

        for change in (lambda policy, args: args.update(threshold={}),
                       lambda policy, args: args["thresholds"].update(cpu=20),
                       lambda policy, args: args["thresholds"].update(MetricResource=101),
                       lambda policy, args: args["metricsUtilization"].update(metric="x"),
                       lambda policy, args: policy.update(maxNoOfPodsToEvict=1),
                       lambda policy, args: policy["metricsProviders"][0].update(source="prometheus")):
            with self.subTest(change=change.__code__.co_consts):
                with self.assertRaises(jsonschema.ValidationError):
                    jsonschema.validate(broken(change), POLICY)

    def test_its_query_is_the_one_that_is_tested(self):
        query = self.args["LowNodeUtilization"]["metricsUtilization"]["prometheus"]["query"]
        self.assertIn(words(query), tested("scheduler.yaml"))


def words(text):
    return "".join(text.split())


def tested(file):
    cases = yaml.safe_load((SOURCE / "dashboards/tests" / file).read_text())["tests"]
    return "\n".join(words(test["expr"]) for case in cases for test in case["promql_expr_test"])


class Elsewhere(unittest.TestCase):
    def test_its_query_is_the_one_that_is_tested(self):
        page = (SOURCE / "collectors/README.md").read_text()
        (query,) = re.findall(r"query=(.*?)' -o", page, re.DOTALL)
        self.assertIn(words(query), tested("workloads.yaml").split("\n"))


if __name__ == "__main__":
    unittest.main(argv=[__file__])
