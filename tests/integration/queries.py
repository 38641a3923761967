"""The queries of the committed dashboards, as Grafana would send them, and what they need."""
import json
import re

from harness import SOURCE

# What Grafana puts in for its own variables, and for those of a dashboard on which somebody has
# chosen a container; all others stand for everything.
BUILT_IN = {"__rate_interval": "15s", "__interval": "5s", "__range": "1m", "__range_s": "60",
            "__interval_ms": "5000", "__range_ms": "60000"}
# How many lines a graph draws is a number.
EVERYWHERE = {"top": "10"}
CHOSEN = {"container": {"container": "search"}, "persistent-memory": {"container": "ledger"}}


def _substituted(text, own, chosen):
    def value(match):
        name = match.group(1) or match.group(2)
        if name in BUILT_IN:
            return BUILT_IN[name]
        assert name in own, f"${name} is no variable of the dashboard: {text}"
        return {**EVERYWHERE, **chosen}.get(name, ".*")

    return re.sub(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))", value, text)


def _variable_query(text):
    """label_values(SELECTOR, LABEL) is the one kind in use."""
    match = re.fullmatch(r"label_values\((.*), *(\w+)\)", text)
    assert match, f"unknown kind of variable: {text}"
    return f"count by ({match.group(2)}) ({match.group(1)})"


def _panels(panels):
    for panel in panels:
        yield panel
        yield from _panels(panel.get("panels", []))


def of_dashboards():
    """[(where, query)] of panels, variables and annotations."""
    found = []
    for file in sorted((SOURCE / "dashboards/rendered").rglob("*.json")):
        dashboard = json.loads(file.read_text())
        variables = dashboard.get("templating", {}).get("list", [])
        own = {variable["name"] for variable in variables}

        def add(what, query, own=own, name=file.stem):
            found.append((f"{name}: {what}", _substituted(query, own, CHOSEN.get(name, {}))))

        for variable in variables:
            if variable["type"] == "query":
                query = variable["query"]
                add(f"variable {variable['name']}", _variable_query(
                    query["query"] if isinstance(query, dict) else query))
        for panel in _panels(dashboard["panels"]):
            for target in panel.get("targets", []):
                add(panel["title"], target["expr"])
        for annotation in dashboard.get("annotations", {}).get("list", []):
            if annotation.get("expr"):
                add(f"annotation {annotation['name']}", annotation["expr"])
    return found


METRIC = re.compile(r"(?<![:\w])interference_\w+(?![:\w])")
RECORDED = re.compile(r"\b[a-z]+:interference_\w+:\w+\b")


def collectors():
    """{metric: the collector that serves it, None for the exporter's own}; histograms' parts too."""
    owner, found = None, {}
    for line in (SOURCE / "collectors/METRICS.md").read_text().splitlines():
        heading = re.match(r"## (.*)", line)
        if heading:
            owner = heading.group(1) if re.fullmatch(r"[a-z0-9_]+", heading.group(1)) else None
        metric = re.match(r"\| `(\w+)` \| (\w+)", line)
        if metric:
            parts = ["_bucket", "_sum", "_count"] if metric.group(2) == "histogram" else [""]
            for part in parts:
                found[metric.group(1) + part] = owner
    return found


class Expectation:
    """Which queries should return something where these collectors ran."""

    def __init__(self, running, recording_rules):
        self.owners = collectors()
        self.running = running
        self.recorded = dict(recording_rules)

    def missing(self, query):
        """What the query asks for whose collector does not run here; empty: it should have data. A
        metric that the reference does not know is not excused."""
        absent = {name for name in METRIC.findall(query)
                  if self.owners.get(name) and self.owners[name] not in self.running
                  # That program does not run here; check/test_mixin knows its names.
                  or name.startswith("interference_governor_")}
        for name in RECORDED.findall(query):
            absent |= self.missing(self.recorded[name])
        return absent
