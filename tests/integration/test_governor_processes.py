#!/usr/bin/python3
"""The governor's processes: what each holds, and that whichever ends or hangs, everything is given back.

A sanitizer's build runs without the confinement (service/confine.h), and otherwise the same.
"""
import contextlib
import os
import pathlib
import signal
import stat
import subprocess
import time
import unittest

import harness
from harness import children, is_gone, sanitized, stop, wait_until
from harness import process_status as status
from test_governor import BATCH, Scene


class Processes(unittest.TestCase):
    def setUp(self):
        self.scene = Scene([131])
        self.addCleanup(self.scene.close)
        self.writer = self.scene.run("--enforce")
        self.addCleanup(self.writer.stderr.close)
        self.addCleanup(stop, self.writer, signal.SIGKILL)
        wait_until(self.is_held, what="held")
        (self.decider,) = children(self.writer.pid)
        (self.keeper,) = children(self.decider)
        (self.server,) = children(self.keeper)

    def is_held(self):
        return all(self.scene.quota(name) == "100000 100000" for name in BATCH)

    def is_free(self):
        return self.scene.snapshot() == self.scene.before

    def end(self):
        """The writer's status, and what it said; nobody else is left."""
        log = self.writer.communicate(timeout=60)[1].decode()
        for pid in (self.decider, self.keeper, self.server):
            wait_until(lambda pid=pid: is_gone(pid), what=f"the end of {pid}")
        return self.writer.returncode, log

    def expect_nothing_left(self):
        """There is nothing that --restore would find, either."""
        self.assertTrue(self.is_free())
        result = self.scene.restore()
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertNotIn(b"outcome=", result.stderr)
        self.assertTrue(self.is_free())

    def opened(self, pid):
        """(target, mode, whether it can be written to) of what it has open beside the log."""
        for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            if int(fd.name) <= 2:
                continue
            with contextlib.suppress(FileNotFoundError):
                info = (fd.parent.parent / "fdinfo" / fd.name).read_text()
                flags = int(info.split("flags:")[1].split()[0], 8)
                yield os.readlink(fd), fd.stat().st_mode, flags & os.O_ACCMODE != os.O_RDONLY

    def test_what_they_hold(self):
        """deploy/governor.md: the writer no network, the decider nothing to write with."""
        sockets = [target for target, _, _ in self.opened(self.writer.pid) if target.startswith("socket:")]
        self.assertEqual(len(sockets), 1, sockets)  # to the decider; systemd's would be another one
        own = {target for target, _, _ in self.opened(self.decider) if target.startswith("socket:")}
        self.assertGreaterEqual(len(own), 3, own)  # to the writer, and two to the server's keeper
        for pid in (self.keeper, self.server):  # strangers talk to it: it has no way to the writer
            self.assertEqual(own & {target for target, _, _ in self.opened(pid)}, set())
        files = [target for target, mode, writes in self.opened(self.decider)
                 if writes and stat.S_ISREG(mode) and not target.startswith("/memfd:")]
        self.assertEqual(files, [])
        journals = [target for target, _, writes in self.opened(self.writer.pid)
                    if writes and target.endswith("/journal")]
        self.assertEqual(journals, [f"{self.scene.state}/journal"])
        if sanitized():
            return
        for pid in (self.writer.pid, self.decider, self.keeper, self.server):
            held = status(pid)
            self.assertEqual((held["Seccomp"], held["NoNewPrivs"]), ("2", "1"))
            self.assertEqual((int(held["CapEff"], 16), int(held["CapPrm"], 16)), (0, 0))
            if os.geteuid() == 0:
                self.assertEqual(int(held["CapBnd"], 16), 0)
        self.assertEqual(status(self.writer.pid)["Threads"], "1")

    def test_the_decider_is_killed(self):
        os.kill(self.decider, signal.SIGKILL)
        code, log = self.end()
        self.assertEqual(code, 1, log)
        self.assertIn("has left something", log)
        self.assertEqual(log.count("outcome=restored"), len(BATCH), log)
        self.expect_nothing_left()

    def test_as_in_a_pod(self):
        """Where the program is the first process, with whom all others end: it is the writer."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        scene = Scene([131])
        self.addCleanup(scene.close)
        first = harness.start(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                               *scene.argv("--enforce")], stderr=subprocess.PIPE)
        self.addCleanup(first.stderr.close)
        self.addCleanup(stop, first, signal.SIGKILL)
        wait_until(lambda: all(scene.quota(name) == "100000 100000" for name in BATCH), what="held")
        (writer,) = children(first.pid)
        (decider,) = children(writer)
        os.kill(decider, signal.SIGKILL)
        log = first.communicate(timeout=60)[1].decode()
        self.assertEqual(first.returncode, 1, log)
        self.assertEqual(scene.snapshot(), scene.before, log)

    def test_children_are_ignored(self):
        """By whoever started it: how the decider ended is known nevertheless."""
        scene = Scene([131])
        self.addCleanup(scene.close)
        first = harness.start(["env", "--ignore-signal=CHLD", *scene.argv("--enforce")], stderr=subprocess.PIPE)
        self.addCleanup(first.stderr.close)
        self.addCleanup(stop, first, signal.SIGKILL)
        wait_until(lambda: all(scene.quota(name) == "100000 100000" for name in BATCH), what="held")
        first.send_signal(signal.SIGTERM)
        log = first.communicate(timeout=60)[1].decode()
        self.assertEqual(first.returncode, 0, log)
        self.assertEqual(scene.snapshot(), scene.before, log)

    def test_the_writer_is_killed(self):
        os.kill(self.writer.pid, signal.SIGKILL)
        self.assertEqual(self.end()[0], -signal.SIGKILL)
        self.assertTrue(self.is_held())
        result = self.scene.restore()
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.expect_nothing_left()

    def test_the_decider_hangs(self):
        os.kill(self.decider, signal.SIGSTOP)
        code, log = self.end()
        self.assertEqual(code, 1, log)
        self.assertIn("has not moved for 10 s", log)
        self.expect_nothing_left()

    def test_the_writer_hangs(self):
        """The decider ends, and so nobody tells systemd any more; once it goes on it gives back."""
        os.kill(self.writer.pid, signal.SIGSTOP)
        began = time.monotonic()
        wait_until(lambda: status(self.decider)["State"][0] == "Z", 60, "the decider's end")
        self.assertGreater(time.monotonic() - began, 3)  # it has been waited for
        self.assertTrue(self.is_held())
        os.kill(self.writer.pid, signal.SIGCONT)
        code, log = self.end()
        self.assertEqual(code, 1, log)
        self.assertIn("the process that writes has ended, or hangs", log)
        self.expect_nothing_left()

    def test_what_the_writer_may_not_is_not_read(self):
        """What was said at its start is what it may do."""
        reload = lambda: self.scene.metrics().get("interference_governor_config_last_reload_successful")
        self.scene.configure("enforce")
        text = self.scene.config.read_text()
        self.scene.config.write_text(text.replace('"role": "best_effort"', '"role": "best_effort", '
                                                  '"cpu": {"base_cores": 0.5}'))
        self.writer.send_signal(signal.SIGHUP)
        wait_until(lambda: reload() == 0, what="a floor below that of the start")
        self.assertTrue(self.is_held())
        self.scene.config.write_text(text.replace('"role": "best_effort"', '"role": "best_effort", '
                                                  '"cpu": {"base_cores": 2}'))
        wait_until(lambda: reload() == 1, what="one above it")
        self.writer.send_signal(signal.SIGTERM)
        code, log = self.end()
        self.assertEqual(code, 0, log)
        self.assertIn("floor below those at the start", log)
        self.expect_nothing_left()


if __name__ == "__main__":
    harness.main()
