#!/usr/bin/python3
"""A real Prometheus with native histograms stores ours, beside one without that stores classic ones:
both know the same latencies, and so do heat maps and rules, which ask for either kind."""
import json
import math
import pathlib
import re
import tempfile
import unittest

import harness
import protobuf_page
from harness import Exporter, wait_until
from monitoring import Prometheus
from test_prometheus import RATES, latency, write_recording

NAME = "interference_node_memory_read_window_latency_seconds"
RECORDED = "cluster:interference_memory_read_window_latency_seconds:rate5m"
RENDERED = harness.SOURCE / "dashboards/rendered"
LATENCIES = sorted(latency(rates) for rates in RATES.values())


def heat_map(dashboard, name):
    """The query of the heat map that shows a metric, for all nodes."""
    def panels(parent):
        for panel in parent.get("panels", []):
            yield panel
            yield from panels(panel)

    exprs = [target["expr"] for panel in panels(json.loads((RENDERED / dashboard).read_text()))
             if panel["type"] == "heatmap" for target in panel["targets"] if name in target["expr"]]
    assert len(exprs) == 1, exprs
    expr = exprs[0].replace("$__rate_interval", "10s")
    for variable in ("$cluster", "$node"):
        expr = expr.replace(variable, ".*")
    return expr


def bucket_of(value):
    return protobuf_page.bounds(3, math.ceil(math.log2(value) * 8))


class NativeHistograms(unittest.TestCase):
    def prometheus(self, name, exporter, *flags):
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        rules = (RENDERED / "rules.yaml").read_text()
        (directory / "rules.yaml").write_text(re.sub(r"(?m)^  interval: .*", "  interval: 1s", rules))
        return self.enterContext(Prometheus(directory, {
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms",
                       "external_labels": {"name": name}},
            "rule_files": [str(directory / "rules.yaml")],
            "scrape_configs": [{"job_name": "interference", "static_configs": [
                {"targets": [f"127.0.0.1:{exporter.port}"], "labels": {"cluster": "a"}}]}]},
            *flags))

    def check_quantiles(self, prometheus, query, bounds):
        """One window of each container in a tick: a third of the observations is each one's."""
        for i, truth in enumerate(LATENCIES):
            low, high = bounds(truth)
            (_, value), = prometheus.query(f"histogram_quantile({(i + 0.5) / 3}, {query})")
            self.assertTrue(low <= value <= high, f"{value} for {truth}, not in {low} to {high}")

    def test_stored(self):
        recording = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "r.jsonl"
        write_recording(recording)
        exporter = self.enterContext(Exporter(
            "--source=replay", f"--source.replay.file={recording}", "--source.replay.speed=1"))
        native = self.prometheus("native", exporter, "--enable-feature=native-histograms")
        classic = self.prometheus("classic", exporter)
        for prometheus in (native, classic):
            wait_until(lambda p=prometheus: (p.target() or {}).get("health") == "up", 20,
                       "Prometheus has scraped", 0.2)
        enough = f"histogram_count(sum(rate({NAME}[10s]))) > 0 and count_over_time(up[10s]) >= 12"
        enough = enough.replace(" and ", " and on () ")
        wait_until(lambda: native.query(enough), 30, "native histograms are stored", 0.2)
        wait_until(lambda: classic.query(f"{NAME}_count > 20"), 30, "classic ones are stored", 0.2)

        # One native series, as wide as its buckets; no classic ones beside it.
        rate = f"sum(rate({NAME}[10s]))"
        self.check_quantiles(native, rate, bucket_of)
        (_, mean), = native.query(f"histogram_sum({rate}) / histogram_count({rate})")
        self.assertTrue(harness.close(mean, sum(LATENCIES) / 3, 0.05), mean)
        self.assertEqual(native.query(f'count({{__name__=~"{NAME}_(bucket|sum|count)"}})'), [])
        self.assertEqual(native.query(f"count({NAME})"), [({}, 1)])

        # Where native histograms are off, all is as it was.
        edges = sorted(float(labels["le"]) for labels, _ in classic.query(f"{NAME}_bucket"))

        def classic_bounds(value):
            at = next(i for i, edge in enumerate(edges) if edge >= value)
            return edges[at - 1], edges[at]

        self.check_quantiles(classic, f"sum by (le) (rate({NAME}_bucket[10s]))", classic_bounds)
        self.assertEqual(classic.query(f"count({NAME})"), [])

        # What heat maps and rules ask for has an answer of either kind.
        query = heat_map("node.json", NAME)
        (answer,) = native.api("query", query=query)["result"]
        self.assertEqual(set(answer) & {"histogram", "value"}, {"histogram"})
        shown = classic.api("query", query=query)["result"]
        self.assertEqual(sorted(float(r["metric"]["le"]) for r in shown), edges)
        wait_until(lambda: native.query(f"histogram_count({RECORDED}) > 0"), 20, "the rule", 0.2)
        wait_until(lambda: classic.query(RECORDED.replace(":rate5m", "_bucket:rate5m")), 20,
                   "the rule of buckets", 0.2)
        (answer,) = native.api("query", query=heat_map("fleet.json", RECORDED))["result"]
        self.assertIn("histogram", answer)
        shown = classic.api("query", query=heat_map("fleet.json", RECORDED))["result"]
        self.assertEqual(sorted(float(r["metric"]["le"]) for r in shown), edges)

        asked = exporter.scrape().select("interference_exporter_http_requests_total",
                                         handler="metrics", code="200")
        by_format = {dict(labels)["format"]: value for labels, value in asked.items()}
        self.assertGreaterEqual(by_format["protobuf"], 5)
        self.assertGreaterEqual(by_format["openmetrics"], 5)


if __name__ == "__main__":
    harness.need_command("prometheus")
    harness.main()
