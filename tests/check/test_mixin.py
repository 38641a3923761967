#!/usr/bin/python3
"""Holds dashboards/ together: tests/check/test_mixin.py BUILD

What is rendered is what the sources say; promtool accepts the rules and their tests pass; each alert
has a test in which it fires, one in which it does not, a runbook, and what Alertmanager needs; no
join loses the cluster; every metric named in rules, dashboards and docs is in METRICS.md.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
MIXIN = SOURCE / "dashboards"
RENDERED = MIXIN / "rendered"
RUNBOOKS = MIXIN / "runbooks"

# Metrics of the contract that collectors do not have yet: a line goes when its metric has landed.
LATER = {row[0] for row in json.loads((SOURCE / "tests/dashboards/later.json").read_text())}

# Of a container's last window only.
LAST_WINDOW = re.compile(r"interference_container_[a-z_]*(?:latency_seconds|slowdown_ratio|"
                         r"writer_threads)\b(?!:)")
METRIC = re.compile(r"(?<![:\w/.-])interference_[a-z0-9_]+\b(?![:/.*-])")


def need(*commands):
    for command in commands:
        if not shutil.which(command):
            print(f"skipped: needs the command {command}")
            sys.exit(77)


def files(folder, suffix=""):
    """{name below the folder: text}"""
    return {str(f.relative_to(folder)): f.read_text() for f in sorted(folder.rglob(f"*{suffix}"))
            if f.is_file()}


def groups(kind):
    """Those of persistent memory, which are in a folder of their own, too."""
    for name, text in files(RENDERED, f"{kind}.yaml").items():
        yield from yaml.safe_load(text)["groups"]


def rules(kind):
    return [rule for group in groups(kind) for rule in group["rules"]]


ALERTS = rules("alerts")
RECORDS = rules("rules")


def minutes(duration):
    return int(re.fullmatch(r"(\d+)m", duration)[1])


def promtool(*arguments):
    result = subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True,
                            timeout=900)
    return result.returncode, result.stdout + result.stderr


def known_metrics():
    """Names as PromQL spells them, from the generated reference."""
    names = set()
    text = "".join((SOURCE / folder / "METRICS.md").read_text()
                   for folder in ("collectors", "exporter/governor"))
    for name, kind in re.findall(r"^\| `([a-z0-9_]+)` \| (\w+) \|", text, re.MULTILINE):
        names.add(name)
        if kind == "histogram":
            names |= {name + "_bucket", name + "_sum", name + "_count"}
    return names


class Rendered(unittest.TestCase):
    def test_is_what_the_sources_say(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([MIXIN / "render.sh", folder], check=True, timeout=300)
            fresh = files(pathlib.Path(folder))
        committed = files(RENDERED)
        self.assertEqual(sorted(fresh), sorted(committed), "run dashboards/render.sh")
        for name, text in fresh.items():
            self.assertTrue(text == committed[name], f"{name} differs: run dashboards/render.sh")

    def test_settings_reach_everything(self):
        """As dashboards/README.md shows: other labels, one more selector, another model."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "mine.jsonnet").write_text("""(import 'mixin.libsonnet') + { _config+:: {
                clusterLabel: 'zone', nodeLabel: 'instance', selector: 'env="prod"',
                slowdownModel: 'asm', interval: '30s', runbookUrlPrefix: 'https://wiki.example.org/',
                grafanaUrl: 'https://grafana.example.org', grafanaIntervalVar: '$__interval',
                showMultiCluster: false, persistentMemory: true, kubelet: true } }""")
            subprocess.run([MIXIN / "render.sh", folder / "out"], check=True, timeout=300,
                           env={**os.environ, "MIXIN": str(folder / "mine.jsonnet")})
            out = files(folder / "out")
            code, output = promtool("check", "rules", *(folder / "out").glob("*.yaml"))
            self.assertEqual(code, 0, output)
        self.assertEqual(set(out), {pathlib.Path(name).name for name in files(RENDERED)
                                    if "/persistent-memory-" not in name and "/kubelet-" not in name})
        self.assertIn("InterferenceNvmmSmallStores", out["alerts.yaml"])
        self.assertIn("container_pressure_cpu_waiting_seconds_total", out["rules.yaml"])
        for name, text in out.items():
            for gone in (".invalid", "$__rate_interval", "$cluster"):
                self.assertFalse(gone in text, f"{gone} in {name}")
            self.assertNotRegex(text, r"\b(by|on) \([^)]*\b(cluster|node)\b", name)
            self.assertNotIn("passive", text, name)
        for name in ("rules.yaml", "alerts.yaml"):
            for group in yaml.safe_load(out[name])["groups"]:
                for expr in (rule["expr"] for rule in group["rules"]):
                    for after in METRIC.split(expr)[1:]:
                        self.assertRegex(after, r'^\{[^}]*env="prod"', expr)
        self.assertIn("https://wiki.example.org/InterferenceExporterDown.md", out["alerts.yaml"])
        self.assertIn("severity: critical", out["alerts.yaml"])
        self.assertIn("mean5m[1d]) >= 120\n", out["rules.yaml"])  # an hour

    def test_shards_and_teams(self):
        """A shard that has had no exporter for a day is not told that it has none; one that lost its own is.
        Alerts about containers have the team that kube-state-metrics knows, those of others are as they are."""
        made = subprocess.run(["jsonnet", "-J", MIXIN, "-e", """local mixin = (import 'mixin.libsonnet') + {
            _config+:: { sharded: true, teamLabel: 'label_team' } };
            [mixin.prometheusRules, mixin.prometheusAlerts]"""], capture_output=True, check=True, timeout=300)
        records, made = json.loads(made.stdout)
        (absent,) = [group for group in made["groups"] if group["name"] == "interference-exporter"]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, content in (("rules", records), ("alerts", made), ("absent", {"groups": [
                    {**absent, "rules": [rule for rule in absent["rules"]
                                         if rule["alert"] == "InterferenceExporterAbsent"]}]})):
                (folder / f"{name}.yaml").write_text(json.dumps(content))
            for name in ("shards", "teams"):
                shutil.copy(SOURCE / f"tests/dashboards/{name}.yaml", folder)
                code, output = promtool("test", "rules", folder / f"{name}.yaml")
                self.assertEqual(code, 0, output)
        for rule in (rule for group in made["groups"] for rule in group["rules"]):
            whose = "{{ $labels.namespace }}" in "".join(rule["annotations"].values())
            self.assertEqual("label_team" in rule["labels"], whose, rule["alert"])

    def test_sources_are_formatted(self):
        sources = sorted(MIXIN.rglob("*.libsonnet"))
        result = subprocess.run(["jsonnetfmt", "--test", *sources], timeout=300)
        self.assertEqual(result.returncode, 0, "run jsonnetfmt -i")


# Alerts that are off by default, by the setting that switches them on.
OPTIONAL = {"placementAlert": {"InterferenceMemoryMisplaced"}, "ownQuotaAlert": {"InterferenceOwnQuota"}}


def of_panels(text):
    """PANEL(title, A, container=cart, target=x|y): that query of the dashboard Container, of this container, at
    these points; rounded, and the first query, which is in seconds, as nanoseconds."""
    panels = {panel["title"]: panel for panel in
              json.loads((RENDERED / "container.json").read_text())["panels"]}

    def query(match):
        title, ref, variable, value, label, points = match.groups()
        (target,) = [t for t in panels[title]["targets"] if t["refId"] == ref]
        expr = re.sub(r"\$\w+", ".*", target["expr"].replace(f"${variable}", value))
        chosen = " or ".join(f'label_replace(vector(0), "{label}", "{point}", "", "")'
                             for point in points.split("|"))
        scale = "1e9 * " if ref == "A" else ""
        return json.dumps(f"round({scale}({expr}), 0.0001) and on ({label}) ({chosen})")

    return re.sub(r"PANEL\(([^,]+), (\w), (\w+)=([^,]+), (\w+)=([^)]+)\)", query, text)


class Optional(unittest.TestCase):
    def test_their_tests(self):
        """With the settings there are these alerts more; their tests have the place of the rendered rules."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            # Rules and alerts only: the dashboards are most of the work.
            settings = ", ".join(f"{setting}: true" for setting in OPTIONAL)
            mixin = f"(import 'mixin.libsonnet') + {{ _config+:: {{ {settings} }} }}"
            for part in ("persistent-memory", "kubelet"):
                (folder / part).mkdir()
            subprocess.run(["jsonnet", "-S", "-m", folder, "-J", MIXIN, "-e",
                            f"(import 'lib/render.libsonnet')({mixin}).texts"],
                           check=True, timeout=3000, stdout=subprocess.DEVNULL)
            made = {rule["alert"] for group in
                    yaml.safe_load((folder / "alerts.yaml").read_text())["groups"]
                    for rule in group["rules"]}
            self.assertEqual(made - {rule["alert"] for rule in ALERTS}, set().union(*OPTIONAL.values()))
            for setting in OPTIONAL:
                file = MIXIN / f"tests/optional/{setting}.yaml"
                text = file.read_text().replace("RULES", "rules.yaml")
                (folder / file.name).write_text(of_panels(text.replace("ALERTS", "alerts.yaml")))
                code, output = promtool("test", "rules", folder / file.name)
                self.assertEqual(code, 0, output)


