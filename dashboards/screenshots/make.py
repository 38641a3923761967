#!/usr/bin/python3
"""Pictures of the dashboards, drawn by Grafana's own components from a real Prometheus:

    cmake -S . -B build/demo -G Ninja -DIE_TESTS=OFF -DIE_DEMO=ON
    cmake --build build/demo --target interference_exporter quarter_hour
    dashboards/screenshots/make.py build/demo              # all of it, 16 minutes
    dashboards/screenshots/make.py build/demo --draw       # the pictures again, from the same data

Four exporters replay the longer recording of the simulated node (deploy/demo), each begun a little later
than the one before; Prometheus scrapes them each second, with the rules as the demo has them (durations
divided by ten). What is below WORK (BUILD/screenshots) stays for --draw. Needs prometheus, node, npm,
chromium and pngquant; no part of the tests.
"""
import argparse
import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))
import harness  # noqa: E402

NODES = {"node-a": 0, "node-b": 100, "node-c": 200, "node-d": 300}  # seconds after the first
SECONDS = 890  # the recording has 900
SHOWN = 720
STEP = 5
RATE = "20s"  # what Grafana takes at this zoom, were the scrapes 5 s apart
WIDTH = 1500
LIMIT = 150_000
CAPTION = ("Replay of a simulated node: nothing here was measured. Rules' durations divided by ten. "
           "Drawn by Grafana's components from a real Prometheus.")
BACK = 140  # seconds before the end: a neighbour is busy on two of the nodes
# Dashboard: its variables, and the rows that are shown (None: all).
PICTURES = {
    "fleet": ({}, None),
    "node": ({"node": "node-a"}, ("Now", "Containers, now", "Who makes memory slow", "Containers", "Memory")),
    "container": ({"node": "node-a", "namespace": "shop", "pod": "cart-7d9c6b5f4-x2x1p",
                   "container": "cart"},
                  ("Now", "Latency", "Slowdown", "Who makes it wait", "Who else was busy")),
    "persistent-memory": ({"node": "node-a"}, None),
}


def prometheus(work, targets=None):
    """Scrapes and judges what the file of targets names; without one, it only answers."""
    rules = []
    for file in sorted((SOURCE / "dashboards/rendered").rglob("*.yaml")):
        scaled = work / file.name
        with open(scaled, "wb") as out:
            subprocess.run([SOURCE / "deploy/demo/scale-rules.sh", "10", file], stdout=out, check=True)
        rules.append(str(scaled))
    config = {"global": {"scrape_interval": "1s", "scrape_timeout": "900ms",
                         "evaluation_interval": "1s"},
              "rule_files": rules if targets else [],
              "scrape_configs": [{"job_name": "interference-exporter",
                                  "file_sd_configs": [{"files": [str(targets)]}]}] if targets else []}
    file = work / "prometheus.yml"  # JSON is YAML
    file.write_text(json.dumps(config))
    port = harness.free_port()
    log = open(work / "prometheus.log", "wb")
    process = harness.start(
        ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={work / 'tsdb'}",
         "--storage.tsdb.retention.time=10y", f"--web.listen-address=127.0.0.1:{port}"],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"

    def ready():
        try:
            return urllib.request.urlopen(url + "/-/ready", timeout=2).status == 200
        except OSError:
            return False
    harness.wait_until(ready, 60, "Prometheus is ready", 0.2)
    return process, url


