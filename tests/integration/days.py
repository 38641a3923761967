"""A test that lives through days of tests/replay/days."""
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "replay/days"))
import play


class Days(unittest.TestCase):
    """Wrong: above its threshold and not waiting, or the reverse; of what is true, and of the day."""
    MOST_OF_TRUE, MOST_OF_DAY = 0.15, 0.01

    def live_through(self, kind, seed=0, seconds=None):
        directory = self.enterContext(tempfile.TemporaryDirectory())
        played = play.play(kind, seed, seconds, directory=directory)
        day = played.day
        self.assertEqual(played.problems, [])
        lived = sum(max(0, min(c.goes, day.seconds) - c.comes) for c in day.containers)
        self.assertLessEqual(played.wrong_seconds(), self.MOST_OF_TRUE * played.true_seconds() + self.MOST_OF_DAY * lived)
        self.assertEqual(played.rules(played.expected())[:4000], "")
        return played
