#!/usr/bin/python3
"""What users, peers and machines get wrong: a clear message or a proper status, never a crash,
never a hang, and the other scrapers are served on."""
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import harness
from harness import Cgroups, Exporter, run_exporter, wait_until

GOOD_TICK = '{"tick":1,"mono_ns":1000000000,"wall_ns":1790000000000000000}'
HEADER = ('{"recording":1,"machine":{"microarchitecture":"clx","base_frequency_hz":2.1e9,'
          '"cache_cycles":44,"sockets":1,"numa_nodes":1,"cpus":2},"interval_ns":1000000000}')
ENDS_QUICKLY = 5.0 if harness.sanitized() else 0.1


class Base(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        os.chmod(self.directory, 0o755)

    def file(self, name, text):
        path = self.directory / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def refused(self, *flags, code=2, words=(), **options):
        """Ends with this code and one line on stderr that has these words."""
        result = run_exporter(*flags, **options)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("time=")
                 and " level=" not in line and not line.startswith("level=")]
        self.assertEqual(result.returncode, code, f"{flags}: {result.stderr}")
        self.assertEqual(result.stdout, "", flags)
        self.assertEqual(len(lines), 1, f"{flags}: {result.stderr}")
        for word in words:
            self.assertIn(word, lines[0])
        return lines[0]


class Flags(Base):
    def test_usage(self):
        for flags, words in (
                (["--no-such-flag"], ["--no-such-flag"]),
                (["extra"], ["extra"]),
                (["--sampling.interval=soon"], ["--sampling.interval", "soon"]),
                (["--sampling.interval=0s"], ["--sampling.interval"]),
                (["--sampling.interval=5"], ["--sampling.interval"]),
                (["--containers.max=-1"], ["--containers.max"]),
                (["--containers.max=many"], ["--containers.max", "many"]),
                (["--containers.include=("], ["--containers.include"]),
                (["--containers.names=guess"], ["--containers.names", "guess"]),
                (["--log.level=loud"], ["--log.level", "loud"]),
                (["--log.format=xml"], ["--log.format", "xml"]),
                (["--source=magic"], ["--source", "magic"]),
                (["--source=replay"], ["--source.replay.file"]),
                (["--source.replay.speed=3"], ["--source.replay.speed"]),
                (["--collector.none_such"], ["none_such"]),
                (["--collector.core_latency.histogram=all"], ["histogram"]),
                (["--collector.placement.tier=node1=250ns"], ["node1=250ns", "NUMA node"]),
                (["--web.listen-address=nowhere:port"], ["nowhere:port"]),
                (["--web.listen-address=127.0.0.1:99999"], ["99999"]),
                (["--web.telemetry-path=metrics"], ["--web.telemetry-path"]),
                (["--web.config.file=/does/not/exist.yml"],
                 ["/does/not/exist.yml", "No such file"]),
                (["--thresholds.file"], ["--thresholds.file"])):
            with self.subTest(flags):
                self.refused(*flags, words=words)

    def test_help_and_version(self):
        text = run_exporter("--help")
        self.assertEqual(text.returncode, 0)
        for flag in ("--web.listen-address", "containers.all-cgroups", "--source.record.file",
                     "collector.core_latency", "--log.format"):
            self.assertIn(flag, text.stdout)
        self.assertRegex(run_exporter("--version").stdout, r"^interference_exporter \d+\.\d+\.\d+")

    def test_doctor(self):
        """In text and as a document, of the same machine; an answer to both is no refusal."""
        text = run_exporter("--doctor", "--no-collector.probe")
        document = run_exporter("--doctor", "--json", "--no-collector.probe")
        self.assertEqual(document.returncode, text.returncode, document.stderr)
        can = json.loads(document.stdout)["can"]
        self.assertEqual(text.returncode, 3 if any(
            line["remedy"] and not line["works"] and not line["off"] for line in can.values())
            else 0)
        self.assertEqual([line.split()[1] for line in text.stdout.splitlines()[1:]], list(can))
        self.assertTrue(can["probe"]["off"])
        self.refused("--json", words=["--json goes with --doctor only"])

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            self.refused(f"--web.listen-address={address}", code=1,
                         words=[address, "in use"])