class Rules(unittest.TestCase):
    def test_promtool_accepts_them(self):
        code, output = promtool("check", "rules", *RENDERED.rglob("*.yaml"))
        self.assertEqual(code, 0, output)

    def test_their_tests(self):
        tests = sorted((MIXIN / "tests").glob("*.yaml"))
        self.assertGreaterEqual(len(tests), 7)
        for file in tests:  # one by one: together they are a minute's work on a busy machine
            with self.subTest(file.name):
                code, output = promtool("test", "rules", file)
                self.assertEqual(code, 0, output)

    def test_each_alert_is_tested_both_ways(self):
        """In one case it fires; in another it never does, asked for when it would have waited enough."""
        waits = {rule["alert"]: minutes(rule["for"]) for rule in ALERTS}
        fires, rests = set(), set()
        for file in (MIXIN / "tests").glob("*.yaml"):
            for case in yaml.safe_load(file.read_text())["tests"]:
                tests = case.get("alert_rule_test", [])
                fired = {test["alertname"] for test in tests if test["exp_alerts"]}
                fires |= fired
                rests |= {name for test in tests for name in [test["alertname"]]
                          if name not in fired and minutes(test["eval_time"]) > waits[name]}
        self.assertEqual((fires, rests), (set(waits), set(waits)))

    def test_healthy_nodes_are_silent(self):
        """Each alert, in each case of healthy.yaml, after it would have waited; but one waits a day."""
        waits = {rule["alert"]: minutes(rule["for"]) for rule in ALERTS}
        cases = yaml.safe_load((MIXIN / "tests/healthy.yaml").read_text())["tests"]
        self.assertGreaterEqual(len(cases), 7)
        for case in cases:
            asked = {test["alertname"]: test for test in case["alert_rule_test"]}
            self.assertEqual(set(asked), set(waits), case["name"])
            for name, test in asked.items():
                self.assertEqual(test["exp_alerts"], [], case["name"])
                self.assertGreater(minutes(test["eval_time"]), min(waits[name], 60), name)

    def test_a_days_history_is_read_seldom(self):
        """But before what it made last is stale, after five minutes."""
        for group in groups("rules"):
            if any("d]" in rule["expr"] for rule in group["rules"]):
                self.assertIn(minutes(group["interval"]), (3, 4), group["name"])
            else:
                self.assertLessEqual(minutes(group["interval"]), 1, group["name"])

    def test_groups_run_side_by_side(self):
        """A rule reads what was recorded before it in its group (or itself, of the last time). Of other groups it sees
        the last time's: none waits for itself through another, and README.md says who reads of whom."""
        rules_of = {group["name"]: group["rules"] for group in groups("rules")}
        where = {}
        for group, rules_there in rules_of.items():
            for rule in rules_there:
                where.setdefault(rule["record"], set()).add(group)
        reads, steps = {group: set() for group in rules_of}, {}

        def behind(record):
            """By how many evaluations of other groups the record is behind what is scraped."""
            if record not in steps:
                steps[record] = 0  # of what reads itself
                steps[record] = max((behind(name) + apart for name, apart in sources[record]), default=0)
            return steps[record]

        sources = {record: set() for record in where}
        for group, rules_there in rules_of.items():
            before = set()
            for rule in rules_there:
                record = rule["record"]
                for name in set(re.findall(r"\b[a-z]+:interference_\w+:\w+", rule["expr"])) - {record}:
                    apart = group not in where[name]
                    if apart:
                        reads[group] |= where[name]
                    elif where[name] == {group}:
                        self.assertIn(name, before, f"{record} reads it before it is recorded")
                    sources[record].add((name, apart))
                before.add(record)

        def check_one_way(group, above=()):
            self.assertNotIn(group, above, "groups that wait for each other")
            for other in reads[group]:
                check_one_way(other, (*above, group))

        for group in reads:
            check_one_way(group)
        page = (MIXIN / "README.md").read_text()
        told = {name: set(re.findall(r"`([\w.-]+)`", of))
                for name, of in re.findall(r"(?m)^\| `([\w.-]+\.rules)` \| ([^|]*) \|", page)}
        self.assertEqual(told, {group: of for group, of in reads.items() if of})
        self.assertIn(f"at most {max(map(behind, where))} minutes later", " ".join(page.split()))

    def test_each_record_is_used(self):
        texts = [rule["expr"] for rule in ALERTS + RECORDS]
        texts += [text for rule in ALERTS for text in rule["labels"].values()]
        texts += files(RENDERED, ".json").values()
        for record in {rule["record"] for rule in RECORDS}:
            self.assertTrue(any(record in text for text in texts), f"nobody uses {record}")

    def test_alerts_are_complete(self):
        for rule in ALERTS:
            name = rule["alert"]
            self.assertIn(rule["labels"]["severity"], ("info", "warning", "critical"), name)
            self.assertIn(rule["labels"]["area"], ("memory", "cpu", "exporter", "governor"), name)
            self.assertEqual(rule["labels"]["component"], "interference", name)
            texts = rule["annotations"]
            self.assertEqual(set(texts), {"summary", "description", "runbook_url", "dashboard_url"})
            self.assertEqual(texts["runbook_url"], "https://set-runbookUrlPrefix.invalid/dashboards/"
                             f"runbooks/{name}.md")
            self.assertTrue(rule["for"], name)

    def test_dashboards_of_alerts_exist(self):
        """With the variables that the link sets, from labels that the alert has."""
        known = {}
        for text in files(RENDERED, ".json").values():
            dashboard = json.loads(text)
            known[dashboard["uid"]] = {v["name"] for v in dashboard["templating"]["list"]}
        for rule in ALERTS:
            uid, values = re.fullmatch(r"https://set-grafanaUrl\.invalid/d/([\w-]+)\?(.*)",
                                       rule["annotations"]["dashboard_url"]).groups()
            self.assertLessEqual(set(re.findall(r"var-(\w+)=", values)), known[uid], rule["alert"])

    def test_durations_in_texts_can_be_scaled(self):
        """As digits and a unit, which the demo divides like those of the rules."""
        words = re.compile(r"\b(an?|one|two|three|four|five|ten|half|quarter|fifteen)\s+(of\s+)?(an?\s+)?"
                           r"(seconds?|minutes?|hours?|days?)\b")
        found = 0
        for rule in ALERTS:
            for text in rule["annotations"].values():
                self.assertNotRegex(text, words, rule["alert"])
                found += len(re.findall(r"\b\d+ (?:seconds?|minutes?|hours?|days?)\b", text))
                # What a text asks Prometheus for is not scaled: it is about now.
                self.assertNotRegex("".join(re.findall(r'printf "(?:[^"\\]|\\.)*"', text)),
                                    r"\[(?!5m)\w+\]|offset", rule["alert"])
        self.assertGreater(found, 5)

    def test_runbooks_and_alerts_agree(self):
        runbooks = {f.stem for f in RUNBOOKS.glob("*.md")} - {"README"}
        self.assertEqual(runbooks, {rule["alert"] for rule in ALERTS}.union(*OPTIONAL.values()))
        index = (RUNBOOKS / "README.md").read_text()
        for name in runbooks:
            text = (RUNBOOKS / f"{name}.md").read_text()
            self.assertTrue(text.startswith(f"# {name}\n"), name)
            self.assertIn(f"({name}.md)", index)

    def test_panels_that_runbooks_name_exist(self):
        """*Title*, of the **Dashboard** that the same paragraph names; *status* is the page."""
        titles = {}
        for dashboard in map(json.loads, files(RENDERED, ".json").values()):
            titles[dashboard["title"].rsplit(" / ", 1)[1]] = {p["title"] for p in dashboard["panels"]}
        named = 0
        for file in RUNBOOKS.glob("*.md"):
            text = re.sub(r"`[^`]*`|(?m:^    .*$)", "", file.read_text())
            for paragraph in re.split(r"\n\s*\n|\n\s*(?:-|\d+\.) ", text):
                dashboards = re.findall(r"\*\*([^*]+)\*\*", paragraph)
                self.assertLessEqual(set(dashboards), set(titles), file.name)
                known = set().union(*(titles[name] for name in dashboards or titles))
                for title in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", paragraph):
                    title = " ".join(title.split())
                    if title.lower() != "status":
                        self.assertIn(title, known, file.name)
                        named += 1
        self.assertGreater(named, 8)

    def test_no_join_loses_the_cluster(self):
        for rule in ALERTS + RECORDS:
            expr = rule["expr"]
            for clause in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expr):
                self.assertIn("cluster", [label.strip() for label in clause.split(",")], expr)
            self.assertNotRegex(expr, r"\b(without|ignoring)\b")
            self.assertNotIn("container_id", expr)

    def test_gauges_of_one_window_decide_nothing(self):
        """Their gaps would start an alert's wait anew; an average over time bridges them."""
        records = {rule["record"]: rule["expr"] for rule in RECORDS}
        averaged = re.compile(r"avg_over_time\([\w:]+(?:{[^}]*})?\[\w+\]\)")

        def decides(expr, above=()):
            if "slowdown_ratio[" in expr:  # for models that count no cycles
                self.assertRegex(expr, r"\bunless on \(cluster, node, model\)\s+sum by \(cluster, node, "
                                 r"model\) \(rate\(interference_container_interference_cycles_total\[")
            expr = averaged.sub("", expr)
            self.assertNotRegex(expr, LAST_WINDOW)
            for name in set(re.findall(r"[a-z]+:\w+:\w+", expr)) & set(records) - set(above):
                decides(records[name], (*above, name))

        for rule in ALERTS:
            with self.subTest(rule["alert"]):
                decides(rule["expr"])


