#!/usr/bin/python3
"""tests/bench/validate.sh on this machine: what can be checked is, the rest says why not."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness

SCRIPT = harness.SOURCE / "tests/bench/validate.sh"


def run(results, **more):
    return subprocess.run([SCRIPT, harness.BUILD, results], capture_output=True, text=True,
                          timeout=250, env={**os.environ, "PART_SECONDS": "2", "CHASE_MIB": "64",
                                            **more})


def left():
    """os.walk passes over cgroups that other tests remove meanwhile; a glob fails."""
    return {os.path.join(at, name) for at, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("ie-validation-")}


class Validate(unittest.TestCase):
    def test_every_check_has_an_answer_and_nothing_is_left(self):
        before = left()
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.txt")
            done = run(results)
            text = results.read_text()
        self.assertEqual(left(), before)
        lines = text.splitlines()
        self.assertEqual(lines[0], "validation 1", done.stderr)
        self.assertRegex(lines[-1], r"^end failed=[01] missing=[01]$", text)
        for line in lines:
            self.assertRegex(line, r"^(validation|value|as-expected|unexpected|not-made|end) ")
        answered = set(re.findall(r"^(?:as-expected|unexpected|not-made) ([a-z_.]+)", text, re.M))
        for check in ("idle", "loaded", "traffic", "beside_perf", "spinning",
                      "spinning.threshold"):
            self.assertIn(check, answered)
        truth = re.search(r"^value idle\.truth_ns ([0-9.]+)$", text, re.M)
        self.assertGreater(float(truth[1]), 1, text)
        self.assertEqual(done.returncode,
                         1 if "failed=1" in lines[-1] else 3 if "missing=1" in lines[-1] else 0)
        if "value pmu_name none" in text:  # nothing to count with
            self.assertEqual(done.returncode, 3)
            self.assertIn("not-made idle no latency: core_latency is no_pmu", text)

    def test_wrong_usage(self):
        done = subprocess.run([SCRIPT, "/nonexistent"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("curl", "awk")
    harness.main()
