#!/usr/bin/python3
"""What the page at / calls slowed down is what the rules as shipped call so: LIVE_SLOWDOWN_BOUND against the
rendered rules."""
import pathlib
import re
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent


class Bounds(unittest.TestCase):
    def test_slowdown(self):
        header = (SOURCE / "exporter/live/order.h").read_text()
        (of_the_page,) = re.findall(r"^#define LIVE_SLOWDOWN_BOUND (\S+)$", header, re.MULTILINE)
        groups = yaml.safe_load((SOURCE / "dashboards/rendered/rules.yaml").read_text())["groups"]
        (rule,) = [rule["expr"] for group in groups for rule in group["rules"]
                   if rule.get("record") == "container:interference_slowdown_over_bound:ratio5m"]
        (of_the_rules,) = re.findall(r"interference:slowdown:bound\s*\) > (\S+)", rule)
        self.assertEqual(float(of_the_page), float(of_the_rules))


if __name__ == "__main__":
    unittest.main(argv=[__file__, "-v"])
