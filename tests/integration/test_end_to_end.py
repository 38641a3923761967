#!/usr/bin/python3
"""From counters to a page, with real parts.

A real containerd runs a victim and then a memory hog, under Kubernetes' names. One exporter shows of them
what this machine can measure: without a PMU that is the probe's latency, and software events in
place of the core's counters. A second exporter replays, in real time and marked as replay, what the
simulated node counted of the same story: a hog comes beside its victims and goes again. A real
Prometheus scrapes them and evaluates the committed rules; their alerts reach a real Alertmanager,
and from there a webhook.

A third exporter replays a machine without counters: CPU time of containers, and the probe's latency,
which one of them raises. The alert names that one.

The rules wait for minutes and look back over a quarter of an hour. Here every duration in them is
divided by FACTOR, by the script that does it for the demo too; that the unscaled rules fire and do
not fire when they should is promtool's to test, in dashboards/tests.

Then every query of every rule and panel is executed against that Prometheus, for the time when the
hog was there.
"""
import json
import pathlib
import secrets
import subprocess
import tempfile
import time
import unittest

import harness
import queries
from containers import Containerd, Pod, oci_image
from harness import SOURCE, Exporter, wait_until
from monitoring import Alertmanager, Prometheus, Webhook

FACTOR = 60
RENDERED = SOURCE / "dashboards/rendered"
SIMNODE = harness.BUILD / "tests/simnode/simnode"

# Four ticks a second. The hog shows itself once, so that calm can be told from it; then calm, hog,
# calm, in seconds:
TICKS_PER_SECOND = 4
CALM, NOISY, AFTER = 12, 28, 60
BEGIN, END = 2 * TICKS_PER_SECOND, 0
STORY = {
    "scenario": 1, "tick_cycles": 52500, "stretch": 10000,
    "ticks": (2 + CALM + NOISY + AFTER) * TICKS_PER_SECOND,
    "machine": {"preset": "clx", "sockets": 1, "cores_per_socket": 8, "l2": {"bytes": 262144},
                "llc": {"bytes": 2097152, "ways": 16}, "memory": {"channels": 2}},
    "workloads": {
        "probe": {"kind": "chase", "sequential": True},
        "cart": {"kind": "random", "bytes": 67108864, "instructions_per_access": 120,
                 "dependence": 0.4, "store_share": 0.2},
        "search": {"kind": "random", "bytes": 33554432, "hot_bytes": 524288, "hot_share": 0.96,
                   "instructions_per_access": 40, "dependence": 0.3},
        "web": {"kind": "compute"},
        "ledger": {"kind": "random", "bytes": 67108864, "instructions_per_access": 400,
                   "store_share": 0.6, "store_bytes": 64},
        "report": {"kind": "stream", "streams": 2, "instructions_per_access": 14,
                   "store_share": 0.3}},
    "containers": [
        {"key": "p0", "workload": "probe", "cpus": [0], "probe": True},
        {"key": "cart", "workload": "cart", "cpus": [1],
         "namespace": "shop", "pod": "cart-7d9c6b5f4-x2x1p", "container": "cart"},
        {"key": "search", "workload": "search", "cpus": [2],
         "namespace": "shop", "pod": "search-0", "container": "search"},
        {"key": "web", "workload": "web", "cpus": [3],
         "namespace": "shop", "pod": "web-5c6f8b7d9-kq7wd", "container": "nginx"},
        {"key": "ledger", "workload": "ledger", "cpus": [4], "sample_period": 53,
         "memory": [{"node": 0, "medium": "pmm"}],
         "namespace": "bank", "pod": "ledger-0", "container": "ledger"},
        {"key": "hog", "workload": "report", "cpus": [5, 6, 7], "start_tick": 2,
         "stop_tick": 2 * TICKS_PER_SECOND,
         "namespace": "batch", "pod": "report-1", "container": "report"},
        {"key": "hog again", "workload": "report", "cpus": [5, 6, 7],
         "start_tick": (2 + CALM) * TICKS_PER_SECOND,
         "stop_tick": (2 + CALM + NOISY) * TICKS_PER_SECOND,
         "namespace": "batch", "pod": "report-2", "container": "report"}]}