class Files(Base):
    def replay(self, *lines):
        text = "".join(line + "\n" for line in lines)
        return "--source=replay", f"--source.replay.file={self.file('bad.jsonl', text)}", "--once"

    def refused_at(self, line, *lines, words=()):
        message = self.refused(*self.replay(*lines), code=2, words=words)
        self.assertIn(f"bad.jsonl:{line}", message)

    def test_replay_file_that_cannot_be_read(self):
        missing = self.directory / "missing.jsonl"
        for path in (missing, self.directory):
            result = run_exporter("--source=replay", f"--source.replay.file={path}", "--once")
            self.assertIn(result.returncode, (1, 2))
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(str(path), result.stderr)

    def test_malformed_recordings(self):
        container = '{"container":{"key":"c1","cgroup":"/c1","id":""}}'
        read = ('{"read":"c1","group":"core","enabled_ns":1,"running_ns":1,'
                '"values":{"cycles":1,"ref_cycles":1,"l3_miss_reads":1,'
                '"l3_miss_read_occupancy":1}}')
        self.refused_at(1, "not json")
        self.refused_at(1, GOOD_TICK)  # no header
        self.refused_at(1, '{"recording":2}')
        self.refused_at(2, HEADER, '{"container":{"key":')
        self.refused_at(2, HEADER, "[1,2]")
        self.refused_at(4, HEADER, container, GOOD_TICK, read[:60])
        self.refused_at(4, HEADER, container, GOOD_TICK, read.replace('"core"', '"none"'))
        self.refused_at(4, HEADER, container, GOOD_TICK, read.replace('"cycles":1', '"cycles":-1'))
        self.refused_at(4, HEADER, container, GOOD_TICK, read.replace('"cycles":1', '"cycles":"1"'))
        self.refused_at(3, HEADER, GOOD_TICK, '{"tick":2,"mono_ns":"soon","wall_ns":1}')
        # A recorder that was killed in the middle of a line: all that is whole.
        path = self.file("bad.jsonl", f"{HEADER}\n{container}\n{GOOD_TICK}\n{read[:70]}")
        result = run_exporter("--source=replay", f"--source.replay.file={path}", "--once")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("interference_exporter_ticks_total 1\n", result.stdout)

    def test_empty_recording(self):
        self.refused("--source=replay", f"--source.replay.file={self.file('bad.jsonl', '')}",
                     "--once", words=["bad.jsonl"])

    def test_recording_that_never_ends_a_line(self):
        path = self.file("bad.jsonl", HEADER + "\n" + "{" * (20 << 20))
        self.refused("--source=replay", f"--source.replay.file={path}", "--once",
                     words=["bad.jsonl:2"])

    def test_record_file_that_cannot_be_made(self):
        path = self.directory / "no" / "such" / "place"
        result = run_exporter(f"--source.record.file={path}", "--once", "--no-collector.probe")
        self.assertEqual(result.returncode, 2)
        self.assertIn(str(path), result.stderr)

    def test_tree_that_is_not_there(self):
        """Looking in the wrong place would look like a machine without counters or containers."""
        for tree in ("procfs", "sysfs", "cgroupfs", "rootfs"):
            self.refused(f"--path.{tree}={self.directory}/nowhere", "--once",
                         words=[f"--path.{tree}", "nowhere"])
            self.refused(f"--path.{tree}={self.file('file', '')}", "--once",
                         words=[f"--path.{tree}", "file"])

    def test_events_file(self):
        def events(text):
            return f"--events.file={self.file('events.json', text)}"

        for text, words in (
                ("", ["events.json"]),
                ("{", ["events.json"]),
                ("[]", ["events.json"]),
                ('{"roles":{"sighs":"software:page-faults"}}', ["sighs"]),
                ('{"roles":{"cycles":7}}', ["cycles"]),
                ('{"machine":{"base_frequency_hz":-1}}', ["base_frequency_hz"]),
                (" " * (11 << 20), ["events.json"])):
            with self.subTest(text[:50]):
                self.refused(events(text), "--once", words=words)
        self.refused(f"--events.file={self.directory / 'missing'}", "--once", words=["missing"])

    def test_unknown_events(self):
        """A well-formed file whose events this machine lacks: the collector is off, and says why."""
        for event, words in (("software:sighs", "sighs"), ("pmu:none/event=1/", "none"),
                             ("tracepoint:none:such", "none"), ("nonsense::EVENT", "nonsense"),
                             (f"uprobe:{self.directory}/missing:0x10", "missing")):
            with self.subTest(event):
                roles = {role: "software:page-faults" for role in
                         ("cycles", "ref_cycles", "l3_miss_reads", "l3_miss_read_occupancy")}
                roles["cycles"] = event
                path = self.file("events.json", json.dumps({
                    "machine": {"base_frequency_hz": 1e9, "cache_cycles": 1}, "roles": roles}))
                with Exporter(f"--events.file={path}", "--no-collector.probe") as exporter:
                    collector = exporter.collector("core_latency")
                    self.assertFalse(collector["available"], collector)
                    self.assertIn(words, collector["words"])
                    self.assertNotEqual(collector["reason"], "ok")
                    page = exporter.scrape()
                    self.assertEqual(page.get("interference_exporter_collector_available",
                                              collector="core_latency"), 0)

    def test_thresholds_at_start(self):
        for text in ("", "{}", '[{"latency_seconds":"fast"}]', '[{"latency_seconds":-1}]', "[1]"):
            with self.subTest(text):
                path = self.file("thresholds.json", text)
                self.refused(f"--thresholds.file={path}", words=["thresholds.json"])


