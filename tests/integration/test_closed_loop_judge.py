#!/usr/bin/python3
"""Whether test_governor_live, can tell a governor from none: its judge on
made-up rounds, in which reads take longer by so much for each core of a hog that streams, and every
window has noise."""
import random
import unittest

from closed_loop import ARMS, BASE, FACTOR, MOST, STEP, Results
from harness import main
from test_governor_live import ROUNDS, TICKS, told_apart

NORMAL_NS, SLOWER = 7, 1.3


def governs(_draw, latency):
    return latency >= NORMAL_NS * FACTOR


def never_cuts(_draw, _latency):
    return False


def cuts_by_chance(draw, _latency):
    return draw.random() < 0.15


def made_up(cuts, noise, seed):
    draw, results = random.Random(seed), Results()
    quotas = dict.fromkeys(ARMS, MOST)
    results.normal = NORMAL_NS
    for _ in range(ROUNDS):
        drift = draw.gauss(1, 2 * noise)  # that lasts for a round
        for name in ARMS:
            seen = []
            for _ in range(TICKS):
                slower = SLOWER * quotas[name] if "stream" in name else 0
                latency = NORMAL_NS * (1 + slower) * (drift + draw.gauss(0, noise))
                seen.append((latency, round(quotas[name], 2)))
                if "governed" in name:
                    cut = cuts(draw, latency)
                    quotas[name] = BASE if cut else min(MOST, quotas[name] + STEP)
            results.arms[name].append(seen)
    return results


def share_told_apart(cuts, noise):
    return sum(told_apart(made_up(cuts, noise, seed)) for seed in range(100)) / 100


class Judge(unittest.TestCase):
    def test_a_governor_is_seen(self):
        for noise in (0.03, 0.06):
            self.assertGreaterEqual(share_told_apart(governs, noise), 0.99, noise)

    def test_who_does_not_look_at_latencies_is_not_taken_for_one(self):
        for noise in (0.03, 0.06, 0.12):
            self.assertEqual(share_told_apart(never_cuts, noise), 0, noise)
            self.assertLessEqual(share_told_apart(cuts_by_chance, noise), 0.15, noise)


if __name__ == "__main__":
    main()
