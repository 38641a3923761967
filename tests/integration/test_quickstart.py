#!/usr/bin/python3
"""deploy/quickstart.sh shows what it promises, ends at Ctrl-C, and leaves nothing running."""
import html
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

import harness
from harness import SOURCE, wait_until

SCRIPT = SOURCE / "deploy/quickstart.sh"
SIMNODE = harness.BUILD / "tests/simnode/simnode"

# A hog that comes, goes, and is there again at the end.
NOISY = {
    "scenario": 1, "ticks": 60, "tick_cycles": 52500, "stretch": 40000,
    "machine": {"preset": "clx", "sockets": 1, "cores_per_socket": 6, "l2": {"bytes": 262144},
                "llc": {"bytes": 2097152, "ways": 16}, "memory": {"channels": 2}},
    "workloads": {
        "victim": {"kind": "random", "bytes": 33554432, "hot_bytes": 524288, "hot_share": 0.9,
                   "instructions_per_access": 40, "dependence": 0.3},
        "other": {"kind": "random", "bytes": 33554432, "instructions_per_access": 400},
        "hog": {"kind": "stream", "streams": 2, "instructions_per_access": 14}},
    "containers": [
        {"key": "victim", "workload": "victim", "cpus": [0],
         "namespace": "shop", "pod": "search-0", "container": "search"},
        {"key": "other", "workload": "other", "cpus": [1],
         "namespace": "shop", "pod": "web-0", "container": "web"},
        {"key": "hog", "workload": "hog", "cpus": [2, 3, 4], "start_tick": 2, "stop_tick": 8},
        {"key": "hog again", "workload": "hog", "cpus": [2, 3, 4], "start_tick": 50}]}


def servers(*ports):
    """Command lines of servers that listen on one of these ports."""
    found = []
    for directory in pathlib.Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                line = (directory / "cmdline").read_bytes().decode()
            except OSError:
                continue
            if any(f"--web.listen-address=127.0.0.1:{port}\0" in line for port in ports):
                found.append(line)
    return found


