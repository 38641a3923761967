#!/usr/bin/python3
"""interference_governor and CPUs of real threads: those that write to persistent memory, as an
exporter of the test's own says, are kept on one CPU.

It is killed, and its writes fail, at every step that writes; afterwards --restore has given every
thread the CPUs that it had, those that were born meanwhile, too.
"""
import concurrent.futures
import contextlib
import errno
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from governing import GOVERNOR, Governed, GovernorRuns, cgroup_of, id_of, told_of
from harness import children, main, start, stop, wait_until
from json_server import JsonServer

CPUS = sorted(os.sched_getaffinity(0))
KEPT = {CPUS[-1]}
WORKERS = 4
# Threads that sleep, and one more, with its parent's CPUs, for each line that is read.
SLEEPERS = """
import sys, threading, time
def begin():
    thread = threading.Thread(target=time.sleep, args=(600,), daemon=True)
    thread.start()
    return thread.native_id
print(*[begin() for _ in range(3)], flush=True)
for line in sys.stdin:
    print(begin(), flush=True)
"""


class Teller(JsonServer):
    """An exporter's two documents: one container, and which of its threads store all the time.
    'names' of what is no pod's: ("", "", the service)."""

    def __init__(self, cgroup, path, pid, writers, names=("jobs", "w", "w"), socket=None):
        self.cgroup, self.path, self.pid, self.writers = cgroup, path, pid, writers
        self.names = dict(zip(("namespace", "pod", "container"), names))
        self.tick, self.writing = 0, True
        super().__init__(self.answer, socket)

    def answer(self, path):
        page = self.nvmm if path == "/api/v1/nvmm" else self.containers
        return json.dumps(page()).encode()

    def containers(self):
        self.tick += 1
        return {"source": "perf", "replay_ended": False,
                "tick": {"number": self.tick, "monotonic_seconds": time.monotonic(),
                         "timestamp_seconds": time.time(), "interval_seconds": 0.05},
                "containers": [{**self.names,
                                **told_of("w", self.cgroup.stat().st_ino, {}, self.path)}]}

    def nvmm(self):
        threads = [{"tid": tid, "last_store_seconds_ago": 0.01}
                   for tid in (self.writers if self.writing else [])]
        return {"source": "perf", "monotonic_seconds": time.monotonic(), "window_seconds": 0.05,
                "containers": [{"container_id": id_of("w")[:12],
                                "processes": [{"pid": self.pid, "threads": threads}]}]}

    def configuration(self, state, socket=None):
        """Of a governor that keeps whoever stores on the last CPU."""
        return json.dumps({
            "governor": 1, "mode": "enforce", "state_directory": str(state),
            "exporter": {"socket": socket or self.socket, "stale": "60s", "dead": "120s"},
            "classes": [{"name": "batch", "role": "best_effort", "match": [self.names]}],
            "policies": {"nvmm_cores": {"classes": ["batch"], "cpus": str(CPUS[-1]), "engage": 1,
                                        "engage_after": "50ms"}}})


