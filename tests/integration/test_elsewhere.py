#!/usr/bin/python3
"""What other nodes found (--collector.attribution.prior.file), on hours of made-up nodes: of six that begin together it tells
which, it names nobody who does no harm, and a file that is wrong changes nothing."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attribution"))

import harness  # noqa: E402
import hours  # noqa: E402

PROGRAM = harness.BUILD / "programs/attribution_hours"


def answer(probabilities):
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": {"namespace": "shop", "workload": name}, "value": [0, str(p)]} for name, p in probabilities.items()]}})


class Elsewhere(unittest.TestCase):
    def judge(self, kind, seed, text):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            run = hours.judge(PROGRAM, kind, seed, file.name)
        del run["us_per_tick"]
        return run

    def test_which_of_six(self):
        known = answer({"moved-0": 0.5, **{f"moved-{i}": 0.01 for i in range(1, 6)}})
        alone = [hours.judge(PROGRAM, "drain", seed)["right"] for seed in (600, 605)]
        with_news = [self.judge("drain", seed, known) for seed in (600, 605)]
        self.assertEqual(alone, [0, 0])
        for run in with_news:
            self.assertGreater(run["right"], 0.9)
            self.assertEqual(run["wrong_names"], [])

    def test_who_does_no_harm(self):
        """Everybody is said to be one who makes memory slow."""
        run = hours.judge(PROGRAM, "quiet", 600)
        everybody = answer({workload.split("/")[1]: 0.5 for workload in run["workloads"]})
        self.assertLess(self.judge("quiet", 600, everybody)["wrong_readings"], 0.01 * run["readings"])

    def test_a_file_that_is_wrong(self):
        before = hours.judge(PROGRAM, "drain", 600)
        del before["us_per_tick"]
        for text in ("", "{", answer({"moved-0": 7})):
            self.assertEqual(self.judge("drain", 600, text), before)

    def test_the_query_is_what_these_runs_would_answer(self):
        """As collectors/README.md has it: (named + 1) / (nodes + 20)."""
        runs = [{"workloads": {"shop/a": True, "shop/b": False}}, {"workloads": {"shop/a": True}}]
        found = {r["metric"]["workload"]: float(r["value"][1]) for r in
                 hours.found_elsewhere({"kind": runs})["data"]["result"]}
        self.assertEqual(found, {"a": 3 / 22, "b": 1 / 21})


if __name__ == "__main__":
    harness.main()
