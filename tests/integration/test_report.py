#!/usr/bin/python3
"""deploy/report/report.py, against a Prometheus that says what the test wants, and against a real one with a week in it."""
import argparse
import contextlib
import csv
import http.server
import importlib.util
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

import harness
import monitoring

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
REPORT = SOURCE / "deploy/report/report.py"
END = 1_790_000_000 - 1_790_000_000 % 86400
DAY = 86400

spec = importlib.util.spec_from_file_location("report", REPORT)
report = importlib.util.module_from_spec(spec)
sys.modules["report"] = report
spec.loader.exec_module(report)


@contextlib.contextmanager
def fake(answer):
    """answer(query, time): a list of (labels, value), or bytes as they are, or a status."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            found = answer(form["query"][0], float(form["time"][0]), self.headers)
            status = found if isinstance(found, int) else 200
            body = found if isinstance(found, bytes) else json.dumps({"status": "success", "data": {
                "resultType": "vector", "result": [{"metric": labels, "value": [0, str(value)]} for labels, value in
                                                   (found if isinstance(found, list) else [])]}}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Run:
    def __init__(self, url, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            done = subprocess.run([REPORT, "--prometheus", url, "--html", folder / "r.html", "--csv", folder / "r.csv",
                                   "--end", str(report.words_of(END))[:10], *arguments], capture_output=True, text=True,
                                  timeout=120, check=False)
            self.status, self.errors = done.returncode, done.stderr
            self.html = (folder / "r.html").read_text() if (folder / "r.html").exists() else ""
            self.rows = []
            if (folder / "r.csv").exists():
                self.rows = list(csv.DictReader((folder / "r.csv").read_text().splitlines()))

    def value(self, section, row, column):
        found = [r for r in self.rows if (r["section"], r["row"], r["column"]) == (section, row, column)]
        assert len(found) == 1, (section, row, column, self.rows)
        return float(found[0]["value"])


def a_week(query, _time, _headers=None):
    """The same on each of seven days; sums are over 144 samples, one in 600 s."""
    if "group by (namespace, label_team)" in query:
        return [({"namespace": "shop", "label_team": "sales"}, 1), ({"namespace": "eu", "label_team": "sales"}, 1)]
    if "group without" in query:
        return [({"namespace": "batch", "workload": "report", "cluster": "a", "node": node, "numa_node": "0"}, 72)
                for node in ("n1", "n2")]
    if "caused_latency" in query:
        return [({"namespace": "batch", "workload": "report", "cluster": "a", "node": node, "numa_node": "0"}, 72 * 20e-9)
                for node in ("n1", "n2")]
    if "namespace:interference_lost:rate5m" in query:
        return [({"namespace": "shop", "cause": "own_quota"}, 14.4), ({"namespace": "eu", "cause": "own_quota"}, 14.4),
                ({"namespace": "shop", "cause": "memory_slow"}, 7.2), ({"namespace": "<b>", "cause": "=1+1"}, 1.44)]
    if "lost_cycles" in query:
        return [({"namespace": "shop", "container": "cart"}, 6), ({"namespace": "shop", "container": "db"}, 12)]
    if "interference_lost_cpus" in query:
        return [({"namespace": "shop"}, 36)]
    if "interference_cpus" in query:
        return [({"namespace": "shop"}, 360)]
    if "container:interference_lost" in query:
        return [({"namespace": "shop", "container": "cart", "cause": "own_quota"}, 10),
                ({"namespace": "shop", "container": "cart", "cause": "memory_slow"}, 2),
                ({"namespace": "shop", "container": "=web", "cause": "disk"}, 3)]
    if "cpu_taken" in query:
        return [({"namespace": "batch", "container": "report"}, 600)]
    if "score" in query:
        return [({"cluster": "a", "node": "n1"}, 36), ({"cluster": "a", "node": "n2"}, "NaN")]
    raise AssertionError(query)


class Fake(unittest.TestCase):
    def test_what_is_added_up(self):
        asked = []

        def answer(query, time, headers):
            asked.append((query, time))
            return a_week(query, time, headers)

        with fake(answer) as url:
            run = Run(url, "--match", 'cluster="a"')
        self.assertEqual((run.status, run.errors), (0, ""))
        self.assertEqual({time for _, time in asked}, {END - k * DAY for k in range(7)})
        self.assertEqual([q for q, _ in asked if 'cluster="a"' not in q], [])
        # 14.4 x 600 s a day are 144 minutes.
        self.assertEqual(run.value("Teams", "shop", "own CPU limit"), 7 * 144)
        self.assertEqual(run.value("Teams", "shop", "all, minutes"), 7 * 216)
        self.assertEqual(run.value("Teams", "shop", "CPU hours lost"), 7 * 6)
        self.assertEqual(run.value("Teams", "shop", "of CPU hours used"), 7 * 60)
        self.assertEqual(run.value("Worst workloads", "shop / shop / cart / own CPU limit", "minutes"), 7 * 120)
        self.assertAlmostEqual(run.value("Worst workloads", "shop / shop / cart / own CPU limit", "of that"), 500 / 6, 2)
        self.assertEqual(run.value("Worst workloads", "shop / shop / cart / own CPU limit", "CPU hours lost"), 7)
        self.assertEqual(run.value("Worst workloads", "shop / shop / db", "CPU hours lost"), 14)
        self.assertEqual(run.value("Who made memory slow", "batch / batch / report", "nodes"), 2)
        self.assertEqual(run.value("Who made memory slow", "batch / batch / report", "a read, longer by"), 20)
        self.assertEqual(run.value("Who made memory slow", "batch / batch / report", "minutes"), 7 * 2 * 720)
        self.assertEqual(run.value("Who took CPUs", "batch / batch / report", "minutes"), 70)
        self.assertEqual(run.value("Worst nodes", "a / n1", "score"), 25)
        self.assertNotIn("n2", str([r for r in run.rows if r["section"] == "Worst nodes"]))

    def test_teams_by_a_label_and_names_as_text(self):
        with fake(a_week) as url:
            run = Run(url, "--team-label", "label_team", "--note", "a <note>")
        self.assertEqual(run.value("Teams", "sales", "own CPU limit"), 7 * 288)
        self.assertEqual(run.value("Teams", "(no team)", "=1+1"), 7 * 14.4)
        for inside in ("<b>", "<note>"):
            self.assertNotIn(inside, run.html.replace("<p><b>Nothing", ""))
        self.assertIn("a &lt;note&gt;", run.html)
        self.assertNotIn("http-equiv", run.html)
        self.assertNotRegex(run.html, r"<(script|link|img)|src=|url\(")
        with fake(a_week) as url:
            rows = Run(url).rows
        self.assertEqual([r["row"] for r in rows if r["row"][:1] in "=+-@"], [])

    def test_before_and_after(self):
        noise = random.Random(3)
        lost = [10 + noise.random() for _ in range(7)]

        def answer(query, time, headers):
            day = round((END - time) / DAY)  # 0: the last one
            if "namespace:interference_lost:rate5m" in query:
                return [({"namespace": "better", "cause": "disk"}, lost[day] * (0.5 if day < 4 else 1)),
                        ({"namespace": "same", "cause": "disk"}, lost[day])]
            if "interference_lost_cpus" in query:
                return [({"namespace": "shop"}, 1.2 if day < 4 else 1.8)]
            return a_week(query, time, headers)

        change = report.words_of(END - 4 * DAY)[:16].replace(" ", "T") + "Z"
        with fake(answer) as url:
            run = Run(url, "--change", change)
            late = Run(url, "--change", report.words_of(END - 1.5 * DAY)[:16].replace(" ", "T") + "Z")
        (section,) = {r["section"] for r in run.rows if r["section"].startswith("Before")}
        better, same = "better / waited / less is lost", "same / waited / no difference that can be told"
        self.assertEqual(run.value(section, "shop / CPU lost / less is lost", "to"), -6)
        self.assertAlmostEqual(run.value(section, better, "before"), 10 * statistics.mean(lost[4:]), 2)
        self.assertAlmostEqual(run.value(section, better, "after"), 5 * statistics.mean(lost[:4]), 2)
        self.assertLess(run.value(section, better, "to"), 0)
        self.assertLess(run.value(section, same, "from"), 0)
        self.assertGreater(run.value(section, same, "to"), 0)
        # A day with the change in it is left out, and one day is too few to tell.
        self.assertIn("better / waited / too few slices to tell", str(late.rows))

    def test_what_goes_wrong(self):
        with fake(lambda *_: 503) as url:
            self.assertEqual(Run(url).status, 1)
        with fake(lambda *_: b'{"status":"success","data":{"resultType":"matrix","result":[]}}') as url:
            self.assertEqual(Run(url).status, 1)
        with fake(lambda *_: b"<html>") as url:
            run = Run(url)
        self.assertEqual((run.status, run.rows, run.errors.count("\n")), (1, [], 1))
        with fake(lambda *_: []) as url:
            run = Run(url)
            self.assertEqual(Run(url, "--team-label", "label_team").status, 1)
        self.assertEqual(run.status, 2)
        self.assertIn("rules", run.errors)
        self.assertEqual(run.html.count("Nothing is recorded"), 5)

    def test_a_token(self):
        seen = set()

        def answer(query, time, headers):
            seen.add(headers["Authorization"])
            return a_week(query, time, headers)

        with fake(answer) as url, tempfile.NamedTemporaryFile("w") as file:
            file.write("secret\n")
            file.flush()
            self.assertEqual(Run(url, "--bearer-token-file", file.name).status, 0)
        self.assertEqual(seen, {"Bearer secret"})


class Numbers(unittest.TestCase):
    def test_students_t(self):
        """From a table: two-sided, 95 %."""
        for df, t in ((1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042)):
            self.assertAlmostEqual(report.student(df), t, 2)

    def test_worked(self):
        """Means 11 and 5, variances of the means 1/3 each, 4 degrees of freedom: 6 +- 2.776 x sqrt(2/3)."""
        mean, low, high = report.difference([10, 11, 12], [4, 5, 6])
        self.assertEqual(mean, -6)
        self.assertAlmostEqual(high - low, 2 * 2.7764 * (2 / 3) ** 0.5, 3)
        self.assertIsNone(report.difference([1, 2], [1, 2, 3]))
        self.assertEqual(report.difference([2, 2, 2], [1, 1, 1]), (-1, -1, -1))

    def test_as_a_test_it_is_wrong_in_one_of_twenty(self):
        draw = random.Random(7)
        wrong = sum(not low <= 0 <= high for _ in range(200) for _, low, high in
                    [report.difference([draw.gauss(5, 1) for _ in range(4)], [draw.gauss(5, 3) for _ in range(3)])])
        self.assertLess(wrong, 25)
        self.assertGreater(wrong, 1)

    def test_durations_and_dates(self):
        self.assertEqual([report.seconds_of(t) for t in ("90s", "7d", "1w")], [90, 7 * DAY, 7 * DAY])
        self.assertEqual(report.time_of("1970-01-02"), DAY)
        for text in ("0d", "d", "1.5h", "-1d"):
            with self.assertRaises(argparse.ArgumentTypeError):
                report.seconds_of(text)


class Real(unittest.TestCase):
    def test_a_week_in_a_real_prometheus(self):
        """Recorded each minute: own_quota of shop half of the time for three days, then a tenth; nothing of batch but on the
        last day. Prometheus is asked what the report asks, and its answers are what was put in."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            lines = ["# TYPE namespace:interference_lost:rate5m gauge"]
            for name, value in (("shop", lambda day: 0.5 if day < 3 else 0.1), ("batch", lambda day: 2 if day == 6 else None)):
                lines += [f'namespace:interference_lost:rate5m{{cluster="a",namespace="{name}",cause="own_quota"}} {value(day)} '
                          f"{END - (7 - day) * DAY + 60 * (minute + 1)}" for day in range(7) if value(day) is not None
                          for minute in range(1440)]
            lines.append("# TYPE numa:interference_workload_caused_latency_seconds:mean10m gauge")
            lines += ['numa:interference_workload_caused_latency_seconds:mean10m{cluster="a",node="n1",numa_node="0",'
                      f'namespace="batch",workload="report"}} 2e-08 {END - DAY + 60 * minute}' for minute in range(600)]
            (folder / "week.txt").write_text("\n".join(lines + ["# EOF", ""]))
            subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "week.txt",
                            folder / "tsdb"], check=True, stdout=subprocess.DEVNULL, timeout=120)
            with monitoring.Prometheus(folder, {"global": {}}) as prometheus:
                run = Run(f"http://127.0.0.1:{prometheus.port}", "--match", 'cluster="a"',
                          "--change", report.words_of(END - 4 * DAY)[:10])
        self.assertEqual((run.status, run.errors), (0, ""))
        self.assertAlmostEqual(run.value("Teams", "shop", "own CPU limit"), 3 * 720 + 4 * 144, delta=20)
        self.assertAlmostEqual(run.value("Teams", "batch", "own CPU limit"), 2880, delta=40)
        self.assertAlmostEqual(run.value("Who made memory slow", "batch / batch / report", "minutes"), 600, delta=20)
        self.assertAlmostEqual(run.value("Who made memory slow", "batch / batch / report", "a read, longer by"), 20, 3)
        (section,) = {r["section"] for r in run.rows if r["section"].startswith("Before")}
        self.assertAlmostEqual(run.value(section, "shop / waited / less is lost", "before"), 720, delta=10)
        self.assertAlmostEqual(run.value(section, "shop / waited / less is lost", "after"), 144, delta=5)


if __name__ == "__main__":
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("skipped: needs prometheus")
        sys.exit(77)
    unittest.main(argv=[__file__])