class Documents(unittest.TestCase):
    def test_pictures_are_small(self):
        for file in (MIXIN / "screenshots").glob("*.png"):
            self.assertLess(file.stat().st_size, 150_000, file.name)


class Metrics(unittest.TestCase):
    def texts(self):
        yield from sorted(RENDERED.rglob("*.yaml"))
        yield from sorted(RENDERED.rglob("*.json"))
        yield from sorted((MIXIN / "tests").glob("*.yaml"))
        yield from (SOURCE / "collectors/README.md", SOURCE / "exporter/README.md")
        for folder in (SOURCE, MIXIN, RUNBOOKS, SOURCE / "deploy", SOURCE / "tests"):
            yield from sorted(folder.glob("*.md"))

    def test_each_one_named_exists(self):
        known = known_metrics()
        self.assertIn("interference_container_memory_reads_total", known)
        self.assertIn("interference_governor_claims", known)
        others = {p.name for p in SOURCE.iterdir()} | {"interference_exporter", "interference_governor"}
        for file in self.texts():
            for name in METRIC.findall(file.read_text()):
                if name not in others:
                    self.assertIn(name, known | LATER, f"{file.relative_to(SOURCE)} names it")
        self.assertEqual(known & LATER, set(), "these exist now: take them out of later.json")

    def test_examples_use_the_counters(self):
        for name in ("README.md", "collectors/README.md"):
            for line in (SOURCE / name).read_text().splitlines():
                if line.startswith("    "):
                    self.assertNotRegex(line, LAST_WINDOW, name)


if __name__ == "__main__":
    need("jsonnet", "jsonnetfmt", "promtool")
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