# Who makes memory slow, from activity alone: import works for three ticks and rests for two, by turns, and memory
# takes 60 % longer while it works; search works at times of its own and harms nobody. Import begins
# when memory has been calm for a while, is named after the sixtieth reading, and stops for good.
QUIET, STOPPED, RECORDED = 10, 60, 110
AGGRESSOR = "InterferenceAggressor"
SEARCH = {"namespace": "shop", "pod": "search-0", "container": "search"}
IMPORT = {"namespace": "batch", "pod": "import-0", "container": "import"}


def attribution_recording():
    period = 10**9 // TICKS_PER_SECOND
    lines = [{"recording": 1, "machine": {"sockets": 1, "numa_nodes": 1, "cpus": 4},
              "interval_ns": period}]
    for key, names in (("search", SEARCH), ("import", IMPORT)):
        lines.append({"container": {"key": key, "cgroup": f"/{key}", "id": key[0] * 64, **names}})
    lines.append({"thread": {"key": "p0", "kind": "probe", "initiator_numa_node": 0,
                             "target_numa_node": 0, "cpu": 0}})
    used = {"search": 0, "import": 0}
    for tick in range(1, RECORDED * TICKS_PER_SECOND + 1):
        hurts = (QUIET * TICKS_PER_SECOND < tick <= STOPPED * TICKS_PER_SECOND
                 and tick % 5 < 3)
        used["import"] += hurts * period
        used["search"] += (tick // 10 % 2) * period
        lines.append({"tick": tick, "mono_ns": tick * period, "wall_ns": 1790 * 10**15 + tick * period})
        for cpu, (key, time_ns) in enumerate(used.items(), 1):
            lines.append({"activity": key, "cpu": cpu, "cpu_time_ns": time_ns})
            lines.append({"activity": "host", "cpu": cpu, "cpu_time_ns": time_ns})
        lines.append({"probe": {"initiator_numa_node": 0, "target_numa_node": 0, "cpu": 0,
                                "latency_ns": (160.0 if hurts else 100.0) + tick * 7 % 3}})
    return "".join(json.dumps(line) + "\n" for line in lines)


LATENCY, SLOWDOWN = "InterferenceMemoryLatencyHigh", "InterferenceContainerSlowdown"
CART = {"namespace": "shop", "pod": "cart-7d9c6b5f4-x2x1p", "container": "cart"}

# Panels that are empty when all is well.
MAY_BE_EMPTY = {
    "fleet: Exporters that cannot be scraped": "all can",
    "cluster:interference_exporters_down:count": "all can",
    "annotation Container starts": "the nodes are no two minutes old when they do",
    "container: Makes others wait": "it makes nobody wait",
    "container: Stall per read": "on Arm's CPUs only",
    "interference_memory_stall_per_read": "on Arm's CPUs only",
    "container: Waiting of others because of it": "only with --collector.attribution.traffic",
    "workload:interference_memory_read_latency:normal": "three nodes of a kind have it, here there are two",
    "top:interference_container_latency_over_workload:ratio5m": "likewise",
    "fleet: Unlike the same workload on other nodes": "likewise",
    "cluster:interference_memory_read_window_latency_seconds:rate5m":
        "native histograms are not stored; test_native_histograms is for them",
    "persistent-memory: Bytes read": "loads are not sampled",
    "persistent-memory: Samples lost": "none are",
    "persistent-memory: Reads for ownership": "only with --collector.pebs_nvmm.rfo, and real counters",
}

# As the machine happens to be: whether anybody but search loses time, and why.
DEPENDS = ("container: CPU used while memory was slow", "fleet: Where the time of containers went",
           "kubelet: annotation Alerts", "node: CPU that others wait for", "InterferenceCpuNeighbour: ")


def scaled_rules(directory, rendered=RENDERED):
    """Rendered rules, the committed ones, with every duration divided by FACTOR; not those by a kubelet's metrics,
    of which there is none."""
    for file in set(rendered.rglob("*.yaml")) - set(rendered.rglob("kubelet-*")):
        with open(directory / file.name, "w", encoding="utf-8") as out:
            subprocess.run([SOURCE / "deploy/demo/scale-rules.sh", str(FACTOR), file], stdout=out,
                           check=True, timeout=30)
    return str(directory / "*.yaml")


def prometheus_config(rules, alertmanager, nodes):
    def target(port, node):
        return {"targets": [f"127.0.0.1:{port}"], "labels": {"node": node, "cluster": "test"}}

    return {"global": {"scrape_interval": "1s", "scrape_timeout": "900ms"},
            "rule_files": [rules],
            "alerting": {"alertmanagers": [
                {"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]},
            "scrape_configs": [{"job_name": "interference-exporter", "static_configs": [
                target(port, node) for node, port in nodes.items()]}]}


def alertmanager_config(url):
    return {"route": {"receiver": "hook", "group_by": ["..."], "group_wait": "0s",
                      "group_interval": "1s", "repeat_interval": "1h"},
            "receivers": [{"name": "hook",
                           "webhook_configs": [{"url": url, "send_resolved": True}]}]}


class EndToEnd(unittest.TestCase):
    noisy = None  # a moment when all alerts were there

    @classmethod
    def setUpClass(cls):
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.recording = cls.directory / "story.jsonl"
        (cls.directory / "story.json").write_text(json.dumps(STORY))
        subprocess.run([SIMNODE, cls.directory / "story.json", cls.recording], check=True,
                       timeout=120)
        cls.start_containerd()
        ports = {node: harness.free_port() for node in ("live", "replay", "activity")}
        cls.hook = cls.enterClassContext(Webhook())
        alertmanager = cls.enterClassContext(
            Alertmanager(cls.directory, alertmanager_config(cls.hook.url)))
        rules = cls.directory / "rules"
        rules.mkdir()
        cls.prometheus = cls.enterClassContext(Prometheus(cls.directory, prometheus_config(
            scaled_rules(rules), alertmanager.port, ports)))
        events = cls.directory / "events.json"
        events.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        cls.live = cls.enterClassContext(Exporter(
            f"--events.file={events}", f"--path.rootfs={cls.containerd.rootfs}",
            cls.groups.only(), port=ports["live"]))
        cls.began = time.time()  # not later than the story
        cls.replay = cls.enterClassContext(Exporter(
            "--source=replay", f"--source.replay.file={cls.recording}",
            # All there is to see, for the queries.
            "--collector.core_latency.histogram=container", "--collector.slowdown.alone-rate",
            port=ports["replay"]))
        activity = cls.directory / "activity.jsonl"
        activity.write_text(attribution_recording())
        cls.enterClassContext(Exporter("--source=replay", f"--source.replay.file={activity}",
                                       port=ports["activity"]))

    @classmethod
    def start_containerd(cls):
        cls.groups = cls.enterClassContext(harness.Cgroups())
        cls.containerd = cls.enterClassContext(Containerd(cls.directory))
        image = cls.directory / "image.tar"
        oci_image(image, harness.PROGRAMS / "memory_hog")
        cls.containerd.ctr("images", "import", image)
        # It wants a CPU, and may have so little of one that it loses time also where the machine is busy.
        cls.run_container("shop", "search-0", "search", "random", 0,
                          "--cpu-period=100000", "--cpu-quota=2000")

    @classmethod
    def run_container(cls, namespace, pod_name, name, mode, cpu, *flags):
        pod = Pod(cls.groups.path(cls.groups.base), namespace, pod_name)
        container_id = secrets.token_hex(32)
        cpus = harness.online_cpus()
        cls.containerd.run(
            container_id, f"{pod.cgroup}/{container_id}",
            pod.annotations("container", container_name=name, image_name="registry/app:1"),
            "/program", mode, str(cpus[cpu % len(cpus)]), "64", flags=flags)

    # --- the alert, and what is beside it -------------------------------------------------------

    def test_1_an_alert_reaches_the_webhook_and_resolves(self):
        self.check_live()
        calm_ends = self.began + CALM
        firing = self.firing("replay")
        while time.time() < calm_ends:  # a machine that is slow to start all this has missed it
            self.assertEqual(firing, set(), "nothing fires while all is calm")
            time.sleep(0.1)
            firing = self.firing("replay")
        self.run_container("batch", "report-2", "report", "stream", 1)

        for name, labels in ((LATENCY, SEARCH), (LATENCY, CART), (SLOWDOWN, SEARCH)):
            alert = wait_until(lambda n=name, l=labels: self.hook.seen("firing", alertname=n, **l),
                               NOISY + 10, f"{name} of {labels['pod']} is received", 0.2)
            self.check_alert(alert, labels)
        type(self).noisy = time.time()  # the queries are asked for this moment
        self.assertIsNone(self.hook.seen("firing", alertname=LATENCY, container="nginx"))
        self.assertIsNone(self.hook.seen("firing", alertname=SLOWDOWN, container="cart"))
        self.assertIn("interference", wait_until(self.hog_is_seen, 10, "the hog's container"))
        self.check_aggressor(wait_until(
            lambda: self.hook.seen("firing", alertname=AGGRESSOR, node="activity"), STOPPED,
            "who makes memory slow is named", 0.2))

        for name, labels in ((LATENCY, SEARCH), (LATENCY, CART), (SLOWDOWN, SEARCH)):
            wait_until(lambda n=name, l=labels: self.hook.seen("resolved", alertname=n, **l),
                       NOISY + AFTER, f"{name} of {labels['pod']} resolves", 0.2)
        self.assertEqual(self.firing("replay"), set())
        wait_until(lambda: self.hook.seen("resolved", alertname=AGGRESSOR, **IMPORT), RECORDED,
                   "it resolves when import has stopped", 0.2)
        self.check_health()

    def firing(self, node):
        """Alerts about containers and memory; the last one of the hog's first show may linger."""
        return {labels["alertname"] for labels, _ in self.prometheus.query(
            f'ALERTS{{alertstate="firing",node="{node}",alertname=~"{LATENCY}|{SLOWDOWN}"}}')}

    def check_alert(self, alert, labels):
        """Exactly these labels, so no container_id among them."""
        name = alert["labels"]["alertname"]
        expected = {"alertname": name, "cluster": "test", "node": "replay", "severity": "warning",
                    "component": "interference", "area": "memory", **labels}
        if name in (LATENCY, SLOWDOWN):
            expected["cause"] = "unknown"  # a replay has no cgroups to ask
        if name == SLOWDOWN:
            expected["model"] = "passive"
        if name == LATENCY:
            expected["numa_node"] = "0"  # the machine's one
        self.assertEqual(alert["labels"], expected)
        self.assertIn(labels["pod"], alert["annotations"]["summary"])
        self.assertIn("replay", alert["annotations"]["description"])
        self.assertNotIn("{{", "".join(alert["annotations"].values()))
        runbook = alert["annotations"]["runbook_url"].rsplit("/", 1)[1]
        self.assertTrue((SOURCE / "dashboards/runbooks" / runbook).exists(), runbook)

    def check_aggressor(self, alert):
        """The one that hurts, and nobody else, on the machine without counters."""
        self.assertEqual(alert["labels"], {"alertname": AGGRESSOR, "cluster": "test", "numa_node": "0",
                                           "node": "activity", "severity": "warning",
                                           "component": "interference", "area": "memory", **IMPORT})
        self.assertIn("batch/import-0/import", alert["annotations"]["summary"])
        self.assertRegex(alert["annotations"]["description"],
                         r"take \d+(\.\d+)?ns longer.* kubectl -n 'batch' delete pod 'import-0';")
        self.assertIsNone(self.hook.seen("firing", alertname=AGGRESSOR, container="search"))

    def check_live(self):
        """This machine's part: the real container under its names, memory's real latency."""
        def counted():
            return self.prometheus.query(
                'rate(interference_container_cpu_reference_cycles_total{node="live",'
                'namespace="shop",pod="search-0",container="search"}[5s]) > 0')

        wait_until(counted, 20, "the victim is counted", 0.2)
        ((_, latency),) = wait_until(
            lambda: self.prometheus.query('interference_memory_probe_latency_seconds{node="live"}'),
            20, "the probe measures", 0.2)[:1]
        self.assertGreater(latency, 1e-9)
        sources = {(labels["node"], labels["source"]) for labels, _ in
                   self.prometheus.query("interference_exporter_source_info")}
        self.assertEqual(sources, {("live", "perf"), ("replay", "replay"), ("activity", "replay")})

    def hog_is_seen(self):
        return next((labels["__name__"] for labels, _ in self.prometheus.query(
            'interference_container_info{node="live",namespace="batch",pod="report-2",'
            'container="report"}')), None)

    def check_health(self):
        """Neither exporter was ever thought to be ill; that a machine has no PMU is no illness."""
        ill = self.prometheus.query(
            'max_over_time(ALERTS{alertstate="firing",alertname=~"Interference(Exporter|Collector|'
            'Counters|Samples|Containers|Thresholds).*"}[10m])')
        self.assertEqual([labels["alertname"] for labels, _ in ill
                          if labels["alertname"] != SLOWDOWN], [])

    # --- every query ----------------------------------------------------------------------------

    def test_2_every_query_of_rules_and_dashboards(self):
        self.assertIsNotNone(self.noisy, "without the alerts there is no moment to ask for")
        wait_until(lambda: self.prometheus.query(
            'container:interference_lost_most:ratio5m{node="live",pod="search-0",'
            'cause=~"own_quota|cpu_neighbour"}'), 60, "what search waits for is told", 0.5)
        groups = self.prometheus.api("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertGreater(len(rules), 20)
        for rule in rules:
            self.assertEqual((rule["health"], rule.get("lastError", "")), ("ok", ""), rule["name"])
        recording = {rule["name"]: rule["query"] for rule in rules if rule["type"] == "recording"}
        running = {labels["collector"] for labels, _ in self.prometheus.query(
            "interference_exporter_collector_available == 1")}
        self.assertLessEqual({"core_latency", "slowdown", "imc_rpq", "pmm_rpq", "probe", "pebs_nvmm"}, running)
        expectation = queries.Expectation(running, recording)

        # Baselines want sixty readings, here half a minute and more; they are there by now or soon.
        for name in ("top:interference_node_memory_probe_over_baseline:max_ratio",
                     "socket:interference_imc_read_latency_seconds:calm1d"):
            wait_until(lambda n=name: self.prometheus.query(n), 90, name, 0.5)
        asked = [(f"rule {name}", name) for name in recording]
        for rule in rules:  # an alert's expression is empty when all is well: its parts are not
            asked += [(f"{rule['name']}: {name}", name) for name in sorted(
                set(queries.METRIC.findall(rule["query"])
                    + queries.RECORDED.findall(rule["query"])))]
        self.ask(asked + queries.of_dashboards(), expectation)

    def ask(self, asked, expectation):
        """Executes all; those that may be empty are those without their collector, or excused."""
        empty, excused = [], set()
        for where, query in asked:
            with self.subTest(where):
                result = self.prometheus.api("query_range", query=query, start=self.noisy - 25,
                                             end=time.time() + 2, step=1)["result"]
                if result or expectation.missing(query) or where.startswith(DEPENDS):
                    continue
                reason = next((key for key in MAY_BE_EMPTY if key in where), None)
                if reason:
                    excused.add(reason)
                else:
                    empty.append(f"{where}: {query}")
        self.assertEqual(len(empty), 0, "\n".join(["no data:", *empty]))
        self.assertEqual(set(MAY_BE_EMPTY) - excused, set(), "excuses that nobody needs")


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("containerd", "ctr", "runc", "prometheus", "prometheus-alertmanager")
    harness.main()
