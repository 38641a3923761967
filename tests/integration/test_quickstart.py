#!/usr/bin/python3
"""deploy/quickstart.sh shows what it promises, ends at Ctrl-C, and leaves nothing running."""
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


def exporters(port):
    """Processes of the exporter that were told this port."""
    found = []
    for directory in pathlib.Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                line = (directory / "cmdline").read_bytes()
            except OSError:
                continue
            if b"interference_exporter\0" in line and f":{port}".encode() in line:
                found.append(int(directory.name))
    return found


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.port = harness.free_port()

    def tearDown(self):
        self.assertEqual(exporters(self.port), [])

    def test_rounds(self):
        with harness.Cgroups() as groups:
            groups.spawn(groups.make("visible-to-quickstart"), [harness.PROGRAMS / "idle"])
            result = subprocess.run([SCRIPT, "--port", str(self.port), "--rounds", "2", "--",
                                     groups.only()],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=280)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        text = result.stdout
        self.assertNotIn("\033", text)
        for collector in ("core_latency", "probe"):
            self.assertRegex(text, rf"(?m)^  {collector} +(running|not running \(\w+\): \S.*)")
        self.assertEqual(len(re.findall(r"(?m)^CONTAINER +ID +LATENCY", text)), 2)
        self.assertEqual(len(re.findall(r"(?m)^most slowed: \w.*\nCONTAINER", text)), 2)
        if re.search(r"(?m)^  slowdown +not running", text):
            self.assertRegex(text, r"(?m)^most slowed: not known, .* \(\w+\)$")
        self.assertRegex(text, r"(?m)^containers: \d+ monitored")
        self.assertIn(f"http://127.0.0.1:{self.port}/metrics", text)
        if "--containers.all-cgroups" in text:
            self.assertIn("visible-to-quickstart", text)

    def test_most_slowed(self):
        """The line above the table names who suffers, by how much, and from what."""
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        scenario, recording = directory / "noisy.json", directory / "noisy.jsonl"
        scenario.write_text(json.dumps(NOISY))
        subprocess.run([SIMNODE, scenario, recording], check=True, timeout=60)
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
                                capture_output=True, text=True, timeout=280)
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

    def test_terminal_and_ctrl_c(self):
        primary, secondary = pty.openpty()
        process = subprocess.Popen([SCRIPT, f"--port={self.port}"], stdin=secondary,
                                   stdout=secondary, stderr=secondary, start_new_session=True)
        os.close(secondary)
        output = b""
        try:
            end = time.monotonic() + 280
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
            self.assertEqual(process.returncode, 0)
            wait_until(lambda: not exporters(self.port), 5, "the exporter ends")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            os.close(primary)

    def test_port_in_use(self):
        with harness.Exporter("--no-collector.probe", port=self.port):
            result = subprocess.run([SCRIPT, f"--port={self.port}", "--rounds=1"],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=280)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("in use", result.stderr)

    def test_usage(self):
        for arguments in (["--none"], ["--port", "many"], ["--rounds="]):
            result = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True,
                                    timeout=20)
            self.assertEqual(result.returncode, 2, arguments)


if __name__ == "__main__":
    harness.main()