class Alerts(unittest.TestCase):
    def test_no_answer_of_prometheus_ends_nothing(self):
        """Where it is slow or gone, its alerts are unknown, and the table goes on."""
        with tempfile.TemporaryDirectory() as work:
            result = subprocess.run(
                ["bash", "-c", "set -euo pipefail; . deploy/stack.sh; show_alerts; echo on"], cwd=SOURCE,
                env={**os.environ, "work": work, "prometheus_url": f"http://127.0.0.1:{harness.free_port()}"},
                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((result.returncode, result.stdout),
                         (0, "alerts: unknown, Prometheus did not answer\non\n"), result.stderr)


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.port, self.prometheus, self.alertmanager = (harness.free_port() for _ in range(3))
        self.ports = self.port, self.prometheus, self.alertmanager
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def tearDown(self):
        self.assertEqual(servers(*self.ports), [])

    def test_rounds(self):
        with harness.Cgroups() as groups:
            groups.spawn(groups.make("visible-to-quickstart"), [harness.PROGRAMS / "idle"])
            result = subprocess.run([SCRIPT, "--port", str(self.port), "--rounds", "2", "--",
                                     groups.only()],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=900)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        text = result.stdout
        self.assertNotIn("\033", text)
        for collector in ("core_latency", "probe"):
            self.assertRegex(text, rf"(?m)^  {collector} +(running|not running \(\w+\): \S.*)")
        self.assertEqual(len(re.findall(r"(?m)^CONTAINER +.*\bCPUS$", text)), 2)
        # Sight on any machine: a read of memory, and the CPU time of everybody.
        self.assertRegex(text, r"(?m)^memory, measured by the probe: NUMA node \d+ reads node \d+ in "
                         r"[\d.]+ ns; what is usual is known in \d+ s$")
        for table in re.findall(r"(?ms)^CONTAINER.*?$(.*?)^$", text):
            self.assertRegex(table, r"(?m)^\S+(  +[\d.-]+)*  +\d+\.\d\d( +<-.*)?$")
            self.assertNotRegex(table, r"(?m)^\S+(  +-)+$")
        self.assertEqual(len(re.findall(r"(?m)^most slowed: \w.*\nCONTAINER", text)), 2)
        if re.search(r"(?m)^  slowdown +not running", text):
            self.assertRegex(text, r"(?m)^most slowed: unknown, .* \(\w+\)$")
        self.assertRegex(text, r"(?m)^containers: \d+ monitored")
        self.assertIn(f"the same in a browser: http://127.0.0.1:{self.port}/\n", text)
        if "--containers.all-cgroups" in text:
            self.assertIn("visible-to-quickstart", text)

    def record(self, scenario):
        file, recording = self.directory / "scenario.json", self.directory / "recording.jsonl"
        file.write_text(json.dumps(scenario))
        subprocess.run([SIMNODE, file, recording], check=True, timeout=60)
        return recording

    def test_most_slowed(self):
        """The line above the table names who suffers, by how much, and from what."""
        recording = self.record(NOISY)
        replay = ["--source=replay", f"--source.replay.file={recording}"]
        once = harness.run_exporter(*replay, "--once")
        page = harness.parse_text(once.stdout)
        ratios = page.select("interference_container_slowdown_ratio", model="passive")
        worst, ratio = max(ratios.items(), key=lambda item: item[1])
        self.assertEqual(dict(worst)["pod"], "search-0")
        self.assertGreater(ratio, 1.1)
        cache, memory = (page.get("interference_container_interference_cycles_total",
                                  pod="search-0", resource=what) for what in ("cache", "memory"))
        self.assertGreater(min(cache, memory), 0)

        result = subprocess.run([SCRIPT, f"--port={self.port}", "--rounds=2", "--", *replay,
                                 "--source.replay.speed=max"], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=900)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        lines = re.findall(r"(?m)^most slowed: .*", result.stdout)
        self.assertEqual(len(lines), 2)
        match = re.fullmatch(r"most slowed: shop/search-0/search takes ([\d.]+) times as long as "
                             r"alone \(passive; cache (\d+) %, memory (\d+) % of what it loses\)",
                             lines[1])
        self.assertTrue(match, lines[1])
        self.assertAlmostEqual(float(match[1]), ratio, delta=0.0051)
        self.assertAlmostEqual(int(match[2]), 100 * cache / (cache + memory), delta=0.51)
        self.assertAlmostEqual(int(match[3]), 100 * memory / (cache + memory), delta=0.51)

    def said(self, call, *names, **documents):
        """What the script's own functions say of these answers of the API."""
        for name, document in documents.items():
            (self.directory / name).write_text(json.dumps(document))
        result = subprocess.run(
            ["bash", "-euc", 'work=$1 script=$2 call=$3 terminal=; shift 3; most_slowed() { :; }; '
             'for name; do eval "$(sed -n "/^$name()/,/^}/p" "$script")"; done; $call', "bash",
             self.directory, SCRIPT, call, *names],
            capture_output=True, text=True, check=True, timeout=20)
        return result.stdout

    def test_table(self):
        """Who is in trouble first, then who causes it; a column that nobody has a value for is left
        out."""
        def container(name, cpus, now=None, normal=None, limit=None):
            values = {}
            for key, ns in (("", now), ("_threshold", limit)):
                if ns:
                    values[f"interference_container_memory_read_latency{key}_seconds"] = ns * 1e-9
            if normal:
                values["interference_container_memory_read_latency_baseline_seconds"] = [
                    {"labels": {"basis": "calm"}, "value": normal * 1e-9}]
            return {"namespace": "shop", "pod": "", "container": name, "container_id": name,
                    "running": True, "cpu_seconds_per_second": cpus, "values": values}

        def shown(containers, **domain):
            (self.directory / "before").unlink(missing_ok=True)
            everybody = {"suspects": [], "groups": [], "aggressors": [], **domain}
            return [re.split(r"  +", line) for line in self.said(
                "table 0", "rows", "table", containers={"containers": containers},
                interference={"domains": [everybody]}).splitlines()]

        rows = shown(
            [container("far", 0.5, 371, 411), container("idle", 0), container("victim", 1, 124, 92),
             container("lenient", 1, 140, 90, 150), container("worse", 0.25, 150, 75),
             container("hog", 3, 112, 111), container("pair", 2)],
            suspects=[{"container_id": "idle", "why": "9 to 1 that it is this one"}],
            groups=[{"caused_ns": 12.4, "members": [{"container_id": "pair"}]}],
            aggressors=[{"container_id": "hog", "caused_ns": 27.12, "z": 7.0}])
        self.assertEqual(rows, [
            ["CONTAINER", "LATENCY ns", "NORMAL ns", "RATIO", "CPUS"],
            ["shop/worse", "150.0", "75.0", "2.00", "0.25", "<- waits"],
            ["shop/victim", "124.0", "92.0", "1.35", "1.00", "<- waits"],
            ["shop/hog", "112.0", "111.0", "1.01", "3.00", "<- causes 27 ns, sure"],
            ["shop/pair", "-", "-", "-", "2.00", "<- causes 12 ns with others"],
            ["shop/idle", "-", "-", "-", "0.00", "<- suspect: 9 to 1 that it is this one"],
            ["shop/lenient", "140.0", "90.0", "1.56", "1.00"],
            ["shop/far", "371.0", "411.0", "0.90", "0.50"]])
        self.assertEqual(shown([container("b", 0.5), container("a", 2)]), [
            ["CONTAINER", "CPUS"], ["shop/a", "2.00"], ["shop/b", "0.50"]])
        self.assertEqual(shown([]), [["CONTAINER"], ["(none)"]])

    def test_reads(self):
        """In steps that can be taken in: between two documents, per second."""
        def document(name, reads):
            return {"containers": [
                {"namespace": "", "pod": "", "container": f"{name}{i}", "container_id": f"{i}",
                 "running": True, "values": {"interference_container_memory_reads_total": n}}
                for i, n in enumerate(reads)]}

        text = self.said("table 2", "rows", "table", interference={"domains": []},
                         before=document("", (0, 5, 100, 10 ** 6)),
                         containers=document("c", (0, 20003, 20100, 3 * 10 ** 8)))
        self.assertEqual(text, "CONTAINER  READS/s\nc0               0\nc1            9999\n"
                         "c2             10k\nc3          149.5M\n")

    def test_collectors(self):
        def collector(name, available, reason="ok", words="ok"):
            return {"name": name, "available": available, "reason": reason, "words": words}

        none = [collector("l3", False, "no_device"), collector("rpq", False, "no_device")]
        off = [collector("sources", False, "disabled")]
        some = [collector("core", False, "no_pmu", "no counters: buy some"),
                collector("probe", True), collector("slow", True, "fd_limit", "too few")]
        lines = ["  core           not running (no_pmu): no counters: buy some",
                 "  probe          running", "  slow           running (too few)"]
        for collectors, expected in (
                (some, lines), (none, ["  others         l3, rpq (no_device)"]),
                (off + some + none, [*lines, "  others         sources (disabled); l3, rpq (no_device)"])):
            self.assertEqual(self.said("collectors", "collectors", status={
                "collectors": collectors}).splitlines(), expected)

    def test_memory(self):
        (self.directory / "metrics").write_text("".join(
            f'interference_memory_probe_latency_seconds{{initiator_numa_node="{initiator}",'
            f'target_numa_node="{target}"}} {value}\n'
            for initiator, target, value in ((0, 0, 1.182e-07), (0, 1, 2e-07), (1, 1, 1e-07))))
        self.assertEqual(
            self.said("memory", "probe", "memory", status={"tick": {"interval_seconds": 1}},
                      interference={"domains": [
                          {"numa_node": 0, "calm_ns": 91.04, "readings": 70},
                          {"numa_node": 1, "calm_ns": None, "readings": 45}]}).splitlines(),
            ["memory, measured by the probe: NUMA node 0 reads node 0 in 118.2 ns; usual is 91, so 1.3 "
             "times that",
             "memory, measured by the probe: NUMA node 0 reads node 1 in 200 ns",
             "memory, measured by the probe: NUMA node 1 reads node 1 in 100 ns; what is usual is known "
             "in 15 s"])

    def verdict(self, domains, waits=False, available=True):
        latency = {"interference_container_memory_read_latency_seconds": 135e-9,
                   "interference_container_memory_read_latency_baseline_seconds":
                       [{"labels": {"basis": "calm"}, "value": 100e-9}]}
        container = {"namespace": "shop", "pod": "", "container": "search", "container_id": "1",
                     "running": True, "values": latency if waits else {}}
        return self.said(
            "verdict", "verdict", containers={"containers": [container]},
            interference={"domains": domains}, status={
                "tick": {"interval_seconds": 2}, "collectors": [
                    {"name": "attribution", "available": available, "reason": "disabled"}]},
        ).removesuffix("\n")

    def test_verdict(self):
        def row(name, caused=0.0, z=5.0):
            return {"namespace": "batch", "pod": "", "container": name, "caused_ns": caused, "z": z}

        domain = {"numa_node": 0, "state": "named", "latency_ns": 181.2, "calm_ns": 150.4,
                  "excess_ns": 30.8, "readings": 100, "suspects": [], "groups": [],
                  "aggressors": [row("report", 27.1, 7.2)]}
        calm = {**domain, "numa_node": 1, "state": "calm", "excess_ns": 40.0, "aggressors": []}
        two = [row("report", 20.0, 7.2), row("import", 5.5)]
        cases = {
            "now: shop/search waits 1.35 times its normal; batch/report causes 27 of 31 ns, sure":
                ([domain], True),
            "now: memory takes 181 ns, 150 when calm; batch/report causes 20 and batch/import "
            "causes 5.5 of 31 ns, likely": ([{**domain, "aggressors": two}],),
            # Who is named comes before a node that has more excess.
            "now: memory of NUMA node 0 takes 181 ns, 150 when calm; batch/report causes 27 of 31 ns, "
            "sure": ([calm, domain],),
            "now: memory takes 181 ns, 150 when calm; batch/report causes 50 ns, likely":
                ([{**domain, "aggressors": [row("report", 50.0)]}],),
            "now: memory takes 181 ns, 150 when calm; batch/a and batch/b together cause 20 of 31 ns, "
            "unknown which of them":
                ([{**domain, "state": "group",
                   "groups": [{"caused_ns": 20.0, "members": [row("a"), row("b")]}]}],),
            "now: memory takes 181 ns, 150 when calm; unknown: batch/report suspected":
                ([{**domain, "state": "suspected", "suspects":
                   [{**row("report"), "why": "9 to 1 that it is this one"},
                    {**row("search"), "why": "it may only be waiting"}]}],),
            "now: shop/search waits 1.35 times its normal; unknown: nobody goes on and off "
            "with these 31 ns":
                ([{**domain, "state": "unknown"}], True),
            "now: memory takes 181 ns, 150 when calm; unknown: no container; 16 of 31 ns go with "
            "processes of the host": ([{**domain, "state": "unknown", "by": {"host": 15.5}}],),
            "now: memory takes 182 ns, 150 when calm; unknown: nobody goes on and off with these 31 ns":
                ([{**domain, "state": "unknown", "latency_ns": 182, "by": {"host": 15.3}}],),
            "now: memory takes 181 ns, 150 when calm; who makes it slow: learning, 40 s left":
                ([{**domain, "state": "learning", "readings": 40}],),
            "now: memory takes 181 ns; who makes it slow: learning, 116 s left":
                ([{**domain, "state": "learning", "readings": 2, "calm_ns": None,
                   "excess_ns": None}],),
            "now: memory takes 181 ns, 150 when calm; as fast as in the last hour":
                ([{**domain, "state": "calm"}],),
            "now: who makes it slow: no reading of the latency yet": ([],),
            "now: shop/search waits 1.35 times its normal; who makes it slow is not measured "
            "(disabled)": ([], True, False),
        }
        for expected, arguments in cases.items():
            self.assertEqual(self.verdict(*arguments), expected)

    def test_who_makes_it_slow(self):
        """Without any counter: a recording of CPU time and the probe's latency only."""
        recording = SOURCE / "tests/replay/attribution.jsonl"
        learning = self.directory / "learning.jsonl"
        learning.write_text(recording.read_text().split('{"tick":41,')[0])
        for file, expected in (
                (recording, r", 10\d when calm; batch/hog-0/hog causes \d+( of \d+)? ns, sure"),
                (learning, r"; who makes it slow: learning, 2\d s left")):  # so is what is calm
            result = subprocess.run(
                [SCRIPT, f"--port={self.port}", "--rounds=2", "--", "--source=replay",
                 f"--source.replay.file={file}", "--source.replay.speed=max"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertRegex(result.stdout, rf"(?m)^now: memory takes \d+ ns{expected}\n"
                             r"interference_exporter ")

    def test_terminal_and_ctrl_c(self):
        primary, secondary = pty.openpty()
        process = subprocess.Popen([SCRIPT, f"--port={self.port}"], stdin=secondary,
                                   stdout=secondary, stderr=secondary, start_new_session=True)
        os.close(secondary)
        output = b""
        try:
            end = time.monotonic() + 900
            while b"Ctrl-C ends it" not in output and time.monotonic() < end:
                if select.select([primary], [], [], 0.5)[0]:
                    output += os.read(primary, 65536)
                self.assertIsNone(process.poll(), output.decode(errors="replace"))
            self.assertIn(b"\033[H", output)
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
                harness.parse_text(answer.read().decode())
            # As a terminal does it: to the whole group in the foreground.
            os.killpg(process.pid, signal.SIGINT)
            wait_until(lambda: process.poll() is not None, 10, "it ends")
            while select.select([primary], [], [], 0)[0]:
                try:
                    output += os.read(primary, 65536)
                except OSError:  # no other end any more
                    break
            self.assertEqual(process.returncode, 0, output[-2000:].decode(errors="replace"))
            wait_until(lambda: not servers(self.port), 5, "the exporter ends")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(primary)

    def get(self, port, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def test_stack_and_demo(self):
        """Exporter, Prometheus and Alertmanager know each other; the replay is marked as one in all
        of them; at the end all are gone, and so is what they wrote."""
        scratch = self.directory / "tmp"
        scratch.mkdir()
        log = self.directory / "log"
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [SCRIPT, "--stack", "--demo", f"--port={self.port}",
                 f"--prometheus-port={self.prometheus}", f"--alertmanager-port={self.alertmanager}"],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
                env={**os.environ, "TMPDIR": str(scratch)})
        try:
            def shown():
                self.assertIsNone(process.poll(), log.read_text())
                return "Ctrl-C ends it" in log.read_text()

            wait_until(shown, 250, "the first table", 0.2)
            self.assertEqual(len(set(servers(*self.ports))), 3)  # the exporter's processes are one
            text = log.read_text()
            self.assertIn("REPLAY: nothing here was measured on this machine", text)
            self.assertIn("durations are divided by 20", text)
            self.check_links(text)
            self.check_stack()
            process.terminate()  # the script alone, which has to end the others
            wait_until(lambda: process.poll() is not None, 20, "it ends")
            self.assertEqual(process.returncode, 0, log.read_text())
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        wait_until(lambda: not servers(*self.ports), 5, "all servers end")
        self.assertEqual(list(scratch.iterdir()), [])
        self.check_the_demos_course()

    def check_links(self, text):
        """Each address that the script prints, or the page at / has, leads to something; what is no
        address is a file."""
        links = set(re.findall(r"https?://[^\s;,]+", text))
        self.assertLessEqual({f"http://127.0.0.1:{self.port}/", f"http://127.0.0.1:{self.prometheus}"},
                             links)
        self.assertTrue(any(link.endswith("/alerts") for link in links), links)
        start = f"http://127.0.0.1:{self.port}/"
        on_page = {urllib.parse.urljoin(start, html.unescape(link)) for link in
                   re.findall(r'(?:href|src)="([^"#]+)', self.get(self.port, "/"))}
        self.assertIn(start + "metrics", on_page)
        for link in links | {link for link in on_page if link.startswith(start)}:
            with self.subTest(link):
                with urllib.request.urlopen(link, timeout=60) as answer:  # an HTTPError, if not 200
                    page = answer.read().decode()
                self.assertNotIn("does not include", page)
        self.assertTrue(any(SOURCE.glob(re.search(r": (dashboards/\S+)$", text, re.MULTILINE)[1])))
        self.assertTrue((SOURCE / re.search(r"The exporter's log: (\S+)", text)[1]).exists())

    def demo_at(self, second):
        """Who waits, and who is named for it, so many seconds after the demo's first table."""
        lines = (SOURCE / "build/quickstart/demo.jsonl").read_text().splitlines(keepends=True)
        end = next(i for i, line in enumerate(lines) if json.loads(line).get("tick") == 242 + second)
        recording = self.directory / "beginning.jsonl"
        recording.write_text("".join(lines[:end]))
        page = harness.parse_text(subprocess.run(
            [harness.EXPORTER, "--source=replay", "--once", f"--source.replay.file={recording}"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout)
        reads = "interference_container_memory_read_latency_"
        latency, threshold = (
            {dict(labels)["pod"]: value for labels, value in page.select(reads + name).items()}
            for name in ("seconds", "threshold_seconds"))
        self.assertGreaterEqual(len(threshold), 4)
        return ({pod for pod, value in latency.items() if value > threshold.get(pod, value)},
                {dict(labels)["pod"] for labels in page.select(
                    "interference_container_caused_latency_current_seconds")})

    def check_the_demos_course(self):
        """Calm, trouble within half a minute, and calm again long before five minutes are over."""
        self.assertEqual(self.demo_at(15), (set(), set()))
        for second in (25, 60, 135):
            waiting, named = self.demo_at(second)
            self.assertLessEqual({"cart-7d9c6b5f4-x2x1p", "search-0"}, waiting)
            self.assertEqual(named, {"report-6f7c9d5b8-m5zqk"})
        self.assertEqual(self.demo_at(160), (set(), set()))

    def check_stack(self):
        def api(path):
            return json.loads(self.get(self.prometheus, f"/api/v1/{path}"))["data"]

        wait_until(lambda: [t["health"] for t in api("targets")["activeTargets"]] == ["up"], 20,
                   "a scrape", 0.2)
        wait_until(lambda: api("alertmanagers")["activeAlertmanagers"], 20, "an Alertmanager")
        labels = api("targets")["activeTargets"][0]["labels"]
        self.assertEqual(labels["node"], "replay")
        rules = {(rule["type"], rule["name"]) for group in api("rules")["groups"]
                 for rule in group["rules"]}
        committed = "".join((SOURCE / f"dashboards/rendered/{name}.yaml").read_text()
                            for name in ("rules", "alerts"))
        names = {(kind, name) for word, kind in (("record", "recording"), ("alert", "alerting"))
                 for name in re.findall(rf'(?m)^ +(?:- )?{word}: "?([\w:]+)', committed)}
        self.assertGreater(len(names), 20)
        self.assertEqual(rules, names)
        self.assertIn("REPLAY", self.get(self.prometheus, "/classic/graph"))
        self.assertIn("REPLAY", api("status/config")["yaml"])
        self.assertIn("This is a replay", self.get(self.port, "/"))
        self.assertIn('"nobody"', self.get(self.alertmanager, "/api/v2/receivers"))

    def test_demo_begins_again(self):
        recording = self.record({**NOISY, "ticks": 3, "containers": NOISY["containers"][:2]})
        result = subprocess.run([SCRIPT, f"--port={self.port}", f"--demo={recording}", "--rounds=3"],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=900)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(re.findall(r"(?m)^the demo's recording, run (\d)$", result.stdout),
                         ["1", "2", "3"])
        self.assertEqual(result.stdout.count("\nthe recording has ended and begins again"), 2)

    def test_port_in_use(self):
        with harness.Exporter("--no-collector.probe", port=self.port):
            result = subprocess.run([SCRIPT, f"--port={self.port}", "--rounds=1"],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=900)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("in use", result.stderr)

    def test_usage(self):
        for arguments in (["--none"], ["--port", "many"], ["--rounds="]):
            result = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True,
                                    timeout=20)
            self.assertEqual(result.returncode, 2, arguments)


if __name__ == "__main__":
    harness.main()