class Machine(Base):
    def test_few_descriptors(self):
        """More containers than descriptors: it serves on and says what is not counted."""
        for limit in (64, 100, 200):
            with self.subTest(limit), Cgroups() as groups:
                for i in range(120):
                    groups.make(f"docker-{harness.hex_id()}.scope")
                with software_exporter(self, "--sampling.interval=200ms",
                                       command=["prlimit", f"--nofile={limit}"]) as exporter:
                    exporter.wait_tick()
                    for _ in range(3):
                        page = exporter.scrape()
                    most = page.get("interference_exporter_containers_limit")
                    by_bpf = page.select("interference_exporter_source_info", source="bpf")
                    self.assertEqual(most, (limit - 16) // 3 if by_bpf else limit // 8)
                    self.assertGreater(
                        page.get("interference_exporter_containers", state="over_limit"), 0)
                    self.assertRegex(exporter.log(), "file descriptors are enough for")

    def said(self, exporter):
        """For how many containers the log says that descriptors are enough, at which level, and at how many each."""
        said = re.findall(r"level=(\w+) .*1000 file descriptors are enough for (?:the counters of )?at most (\d+) "
                          r"containers,(?: at (\d+) each by perf,)? not for --containers.max=4096", exporter.log())
        self.assertEqual(len(said), 1, exporter.log())
        return said[0][0], int(said[0][1]), int(said[0][2] or 1)

    def test_for_how_many_descriptors_are_enough(self):
        """By perf it is how many are counted, and a warning; by BPF all are, at one descriptor each, and it is none."""
        with Cgroups() as groups:
            for _ in range(100):
                groups.make(f"docker-{harness.hex_id()}.scope")
            for source in ("perf", "bpf") if groups.version == 2 else ("perf",):
                with self.subTest(source), software_exporter(
                        self, f"--source={source}", "--no-collector.lost_time", groups.only(),
                        command=["prlimit", "--nofile=1000"]) as exporter:
                    exporter.wait_tick()
                    level, most, each = self.said(exporter)
                    open_counters = exporter.scrape().get("interference_exporter_open_counters")
                    events = 4 * len(harness.online_cpus())
                    if source == "perf":
                        self.assertEqual((level, each), ("warn", 1 + events))
                        self.assertEqual(open_counters, most * events)
                    else:
                        self.assertEqual((level, most, each), ("info", (1000 - 16) // 3, 1))
                        self.assertEqual(open_counters, events)
                        self.assertEqual(exporter.fds("/docker-"), 100)

    def test_no_pmu_is_said(self):
        """Whatever this machine has, each collector that does not run has words for people."""
        with Exporter() as exporter:
            for collector in exporter.status()["collectors"]:
                if collector["available"]:
                    self.assertEqual(collector["reason"], "ok")
                else:
                    self.assertGreater(len(collector["words"]), 20, collector)
                if collector["name"] == "fill_sources":  # nobody switched it off
                    self.assertEqual((collector["reason"], collector["words"]),
                                     ("disabled", "off unless --collector.fill_sources is given"))
            page = exporter.scrape()
            info = page.select("interference_exporter_collector_info", collector="core_latency")
            self.assertEqual(len(info), 1)
            reason = dict(next(iter(info)))["reason"]
            if not pathlib.Path("/sys/bus/event_source/devices/cpu").exists():
                self.assertIn(reason, ("no_pmu", "unsupported_cpu"))
                self.assertEqual(page.select("interference_container_memory_reads_total"), {})

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to give it up")
    def test_no_permission(self):
        try:
            paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        except OSError:
            self.skipTest("no perf_event_paranoid: a kernel without perf")
        if paranoid < 1:
            self.skipTest("perf_event_paranoid lets everybody count")
        program = self.directory / "exporter"
        program.write_bytes(harness.EXPORTER.read_bytes())
        program.chmod(0o755)
        roles = dict.fromkeys(("cycles", "ref_cycles", "l3_miss_reads", "l3_miss_read_occupancy"),
                              "software:page-faults")
        events = self.file("events.json", json.dumps({
            "machine": {"base_frequency_hz": 1e9, "cache_cycles": 1}, "roles": roles}))
        command = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        original, harness.EXPORTER = harness.EXPORTER, program
        try:
            with Cgroups() as groups:
                groups.docker()
                with Exporter(f"--events.file={events}", "--containers.names=none",
                              command=command) as exporter:
                    wait_until(lambda: exporter.collector("core_latency")["reason"] != "ok", 5,
                               "the collector has noticed")
                    collector = exporter.collector("core_latency")
                    self.assertEqual(collector["reason"], "no_permission", collector)
                    self.assertRegex(collector["words"], "CAP_|PERFMON|paranoid")
                    self.assertEqual(exporter.stop()[0], 0)
        finally:
            harness.EXPORTER = original

    @unittest.skipUnless(os.geteuid() == 0, "needs root, for cgroups")
    def test_bad_state_files(self):
        """Truncated, huge or strange state of a runtime: the container is shown by what is known."""
        if not harness.perf_hierarchy():
            self.skipTest("no cgroups here")
        root = self.directory / "root"
        texts = {
            "truncated": b'{"Name":"/x","Config":{"Labels":{"io.kubernetes.pod.name":"po',
            "huge": b'{"Name":"' + b"x" * (10 << 20) + b'"}',
            "empty": b"",
            "binary": bytes(range(256)) * 40,
            "deep": b"[" * 100000,
            "typed": b'{"Name":7,"Config":[]}',
        }
        with Cgroups() as groups:
            ids = {}
            for name, text in texts.items():
                cgroup, container_id = groups.docker()
                ids[name] = container_id[:12]
                state = root / "var/lib/docker/containers" / container_id
                state.mkdir(parents=True)
                (state / "config.v2.json").write_bytes(text)
                state = root / "run/containerd/io.containerd.runtime.v2.task/k8s.io" / container_id
                state.mkdir(parents=True)
                (state / "config.json").write_bytes(text)
            with software_exporter(self, f"--path.rootfs={root}") as exporter:
                wait_until(lambda: set(ids.values()) <= set(exporter.containers()), 8,
                           "all are named by what is known", 0.2)
                exporter.scrape()


def software_exporter(test, *flags, **options):
    """With the core group on events that every machine has."""
    roles = {"cycles": "software:cpu-clock", "ref_cycles": "software:task-clock",
             "l3_miss_reads": "software:page-faults",
             "l3_miss_read_occupancy": "software:minor-faults"}
    events = test.file("software.json", json.dumps({
        "machine": {"base_frequency_hz": 1e9, "cache_cycles": 44}, "roles": roles}))
    return Exporter(f"--events.file={events}", "--no-collector.probe", *flags, **options)


class Peers(Base):
    """Clients that misbehave, all beside one that scrapes."""

    def setUp(self):
        super().setUp()
        self.exporter = self.enterContext(Exporter("--no-collector.probe"))

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.exporter.port), timeout=10)
        return self.enterContext(connection)

    def talk(self, data, patience=3.0):
        """What the server answers to these bytes until it closes or says nothing for that time."""
        with socket.create_connection(("127.0.0.1", self.exporter.port), patience) as connection:
            answer = b""
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while chunk := connection.recv(65536):
                    answer += chunk
            return answer

    def served(self):
        wait_until(self.try_served, 15, "a scraper is served", 0.3)

    def test_statuses(self):
        get = self.exporter.get
        for path, method, expected in (
                ("/", "GET", 200), ("/metrics", "GET", 200), ("/-/healthy", "GET", 200),
                ("/-/ready", "GET", 200), ("/api/v1/status", "GET", 200),
                ("/api/v1/containers", "GET", 200), ("/api/v1/nvmm", "GET", 200),
                ("/api/v1/interference", "GET", 200),
                ("/metrics", "HEAD", 200), ("/", "HEAD", 200),
                ("/none", "GET", 404), ("/metrics/", "GET", 404), ("/metrics", "POST", 405),
                ("/metrics", "DELETE", 405), ("/api/v1/status", "PUT", 405),
                ("/metrics?collect[]=core_latency", "GET", 200),
                ("/metrics?collect%5B%5D=probe&collect%5B%5D=core_latency", "GET", 200),
                ("/metrics?collect[]=none", "GET", 400), ("/metrics?collect[]=", "GET", 400)):
            with self.subTest(f"{method} {path}"):
                status, headers, body = get(path, method=method)
                self.assertEqual(status, expected, body)
                self.assertEqual(len(body) > 0, method != "HEAD")
                if method == "HEAD":
                    self.assertGreater(int(headers["Content-Length"]), 0)

    def test_formats(self):
        for accept, expected in (
                (None, harness.TEXT), ("*/*", harness.TEXT), ("text/html", harness.TEXT),
                ("", harness.TEXT), (";;;,,q=", harness.TEXT),
                ("application/openmetrics-text;version=1.0.0,text/plain;q=0.5",
                 harness.OPENMETRICS),
                ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                 harness.OPENMETRICS),
                ("application/openmetrics-text;q=0.1,text/plain;q=0.9", harness.TEXT)):
            with self.subTest(accept):
                _, headers, _ = self.exporter.get("/metrics", {"Accept": accept} if accept else {})
                self.assertEqual(headers["Content-Type"], expected)
        status, headers, body = self.exporter.get("/metrics", {"Accept-Encoding": "gzip"})
        self.assertEqual((status, headers["Content-Encoding"]), (200, "gzip"))
        import gzip
        harness.parse_text(gzip.decompress(body).decode())
        _, headers, _ = self.exporter.get("/metrics", {"Accept-Encoding": "gzip;q=0"})
        self.assertIsNone(headers["Content-Encoding"])

    def test_garbage(self):
        random.seed(1)
        self.assertRegex(self.talk(b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n"), rb"^HTTP/1.1 404")
        for data in (b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 5000,
                     b"G" * 100000, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10000 + b"\r\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                     b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
                     b"GET /metrics?" + b"collect[]=probe&" * 500 + b" HTTP/1.1\r\n\r\n",
                     b"GET /%00%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n",
                     b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
            answer = self.talk(data)
            if answer:
                self.assertRegex(answer, rb"^HTTP/1\.[01] [2345]\d\d ", data[:40])
        for _ in range(300):
            self.talk(random.randbytes(random.randrange(1, 2000)), 0.1)
        self.served()

    def test_thousand_idle_connections(self):
        """Their number is limited and they are closed in time; meanwhile others are served."""
        connections = []
        for _ in range(1000):
            try:
                connections.append(self.connect())
            except OSError:
                break
        # Half of them have begun to say something.
        for connection in connections[::2]:
            with contextlib.suppress(OSError):
                connection.sendall(b"GET /metrics HT")
        wait_until(self.try_served, 15, "a scraper is served", 0.5)
        self.assertLess(self.exporter.fds("socket"), 400)
        self.assertEqual(self.exporter.get("/-/healthy")[0], 200)

    def try_served(self):
        began = time.monotonic()
        try:
            self.exporter.scrape()
        except (OSError, AssertionError):
            return False
        return time.monotonic() - began < 3

    def test_slow_readers(self):
        """Each asks for many pages and reads none."""
        readers = []
        for _ in range(60):
            connection = self.connect()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 300)
            readers.append(connection)
        # They may hold every place for some moments, not longer.
        wait_until(self.try_served, 10, "a scraper is served", 0.3)
        for _ in range(5):
            self.served()
        # One that reads byte by byte gets all of it in the end.
        slow = self.connect()
        slow.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        head = b""
        while len(head) < 100:
            head += slow.recv(1)
            time.sleep(0.002)
        rest = b""
        while chunk := slow.recv(65536):
            rest += chunk
        self.assertTrue((head + rest).startswith(b"HTTP/1."))
        self.assertTrue(rest.endswith(b"\n"))

    def test_many_scrapers_at_once(self):
        errors = []

        def scrape():
            try:
                for _ in range(10):
                    status = self.exporter.get("/metrics")[0]
                    if status not in (200, 503):
                        errors.append(status)
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=scrape) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.served()

    def tearDown(self):
        self.assertIsNone(self.exporter.process.poll(), "it still runs")
        self.assertNotRegex(self.exporter.log(), "Sanitizer")


# "secret", by bcrypt at its least cost.
SECRET = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"


@unittest.skipUnless(os.geteuid() == 0, "needs root, for a network of its own")
class Elsewhere(Base):
    """A client at an address that is not loopback, in a network namespace with one."""

    ADDRESS = "192.0.2.7"  # for documentation: nobody else has it

    def statuses(self, *flags, user=()):
        port = 10066
        script = f'ip link set lo up && ip addr add {self.ADDRESS}/32 dev lo && exec "$@"'
        process = harness.start(
            ["unshare", "--net", "bash", "-c", script, "bash", harness.EXPORTER,
             f"--web.listen-address=:{port}", "--no-collector.probe", *flags],
            stderr=subprocess.DEVNULL)

        def status(path, host):
            result = subprocess.run(
                ["nsenter", f"--net=/proc/{process.pid}/ns/net", "curl", "-sS", "--max-time", "5",
                 "--output", "/dev/null", "--write-out", "%{http_code}", *user,
                 f"http://{host}:{port}{path}"], capture_output=True, text=True)
            return int(result.stdout or 0)

        try:
            wait_until(lambda: status("/-/ready", self.ADDRESS) == 200, 10, "ready")
            return {(path, host): status(path, host)
                    for path in ("/metrics", "/", "/api/v1/status", "/api/v1/containers",
                                 "/api/v1/nvmm", "/api/v1/interference")
                    for host in (self.ADDRESS, "127.0.0.1", "[::1]")}
        finally:
            harness.stop(process)

    def test_documents_of_tenants(self):
        harness.need_command("curl", "ip", "unshare", "nsenter")
        for (path, host), status in self.statuses().items():
            closed = host == self.ADDRESS and path.startswith("/api/") and path != "/api/v1/status"
            self.assertEqual(status, 403 if closed else 200, f"{path} at {host}")
        web = self.file("web.yml", f"basic_auth_users: {{prometheus: {SECRET}}}\n")
        web.chmod(0o600)
        for flags, user in ((("--web.api",), ()),
                            ((f"--web.config.file={web}",), ("--user", "prometheus:secret"))):
            for (path, host), status in self.statuses(*flags, user=user).items():
                self.assertEqual(status, 200, f"{path} at {host} with {flags}")


class Signals(Base):
    def seconds_to_end(self, number):
        with Exporter() as exporter:
            # In the middle of everything: half a request, an open connection, a scrape.
            idle = socket.create_connection(("127.0.0.1", exporter.port))
            idle.sendall(b"GET /met")
            code, seconds = exporter.stop(number)
            idle.close()
            self.assertEqual(code, 0, exporter.log())
            return seconds

    def test_ends_quickly(self):
        """Within 100 ms. A busy machine may delay one end, not each of several."""
        for number in (signal.SIGTERM, signal.SIGINT):
            ends = []
            began = time.monotonic()
            while not ends or min(ends) > ENDS_QUICKLY and time.monotonic() - began < 30:
                ends.append(self.seconds_to_end(number))
            print(f"{signal.Signals(number).name}: ended after {min(ends) * 1e3:.0f} ms")
            self.assertLessEqual(min(ends), ENDS_QUICKLY)

    def test_reload(self):
        path = self.file("thresholds.json", '[{"container":"a","latency_seconds":1e-7}]')
        good = "interference_exporter_config_last_reload_successful"
        when = "interference_exporter_config_last_reload_success_timestamp_seconds"
        with Exporter(f"--thresholds.file={path}", "--sampling.interval=200ms",
                      "--no-collector.probe") as exporter:
            first = exporter.scrape()
            self.assertEqual(first.get(good), 1)
            path.write_text("[{]")
            exporter.process.send_signal(signal.SIGHUP)
            wait_until(lambda: exporter.scrape().get(good) == 0, 5, "the bad file is noticed")
            self.assertEqual(exporter.scrape().get(when), first.get(when))
            self.assertRegex(exporter.log(), r"thresholds\.json")
            path.write_text('[{"container":"b","latency_seconds":2e-7}]')
            exporter.process.send_signal(signal.SIGHUP)
            wait_until(lambda: exporter.scrape().get(good) == 1, 5, "the good file is loaded")
            self.assertGreater(exporter.scrape().get(when), first.get(when))

    def test_reload_changes_thresholds(self):
        """Under replay, where a container and its latency are known."""
        recording = self.directory / "long.jsonl"
        lines = [HEADER, '{"container":{"key":"a","cgroup":"/a","id":"","container":"a"}}']
        for i in range(1, 200):
            n = i * 10**6
            lines.append(json.dumps({"tick": i, "mono_ns": i * 10**8, "wall_ns": 10**18 + i}))
            lines.append(json.dumps({
                "read": "a", "group": "core", "enabled_ns": i * 10**8, "running_ns": i * 10**8,
                "values": {"cycles": n, "ref_cycles": n, "l3_miss_reads": i,
                           "l3_miss_read_occupancy": 100 * i}}))
        recording.write_text("\n".join(lines) + "\n")
        path = self.file("thresholds.json", '[{"container":"a","latency_seconds":1e-7}]')
        name = "interference_container_memory_read_latency_threshold_seconds"
        with Exporter("--source=replay", f"--source.replay.file={recording}",
                      "--source.replay.speed=1", f"--thresholds.file={path}") as exporter:
            wait_until(lambda: exporter.scrape().get(name) == 1e-7, 5, "the first threshold")
            path.write_text('[{"container":"a","latency_seconds":3e-7}]')
            exporter.process.send_signal(signal.SIGHUP)
            wait_until(lambda: exporter.scrape().get(name) == 3e-7, 5, "the second threshold")

    def test_stopped_for_a_while(self):
        """SIGSTOP: not healthy any more once ten intervals are missed, and fine afterwards."""
        with Exporter("--sampling.interval=100ms", "--no-collector.probe") as exporter:
            self.assertEqual(exporter.get("/-/healthy")[0], 200)
            missed = exporter.scrape().get("interference_exporter_missed_ticks_total")
            exporter.process.send_signal(signal.SIGSTOP)
            time.sleep(0.7)
            exporter.process.send_signal(signal.SIGCONT)
            wait_until(lambda: exporter.scrape().get("interference_exporter_missed_ticks_total")
                       >= missed + 4, 5, "missed ticks are counted")
            self.assertEqual(exporter.get("/-/healthy")[0], 200)


class Enclosed(Base):
    def children(self, pid):
        """Sockets listen before there is a server."""
        file = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
        return wait_until(lambda: file.read_text().split(), 10, f"a child of {pid}")

    def test_limits(self):
        """No core file, no tracing; who talks to strangers makes no file longer but the log. The
        reader makes pages, which are files to the kernel."""
        record = f"--source.record.file={self.directory}/record.jsonl"
        for flags in (), (record,):
            port = harness.free_port()
            process = harness.start(
                [harness.EXPORTER, f"--web.listen-address=127.0.0.1:{port}", "--no-collector.probe",
                 *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                (keeper,) = self.children(process.pid)
                (server,) = self.children(keeper)
                wait_until(lambda: self.connects(port), 10, "it listens")
                for pid, size in (process.pid, "unlimited"), (keeper, "0"), (server, "0"):
                    limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
                    self.assertRegex(limits, r"Max core file size +0 +0 ")
                    self.assertRegex(limits, rf"Max file size +{size} ")
            finally:
                self.assertEqual(harness.stop(process), 0)

    def connects(self, port):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2):
            return True


class Log(Base):
    def test_nobody_reads_it(self):
        """Standard error is a full pipe: ticks go on, scrapers are served, and it can be ended."""
        port = harness.free_port()
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x")
        os.set_blocking(writing, True)
        process = harness.start(
            [harness.EXPORTER, f"--web.listen-address=127.0.0.1:{port}", "--no-collector.probe",
             "--sampling.interval=100ms", "--log.level=debug"], stderr=writing)

        def value(name, **labels):
            with contextlib.suppress(OSError):
                import urllib.request
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                            timeout=2) as answer:
                    return harness.parse_text(answer.read().decode()).get(name, **labels)
            return None

        try:
            ticks = "interference_exporter_ticks_total"
            wait_until(lambda: (value(ticks) or 0) >= 2, 10, "it ticks")
            dropped = "interference_exporter_log_lines_dropped_total"

            def signals():
                for _ in range(200):
                    process.send_signal(signal.SIGHUP)  # each says something
                    time.sleep(0.001)
                return all((value(dropped, reason=why) or 0) > 5 for why in ("blocked", "rate"))

            wait_until(signals, 15, "lines are dropped for either reason")
            before = wait_until(lambda: value(ticks), 10, "a page")
            wait_until(lambda: (value(ticks) or 0) > before + 3, 10, "ticks go on")
        finally:
            self.assertEqual(harness.stop(process), 0)
            os.close(reading)
            os.close(writing)


class Systemd(Base):
    def test_notify(self):
        path = self.directory / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(str(path))
            receiver.settimeout(10)
            with Exporter("--sampling.interval=200ms", "--no-collector.probe",
                          env={"NOTIFY_SOCKET": str(path)}) as exporter:
                self.assertIn(b"READY=1", receiver.recv(4096))
                exporter.stop()
                messages = b""
                while b"STOPPING=1" not in messages:
                    messages += receiver.recv(4096) + b"\n"

    def test_watchdog(self):
        """It is fed by ticks, and never asked for more than it can get."""
        def first_message(*flags, watchdog="30000000", pings=0):
            path = self.directory / "notify"
            path.unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
                receiver.bind(str(path))
                receiver.settimeout(10)
                with Exporter("--no-collector.probe", *flags,
                              env={"NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": watchdog}):
                    message = receiver.recv(4096)
                    for _ in range(pings):
                        self.assertEqual(receiver.recv(4096), b"WATCHDOG=1")
                    return message

        self.assertEqual(first_message("--sampling.interval=200ms", pings=2), b"READY=1")
        self.assertEqual(first_message("--sampling.interval=20s"),
                         b"READY=1\nWATCHDOG_USEC=200000000")
        self.assertEqual(first_message("--sampling.interval=20s", watchdog=""), b"READY=1")
        # A recording's ticks come when they were recorded, and they end.
        self.assertEqual(first_message("--source=replay",
                                       f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}"),
                         b"READY=1\nWATCHDOG_USEC=0")

    def test_socket(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            port = listener.getsockname()[1]
            script = ('exec 3<&"$1"; shift; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@"')
            process = subprocess.Popen(
                ["bash", "-c", script, "bash", str(listener.fileno()), harness.EXPORTER,
                 "--web.systemd-socket", "--no-collector.probe"],
                pass_fds=[listener.fileno()], stderr=subprocess.PIPE,
                preexec_fn=harness.die_with_parent)
            try:
                import urllib.request
                def ready():
                    with contextlib.suppress(OSError):
                        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready",
                                                    timeout=2) as answer:
                            return answer.status == 200
                wait_until(ready, 10, "served on the socket that was passed")
            finally:
                process.terminate()
                process.communicate()

    def test_socket_missing(self):
        result = run_exporter("--web.systemd-socket", "--no-collector.probe", "--log.level=error")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr.splitlines()[-1], "LISTEN_FDS")


