#!/usr/bin/python3
"""Hours of made-up nodes through the collector attribution: who starts once and stays is named and
stays named, a job by its workload, several as "one of these"; nobody innocent is, also where somebody
tries to have him framed. tests/attribution/RESULTS-hours.md has more of them. Two go through the whole
exporter, which must say the same; test_attribution_hours_whole has one of each kind."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attribution"))

import harness  # noqa: E402
import hours  # noqa: E402
import hours_both_ways  # noqa: E402

# Seeds that no constant was chosen by.
SEEDS = range(500, 504)
# The least share of the hurting readings in which a culprit is named; named or one of a group.
RIGHT = {"new-pod-15": 0.9, "new-pod-30": 0.95, "new-pod-60": 0.95, "step-up": 0.8, "rolling": 0.9,
         "backup": 0.9, "minute-job": 0.9, "outside-and-pod": 0.7, "on-off": 0.9, "two-hogs": 0.9,
         "hog-leaves": 0.9, "chain": 0.5, "night-15": 0.7, "night-30": 0.9, "borrowed": 0.95,
         "computes-then": 0.9, "restless-15": 0.9}
RIGHT_OR_ONE = {"drain": 0.6, "step-up": 0.9, "frame-step": 0.85, "frame-80": 0.5,
                "frame-behind": 0.8}
CALM_KINDS = ("quiet", "deploys", "waiters", "outside", "outside-deploys", "drift", "chain-quiet",
              "day", "boot")
WRONG_TIME = 0.005  # of the readings of all hours without an aggressor


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class Hours(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kinds = {*RIGHT, *RIGHT_OR_ONE, *CALM_KINDS, *hours.FRAMED, "gap"}
        cls.results = hours.judge_all(harness.BUILD, sorted(kinds), SEEDS)

    def test_who_hurts_is_named_and_stays_named(self):
        for kind, least in RIGHT.items():
            with self.subTest(kind):
                runs = self.results[kind]
                self.assertTrue(all(run["hurting"] > 100 for run in runs))
                self.assertGreaterEqual(mean(run["right"] for run in runs), least)

    def test_one_of_several_that_begin_together(self):
        for kind, least in RIGHT_OR_ONE.items():
            with self.subTest(kind):
                self.assertGreaterEqual(mean(run["right_or_one_of"] for run in self.results[kind]),
                                        least)

    def test_nobody_innocent(self):
        runs = [run for kind in CALM_KINDS for run in self.results[kind]]
        wrong = sum(run["wrong_readings"] for run in runs)
        self.assertLessEqual(wrong, WRONG_TIME * sum(run["readings"] for run in runs))
        self.assertLessEqual(sum(bool(run["wrong_names"]) for run in runs), 2)

    def test_nobody_is_framed(self):
        """16 of 16: the innocent is never named alone."""
        for kind in hours.FRAMED:
            for run in self.results[kind]:
                with self.subTest(kind, seed=run["seed"]):
                    self.assertEqual(run["wrong_names"], [])
                    self.assertGreater(run["hurting"], 1000)

    def test_through_a_night(self):
        """Who was named stays so in each hour, as the rest falls by a fifth, rises, or wanders."""
        for kind in ("night-15", "night-30", "restless-15"):
            named = [run for run in self.results[kind] if run["named_at"]["10"]]
            self.assertGreaterEqual(len(named), 3)
            for run in named:
                with self.subTest(kind, seed=run["seed"]):
                    self.assertGreater(run["readings"], 5 * 3600)
                    self.assertGreaterEqual(run["worst_hour"], 0.9)

    def test_a_chance_that_ends_is_not_held_against_anybody(self):
        """Who began with a rise from outside may be named while that lasts, hardly after it."""
        for run in self.results["borrowed"]:
            with self.subTest(seed=run["seed"]):
                self.assertGreater(run["wrong_outside"], 300)
                self.assertLess(run["wrong_readings"] - run["wrong_outside"],
                                0.02 * run["readings"])
        for run in self.results["computes-then"]:
            with self.subTest(seed=run["seed"]):
                self.assertLess(run["stale"], 0.02 * run["readings"])

    def test_a_silent_probe_blames_nobody(self):
        for run in self.results["gap"]:
            self.assertEqual(run["wrong_names"], [])

    def test_the_first_minutes_are_not_the_norm(self):
        """Idle at first: what is usual later is an excess of nobody's for about an hour of four."""
        for run in self.results["boot"]:
            self.assertLess(run["unknown"], 0.4 * run["readings"])

    def test_p_is_what_it_says(self):
        """Who once was nearly certain is a culprit, nearly always."""
        runs = [run for kind in (*RIGHT, *CALM_KINDS) for run in self.results[kind]]
        rows, right = (sum(run[key][9] for run in runs) for key in ("p", "p_right"))
        self.assertGreater(rows, 40)
        self.assertGreater(right / rows, 0.9)

    def test_the_exporter_says_the_same(self):
        """Where all stay, and where a pod comes and goes each minute."""
        for kind, seed, seconds, pod in (("new-pod-30", 100, 2400, "report-"),
                                         ("minute-job", 600, 900, "minute-")):
            with self.subTest(kind):
                told, published = hours_both_ways.say(kind, seed, seconds)
                self.assertEqual(hours_both_ways.same(published), hours_both_ways.same(told))
                (named,) = published["aggressors"]
                self.assertTrue(named["pod"].startswith(pod))


if __name__ == "__main__":
    harness.main()
