#!/usr/bin/python3
"""--state.file: what the exporter learned outlives its restart, its being killed, and nothing else."""
import json
import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import unittest

import harness
from harness import Cgroups, Exporter, wait_until

THRESHOLD = "interference_container_memory_read_latency_threshold_seconds"
PAGES = 20000


class State(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.file = self.directory / "state"
        self.events = self.directory / "events.json"
        self.events.write_text(json.dumps(harness.SOFTWARE_EVENTS))
        self.groups = Cgroups()
        self.addCleanup(self.groups.__exit__)

    def exporter(self, *flags, file=None):
        return Exporter(f"--state.file={file or self.file}", f"--events.file={self.events}",
                        "--sampling.interval=100ms", self.groups.only(), *flags)

    def busy(self):
        """A container that always touches new pages; its id."""
        cgroup, container_id = self.groups.docker()
        self.groups.spawn(cgroup, ["sh", "-c", 'while :; do "$1" "$2"; done', "-",
                                   harness.PROGRAMS / "touch_pages", str(PAGES)])
        return container_id

    @staticmethod
    def threshold(exporter, container_id):
        return exporter.scrape().get(THRESHOLD, container_id=container_id[:12])

    def learned(self):
        """An exporter has found a threshold for a container, and has ended; the container's id."""
        container_id = self.busy()
        with self.exporter() as exporter:
            self.assertIn("there was none", exporter.status()["state"]["at_start"])
            wait_until(lambda: self.threshold(exporter, container_id), 60, "a threshold", 0.2)
            self.assertEqual(exporter.stop()[0], 0)
        return container_id

    def test_restarted(self):
        container_id = self.learned()
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)
        self.assertEqual([p.name for p in self.directory.iterdir() if p != self.events],
                         ["state"])

        with self.exporter("--sampling.interval=3s") as exporter:
            self.assertRegex(exporter.status()["state"]["at_start"], r"^read: [1-9]")
            wait_until(lambda: self.threshold(exporter, container_id), 15, "the threshold", 0.1)
            # Ten calm windows, the first of which is the tenth: it could not have learned so soon.
            self.assertLess(exporter.tick(), 18)
            before = self.file.read_bytes()
            exporter.process.send_signal(signal.SIGKILL)
            exporter.process.wait()
        self.assertEqual(self.file.read_bytes(), before)
        with self.exporter() as exporter:
            self.assertRegex(exporter.status()["state"]["at_start"], r"^read: [1-9]")

    def test_ignored(self):
        self.learned()
        before = bytearray(self.file.read_bytes())
        for change, reason in (
                (lambda: os.chmod(self.file, 0o620), "others can write to it"),
                (lambda: self.file.write_bytes(before[:-1]), "it is cut off"),
                (lambda: self.file.write_bytes(before[:-1] + bytes([before[-1] ^ 1])),
                 "its checksum is wrong"),
                (lambda: self.file.write_bytes(b"{}" * 100), "it is not a state file")):
            self.file.write_bytes(before)
            os.chmod(self.file, 0o600)
            change()
            with self.exporter() as exporter:
                self.assertEqual(exporter.status()["state"]["at_start"],
                                 f"ignored, everything is learned anew: {reason}")
                self.assertIn(reason, exporter.log())
            self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o600)

        # Another boot, as the kernel tells it: the same tree but for one file.
        fake = self.directory / "boot_id"
        fake.write_text("00000000-0000-4000-8000-000000000000\n")
        with Exporter(f"--state.file={self.file}", f"--events.file={self.events}",
                      self.groups.only(),
                      command=["unshare", "--mount", "sh", "-c",
                               'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"',
                               fake]) as exporter:
            self.assertEqual(exporter.status()["state"]["at_start"],
                             "ignored, everything is learned anew: it is of another boot")
        # Events of the user's count something else.
        with self.exporter() as exporter:
            pass
        other = dict(harness.SOFTWARE_EVENTS["roles"], llc_reads="software:cpu-migrations")
        self.events.write_text(json.dumps({**harness.SOFTWARE_EVENTS, "roles": other}))
        with self.exporter() as exporter:
            self.assertIn("other ", exporter.status()["state"]["at_start"])

    def test_cannot_be_written(self):
        read_only = self.directory / "read-only"
        read_only.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", read_only], check=True)
        self.addCleanup(subprocess.run, ["umount", read_only], check=True)
        for file, words in ((self.directory / "absent/state", "No such file or directory"),
                            (read_only / "state", "Read-only file system")):
            with self.exporter(file=file) as exporter:
                exporter.wait_tick()
                self.assertEqual(exporter.stop()[0], 0)
                self.assertEqual(exporter.log().count(words), 1)
                self.assertIn(f"{file} is not up to date", exporter.log())

    def test_refused(self):
        run = harness.run_exporter(f"--state.file={self.file}", "--once")
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, r"^interference_exporter: --state.file contradicts [^\n]*\n$")
        self.assertFalse(self.file.exists())

    def test_of_a_replay(self):
        """What is learned from a recording is for replays (tests/replay/days restarts them); no machine
        reads it."""
        with Exporter(f"--state.file={self.file}", "--source.replay.speed=max",
                      f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}") as exporter:
            wait_until(lambda: "has ended" in exporter.log(), 10, "the recording's end")
            self.assertEqual(exporter.stop()[0], 0)
        with self.exporter() as exporter:
            self.assertIn("it is of another boot", exporter.status()["state"]["at_start"])


if __name__ == "__main__":
    harness.need_root()
    harness.main()