def collect(build, work):
    shutil.rmtree(work / "tsdb", ignore_errors=True)
    recording = work / "demo.jsonl"  # of its own: the build may make another meanwhile
    shutil.copy(build / "quarter-hour.jsonl", recording)
    ports = {node: harness.free_port() for node in NODES}
    waiting = dict(NODES)
    running = []
    scraped, targets = [], work / "targets.json"
    targets.write_text("[]")
    process, _ = prometheus(work, targets)
    running.append(process)
    try:
        start = time.time()
        while time.time() < start + SECONDS:
            for node, delay in list(waiting.items()):
                if time.time() >= start + delay:
                    del waiting[node]
                    log = open(work / f"{node}.log", "wb")
                    running.append(harness.start(
                        [build / "interference_exporter", "--source=replay",
                         f"--source.replay.file={recording}", "--source.replay.speed=1",
                         f"--web.listen-address=127.0.0.1:{ports[node]}",
                         "--collector.core_latency.histogram=container",
                         "--collector.slowdown.alone-rate"],
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log))
                    scraped.append({"targets": [f"127.0.0.1:{ports[node]}"],
                                    "labels": {"cluster": "replay", "node": node, "instance": node}})
                    fresh = work / "targets.new"
                    fresh.write_text(json.dumps(scraped))
                    fresh.rename(targets)
            time.sleep(1)
        (work / "end").write_text(str(int(time.time())))
    finally:
        for process in reversed(running):
            harness.stop(process, seconds=30)


# --- what a panel asks for, and what it gets --------------------------------------------------------


class Page:
    """A dashboard with the answers to its queries."""

    def __init__(self, url, dashboard, values, end):
        self.url, self.end = url, end
        self.dashboard, self.values = dashboard, values

    def ask(self, kind, **arguments):
        query = urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(f"{self.url}/api/v1/{kind}?{query}", timeout=30) as answer:
            return json.load(answer)["data"]["result"]

    def expression(self, target):
        expr = target["expr"].replace("$__rate_interval", RATE).replace("$__range", f"{SHOWN}s")
        for name, value in self.values.items():
            expr = expr.replace(f"${name}", value)
        return expr

    def series(self, panel, target):
        start = self.end - SHOWN
        step = STEP if panel["type"] not in ("heatmap", "status-history") else 2 * STEP
        times = list(range(start, self.end + 1, step))
        if target.get("instant"):
            found = [{"metric": r["metric"], "values": [r["value"]]}
                     for r in self.ask("query", query=self.expression(target), time=self.end)]
            times = [self.end]
        else:
            found = self.ask("query_range", query=self.expression(target), start=start,
                             end=self.end, step=step)
        for result in found:
            at = {int(float(t)): float(v) for t, v in result["values"]}
            labels = {k: v for k, v in result["metric"].items() if k != "__name__"}
            legend = target["legendFormat"]
            if legend == "__auto":
                name = ", ".join(labels.values()) or panel["title"]
            else:
                name = re.sub(r"\{\{(\w+)\}\}", lambda m: labels.get(m.group(1), ""), legend)
            yield {"name": name.strip(), "labels": labels, "times": [t * 1000 for t in times],
                   "values": [at.get(t) for t in times]}

    def table(self, target, alone):
        found = self.ask("query", query=self.expression(target), time=self.end)
        labels = sorted({label for r in found for label in r["metric"] if label != "__name__"})
        columns = [{"name": "Time", "type": "time", "values": [self.end * 1000] * len(found)}]
        columns += [{"name": label, "type": "string",
                     "values": [r["metric"].get(label, "") for r in found]} for label in labels]
        columns.append({"name": "Value" if alone else f"Value #{target['refId']}", "type": "number",
                        "values": [float(r["value"][1]) for r in found]})
        return {"refId": target["refId"], "columns": columns}

    @staticmethod
    def heatmap(series):
        """Buckets from cumulative ones; those that are empty all the time are left out at the ends."""
        series.sort(key=lambda s: float(s["labels"]["le"]))
        rows, below = [], [0.0] * len(series[0]["values"])
        for one in series:
            now = [v or 0.0 for v in one["values"]]
            rows.append([max(0.0, a - b) for a, b in zip(now, below)])
            below = now
        used = [i for i, row in enumerate(rows) if max(row) > 0]
        part = slice(max(0, used[0] - 1), used[-1] + 2)
        edges = [None if s["labels"]["le"] == "+Inf" else float(s["labels"]["le"]) for s in series]
        return {"times": series[0]["times"], "edges": edges[part], "rows": rows[part]}

    def panel(self, panel):
        if panel["type"] == "row":
            return panel
        if panel["type"] == "table":
            tables = [self.table(t, len(panel["targets"]) == 1) for t in panel["targets"]]
            return panel | {"tables": tables, "empty": not any(t["columns"][0]["values"] for t in tables)}
        series = [s for t in panel["targets"] for s in self.series(panel, t)]
        extra = {"series": series, "empty": not series}
        if panel["type"] == "heatmap" and series:
            extra["heatmap"] = self.heatmap(series)
        return panel | extra

    def data(self, panels):
        shown = [v for v in self.dashboard["templating"]["list"] if v["type"] == "query"]
        return {"title": self.dashboard["title"], "caption": CAPTION, "width": WIDTH,
                "variables": [[v["label"], "All" if self.values[v["name"]] == ".*" else self.values[v["name"]]]
                              for v in shown],
                "from": (self.end - SHOWN) * 1000, "to": self.end * 1000,
                "panels": [self.panel(p) for p in panels]}


