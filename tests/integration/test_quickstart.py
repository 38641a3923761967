#!/usr/bin/python3
"""deploy/quickstart.sh shows what it promises, ends at Ctrl-C, and leaves nothing running."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest
import urllib.request

import harness
from harness import SOURCE, wait_until

SCRIPT = SOURCE / "deploy/quickstart.sh"


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
        self.assertRegex(text, r"(?m)^containers: \d+ monitored")
        self.assertIn(f"http://127.0.0.1:{self.port}/metrics", text)
        if "--containers.all-cgroups" in text:
            self.assertIn("visible-to-quickstart", text)

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
