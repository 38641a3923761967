#!/usr/bin/python3
"""Programs whose misses are counted, exactly, and the tool. What depends on time is in test_times.py."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import measuring
from measuring import command, emulation, harness, run

DELAY = pathlib.Path(__file__).resolve().parent / "delay"


class Counts(unittest.TestCase):
    """Without waiting: exact, whatever else the machine does."""

    def misses(self, threads, steps):
        # Sets as large as a page: where the loader puts the program's memory does not matter.
        found = run(command("chase", "16384", str(steps), str(threads)), cache=1 << 16)()
        self.assertEqual(found.report["unseen"], 0)
        self.assertEqual(found.report["waited_ticks"], 0)
        return found.report

    def test_a_loop_that_always_misses(self):
        """All lines come again before one of them does: none is still there."""
        for threads in (1, 2):
            with self.subTest(threads=threads):
                few, many = self.misses(threads, 1000), self.misses(threads, 51000)
                grown = sorted(b - a for a, b in zip(few["misses_by_thread"],
                                                     many["misses_by_thread"]))
                self.assertEqual(len(grown), threads)
                for misses in grown:
                    # But for what the stack's lines make of their sets.
                    self.assertLess(abs(misses - 50000), 10, grown)

    def test_nops_change_no_count(self):
        """Akiyama's way: after every access, and nothing waits. What it costs is in RESULTS-delay.md, if
        somebody has measured it: how much of it a core hides, no test can rely on."""
        program = command("chase", "16384", "20000")
        plain, after = (run(program, every="on", nops=nops)().report for nops in (None, 200))
        self.assertEqual(after["waited_ticks"], 0)
        self.assertEqual(after["near_misses"] + after["far_misses"], after["accesses"])
        # But for what addresses make of the loader's work.
        self.assertLess(abs(after["accesses"] / plain["accesses"] - 1), 0.01)

    def test_pages_of_the_far_tier(self):
        program = command("chase", "16384", "200000")
        for share in (0, 250, 500, 1000):
            with self.subTest(share=share):
                report = run(program, share=share)().report
                misses = report["near_misses"] + report["far_misses"]
                self.assertLess(abs(report["far_misses"] / misses - share / 1000), 0.05)

    def test_what_it_cannot_use(self):
        program = command("compute", "1")
        for settings in ({"cache": 1000}, {"near": "x"}, {"share": 1001}, {"colour": "red"}):
            with self.subTest(settings), self.assertRaises(emulation.Trouble):
                run(program, **settings)()

    def test_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "trace"
            found = run(command("chase", "16384", "2000"), trace=path)()
            lines = path.read_text().splitlines()
            self.assertEqual(len(lines), emulation.misses(found))
            addresses = {int(line.split()[1], 16) for line in lines}
            self.assertEqual({address % 64 for address in addresses}, {0})
            self.assertGreaterEqual(len(addresses), 16384)


class Effect(unittest.TestCase):
    """By hand: differences of 1.0, 1.1, 1.2 s have the mean 1.1 and a deviation of 0.1, so that half of
    the interval is 4.303 * 0.1 / sqrt(3); native runs of 2 s without scatter."""

    @staticmethod
    def effect(*seconds, native=(2, 2, 2)):
        def runs(values):
            return [emulation.Run(value, {}) for value in values]
        return emulation.effect(runs(seconds), runs([3] * len(seconds)), runs(native))

    def test_an_interval(self):
        found = self.effect(4.0, 4.1, 4.2)
        self.assertAlmostEqual(found.seconds, 1.1)
        self.assertAlmostEqual(found.error, 0.24844, places=4)
        self.assertAlmostEqual(found.times, 1.55)
        self.assertAlmostEqual(found.times_error, 0.12422, places=4)
        self.assertTrue(found.is_known)
        wider = self.effect(4.0, 4.1, 4.2, native=(1.9, 2, 2.1))  # 1.1 / 2 of it is of the native runs
        self.assertAlmostEqual(wider.times_error, 0.12422 * (1 + 0.55 ** 2) ** 0.5, places=4)

    def test_what_is_not_known(self):
        self.assertFalse(self.effect(2.9, 3.0, 3.2).is_known)  # the sort of 20 thousand lines
        self.assertFalse(self.effect(4.0, 4.0).is_known)
        self.assertFalse(self.effect(4.0, 4.1, 4.2, native=(0, 0, 0)).is_known)
        self.assertTrue(self.effect(3.001, 3.0, 3.0).is_known)  # that there is next to none


class Tool(unittest.TestCase):
    def delay(self, *arguments):
        return subprocess.run([DELAY, f"--build={harness.BUILD}", *arguments], text=True,
                              capture_output=True, check=False)

    def test_curve(self):
        done = self.delay("--curve=0,10000", "--runs=3", "--", *command("chase", "16384", "50000"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [line.split() for line in done.stdout.splitlines()[2:4]]
        self.assertEqual([row[0] for row in rows], ["0", "10000"])
        self.assertEqual(float(rows[0][2]), 1)
        if "known:" not in rows[1]:  # others may use this machine
            times, low, high = map(float, (rows[1][2], rows[1][3], rows[1][5]))
            self.assertTrue(1 < low < times < high, rows[1])

    def test_one_run_has_no_interval(self):
        done = self.delay("--curve=0,1000", "--runs=1", "--", *command("chase", "16384", "1000"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("    1000  not known: ", done.stdout)
        self.assertNotIn("misses that it waited for", done.stdout)

    def test_nops(self):
        done = self.delay("--nops=2000", "--runs=1", "--", *command("chase", "16384", "100000"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [line.split() for line in done.stdout.splitlines()[2:]]
        self.assertEqual([row[0] for row in rows], ["0", "2000"])
        self.assertEqual(float(rows[0][2]), 1)

    def test_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.jsonl"
            done = self.delay("--near=100", "--far=400", "--slow-share=0.5", "--runs=1",
                              f"--record={path}", "--", *command("chase", "65536", "100000"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            reads = [line["values"] for line in map(json.loads, path.read_text().splitlines())
                     if line.get("group") == "core"]
            self.assertGreaterEqual(reads[-1]["l3_miss_reads"], 100000)

    def test_finds_the_plugin(self):
        """Where the README has it built, and where run.sh has; the newest."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            with self.assertRaises(emulation.Trouble):
                emulation.find_plugin(root=root)
            for i, build in enumerate(("build", "build/plain")):
                path = root / build / "programs/delay_plugin.so"
                path.parent.mkdir(parents=True)
                path.touch()
                os.utime(path, (i, i))
                self.assertEqual(emulation.find_plugin(root=root), path)

    def test_what_cannot_be(self):
        program = command("compute", "1")
        for arguments, words in ((["--curve=10,20"], "needs 0"), (["--record=x"], "needs --far"),
                                 (["--record=x", "--far=9"], "--near above 0"),
                                 (["--far=9", "--curve=0,1"], "exclude"),
                                 (["--nops=9", "--curve=0,1"], "neither with --curve"),
                                 (["--nops=9", "--near=1", "--far=9"], "nor with --far"),
                                 (["--nops=0"], "--nops has to be at least 1"),
                                 (["--slow-share=2"], "from 0 to 1"), (["--runs=0"], "at least 1")):
            with self.subTest(arguments):
                done = self.delay(*arguments, "--", *program)
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)
        for program, words in ((["/nowhere/program"], "No such file"),
                               (["/bin/false"], "ended with 1")):
            with self.subTest(program):
                done = self.delay("--runs=1", "--", *program)
                self.assertEqual(done.returncode, 1)
                self.assertIn(words, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    measuring.main()
