#!/usr/bin/python3
"""Recordings of real containers with a known truth, as they are and changed, through the collector
attribution: who is named, how soon, and that nobody innocent ever is. The cases are those of
tests/attribution/replays.py, whose table has the figures."""
import collections
import json
import lzma
import pathlib
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attribution"))

import harness  # noqa: E402
import half_hours  # noqa: E402
import replays  # noqa: E402
from harness import Exporter, wait_until  # noqa: E402


OUTSTANDING = 1.5  # of scores at the end


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recordings = cls.enterClassContext(replays.Recordings(harness.BUILD))

    def test_as_recorded(self):
        """One hog is little to this memory, and at most once in a while enough for a name; but no
        score of the innocent stands out, and hogs' do."""
        self.assertGreaterEqual(len(self.recordings.truth), 8)
        outstanding = 0
        for name in self.recordings.truth:
            with self.subTest(name):
                case = replays.as_recorded(self.recordings, name)
                self.assertGreater(case.readings, 100)
                self.assertEqual(case.wrong, [])
                score, first = case.scores[0]
                if score > OUTSTANDING:
                    outstanding += 1
                    self.assertIn(first, case.hurts, case.scores)
        self.assertGreaterEqual(outstanding, 3)

    def test_a_hog_of_containerd(self):
        """test_aggressor_live's hog, as it was recorded live in one of its runs: named as recorded, and
        nobody else is."""
        path = self.recordings.path("containerd-hog")
        path.write_bytes(lzma.decompress((replays.HERE / "live/hog.jsonl.xz").read_bytes()))
        pods = {line["container"]["key"]: line["container"]["pod"]
                for line in map(json.loads, path.read_text().splitlines()) if "container" in line}
        lines = replays.play(self.recordings.program, path)
        named = [half_hours.named(line) for line in lines]
        self.assertEqual(set().union(*named), {"report-0"})
        self.assertGreaterEqual(sum(map(bool, named)), 10)
        self.assertEqual(pods[replays.ranking(lines)[0][1]], "report-0")

    def put_in(self, effect):
        return [replays.put_in(self.recordings, *target, effect)
                for target in replays.targets(self.recordings)]

    def test_put_in(self):
        """15 %: each is named, fifteen of fifteen."""
        cases = self.put_in(0.15)
        self.assertGreaterEqual(len(cases), 15)
        self.assertEqual([c for c in cases if c.wrong_ticks], [])
        self.assertEqual([c for c in cases if c.until_named is None], [])
        self.assertLessEqual(statistics.median(c.until_named for c in cases), 15)

    def test_more_is_found_sooner(self):
        cases = {effect: self.put_in(effect) for effect in replays.EFFECTS}
        for effect in replays.EFFECTS:
            self.assertEqual([c for c in cases[effect] if c.wrong_ticks], [], effect)
        self.assertEqual([c for c in cases[max(cases)] if c.until_named is None], [])
        found = [sum(c.until_named is not None for c in cases[e]) for e in sorted(cases)]
        self.assertEqual(sorted(found), found)
        until = [sum(c.hurting if c.until_named is None else c.until_named for c in cases[e])
                 for e in sorted(cases)]
        self.assertEqual(sorted(until, reverse=True), until)

    def test_who_goes_along(self):
        """A pair, and a decoy that computes whenever the hog runs: the right one or the group is
        named, and the decoy never alone."""
        cases = [replays.put_in(self.recordings, *target, 0.3)
                 for target in replays.companions(self.recordings)]
        self.assertGreaterEqual(len(cases), 2)
        for case in cases:
            self.assertEqual(case.wrong, [], case)
            self.assertIsNotNone(case.until_group, case)

    def test_start_that_stays(self):
        """One coincidence: suspected before it is named."""
        cases = [replays.put_in(self.recordings, *target, 0.3)
                 for target in replays.starts(self.recordings)]
        self.assertGreaterEqual(len(cases), 1)
        for case in cases:
            self.assertEqual(case.wrong, [], case)
            self.assertIsNotNone(case.until_suspected, case)
            if case.until_named is not None:
                self.assertLessEqual(case.until_suspected, case.until_named)

    def nobody(self, cases):
        self.assertGreaterEqual(len(cases), 30)
        ticks = sum(c.wrong_ticks for c in cases)
        total = sum(c.readings for c in cases)
        by_name = collections.Counter(name for c in cases for name in c.wrong)
        self.assertLess(ticks / total, 0.01, by_name)
        return [c for c in cases if c.wrong_ticks]

    def test_shifted_activity(self):
        self.assertEqual(self.nobody(replays.shifted(self.recordings)), [])

    def test_activity_of_another_recording(self):
        """Once in thirty runs, who starts in the second in which another recording's hog did may be
        named, for some seconds."""
        cases = replays.crossed(self.recordings)
        self.assertLessEqual(len(self.nobody(cases)), len(cases) // 30)

    def test_unseen_neighbour(self):
        self.nobody(replays.unseen(self.recordings))

    def written(self, recordings, name, container, effect, until):
        """The recording with the effect in its own lines, up to this tick."""
        path = recordings.path(f"{name}-written")
        activity = {line["tick"]: line["containers"].get(container, {}).get("activity") or 0
                    for line in recordings.play(name)}
        tick = 0
        with path.open("w") as out:
            for line in map(json.loads, recordings.path(name).read_text().splitlines()):
                tick = line.get("tick", tick)
                if tick > until:
                    break
                if "probe" in line:
                    line["probe"]["latency_ns"] *= 1 + effect * activity[tick]
                out.write(json.dumps(line) + "\n")
        return path

    def says_the_same(self, recordings, name, pod, effect):
        """The program and the exporter, at the last tick in which the pod is named; returns it."""
        lines = [line for line in recordings.play(name, "put-in", pod, effect)
                 if pod in half_hours.named(line)]
        wanted, last = lines[-1]["domain"], lines[-1]["tick"]
        recording = self.written(recordings, name, pod, effect, last)
        with Exporter("--source=replay", "--source.replay.speed=max",
                      f"--source.replay.file={recording}", "--collector.disable-defaults",
                      "--collector.attribution", "--collector.probe") as exporter:
            wait_until(lambda: exporter.tick() == last, 20, "the last tick")
            domain = exporter.json("/api/v1/interference")["domains"][0]
            page = exporter.scrape()
        self.assertEqual(domain, wanted)
        self.assertIn(pod, {row["pod"] for row in domain["aggressors"]})
        for row in domain["aggressors"]:
            self.assertAlmostEqual(
                page.get("interference_container_caused_latency_current_seconds",
                         pod=row["pod"]) * 1e9, row["caused_ns"], 6)
        self.assertEqual(page.get("interference_memory_attribution_readings_total", numa_node="0"),
                         wanted["readings"])
        return last

    def test_the_exporter_says_the_same(self):
        """The program replays as the exporter does, to the last digit: the page and the metrics."""
        for name, container in {name: (name, key) for name, key in
                                replays.targets(self.recordings)}.values():
            self.says_the_same(self.recordings, name, container, 0.3)

    def test_the_exporter_says_the_same_of_who_comes_and_goes(self):
        """After others have come into slots of those who went."""
        with half_hours.unpacked(harness.BUILD) as recordings:
            for name, pod in half_hours.hogs(recordings):
                lines = recordings.play(name)
                last = self.says_the_same(recordings, name, pod, 0.3)
                seen = [set(line["containers"]) for line in lines if line["tick"] <= last]
                self.assertLess(seen[-1], set().union(*seen), "nobody went")
                self.assertLess(set(seen[0]), set().union(*seen), "nobody came")

    def test_scores_beside_the_page(self):
        """The estimator that gives all scores agrees with the collector's own: where nobody comes or
        goes, for the collector goes on to know workloads whose pods have ended."""
        compared = 0
        for name, pod in replays.targets(self.recordings):
            for line in self.recordings.play(name, "put-in", pod, 0.3):
                for row in (line["domain"] or {}).get("aggressors", ()):
                    self.assertAlmostEqual(row["z"], line["containers"][row["pod"]]["z"], 6)
                    compared += 1
        self.assertGreater(compared, 100)


if __name__ == "__main__":
    harness.main()
