#!/usr/bin/python3
"""The exporter's processes: what each holds, and what happens when one of them dies.

A sanitizer's build runs without the confinement (service/confine.h), and otherwise the same.
"""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import harness
import web_files
from harness import children, wait_until
from harness import process_status as status


class Processes(unittest.TestCase):
    def setUp(self):
        self.port = harness.free_port()
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)
        self.reader = harness.start(
            [harness.BUILD / "interference_exporter", f"--web.listen-address=127.0.0.1:{self.port}",
             "--sampling.interval=100ms"], stderr=self.log)
        self.addCleanup(lambda: self.reader.poll() is None and harness.stop(self.reader))
        wait_until(lambda: self.get("/-/ready")[0] == 200, what="ready")
        (self.keeper,) = children(self.reader.pid)
        (self.server,) = children(self.keeper)

    def get(self, path, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError as error:
            return None, str(error).encode()

    def said(self):
        return harness.text_of(self.log)

    def requests(self, **labels):
        page = harness.parse_openmetrics(
            self.get("/metrics", Accept="application/openmetrics-text")[1].decode())
        return page.get("interference_exporter_http_requests_total", **labels) or 0

    def gone(self, pid):
        wait_until(lambda: harness.is_gone(pid), what=f"the end of {pid}")

    def test_what_they_hold(self):
        """The table of deploy/security.md."""
        if not re.search(r"^IE_SANITIZE:\w+=$", (harness.BUILD / "CMakeCache.txt").read_text(),
                         re.MULTILINE):
            self.skipTest("a sanitizer's build is not confined")
        reader, keeper, server = (status(p) for p in (self.reader.pid, self.keeper, self.server))
        for child in (keeper, server):
            self.assertEqual(int(child["CapEff"], 16), 0)
            self.assertEqual(int(child["CapPrm"], 16), 0)
            self.assertEqual(child["NoNewPrivs"], "1")
            self.assertEqual(child["Seccomp"], "2")
        if os.geteuid() == 0:
            for child in (keeper, server):
                self.assertEqual(set(child["Uid"].split()), {"65534"})
                self.assertEqual(set(child["Gid"].split()), {"65534"})
                self.assertEqual(child["Groups"], "")
                self.assertEqual(int(child["CapBnd"], 16), 0)
        # Two filters: the keeper's, and its own on top.
        self.assertGreater(int(server["Seccomp_filters"]), int(keeper["Seccomp_filters"]))
        self.assertEqual(keeper["Threads"], "1")
        # Of the reader's descriptors the server has the channel, the log and the sockets.
        links = list(harness.fd_targets(self.server))
        self.assertFalse([l for l in links if "cgroup" in l or "/proc" in l or "/sys" in l], links)
        # Nobody listens but the server: the reader has no socket on a network.
        sockets = pathlib.Path(f"/proc/{self.reader.pid}/net/tcp").read_text()
        (inode,) = {line.split()[9] for line in sockets.splitlines()[1:]
                    if line.split()[1].endswith(f":{self.port:04X}") and line.split()[3] == "0A"}
        holders = {pid for pid in (self.reader.pid, self.keeper, self.server)
                   if f"socket:[{inode}]" in harness.fd_targets(pid)}
        self.assertEqual(holders, {self.keeper, self.server})
        self.assertEqual(reader["NoNewPrivs"], "1")
        self.assertEqual(reader["Seccomp"], "2")
        self.assertIn("the process that reads: changes no files but its own, no programs, no network",
                      self.said())

    def test_the_server_dies(self):
        before = self.requests(handler="metrics", format="openmetrics", code="200")
        os.kill(self.server, signal.SIGKILL)
        wait_until(lambda: children(self.keeper) not in ([], [self.server]), what="another server")
        wait_until(lambda: self.get("/metrics")[0] == 200, what="pages again")
        self.assertIn("the HTTP server was ended by signal 9; starting it again", self.said())
        # Counts go on, and the reader never stopped.
        wait_until(lambda: self.requests(handler="metrics", format="openmetrics", code="200")
                   > before, what="counts that go on")
        self.assertIsNone(self.reader.poll())

    def test_the_server_hangs(self):
        """Its keeper notices that it does not move, and starts another one."""
        os.kill(self.server, signal.SIGSTOP)
        wait_until(lambda: children(self.keeper) not in ([], [self.server]), 60, "another server", 0.1)
        wait_until(lambda: self.get("/metrics")[0] == 200, what="pages again")
        self.assertIn("the HTTP server has not moved for 6 s: it is ended", self.said())
        self.assertIsNone(self.reader.poll())

    def test_it_dies_again_and_again(self):
        """Each time another one, but not in a busy loop."""
        for _ in range(3):
            (server,) = wait_until(lambda: children(self.keeper), what="a server")
            os.kill(server, signal.SIGKILL)
            wait_until(lambda: server not in children(self.keeper), what="its end")
        wait_until(lambda: self.get("/metrics")[0] == 200, what="pages again")

    def test_lines_that_nobody_takes(self):
        """The keeper's and the server's are counted with the reader's."""
        harness.stop(self.reader)
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        self.addCleanup(os.close, writing)
        os.set_blocking(writing, False)
        for size in (4096, 1):
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(writing, b"x" * size)
        reader = harness.start(
            [harness.BUILD / "interference_exporter", f"--web.listen-address=127.0.0.1:{self.port}",
             "--sampling.interval=100ms"], stderr=writing)
        self.addCleanup(lambda: reader.poll() is None and harness.stop(reader))
        wait_until(lambda: self.get("/-/ready")[0] == 200, what="ready")

        def dropped():
            page = harness.parse_openmetrics(
                self.get("/metrics", Accept="application/openmetrics-text")[1].decode())
            return page.get("interference_exporter_log_lines_dropped_total", reason="blocked")

        before = dropped()
        (keeper,) = children(reader.pid)
        for _ in range(3):
            (server,) = wait_until(lambda: children(keeper), what="a server")
            os.kill(server, signal.SIGKILL)
            wait_until(lambda: server not in children(keeper), what="its end")
        wait_until(lambda: self.get("/metrics")[0] == 200, what="pages again")
        wait_until(lambda: dropped() >= before + 3, what="three lines that nobody could read")

    def test_a_scrape_in_flight(self):
        """A client that has half its answer sees the end, not silence."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertTrue(client.recv(1))
            os.kill(self.server, signal.SIGKILL)
            try:
                while client.recv(65536):
                    pass
            except ConnectionResetError:
                pass

    def test_the_keeper_dies(self):
        """Nobody could be scraped any more: all of it ends, with words, to be started again."""
        os.kill(self.keeper, signal.SIGKILL)
        self.assertEqual(self.reader.wait(60), 1)
        self.gone(self.server)
        self.assertIn("the HTTP server's process has ended", self.said())

    def test_the_reader_dies(self):
        self.reader.kill()
        self.reader.wait(60)
        self.gone(self.server)
        self.gone(self.keeper)
        self.assertIsNone(self.get("/metrics")[0])

    def states_of_threads(self):
        for stat in pathlib.Path(f"/proc/{self.reader.pid}/task").glob("*/stat"):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                yield stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]

    def test_the_reader_stands_still(self):
        """Clients are told, and served again afterwards."""
        self.reader.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: set(self.states_of_threads()) == {"T"}, what="all threads stand still")
            code, words = self.get("/metrics")
            self.assertEqual(code, 503, words)
            self.assertIn(b"does not answer", words)
            self.assertEqual(self.get("/nothing")[0], 404)
        finally:
            self.reader.send_signal(signal.SIGCONT)
        wait_until(lambda: self.get("/metrics")[0] == 200, what="pages again")
        # Late answers to those who went away reach nobody else.
        self.assertIn(b'"version"', self.get("/api/v1/status")[1])

    def test_signals_of_a_terminal(self):
        """A terminal's signal reaches all of them; what is under way is finished in order."""
        for pid in (self.server, self.keeper):
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGINT)
        time.sleep(0.3)
        self.assertEqual(self.get("/metrics")[0], 200)
        self.assertEqual(children(self.keeper), [self.server])
        self.assertEqual(harness.stop(self.reader), 0)
        self.gone(self.server)
        self.gone(self.keeper)

    def test_every_page_crosses(self):
        """Long ones, short ones, refused ones, many at once: all as from one process."""
        wanted = {"/metrics": 200, "/": 200, "/-/healthy": 200, "/api/v1/status": 200,
                  "/api/v1/interference": 200, "/nothing": 404, "/metrics?collect[]=probe": 200,
                  "/metrics?collect[]=nobody": 400}
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda path: (path, self.get(path)[0]), list(wanted) * 40))
        self.assertEqual({(path, code) for path, code in answers}, set(wanted.items()))
        probe = b"\n# TYPE interference_memory_probe_latency_seconds"
        wait_until(lambda: probe in self.get("/metrics?collect[]=probe")[1], what="the argument")
        self.assertFalse(probe in self.get("/metrics?collect[]=attribution")[1])


