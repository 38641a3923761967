#!/usr/bin/python3
"""An hour of each kind of made-up nodes through the exporter, which says what the collector does."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attribution"))

import harness  # noqa: E402
import hours  # noqa: E402
import hours_both_ways  # noqa: E402


class EveryKind(unittest.TestCase):
    def test_the_exporter_says_the_same(self):
        somebody = 0
        for kind in hours.all_kinds(harness.BUILD):
            with self.subTest(kind):
                told, published = hours_both_ways.say(kind, 600, 3600)
                self.assertEqual(hours_both_ways.same(published), hours_both_ways.same(told))
                somebody += bool(told["aggressors"] or told["groups"])
        self.assertGreater(somebody, 10)


if __name__ == "__main__":
    harness.main()
