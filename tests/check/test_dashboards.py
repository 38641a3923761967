#!/usr/bin/python3
"""Holds the rendered dashboards to what Grafana and Prometheus make of them:
tests/check/test_dashboards.py BUILD

Their JSON fits Grafana's own types. Each query of panels, variables, rules and alerts parses, names
metrics and labels that exist, and joins what can be joined; legends name labels that are left. Each
panel says what it shows, in which unit, and what it means that there is nothing to show.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = SOURCE / "tests/dashboards"
RENDERED = SOURCE / "dashboards/rendered"
DASHBOARDS = sorted(RENDERED.rglob("*.json"))
BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SOURCE / "build/plain"
WORK = BUILD / "dashboards"

# What the scraper adds, and what Prometheus itself makes.
SCRAPED = ["cluster", "node", "instance", "job"]
OTHERS = {
    "up": {"type": "gauge", "labels": SCRAPED},
    "ALERTS": {"type": "gauge", "labels": SCRAPED + ["alertname", "alertstate", "severity"]},
    # The kubelet's, from its cAdvisor.
    **{f"container_{name}_total": {"type": "counter", "labels": SCRAPED + [
        "namespace", "pod", "container", "id", "image", "name"]}
       for name in ("cpu_cfs_periods", "cpu_cfs_throttled_periods", "pressure_cpu_waiting_seconds",
                    "pressure_cpu_stalled_seconds")},
    # Users record it: runbooks/InterferenceContainerSlowdown.md.
    "interference:slowdown:bound": {"type": "gauge", "labels": ["cluster", "namespace", "container"]},
}
CONTAINER = ["namespace", "pod", "container", "container_id"]


def rules(file):
    """Those of persistent memory, which are in a folder of their own, too."""
    for path in sorted(RENDERED.rglob(f"*{file}")):
        for group in yaml.safe_load(path.read_text())["groups"]:
            yield from group["rules"]


def metrics():
    """{name: type and labels}, from the generated reference and from what is still to come."""
    found = dict(OTHERS)

    def add(name, kind, labels):
        labels = [label.strip() for label in labels.split(",") if label.strip()]
        if "container" in labels:
            labels = CONTAINER + [label for label in labels if label != "container"]
        labels += SCRAPED
        if kind == "histogram":
            found[name + "_bucket"] = {"type": "counter", "labels": labels + ["le"]}
            # Its own name is the native histogram's, of which only rates are asked for, too.
            found[name] = found[name + "_sum"] = found[name + "_count"] = {
                "type": "counter", "labels": labels}
        else:
            found[name] = {"type": "counter" if kind == "counter" else "gauge", "labels": labels}

    text = "".join((SOURCE / folder / "METRICS.md").read_text()
                   for folder in ("collectors", "exporter/governor"))
    for row in re.findall(r"^\| `([a-z0-9_]+)` \| (\w+) \| [^|]* \| ([^|]*) \|", text, re.MULTILINE):
        add(*row)
    for row in json.loads((TOOLS / "later.json").read_text()):
        assert row[0] not in found, f"{row[0]} exists now: take it out of later.json"
        add(*row)
    return found


def panels():
    for file in DASHBOARDS:
        for panel in json.loads(file.read_text())["panels"]:
            if panel["type"] != "row":
                yield f"{file.name}: {panel['title']}", panel


def substituted(expr):
    """As Prometheus gets it; `.*` for each variable."""
    for interval in ("$__rate_interval", "$__range", "$__interval"):
        expr = expr.replace(interval, "5m")
    expr = expr.replace("$top", "10")
    return re.sub(r"\$\w+", ".*", expr)


def queries():
    """Every expression, with the labels that must be left in its result."""
    for file in ("rules.yaml", "alerts.yaml"):
        for rule in rules(file):
            used = " ".join([*rule.get("annotations", {}).values(), *rule.get("labels", {}).values()])
            yield {"where": rule.get("alert") or rule["record"], "expr": rule["expr"],
                   "uses": re.findall(r"\$labels\.(\w+)", used)}
            # What the texts themselves ask for.
            for text in re.findall(r'\(printf "((?:[^"\\]|\\.)*)"', used):
                yield {"where": f"{rule['alert']}: its text",
                       "expr": text.replace('\\"', '"').replace("%q", '"x"'), "uses": []}
    for where, panel in panels():
        for target in panel["targets"]:
            uses = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            for transformation in panel.get("transformations", []):
                names = transformation["options"].get("indexByName", {})
                uses |= {name for name in names if not name.startswith("Value")}
            yield {"where": where, "expr": substituted(target["expr"]), "uses": sorted(uses)}
    for file in DASHBOARDS:
        for annotation in json.loads(file.read_text())["annotations"]["list"]:
            yield {"where": f"{file.name}: {annotation['name']}", "expr": substituted(annotation["expr"]),
                   "uses": []}
        for variable in json.loads(file.read_text())["templating"]["list"]:
            if variable["type"] == "query":
                match = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
                yield {"where": f"{file.name}: ${variable['name']}",
                       "expr": substituted(match.group(1)), "uses": [match.group(2)]}


def written():
    """Queries in runbooks and READMEs: indented lines; what is indented further goes on."""
    for file in [SOURCE / "README.md", SOURCE / "collectors/README.md",
                 *sorted((SOURCE / "dashboards/runbooks").glob("*.md"))]:
        for block in re.findall(r"(?:^ {4,}\S.*\n)+", file.read_text(), re.MULTILINE):
            lines = [line for line in block.splitlines() if not line.lstrip().startswith("#")]
            indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
            queries_of_block = []
            for line in lines:
                if len(line) - len(line.lstrip()) > indent and queries_of_block:
                    queries_of_block[-1] += "\n" + line
                else:
                    queries_of_block.append(line)
            for query in queries_of_block:
                if re.match(r" *([a-z_]+\(.*)?([a-z]+:)?interference_(?!exporter |governor )\w+[\[{ :]", query):
                    yield {"where": file.name, "expr": query.strip(), "uses": []}


def install():
    """The tools' packages, once per lock file."""
    WORK.mkdir(parents=True, exist_ok=True)
    stamp, lock = WORK / "installed", (TOOLS / "package-lock.json").read_text()
    for file in TOOLS.iterdir():
        if file.is_file():
            shutil.copy(file, WORK)
    if not stamp.exists() or stamp.read_text() != lock:
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                        "--loglevel=error", "--fetch-retries=5"], cwd=WORK, check=True, timeout=100)
        stamp.write_text(lock)