class WithCertificates(unittest.TestCase):
    """With --web.config.file the server has to read, in two directories here, and nothing else."""

    def test_the_server_dies(self):
        harness.need_command("openssl")
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (directory / "keys").mkdir()
        (directory / "config").mkdir()
        certificates = web_files.Certificates(directory / "keys")
        authority = certificates.authority("ca")
        certificates.signed("server", "ca", "IP:127.0.0.1", "serverAuth")
        config = directory / "config/web.yml"
        config.write_text("tls_server_config:\n"
                          f"  cert_file: {directory}/keys/server.pem\n"
                          "  key_file: ../keys/server.key\n")
        port = harness.free_port()
        context = ssl.create_default_context(cafile=authority)

        def served():
            with contextlib.suppress(OSError), urllib.request.urlopen(
                    f"https://127.0.0.1:{port}/-/ready", timeout=5, context=context) as answer:
                return answer.status == 200

        process = harness.start(
            [harness.BUILD / "interference_exporter", f"--web.listen-address=127.0.0.1:{port}",
             f"--web.config.file={config}"], stderr=subprocess.DEVNULL)
        try:
            wait_until(served, what="TLS")
            (keeper,) = children(process.pid)
            (server,) = children(keeper)
            # As whom it was started, to read the key; but with none of that user's powers.
            self.assertEqual(status(server)["Uid"], status(process.pid)["Uid"])
            self.assertEqual(int(status(server)["CapEff"], 16), 0)
            os.kill(server, signal.SIGKILL)
            wait_until(served, what="TLS from another server")
            # The next certificate is read by a server that was started confined.
            certificates.signed("server", "ca", "IP:127.0.0.1", "serverAuth", days=1)
            wait_until(served, what="TLS with another certificate")
        finally:
            harness.stop(process)


class AddressInUse(unittest.TestCase):
    def test_it(self):
        """The words of the start reach the user from whichever process meets the problem."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            result = subprocess.run(
                [harness.BUILD / "interference_exporter", f"--web.listen-address={address}"],
                capture_output=True, text=True, timeout=30)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"cannot listen on {address}: Address already in use", result.stderr)


if __name__ == "__main__":
    harness.main()