class Machine(GovernorRuns):
    """A container of a tree of plain files, with real threads, and who tells of them."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.tree, self.state = self.folder / "cgroup", self.folder / "state"
        self.cgroup = self.tree / cgroup_of("w")
        self.cgroup.mkdir(parents=True)
        (self.tree / "cgroup.controllers").write_text("cpuset cpu\n")
        (self.cgroup / "cpuset.cpus.effective").write_text(",".join(map(str, CPUS)) + "\n")
        self.config, self.count = self.folder / "governor.json", self.folder / "count"
        self.sleepers = start([sys.executable, "-c", SLEEPERS], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
        self.writers = [int(tid) for tid in self.sleepers.stdout.readline().split()]
        self.main = self.sleepers.pid
        self.tids = [self.main, *self.writers]
        self.list_threads()
        self.exporter = Teller(self.cgroup, f"/{cgroup_of('w')}", self.main, self.tids[:])
        self.reset()

    def reset(self):
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir(mode=0o700)
        self.exporter.tick, self.exporter.writing = 0, True
        self.config.write_text(self.exporter.configuration(self.state))

    def close(self):
        self.exporter.close()
        stop(self.sleepers, signal.SIGKILL)
        self.sleepers.stdin.close()
        self.sleepers.stdout.close()
        shutil.rmtree(self.folder)

    def list_threads(self):
        (self.cgroup / "cgroup.threads").write_text("".join(f"{tid}\n" for tid in self.tids))

    def beget(self):
        """A thread that is born of the main one."""
        self.sleepers.stdin.write("\n")
        self.sleepers.stdin.flush()
        self.tids.append(int(self.sleepers.stdout.readline()))
        self.list_threads()
        return self.tids[-1]

    def cpus(self, tid):
        return os.sched_getaffinity(tid)

    def are_kept(self):
        return all(self.cpus(tid) == KEPT for tid in (self.main, *self.writers))

    def are_free(self):
        return all(self.cpus(tid) == set(CPUS) for tid in self.tids)

    def argv(self, *more):
        return [GOVERNOR, f"--config.file={self.config}", f"--path.cgroupfs={self.tree}",
                f"--state-directory={self.state}",
                "--web.listen-address=127.0.0.1:0", *more]

    def play(self, process, expected):
        """Until they are kept, one is born, and it is given back; or until the governor has died. Its
        status, which is one of these."""
        over = lambda *_: process.poll() is not None
        wait_until(lambda: over() or self.are_kept(), 40, "kept")
        if not over():
            child = self.beget()
            wait_until(lambda: over() or self.cpus(child) == set(CPUS), 40, "given back")
        return self.end(process, expected)


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
class Threads(Governed, unittest.TestCase):
    def machine(self):
        machine = Machine()
        self.addCleanup(machine.close)
        return machine

    def expect_restored(self, machine):
        for _ in range(2):
            result = machine.restore()
            self.assertEqual(result.returncode, 0, result.stderr.decode())
            self.assertTrue(machine.are_free())

    def test_kept_given_back_and_born(self):
        machine = self.machine()
        own = machine.beget()
        os.sched_setaffinity(own, KEPT)  # as ours would be, and its own
        process = self.governed(machine, "--enforce")
        wait_until(machine.are_kept, 40, "kept")
        child = machine.beget()
        wait_until(lambda: machine.cpus(child) == set(CPUS) and machine.are_kept(), 40,
                   "who was born is given back, and nobody else")
        machine.exporter.writing = False
        wait_until(lambda: machine.cpus(machine.main) == set(CPUS), 40, "writing no more")
        machine.exporter.writing = True
        wait_until(machine.are_kept, 40, "kept again")
        log = self.ended(process)
        self.assertEqual(machine.cpus(own), KEPT)
        os.sched_setaffinity(own, CPUS)
        self.assertTrue(machine.are_free())
        self.assertIn("policy=nvmm_cores action=cut container=jobs/w/w knob=affinity from=all "
                      f"to={CPUS[-1]}", log.replace('\\"', "").replace('"', ""))
        self.assertIn(f"tid={machine.main}", log)

    def test_killed_it_leaves_what_somebody_else_set(self):
        machine = self.machine()
        process = self.governed(machine, "--enforce")
        wait_until(machine.are_kept, 40, "kept")
        stop(process, signal.SIGKILL)
        os.sched_setaffinity(machine.writers[0], {CPUS[0]})
        result = machine.restore()
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertIn(b"outcome=foreign", result.stderr)
        self.assertEqual(machine.cpus(machine.writers[0]), {CPUS[0]})
        self.assertEqual(machine.cpus(machine.main), set(CPUS))

    def test_the_decider_is_killed(self):
        """The writer gives everybody back, who was born too."""
        machine = self.machine()
        process = self.governed(machine, "--enforce")
        wait_until(machine.are_kept, 40, "kept")
        os.kill(children(process.pid)[0], signal.SIGKILL)
        machine.beget()
        log = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 1, log)
        self.expect_restored(machine)

    def sweep(self, case):
        """case(machine, n) for n = 1, 2, ..., some at a time, until the steps of all of these did not
        come; how many there were."""
        last = 0
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            def run(at):
                with contextlib.closing(Machine()) as machine:
                    return case(machine, at)
            for first in itertools.count(1, WORKERS):
                steps = range(first, first + WORKERS)
                passed = dict(zip(steps, pool.map(run, steps)))
                if all(passed.values()):
                    return last
                last = max(at for at in passed if not passed[at])

    def test_killed_at_every_step(self):
        def case(machine, at):
            code = machine.play(self.governed(machine, "--enforce", at=at), (0, -signal.SIGKILL))
            self.expect_restored(machine)
            return code == 0
        self.assertGreater(self.sweep(case), 20)

    def test_each_call_fails(self):
        def case(machine, call):
            fault = machine.failing(call, errno.EIO, errno.EPERM, errno.EBUSY)
            machine.play(self.governed(machine, "--enforce", **fault), (0, 1, 3))
            failed = machine.has_failed(call)
            self.expect_restored(machine)
            return not failed
        self.assertGreater(self.sweep(case), 10)


if __name__ == "__main__":
    main()
