#!/usr/bin/python3
"""What deploy/fleet-scale.md tells a Prometheus to send on is all that the Fleet dashboard asks for."""
import json
import pathlib
import re
import unittest

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


if __name__ == "__main__":
    unittest.main(argv=[__file__])
