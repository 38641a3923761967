#!/usr/bin/python3
"""Programs whose misses wait: what waits is what was counted, in proportion, and nothing else."""
import unittest

import measuring
from measuring import COMPUTE, PROGRAMS, command, emulation, measured, run


class Times(unittest.TestCase):
    def proportion(self, name):
        """The slope of time over delay is the number of misses, and a line is all it is. Between
        delays only, and long ones: beside one, a program finds less in the machine's own caches than
        without."""
        program = command(name, *PROGRAMS[name])
        points = (1000, 2000, 3000)
        found = measured({ns: run(program, near=ns) for ns in points})
        slope, _, fit = emulation.line([ns * 1e-9 for ns in points],
                                       [found[ns][0].seconds for ns in points])
        misses = emulation.misses(found[points[0]][0])
        print(f"{name}: slope {slope:,.0f}, {misses:,} misses, R2 {fit:.4f}")
        self.assertGreater(fit, 0.99)
        self.assertLess(abs(slope / misses - 1), 0.08)

    def test_chase_in_proportion_to_its_misses(self):
        self.proportion("chase")

    def test_stream_in_proportion_to_its_misses(self):
        self.proportion("stream")

    def test_who_needs_no_memory_waits_for_none(self):
        """Judged by what was waited, not by two runs: QEMU keeps registers in memory, and a loop over
        them takes 1 to 2.5 times as long from run to run on some CPUs, plugin or not."""
        found = run(command(*COMPUTE), near=400)()
        waited = found.report["waited_ticks"] / found.report["ticks_per_second"]
        print(f"compute: {waited / found.seconds:.2%} waited")
        self.assertGreater(waited, 0)
        self.assertLess(waited, 0.02 * found.seconds)

    def test_two_tiers(self):
        """Equation 4, by the share of misses that was counted."""
        program = command("chase", *PROGRAMS["chase"])
        found = measured({"near": run(program, near=100, far=100),
                          "far": run(program, near=400, far=400),
                          "mix": run(program, near=100, far=400, share=500)})
        mix = found["mix"][0].report
        share = mix["far_misses"] / (mix["near_misses"] + mix["far_misses"])
        predicted = emulation.weighted(found["near"][0].seconds,
                                       found["far"][0].seconds, share)
        error = predicted / found["mix"][0].seconds - 1
        print(f"chase, {share:.1%} far: {error:+.1%}")
        self.assertLess(abs(error), 0.06)


if __name__ == "__main__":
    measuring.main()