def bundle(work):
    """draw.jsx and what it imports, as one script."""
    for name in ("package.json", "package-lock.json", "draw.jsx"):
        shutil.copy(HERE / name, work)
    if not (work / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                        "--loglevel=error"], cwd=work, check=True)
    loaders = [f"--loader:.{kind}=dataurl" for kind in ("woff", "woff2", "svg", "ttf")]
    subprocess.run(["node_modules/.bin/esbuild", "draw.jsx", "--bundle", "--outfile=draw.js",
                    "--jsx=transform", "--log-level=error",
                    '--define:process.env.NODE_ENV="production"', *loaders], cwd=work, check=True)


def photograph(work, name, data):
    (work / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="draw.css">'
        '<style>body{margin:0}</style><div id="page"></div>'
        f"<script>window.DASHBOARD={json.dumps(data)}</script><script src=\"draw.js\"></script>")
    height = 100 + 38 * max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in data["panels"])
    raw = work / f"{name}.raw.png"
    handler = functools.partial(Quiet, directory=str(work))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, \
            tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--hide-scrollbars", f"--user-data-dir={profile}",
             f"--window-size={WIDTH},{height}", "--virtual-time-budget=8000",
             "--enable-logging=stderr", f"--screenshot={raw}",
             f"http://127.0.0.1:{server.server_port}/index.html"],
            check=True, timeout=120, stderr=open(work / f"{name}.chromium.log", "wb"))
        server.shutdown()
    picture = HERE / f"{name}.png"
    for colours in (128, 64, 32, 16):
        subprocess.run(["pngquant", "--force", "--strip", "--speed=1", f"--output={picture}",
                        str(colours), raw], check=True)
        if picture.stat().st_size < LIMIT:
            break
    print(f"{picture.name}: {picture.stat().st_size} bytes, {colours} colours")
    assert picture.stat().st_size < LIMIT, "too large"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def shown(panels, rows):
    """Those of the rows (None: all), moved up to where the rows that are left out would be."""
    found, row, gap, bottom = [], None, 0, 0
    for panel in panels:
        place = panel["gridPos"]
        if panel["type"] == "row":
            row = panel["title"]
            gap = place["y"] - bottom
        if rows is None or row in rows:
            place["y"] -= gap
            bottom = max(bottom, place["y"] + place["h"])
            found.append(panel)
    return found


def draw(work):
    bundle(work)
    end = int((work / "end").read_text())
    process, url = prometheus(work)
    try:
        for name, (values, rows) in PICTURES.items():
            (file,) = (SOURCE / "dashboards/rendered").rglob(f"{name}.json")
            dashboard = json.loads(file.read_text())
            everything = dict.fromkeys(("cluster", "node", "namespace", "pod", "container"), ".*")
            values = {**everything, "top": "10", **values}
            panels = shown(dashboard["panels"], rows)
            data = Page(url, dashboard, values, end - BACK).data(panels)
            for panel in data["panels"]:
                if panel.get("empty"):
                    print(f"{name}: nothing to show in: {panel['title']}")
            photograph(work, name, data)
    finally:
        harness.stop(process, seconds=30)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--draw", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    work = build / "screenshots"
    work.mkdir(exist_ok=True)
    if not arguments.draw:
        collect(build, work)
    draw(work)
