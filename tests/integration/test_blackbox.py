#!/usr/bin/python3
"""--blackbox.directory: a real incident is in a file afterwards, with the numbers that were live,
whoever is killed and however full the disk is."""
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest
import zlib

import harness
from browser import Browser
from harness import wait_until
from test_lost_time import WINDOW, Everywhere, Watch, own_quota
from web_files import basic, bcrypt

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "replay/days"))
import kinds
import node

LOSSES = "interference_container_lost_seconds_total"
# Totals, which begin with the recording; and what a regression of half an hour says.
SINCE_BEGIN = {"values", "caused_latency_seconds", "caused_latency_uncertainty_seconds"}


def text_of(path):
    """All whole pieces of a file; what a killed writer began is left out."""
    data, text = path.read_bytes(), b""
    while data:
        piece = zlib.decompressobj(31)
        more = piece.decompress(data)
        if not piece.eof:
            break
        text, data = text + more, piece.unused_data
    return text.decode()


def ticks(path):
    lines = [json.loads(line) for line in text_of(path).splitlines()]
    assert "recording" in lines[0]
    return [line["tick"] for line in lines if "tick" in line]


def below(pid):
    return [each for child in harness.children(pid) for each in (child, *below(child))]


def replayed(path, *flags):
    run = harness.run_exporter("--once", f"--source.replay.file={path}", *flags)
    assert run.returncode == 0, run.stderr
    return harness.parse_text(run.stdout)


