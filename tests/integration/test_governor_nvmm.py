#!/usr/bin/python3
"""nvmm_cores on the real kernel: the real exporter samples page faults, as in test_nvmm_live, and the
real governor keeps the threads that store to what stands for persistent memory on one CPU, until
they store no more. Who only computes, who was born of them, and who has asked for another CPU is
not kept; killed, it has left nothing that --restore does not give back.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import harness
import storing
from governing import GOVERNOR, GovernorPage
from harness import Cgroups, free_port, start, stop, wait_until

CPUS = harness.online_cpus()
KEPT = str(CPUS[-1])
WRITERS = 3
# Each writer has a page of the file, which it stores to and gives back: the next store is a page
# fault again. One has asked for a CPU. Prints the threads' numbers, writers first, then of the one
# with the CPU, then of one that computes. Lines: "write", "rest", and "beget", after which a writer
# has a child that computes, whose number is printed.
TENANT = """
import mmap, os, sys, threading, time
path, writers, cpu = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
PAGE = mmap.PAGESIZE
with open(path, "wb") as file:
    file.truncate((writers + 1) * PAGE)
with open(path, "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
writing, wanted = threading.Event(), []

def compute():
    while True:
        sum(range(10000))
        time.sleep(0.005)

def store(page):
    if page == writers:
        os.sched_setaffinity(0, {cpu})
    while writing.wait():
        memory[page * PAGE] = 1
        memory.madvise(mmap.MADV_DONTNEED, page * PAGE, PAGE)
        if page == 0 and wanted:
            wanted.pop()
            print(begin(compute), flush=True)
        time.sleep(0.005)

def begin(what, *arguments):
    thread = threading.Thread(target=what, args=arguments, daemon=True)
    thread.start()
    return thread.native_id

print(*[begin(store, page) for page in range(writers + 1)], begin(compute), flush=True)
for line in sys.stdin:
    if line == "beget\\n":
        wanted.append(True)
    else:
        (writing.set if line == "write\\n" else writing.clear)()
"""


class Tenant:
    def __init__(self, cgroups, cgroup, path):
        self.process = cgroups.spawn(
            cgroup, [sys.executable, "-c", TENANT, path, WRITERS, CPUS[0]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        *self.writers, self.pinned, self.computing = map(int, self.process.stdout.readline().split())
        wait_until(lambda: self.cpus(self.pinned) == str(CPUS[0]), 20, "it has asked for a CPU")
        self.before = self.all_cpus()

    def tell(self, word):
        print(word, file=self.process.stdin, flush=True)

    def beget(self):
        self.tell("beget")
        return int(self.process.stdout.readline())

    def cpus(self, tid):
        status = pathlib.Path(f"/proc/{self.process.pid}/task/{tid}/status").read_text()
        return re.search(r"Cpus_allowed_list:\s+(\S+)", status).group(1)

    def all_cpus(self):
        return {int(tid): self.cpus(tid) for tid in os.listdir(f"/proc/{self.process.pid}/task")}

    def are_kept(self):
        return all(self.cpus(tid) == KEPT for tid in self.writers)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()


@unittest.skipIf(len(CPUS) < 2, "needs two CPUs")
class Nvmm(GovernorPage, unittest.TestCase):
    def setUp(self):
        self.top = pathlib.Path(self.enterContext(storing.memory_folder()))
        self.nvmm, self.state = self.top / "nvmm", self.top / "state"
        self.nvmm.mkdir()
        self.state.mkdir(mode=0o700)
        self.cgroups = self.enterContext(Cgroups())
        cgroup, container_id = self.cgroups.docker()
        self.labels = {"container_id": container_id[:12]}
        self.exporter = self.enterContext(self.sampling_exporter())
        self.tenant = Tenant(self.cgroups, cgroup, self.nvmm / "file")
        self.addCleanup(self.tenant.close)

    def sampling_exporter(self):
        events = storing.write_events(self.top / "events.json")
        return storing.sampling_exporter(self.nvmm, events, self.cgroups.only(),
                                         "--sampling.interval=100ms",
                                         f"--web.listen-address=unix:{self.top}/exporter.sock")

    def configure(self, expiry):
        everything = {"namespace": "*", "pod": "*", "container": "*"}
        self.port, self.config = free_port(), self.top / "governor.json"
        self.config.write_text(json.dumps({
            "governor": 1, "mode": "enforce", "state_directory": str(self.state),
            "exporter": {"socket": str(self.top / "exporter.sock")},
            "classes": [{"name": "all", "role": "best_effort", "match": [everything]}],
            "policies": {"nvmm_cores": {"classes": ["all"], "cpus": KEPT, "engage": 1,
                                        "engage_after": "100ms", "expiry": expiry}}}))

    def argv(self, *more):
        return [GOVERNOR, f"--config.file={self.config}", f"--path.cgroupfs={self.cgroups.base}",
                f"--state-directory={self.state}",
                f"--web.listen-address=127.0.0.1:{self.port}", *more]

    def governor(self, expiry):
        self.configure(expiry)
        log = self.enterContext((self.top / "log").open("w+b"))
        process = start(self.argv("--enforce"), stderr=log)
        self.addCleanup(stop, process, signal.SIGKILL)
        return process

    def decisions(self):
        return json.loads(self.ask("/api/v1/decisions"))["decisions"]

    def two_lists_within_half_a_second(self):
        made = lambda: self.exporter.json("/api/v1/nvmm")["monotonic_seconds"]  # noqa: E731
        first = made()
        wait_until(lambda: made() > first, 20, "another list")
        return made() - first < 0.5

    def wait(self, condition, what):
        try:
            wait_until(condition, 60, what)
        except AssertionError:
            print((self.top / "log").read_text()[-4000:], self.exporter.json("/api/v1/nvmm"),
                  self.tenant.all_cpus(), sep="\n", file=sys.stderr)
            raise

    def test_who_stores_is_kept_until_it_rests(self):
        tenant, process = self.tenant, self.governor("200ms")
        tenant.tell("write")
        self.wait(tenant.are_kept, "the writers are kept")
        for tid in (tenant.process.pid, tenant.pinned, tenant.computing):
            self.assertEqual(tenant.cpus(tid), tenant.before[tid])
        child = tenant.beget()
        tenant.before[child] = tenant.before[tenant.computing]
        self.wait(lambda: tenant.cpus(child) == tenant.before[child], "who was born is free")
        self.wait(lambda: self.metric("container_kept_threads", **self.labels) == WRITERS and
                  self.metric("nvmm_writers") == WRITERS + 1, "so many are kept, and so many store")
        self.assertGreater(self.metric("errors_total", actuator="affinity", op="claim",
                                       reason="conflict"), 0)
        # The exporter tells of each tick, not once a second.
        self.wait(self.two_lists_within_half_a_second, "a list for each tick")
        self.wait(lambda: harness.close(self.metric("nvmm_expiry_seconds") or 0, 0.3, 1e-6),
                  "the time between lists as of now")
        tenant.tell("rest")
        self.wait(lambda: tenant.all_cpus() == tenant.before, "who rests is free")
        self.wait(lambda: self.metric("container_kept_threads", **self.labels) is None, "none is kept")
        seen = self.decisions()
        self.assertLessEqual({d["tid"] for d in seen}, set(tenant.writers))
        self.assertIn(("release", "calm"), {(d["action"], d["why"]) for d in seen})
        self.assertEqual(stop(process), 0)
        self.assertEqual(tenant.all_cpus(), tenant.before)

    def test_killed_and_restored(self):
        tenant, process = self.tenant, self.governor("60s")
        tenant.tell("write")
        self.wait(tenant.are_kept, "the writers are kept")
        stop(process, signal.SIGKILL)
        self.assertTrue(tenant.are_kept())
        child = tenant.beget()  # nobody looks after it
        self.assertEqual(tenant.cpus(child), KEPT)
        tenant.before[child] = tenant.before[tenant.computing]
        for _ in range(2):
            result = subprocess.run([str(a) for a in self.argv("--restore")], capture_output=True,
                                    timeout=20, check=False)
            self.assertEqual(result.returncode, 0, result.stderr.decode())
            self.assertEqual(tenant.all_cpus(), tenant.before)


if __name__ == "__main__":
    harness.need_root()
    harness.main()
