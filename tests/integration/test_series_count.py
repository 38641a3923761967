#!/usr/bin/python3
"""By default a container costs at most 19 series, and six more on the few nodes that have
persistent memory: fleets have millions."""
import collections
import unittest

import harness

LIMIT = 19


class SeriesCount(unittest.TestCase):
    def counts(self, *flags, recording="baseline", containers=3):
        """Series per container, on a page where every role was counted and every gauge is set."""
        result = harness.run_exporter(
            "--source=replay", f"--source.replay.file={harness.REPLAYS / recording}.jsonl",
            "--once", *flags)
        page = harness.parse_text(result.stdout)
        counts = collections.Counter()
        for _, key in page.samples:
            container = dict(key).get("container_id")
            if container:
                counts[container] += 1
        self.assertEqual(len(counts), containers)
        return counts

    def test_limit(self):
        counts = self.counts()
        # The victim has everything that there is by default, so one series more would show.
        self.assertEqual(max(counts.values()), LIMIT)

    def test_only_the_named_cost_more(self):
        """Who never was suspected has what it would have without the collector."""
        with_it = self.counts(recording="attribution")
        without = self.counts("--no-collector.attribution", recording="attribution")
        self.assertEqual({container[0]: with_it[container] - without[container]
                          for container in with_it}, {"h": 3, "s": 0, "t": 0})

    def test_amd(self):
        """Two counts more than Intel's, but no slowdown."""
        self.assertLessEqual(max(self.counts(recording="zen").values()) + 3, LIMIT)

    def test_sources_are_asked_for(self):
        """Four more, and none unless asked for, where the machine counted them."""
        without = self.counts(recording="sources")
        with_them = self.counts("--collector.fill_sources", recording="sources")
        self.assertEqual({name: with_them[name] - without[name] for name in with_them},
                         {name: 4 for name in without})
        self.assertLessEqual(max(without.values()) + 3, LIMIT)

    def test_placement_is_asked_for(self):
        """Two, and one for each target."""
        without = self.counts(recording="placement", containers=4)
        with_it = self.counts("--collector.placement", "--collector.placement.tier=pmm=174.5ns",
                              recording="placement", containers=4)
        self.assertEqual({name: with_it[name] - without[name] for name in with_it},
                         {name: 2 + 4 for name in without})

    def test_nodes_with_persistent_memory(self):
        """Few nodes have it: six more there, five more with loads, and info is in both."""
        counts = self.counts("--collector.disable-defaults", "--collector.pebs_nvmm",
                             recording="nvmm")
        self.assertEqual(max(counts.values()) - 1, 6 + 5)
        self.assertEqual(min(counts.values()) - 1, 5)  # ended: the counters only

    def test_histogram_is_not_default(self):
        self.assertGreater(
            max(self.counts("--collector.core_latency.histogram=container").values()), LIMIT)


if __name__ == "__main__":
    harness.main()