class BlackBox(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name) / "box"
        self.directory.mkdir()
        self.record = pathlib.Path(directory.name) / "all.jsonl"

    def exporter(self, *flags):
        return harness.Exporter(f"--blackbox.directory={self.directory}", "--web.api",
                                "--sampling.interval=100ms", *flags)

    def files(self):
        return sorted(self.directory.iterdir())

    @staticmethod
    def scribe(exporter):
        """It alone has a niceness. None: there is none."""
        return next((pid for pid in below(exporter.pid)
                     if os.getpriority(os.PRIO_PROCESS, pid) == 10), None)

    def asked(self, exporter):
        exporter.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: any(p.stat().st_size > 0 for p in self.files()), 20, "a file")
        (path,) = self.files()
        return path

    def test_a_quota_is_recorded_as_it_was(self):
        harness.need_root()
        groups = self.enterContext(Everywhere())
        watch = self.enterContext(Watch(groups, f"--blackbox.directory={self.directory}",
                                        f"--source.record.file={self.record}"))
        (one,) = own_quota(groups, None)
        live = {}  # tick: the document

        def seen(condition):
            document = watch.exporter.json("/api/v1/containers")
            live[document["tick"]["number"]] = document
            return condition()

        wait_until(lambda: seen(lambda: (watch.of(one) or {}).get("verdict") == "own_quota"), 60,
                   "the verdict", 0.3)
        wait_until(lambda: seen(lambda: any("loses_time" in p.name for p in self.files())), 20,
                   "its file", 0.3)
        count = len(live)
        wait_until(lambda: seen(lambda: len(live) > count + 3), 20, "some more ticks", 0.3)
        listed = watch.exporter.json("/api/v1/blackbox")
        (path,) = [p for p in self.files() if "loses_time" in p.name]
        self.assertIn(path.name, [file["name"] for file in listed["files"]])
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(watch.exporter.stop()[0], 0)
        text = text_of(path)
        mark = next(json.loads(line) for line in text.splitlines() if '"mark"' in line)
        self.assertEqual(mark["mark"], "loses_time")
        self.assertIn(f'"container":{{"key":"{mark["key"]}"', text)
        # The same ticks, to the last one, and of them the same page: it began with the exporter.
        page, whole = replayed(path), replayed(self.record)
        self.assertTrue(page.select(LOSSES, cause="own_quota"))
        ours = {name: value for name, value in page.samples.items()
                if not name[0].startswith(("interference_exporter_", "process_"))}
        theirs = {name: value for name, value in whole.samples.items()
                  if not name[0].startswith(("interference_exporter_", "process_"))}
        self.assertEqual(ours, theirs)
        self.opened(path, live)

    def opened(self, path, live):
        """At each time the documents say what they said live; the page begins with the mark."""
        same = ("state", "verdict", "why", "lost", "cpu_seconds_per_second")
        flags = (f"--open={path}", f"--collector.lost_time.period={WINDOW}s")  # as live
        with harness.Exporter(*flags) as exporter:
            wait_until(lambda: exporter.json("/api/v1/containers")["replay_ended"], 60, "its end")
            compared = 0
            for tick, document in live.items():
                again = exporter.json(f"/api/v1/containers?at={int(document['timestamp_seconds'])}")
                if again["tick"]["number"] != tick:
                    continue  # two ticks of one second
                ours = {c["container_id"]: c for c in again["containers"]}
                for theirs in document["containers"]:
                    self.assertEqual({key: ours[theirs["container_id"]][key] for key in same},
                                     {key: theirs[key] for key in same})
                    compared += 1
            self.assertGreater(compared, 4)
            page = exporter.text("/", accept="text/html")
            self.assertIn('<form id="reel"', page)
            if chromium := shutil.which("chromium"):
                self.seen(chromium, exporter, path, document)
            self.assertRegex(page, "loses_time: [^<]*</a>")
            self.assertIn("REPLAY", page)
            self.assertEqual(exporter.get("/api/v1/containers?at=x")[0], 400)
        named = harness.run_exporter(*flags, "--report=html")
        self.assertEqual(named.returncode, 0, named.stderr)
        others = harness.run_exporter(*flags, "--report=html", "--anonymise")
        if directory := os.environ.get("IE_SCREENSHOTS"):
            (pathlib.Path(directory) / "report.html").write_text(named.stdout)
        name = next(c["container"] for c in document["containers"])
        for text in (named.stdout, others.stdout):
            self.assertIn("CPU limit", text)
            self.assertRegex(text, "loses_time: [^<]*</li>")
            self.assertNotRegex(text, r'(src|href)="')
        self.assertIn(name, named.stdout)
        self.assertNotIn(name, others.stdout)
        self.assertNotIn(name[:20], others.stdout)

    def seen(self, chromium, exporter, path, document):
        """In a browser, with what its own page says: before, when it is marked, and at the end."""
        first = next(json.loads(line) for line in text_of(path).splitlines() if '"tick"' in line)
        begin = first["wall_ns"] // 10**9
        profile = self.enterContext(tempfile.TemporaryDirectory())
        browser = Browser(chromium, profile)
        self.addCleanup(browser.close)
        with browser.tab() as tab:
            tab.open(f"http://127.0.0.1:{exporter.port}/")
            marked = int(tab.run("document.querySelector('#reel a').dataset.at"))
            self.assertEqual(int(tab.run("document.querySelector('#reel input').value")), marked)
            for name, at, says in (("before", begin, False), ("while", marked, True),
                                   ("after", int(document["timestamp_seconds"]), True)):
                tab.open(f"http://127.0.0.1:{exporter.port}/?at={at}")
                rows = tab.run("document.querySelector('#containers').textContent")
                self.assertEqual("CPU limit" in rows, says, f"{name}: {rows}")
                if directory := os.environ.get("IE_SCREENSHOTS"):
                    tab.screenshot(pathlib.Path(directory) / f"{name}.png", 1280)
            self.assertEqual(tab.complaints(), [])

    def whole(self, path):
        """All ticks are there from the first to the last, and replay."""
        seen = ticks(path)
        self.assertEqual(seen, list(range(seen[0], seen[-1] + 1)))
        page = replayed(path)
        self.assertEqual(page.get("interference_exporter_ticks_total"), len(seen))
        return page

    def test_a_killed_exporter_leaves_what_was_written(self):
        with self.exporter() as exporter:
            path = self.asked(exporter)
            wait_until(lambda: len(ticks(path)) > 20, 30, "two pieces")
            others = below(exporter.pid)
            exporter.process.kill()
            exporter.process.wait()
            wait_until(lambda: all(map(harness.is_gone, others)), 10, "all others end, too")
            self.whole(path)

    def test_a_killed_writer_is_followed_by_another(self):
        """What the first one wrote stays; the next one's file has all containers, and of each what
        it did from there on, not what it did before."""
        harness.need_root()
        groups = self.enterContext(harness.Cgroups())
        groups.spawn(groups.make("busy"), ["bash", "-c", "while :; do :; done"])
        with self.exporter("--containers.all-cgroups", groups.only()) as exporter:
            path = self.asked(exporter)
            wait_until(lambda: len(ticks(path)) > 20, 30, "two pieces")
            scribe = self.scribe(exporter)
            os.kill(scribe, signal.SIGKILL)
            wait_until(lambda: self.scribe(exporter) not in (None, scribe), 20, "another one")
            wait_until(lambda: exporter.scrape().get(
                "interference_exporter_blackbox_restarts_total") == 1, 20, "that is told")
            self.assertEqual(exporter.scrape().get("interference_exporter_blackbox_active"), 1)
            self.whole(path)
            begun = exporter.tick()
            exporter.process.send_signal(signal.SIGUSR2)
            wait_until(lambda: len(self.files()) == 2, 20, "a second file")
            (second,) = [p for p in self.files() if p != path]
            wait_until(lambda: second.stat().st_size and ticks(second)[-1:] > [begun + 10], 30,
                       "ticks of it")
            newest = exporter.scrape().select("interference_exporter_blackbox_newest_file_info")
            self.assertEqual([dict(labels)["file"] for labels in newest], [str(second)])
            listed = exporter.json("/api/v1/blackbox")["files"]
            self.assertEqual([(file["name"], file["being_written"]) for file in listed],
                             [(second.name, True), (path.name, False)])
        self.whole(second)
        text = text_of(second)
        self.assertIn('{"learned":"', text)
        key = re.search(r'{"container":{"key":"([^"]*)","cgroup":"[^"]*busy"', text)[1]
        times = [json.loads(line) for line in text.splitlines()
                 if line.startswith(f'{{"activity":"{key}"')]
        self.assertEqual(times[0]["cpu_time_ns"], 0)
        self.assertGreater(times[-1]["cpu_time_ns"], 0)

    def test_all_processes_may_be_asked(self):
        with self.exporter() as exporter:
            others = below(exporter.pid)
            self.assertGreater(len(others), 2)
            for pid in (*others, exporter.pid):
                os.kill(pid, signal.SIGUSR2)
            wait_until(lambda: any(p.stat().st_size > 0 for p in self.files()), 20, "a file")
            before = exporter.tick()
            wait_until(lambda: exporter.tick() > before + 5, 20, "ticks go on")
            self.assertEqual(below(exporter.pid), others)

    def test_a_stopped_scribe_costs_ticks_and_no_time(self):
        with self.exporter() as exporter:
            path = self.asked(exporter)
            scribe = self.scribe(exporter)
            os.kill(scribe, signal.SIGSTOP)
            before = exporter.tick()
            wait_until(lambda: exporter.tick() > before + 10, 30, "ticks go on")
            os.kill(scribe, signal.SIGCONT)
            wait_until(lambda: ticks(path)[-1:] > [before + 10], 30, "they are written later")

    def test_a_full_disk_is_counted(self):
        harness.need_root()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", self.directory],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.directory], check=True)
        with self.exporter() as exporter:
            exporter.process.send_signal(signal.SIGUSR2)
            wait_until(lambda: exporter.scrape().get(
                "interference_exporter_blackbox_failures_total") == 1, 60, "it is full")
            said = exporter.json("/api/v1/blackbox")
            self.assertIn("No space left", said["last_failure"])
            self.assertTrue(said["active"])
            before = exporter.tick()
            wait_until(lambda: exporter.tick() > before + 5, 20, "ticks go on")
            for path in self.files():
                self.assertTrue(ticks(path))
                replayed(path)

    def test_who_may_ask(self):
        config = self.directory.parent / "web.yml"
        config.write_text(json.dumps({"basic_auth_users": {"alice": bcrypt("secret")}}))
        with self.exporter() as exporter:
            status, _, body = exporter.get("/api/v1/blackbox", method="POST")
            self.assertEqual((status, b"SIGUSR2" in body), (403, True))
            self.assertEqual(exporter.get("/api/v1/status", method="POST")[0], 405)
            self.assertEqual(exporter.get("/api/v1/blackbox", method="DELETE")[0], 405)
            self.assertEqual(exporter.get("/api/v1/blackbox", {"Content-Length": "5"},
                                          method="POST")[0], 413)
            self.assertEqual(self.files(), [])
        with harness.Exporter(f"--blackbox.directory={self.directory}", "--sampling.interval=100ms",
                              f"--web.config.file={config}", ready=False) as exporter:
            alice = basic("alice", "secret")

            def answers():
                try:
                    return exporter.get("/-/ready", alice)[0] == 200
                except OSError:
                    return False

            wait_until(answers, 20, "it is ready")
            self.assertEqual(exporter.get("/api/v1/blackbox", method="POST")[0], 401)
            strange = {**alice, "Sec-Fetch-Site": "cross-site"}
            self.assertEqual(exporter.get("/api/v1/blackbox", strange, method="POST")[0], 403)
            self.assertEqual(exporter.get("/api/v1/blackbox", alice, method="POST")[0], 202)
            wait_until(lambda: any("-asked." in p.name for p in self.files()), 20, "a file")
            scribe = self.scribe(exporter)
            keeper = next(pid for pid in below(exporter.pid) if scribe in harness.children(pid))
            os.kill(keeper, signal.SIGKILL)
            wait_until(lambda: exporter.get("/api/v1/blackbox", alice, method="POST")[0] == 503,
                       20, "who asks is told that there is none any more")
            self.assertTrue(harness.is_gone(scribe))
            _, _, body = exporter.get("/api/v1/blackbox", alice)
            self.assertEqual(json.loads(body)["held_seconds"], 0)
            self.assertFalse(any(file["being_written"] for file in json.loads(body)["files"]))

    def test_a_file_begins_with_what_was_known(self):
        """Of forty minutes the last fifteen: each number that is shown is the one of the whole."""
        day = node.Day("box", 1)
        day.services(4)
        kinds.aggressor(day, "report", 33 * 60, 37 * 60, 0.4, pod="report-29000000-abcde")
        with self.record.open("w") as file:
            file.write(day.header(0) + "".join(map(day.tick, range(38 * 60))))
        with harness.Exporter(f"--blackbox.directory={self.directory}", "--web.api",
                              f"--source.replay.file={self.record}",
                              "--source.replay.speed=max") as exporter:
            wait_until(lambda: exporter.json("/api/v1/containers")["replay_ended"], 60, "its end")
        path = self.files()[-1]
        began = ticks(path)[0]
        self.assertGreater(began, 600)
        with harness.Exporter(f"--open={self.record}") as whole, \
                harness.Exporter(f"--open={path}") as part:
            for each in (whole, part):
                wait_until(lambda: each.json("/api/v1/containers")["replay_ended"], 60, "its end")
            shown = int(re.search(r'name="at" min="(\d+)"', part.text("/", accept="text/html"))[1])
            self.assertLessEqual(shown - began, 61)
            waited = 0
            for at in (*range(shown, shown + 20), *range(shown + 20, 38 * 60 - 1, 15)):
                ours, theirs = (each.json(f"/api/v1/containers?at={at}") for each in (part, whole))
                self.assertEqual(ours["tick"], theirs["tick"])
                of = [{c["container"]: {k: c[k] for k in c if k not in SINCE_BEGIN}
                       for c in each["containers"]} for each in (ours, theirs)]
                self.assertEqual(of[0], of[1])
                waited += sum(c["state"] == "waits" for c in of[0].values())
                ours, theirs = (each.json(f"/api/v1/interference?at={at}")["domains"][0]
                                for each in (part, whole))
                for name in ("latency_ns", "calm_ns", "excess_ns"):
                    self.assertAlmostEqual(ours[name], theirs[name], delta=1e-9, msg=name)
                self.assertEqual([a["container"] for a in ours["aggressors"]],
                                 [a["container"] for a in theirs["aggressors"]])
            self.assertGreater(waited, 4)
            self.assertNotIn('class="note"', part.text("/", accept="text/html"))
        # What is known of each is known by its other name, too.
        others = harness.run_exporter(f"--open={path}", "--report=html", "--anonymise")
        self.assertIn("WAITS", others.stdout)
        self.assertNotIn("svc0", others.stdout)
        # As an earlier exporter wrote it.
        path.write_text("".join(line for line in text_of(path).splitlines(True)
                                if not line.startswith('{"learned"')))
        old = path.rename(path.with_suffix(""))
        run = harness.run_exporter(f"--open={old}", "--report=html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("there was none: everything is learned anew", run.stdout)

    def test_a_newer_format_is_refused_with_words(self):
        with self.exporter() as exporter:
            path = self.asked(exporter)
        newer = path.with_name("newer.jsonl")
        newer.write_text(re.sub(r'^{"recording":1', '{"recording":2', text_of(path)))
        run = harness.run_exporter("--once", f"--source.replay.file={newer}")
        self.assertEqual(run.returncode, 2)
        self.assertIn("version 2 is not supported", run.stderr)

    def test_a_directory_of_another_exporter(self):
        """Whoever starts it may try again, when the other one has ended."""
        with self.exporter() as exporter:
            path = self.asked(exporter)
            run = harness.run_exporter(f"--blackbox.directory={self.directory}",
                                       "--web.listen-address=127.0.0.1:0")
            self.assertEqual(run.returncode, 1)
            self.assertIn("another exporter writes its files to", run.stderr)
            self.assertEqual(self.files(), [path])

    def test_a_directory_that_is_none(self):
        for flags, words in (([f"--blackbox.directory={self.record}"], "not a directory"),
                             ([f"--blackbox.directory={self.directory}", "--once"],
                              "contradicts --once"),
                             ([f"--blackbox.directory={self.directory}",
                               "--blackbox.max-files=65"], "64")):
            run = harness.run_exporter(*flags)
            self.assertEqual((run.returncode, words in run.stderr), (2, True), run.stderr)


if __name__ == "__main__":
    harness.main()
