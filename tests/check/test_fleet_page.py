#!/usr/bin/python3
"""What deploy/fleet-scale.md tells a Prometheus to send on is all that the Fleet dashboard asks for; what
the lean profile drops, no rule, alert, Fleet or Node asks for; its counts of recorded names are the rules'.
"""
import collections
import json
import pathlib
import re
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


class FleetPage(unittest.TestCase):
    def test_the_filter_keeps_what_the_dashboard_needs(self):
        page = (SOURCE / "deploy/fleet-scale.md").read_text()
        (kept,) = re.findall(r"source_labels: \[__name__\]\n *regex: '(.*)'\n *action: keep", page)
        dashboard = json.loads((SOURCE / "dashboards/rendered/fleet.json").read_text())
        queries = [target["expr"] for panel in dashboard["panels"]
                   for target in panel.get("targets", [])]
        queries += [variable["query"]["query"] for variable in dashboard["templating"]["list"]
                    if variable["type"] == "query"]
        needed = set(re.findall(r"(?:\b[a-z]+:)?interference_\w+(?::\w+)?|\bALERTS\b|\bup(?={)",
                                " ".join(queries)))
        self.assertGreater(len(needed), 10)
        dropped = {name for name in needed if not re.fullmatch(kept, name)}
        self.assertEqual(dropped, set())

    def test_recorded_names_are_counted(self):
        page = (SOURCE / "deploy/fleet-scale.md").read_text()
        told = {prefix: int(n) for prefix, n in re.findall(r"(?m)^\| `(\w+:)` \| (\d+) \|", page)}
        rules = yaml.safe_load((SOURCE / "dashboards/rendered/rules.yaml").read_text())
        names = [rule["record"] for group in rules["groups"] for rule in group["rules"]]
        counted = collections.Counter(name.split(":")[0] + ":" for name in names)
        self.assertEqual(told, dict(counted))
        (everything,) = re.findall(r"(?m)^\| all \| (\d+) \|", page)
        self.assertEqual(int(everything), len(set(names)))

    def test_the_lean_profile_drops_only_what_is_not_needed(self):
        values = yaml.safe_load((SOURCE / "deploy/kubernetes/lean-values.yaml").read_text())
        (rule,) = values["podMonitor"]["metricRelabelings"]
        self.assertEqual((rule["action"], rule["sourceLabels"]), ("drop", ["__name__"]))
        rendered = SOURCE / "dashboards/rendered"
        everything = set()
        for name in ("rules.yaml", "alerts.yaml", "fleet.json", "node.json"):
            asked = set(re.findall(r"(?<![:\w])(?:interference|process)_\w+",
                                   (rendered / name).read_text()))
            everything |= asked
            self.assertEqual({n for n in asked if re.fullmatch(rule["regex"], n)}, set(), name)
        self.assertGreater(len(everything), 40)
        # When an exporter began, and whether it lacks CPU time or descriptors: runbooks ask.
        books = "".join(file.read_text() for file in (SOURCE / "dashboards/runbooks").glob("*.md"))
        asked = set(re.findall(r"\bprocess_\w+", books))
        self.assertIn("process_start_time_seconds", asked)
        self.assertEqual({n for n in asked if re.fullmatch(rule["regex"], n)}, set())
        # Each of its names is a metric's.
        known = set(re.findall(r"`((?:interference|process)_\w+)`",
                               (SOURCE / "collectors/METRICS.md").read_text()))
        known |= {name + "_bucket" for name in known}
        dropped = {n for n in known if re.fullmatch(rule["regex"], n)}
        for head, names, tail in re.findall(r"(\w*)\(([^)]*)\)()", rule["regex"]):
            for name in names.split("|"):
                self.assertIn(head + name, dropped)
        for name in re.sub(r"\w*\([^)]*\)\|?", "", rule["regex"]).split("|"):
            self.assertTrue(any(re.fullmatch(name, n) for n in dropped), name)


if __name__ == "__main__":
    unittest.main(argv=[__file__])