def node(*arguments, text=None):
    result = subprocess.run(["node", *map(str, arguments)], cwd=WORK, input=text, text=True,
                            capture_output=True, timeout=100)
    return result.returncode, result.stdout + result.stderr


class Dashboards(unittest.TestCase):
    maxDiff = None

    def test_fit_grafanas_types(self):
        code, output = node("schema.mjs", *DASHBOARDS)
        self.assertEqual(code, 0, output)

    def test_queries_ask_for_what_exists(self):
        found = {"metrics": metrics(), "queries": list(queries()),
                 "rules": [{"record": r["record"], "expr": r["expr"]} for r in rules("rules.yaml")]}
        self.assertGreater(len(found["queries"]), 100)
        code, output = node("promql.mjs", text=json.dumps(found))
        self.assertEqual(code, 0, output)

    def test_queries_in_prose_too(self):
        found = list(written())
        self.assertGreater(len(found), 9)
        code, output = node("promql.mjs", text=json.dumps(
            {"metrics": metrics(), "queries": found,
             "rules": [{"record": r["record"], "expr": r["expr"]} for r in rules("rules.yaml")]}))
        self.assertEqual(code, 0, output)

    def test_checker_sees_each_mistake(self):
        reads = "interference_container_memory_reads_total"
        info = "interference_container_info"
        cases = {
            "sum(": "does not parse",
            "rate(interference_container_memory_read_total[5m])": "no such metric",
            reads: "a counter as it is",
            f"rate({info}[5m])": "the rate of a gauge",
            f"last_over_time({info}[5m])": "the rate of a gauge, or all of it",
            f'{info}{{nmespace="a"}}': "has no label nmespace",
            f"sum by (cluster, image) (rate({reads}[5m]))": "aggregates by image",
            f"sum without (pod) ({info})": "aggregate by",
            f"rate({reads}[5m]) * on (cluster, socket) {info}": "matches on socket",
            f"rate({reads}[5m]) / sum by (node) ({info})": "different labels",
            f"rate({reads}[5m]) * on (node) group_left () {info}": "not one for each",
            f"rate({reads}[5m]) * on (node) group_left (pod) sum by (node, pod, image) ({info})":
                "not one for each",
            f"rate({reads}[5m]) * on (node) group_left (pod) sum by (node) ({info})": "gives pod",
            f"rate({reads}[5m]) / on (node) sum by (node) ({info})": "one to one",
            f"sum by (cluster) ({info})": "no label node in the result",
        }
        bad = [{"where": problem, "expr": expr, "uses": ["node"]} for expr, problem in cases.items()]
        code, output = node("promql.mjs", text=json.dumps(
            {"metrics": metrics(), "rules": [], "queries": bad}))
        self.assertEqual(code, 1)
        for expr, problem in cases.items():
            self.assertRegex(output, f"(?m)^{problem}: .*{problem}", expr)

    def test_schema_sees_each_mistake(self):
        whole = json.loads((RENDERED / "container.json").read_text())
        graph, curve = (next(i for i, p in enumerate(whole["panels"]) if p["type"] == kind)
                        for kind in ("timeseries", "trend"))
        cases = [
            (["refreshh"], "1s"),
            (["panels", graph, "type"], "graph"),
            (["panels", graph, "options", "legend", "placement"], "left"),
            (["panels", graph, "fieldConfig", "defaults", "custom", "drawStile"], "line"),
            (["panels", graph, "fieldConfig", "overrides", 0, "properties", 0, "id"], "custom.fil"),
            (["panels", graph, "targets", 0, "expression"], "up"),
            (["panels", curve, "options", "xfield"], "Longer reads"),
            (["templating", "list", 1, "sort"], "up"),
        ]
        files = []
        for path, value in cases:
            copy = json.loads(json.dumps(whole))
            at = copy
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value
            files.append(WORK / f"wrong-{len(files)}.json")
            files[-1].write_text(json.dumps(copy))
        code, output = node("schema.mjs", *files)
        self.assertEqual(code, 1)
        for file, (path, _) in zip(files, cases):
            self.assertIn(file.name, output, path)

    def test_promtool_parses_them(self):
        """Prometheus' own parser, of the version that is installed."""
        group = [{"record": f"query:{i}", "expr": query["expr"]}
                 for i, query in enumerate(queries())]
        file = WORK / "queries.yaml"
        file.write_text(json.dumps({"groups": [{"name": "queries", "rules": group}]}))
        result = subprocess.run(["promtool", "check", "rules", file], capture_output=True, text=True,
                                timeout=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_panels_explain_themselves(self):
        for where, panel in panels():
            defaults = panel["fieldConfig"]["defaults"]
            self.assertGreater(len(panel["description"]), 20, where)
            self.assertTrue(defaults["unit"] and defaults["noValue"], where)

    def test_nothing_measured_is_no_zero(self):
        for where, panel in panels():
            self.assertNotRegex(panel["fieldConfig"]["defaults"]["noValue"], r"^\s*\d", where)

    def test_fleet_asks_for_no_container_over_a_range(self):
        """With thousands of nodes that is more than Prometheus gives by default."""
        ranges = {where: target["expr"] for where, panel in panels() if where.startswith("fleet.json")
                  for target in panel["targets"] if target["range"] or "[$__" in target["expr"]}
        self.assertGreater(len(ranges), 10)
        per_container = [name for name, metric in metrics().items()
                         if "container_id" in metric["labels"] or name.endswith("_bucket")]
        for where, expr in ranges.items():
            self.assertNotRegex(expr, r"\bcontainer:", where)
            for name in re.findall(r"(?<![:\w])interference_\w+(?![:\w])", expr):
                self.assertNotIn(name, per_container, where)

    def test_counters_are_asked_of_one_node(self):
        """And Container is about one, or nobody is left who else was busy."""
        for file in DASHBOARDS:
            dashboard = json.loads(file.read_text())
            everything = {v["name"] for v in dashboard["templating"]["list"]
                          if v.get("includeAll") or v.get("multi")}
            if "rate(interference_container" in file.read_text():
                self.assertNotIn("node", everything, file.name)
            if file.name == "container.json":
                self.assertFalse(everything & {"pod", "container"})

    def test_a_node_of_many_containers_is_readable(self):
        """Its graphs draw as many as the variable says, of the chosen namespaces."""
        found = 0
        for where, panel in panels():
            for target in panel["targets"]:
                if where.startswith("node.json") and "{{container}}" in target["legendFormat"]:
                    found += 1
                    self.assertIn('namespace=~"$namespace"' if "Memory latency by cause" not in where
                                  else "caused_latency", target["expr"], where)
                    if panel["type"] == "timeseries":
                        self.assertTrue(target["expr"].startswith("topk($top, "), where)
        self.assertGreater(found, 9)

    def test_one_of_many_has_its_name(self):
        named = 0
        for where, panel in panels():
            if panel["type"] == "stat" and "topk(1, " in panel["targets"][0]["expr"]:
                named += 1
                self.assertEqual(panel["options"]["textMode"], "value_and_name", where)
                self.assertIn("{{container}}", panel["targets"][0]["legendFormat"], where)
        self.assertGreaterEqual(named, 3)

    def test_curves_have_their_numbers_in_order(self):
        """Grafana draws none whose x does not ascend: every point of every query is grouped by x and sorted."""
        curves = [(where, panel) for where, panel in panels() if panel["type"] == "trend"]
        self.assertEqual(len(curves), 1)
        for where, panel in curves:
            merge, group, sort, organize = panel["transformations"]
            self.assertEqual([t["id"] for t in panel["transformations"]],
                             ["merge", "groupBy", "sortBy", "organize"], where)
            x, *ys = (f"Value #{target['refId']}" for target in panel["targets"])
            self.assertEqual({name: how["operation"] for name, how in group["options"]["fields"].items()},
                             {x: "groupby"} | dict.fromkeys(ys, "aggregate"), where)
            self.assertEqual(sort["options"]["sort"], [{"field": x, "desc": False}], where)
            names = organize["options"]["renameByName"]
            self.assertEqual(set(names), {x} | {f"{y} (max)" for y in ys}, where)
            self.assertEqual(panel["options"]["xField"], names[x], where)
            for override in panel["fieldConfig"]["overrides"]:
                self.assertIn(override["matcher"]["options"], names.values(), where)

    def test_colours(self):
        """The same name looks the same in all panels; no scale tells green from red."""
        for where, panel in panels():
            if panel["type"] in ("timeseries", "trend"):
                self.assertEqual(panel["fieldConfig"]["defaults"]["color"]["mode"],
                                 "palette-classic-by-name", where)
            self.assertNotRegex(json.dumps(panel), r'"(?:continuous-[^"]*Gr|green)', where)

    def test_what_happened_is_marked(self):
        """Alerts everywhere, starts of containers where containers are."""
        for file in DASHBOARDS:
            names = {a["name"] for a in json.loads(file.read_text())["annotations"]["list"]}
            self.assertEqual(names, {"Alerts"} | (set() if file.stem in ("fleet", "kubelet") else {"Container starts"}),
                             file.name)

    def test_panels_do_not_overlap(self):
        for file in DASHBOARDS:
            taken, ids = set(), set()
            for panel in json.loads(file.read_text())["panels"]:
                at = panel["gridPos"]
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                         for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(cells & taken, f"{file.name}: {panel['title']}")
                self.assertLessEqual(at["x"] + at["w"], 24)
                self.assertNotIn(panel["id"], ids)
                taken |= cells
                ids.add(panel["id"])

    def test_variables_and_links_lead_somewhere(self):
        known = {}
        for file in DASHBOARDS:
            dashboard = json.loads(file.read_text())
            known[dashboard["uid"]] = {v["name"] for v in dashboard["templating"]["list"]}
        self.assertEqual(len(known), len(DASHBOARDS))
        known["6581e46e4e5c7ba40a07646395ef7b23"] = {"cluster", "namespace", "pod"}  # kubernetes-mixin's
        for file in DASHBOARDS:
            text = file.read_text()
            own = known[json.loads(text)["uid"]]
            for variable in re.findall(r"\$\{?(\w+)", text):
                if not variable.startswith("__"):
                    self.assertIn(variable, own, file.name)
            for uid, rest in re.findall(r'"/d/([\w-]+)\?([^"]*)"', text):
                self.assertIn(uid, known, file.name)
                for variable in re.findall(r"var-(\w+)=", rest):
                    self.assertIn(variable, known[uid], file.name)


if __name__ == "__main__":
    for command in ("node", "npm", "promtool"):
        if not shutil.which(command):
            if os.environ.get("CI"):
                sys.exit(f"needs the command {command}, and CI is set")
            print(f"skipped: needs the command {command}")
            sys.exit(77)
    install()
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
