#!/usr/bin/python3
"""times.tsv names tests that exist, ctest has them by its speeds, and each speed keeps its time. That what it forbids
fails is shown on made-up lists."""
import os
import pathlib
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
import times  # noqa: E402

JUNIT = """<testsuite><testcase name="integration.test_a" status="run" time="70.2"/>
<testcase name="integration.test_b" status="run" time="2"/>
<testcase name="integration.test_c" status="fail" time="500"/></testsuite>"""


class List(unittest.TestCase):
    def test_is_right(self):
        build = os.environ.get("IE_TEST_SUITE") or sys.argv[1]
        self.assertEqual(times.problems(times.parse(times.LIST.read_text()), times.tests_of(build)), [])

    def test_ci_runs_by_it(self):
        self.assertIn("tests/run.sh\" --ci", (SOURCE / ".ci/run").read_text())


class Rules(unittest.TestCase):
    LINES = times.parse("# why\nquick\t0.5\tunit.*\nrun\t30\tintegration.test_a\nci\t90\tintegration.test_b\n")
    TESTS = {"unit.test_x": times.Test(["unit", "quick"], False),
             "integration.test_a": times.Test(["run"], False),
             "integration.test_b": times.Test(["ci"], True),
             "integration.test_new": times.Test(["run"], False)}

    def problems(self, lines=None, **changed):
        tests = self.TESTS | {name.replace("__", "."): test for name, test in changed.items()}
        return times.problems(lines or self.LINES, {name: test for name, test in tests.items() if test})

    def test_passes(self):
        self.assertEqual(self.problems(), [])

    def test_sums(self):
        """Beside others a third counts, alone the whole; what is unknown counts 5 s."""
        total = times.sums(self.LINES, self.TESTS)
        self.assertAlmostEqual(total["quick"], 0.5 / 3)
        self.assertAlmostEqual(total["run"], 0.5 / 3 + 30 / 3 + 5 / 3)
        self.assertAlmostEqual(total["ci"], 0.5 / 3 + 30 / 3 + 5 / 3 + 90)
        self.assertEqual(total["all"], total["ci"])

    def test_lines(self):
        for wrong in ["run 30 integration.test_a", "run\tlong\tintegration.test_a",
                      "soon\t30\tintegration.test_a", "run\t1\tunit.*\nrun\t1\tunit.*", ""]:
            with self.assertRaises(ValueError):
                times.parse(wrong + "\n")

    def test_a_test_that_is_gone(self):
        self.assertEqual(self.problems(integration__test_a=None), ["there is no test integration.test_a"])

    def test_a_kind_that_this_build_has_not(self):
        lines = self.LINES | {"thread.unit.test_x": times.Line("run", 9)}
        self.assertEqual(self.problems(lines), [])

    def test_another_label(self):
        for labels in [], ["quick"], ["run", "quick"]:
            (problem,) = self.problems(integration__test_new=times.Test(labels, False))
            self.assertIn("integration.test_new is of speed run", problem)

    def test_too_long(self):
        for speed, seconds in times.BUDGETS.items():
            lines = self.LINES | {"unit.test_x": times.Line(speed, 3 * seconds + 3)}
            found = self.problems(lines, unit__test_x=times.Test([speed], False))
            self.assertTrue(found[0].startswith(f"{speed} takes"), found)
        lines = self.LINES | {"unit.test_x": times.Line("all", 100_000)}
        self.assertEqual(self.problems(lines, unit__test_x=times.Test(["all"], False)), [])

    def test_a_run(self):
        """A minute that nobody has named fails; what failed says nothing of its time."""
        with tempfile.TemporaryDirectory() as folder:
            junit = pathlib.Path(folder) / "times.xml"
            junit.write_text(JUNIT)
            listed = pathlib.Path(folder) / "times.tsv"
            kept, times.LIST = times.LIST, listed
            try:
                listed.write_text("# why\nci\t9\tintegration.test_b\nrun\t3\tintegration.test_d\n")
                self.assertEqual(times.compare(junit), 1)
                times.write([junit])
                self.assertEqual(listed.read_text(), "# why\nrun\t70\tintegration.test_a\n"
                                 "run\t3\tintegration.test_d\nci\t2\tintegration.test_b\n")
                self.assertEqual(times.compare(junit), 0)
            finally:
                times.LIST = kept


if __name__ == "__main__":
    unittest.main(argv=[__file__, "-v"])
