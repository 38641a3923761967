#!/usr/bin/python3
"""tests/bench/demo.py fails, with what the quickstart printed and without a trace of Python, where the
quickstart fails, shows nothing, or ends before its demo does; and leaves nothing running."""
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
FIRST_TABLE = """echo 'memory, measured by the probe: NUMA node 0 reads node 0 in 90 ns'
echo; echo 'CONTAINER  CPUS'; echo 'collectors: none'
"""


class Failures(unittest.TestCase):
    def run_with(self, script):
        """Status and what demo.py printed, with this in place of the quickstart."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "quickstart"
            path.write_text("#!/bin/bash\n" + script)
            path.chmod(0o755)
            done = subprocess.run(["/usr/bin/python3", SOURCE / "tests/bench/demo.py", path], check=False,
                                  capture_output=True, text=True, timeout=60)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stdout, done.stderr

    def test_it_fails(self):
        status, _, text = self.run_with("echo cannot install; exit 3")
        self.assertEqual(status, 1)
        self.assertRegex(text, r"cannot install\s+the quickstart ended with status 3")

    def test_nothing_useful(self):
        for shown in ("", "echo; echo 'CONTAINER  CPUS'; echo '-  -'; echo 'collectors: none'"):
            status, table, text = self.run_with(shown)
            self.assertEqual(status, 1)
            self.assertIn("nothing useful in the first table", text)
            self.assertNotIn("the first useful table", table)

    def test_rows_without_a_value_are_none(self):
        status, table, text = self.run_with(
            "[[ $1 == --stack ]] && exit 4\necho; echo 'CONTAINER  LATENCY  READS/s'\necho 'shop/cart-0/cart  -  -'\n"
            "echo 'shop/web/nginx  133.0  7.6M  <- waits'\necho 'shop/db/db  -  12'\necho 'collectors: none'")
        self.assertEqual(status, 1)
        self.assertIn("| this machine: the first useful table, build included |", table)
        self.assertIn("2 containers with a value", text)

    def test_the_demo_ends_early(self):
        status, table, text = self.run_with(
            f"[[ $1 == --stack ]] || {{ {FIRST_TABLE} exit 0; }}\necho 'Ctrl-C ends it'; sleep 1\n"
            "echo prometheus is gone; exit 5")
        self.assertEqual(status, 1)
        self.assertIn("| this machine: the first useful table, build included |", table)
        self.assertIn("| the demo: the first table, build included |", table)
        self.assertNotIn("| trouble |", table)
        self.assertRegex(text, r"prometheus is gone\s+the quickstart ended with status 5 before: trouble")

    def test_what_it_started_is_ended(self):
        """By the signal that Ctrl-C is, to all of its session."""
        with tempfile.TemporaryDirectory() as directory:
            mark = pathlib.Path(directory) / "ended"
            status, _, text = self.run_with(
                f"[[ $1 == --stack ]] || {{ {FIRST_TABLE} exit 0; }}\n"
                f"(trap 'echo yes >> {mark}; exit' INT; : > {mark}.set; while :; do sleep 0.1; done) &\n"
                f"until [[ -e {mark}.set ]]; do sleep 0.1; done; exit 0")
            self.assertEqual(status, 1)
            self.assertIn("before: a table", text)
            for _ in range(100):
                if mark.exists():
                    break
                subprocess.run(["sleep", "0.1"], check=True)
            self.assertTrue(mark.exists())


if __name__ == "__main__":
    unittest.main(argv=[__file__, "-v"])