class HealthCheck(unittest.TestCase):
    def check(self, *answers, flags=()):
        """Of a server that sends this, piece by piece, to whoever asked; None: says nothing."""
        asked, accepted = [], threading.Event()
        with socket.create_server(("127.0.0.1", 0)) as server:
            def serve():
                with contextlib.suppress(OSError):
                    peer, _ = server.accept()
                    accepted.set()
                    with peer:
                        asked.append(peer.recv(1000))
                        for answer in answers:
                            if answer is None:
                                peer.recv(1000)  # until it goes
                            else:
                                peer.sendall(answer)
            thread = threading.Thread(target=serve)
            thread.start()
            address = "127.0.0.1:%d" % server.getsockname()[1]
            result = run_exporter("--healthcheck", f"--web.listen-address={address}", *flags)
            # The one that connected may have gone before it was accepted.
            accepted.wait(10)
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
        return result, asked

    def test_answers(self):
        good = b"HTTP/1.1 200 OK\r\n"
        for answers, words in (((good,), ""), ((b"HT", b"TP/1.0 200 OK", b"\r\n", None), ""),
                               ((b"HTTP/1.1 503 no\r\n\r\n",), "not healthy"),
                               ((b"HTTP/1.1 2000\r\n",), ""),  # three digits are read
                               ((), "not healthy"), ((b"\n" + good,), "not healthy"),
                               ((b"x" * 4096, None), "not healthy"), ((b"\x15\x03\x03\0\2\2\n",),
                                                                  "not healthy"),
                               ((None,), "timed out")):
            with self.subTest(answers):
                result, asked = self.check(*answers)
                self.assertEqual(asked, [b"GET /-/healthy HTTP/1.0\r\n\r\n"])
                self.assertEqual(result.returncode, 1 if words else 0, result.stderr)
                self.assertIn(words, result.stderr)
                self.assertEqual(result.stdout, "")

    def test_connects(self):
        """A password or TLS: that somebody listens is all it can see."""
        result, asked = self.check(None, flags=("--web.config.file=/nowhere",))
        self.assertEqual((result.returncode, asked), (0, [b""]))

    def test_nobody_there(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        for flags in ((), ("--web.config.file=/nowhere",)):
            result = run_exporter("--healthcheck", f"--web.listen-address=127.0.0.1:{port}", *flags)
            self.assertEqual(result.returncode, 1)
            self.assertIn("refused", result.stderr)

    def test_real(self):
        """Also without an address, as the image asks."""
        with Exporter("--source=replay", f"--source.replay.file={harness.REPLAYS}/idle.jsonl") as exporter:
            for address in (f"127.0.0.1:{exporter.port}", f"localhost:{exporter.port}",
                            f":{exporter.port}"):
                result = run_exporter("--healthcheck", f"--web.listen-address={address}")
                self.assertEqual((result.returncode, result.stderr), (0, ""), address)

    def test_unix(self):
        with tempfile.TemporaryDirectory() as directory:
            address = f"--web.listen-address=unix:{directory}/exporter.sock"
            with Exporter("--source=replay", f"--source.replay.file={harness.REPLAYS}/idle.jsonl", address):
                result = run_exporter("--healthcheck", address)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
            result = run_exporter("--healthcheck", address)
            self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    harness.main()
