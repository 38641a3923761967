#!/usr/bin/python3
"""interference_governor and ways and bandwidth, on a FUSE that refuses what the kernel's resctrl does.

It is killed, and its writes fail, at steps that write (GOVERNOR_STRIDE=1: at each); afterwards
--restore has brought all tasks back to the root group and left no group of its own.
"""
import concurrent.futures
import errno
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from governing import GOVERNOR, Governed, GovernorRuns, cgroup_of, told_of
from harness import children, main, start, stop, wait_until
from json_server import JsonServer

HERE = pathlib.Path(__file__).resolve().parent
TIDS = ("101", "102", "103")
WORKERS = 4


class Machine(GovernorRuns):
    """A node with one protected and one best-effort container, and an exporter in which the
    protected one is slow."""

    def __init__(self, groups=4):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.tree, self.proc, self.sys = (self.folder / name for name in ("cgroup", "proc", "sys"))
        self.mount = self.sys / "fs/resctrl"
        for folder in (self.mount, self.proc / "self", self.proc / "sys/kernel/random",
                       self.sys / "devices/system/cpu", self.cgroup("cart"), self.cgroup("batch")):
            folder.mkdir(parents=True)
        (self.tree / "cgroup.controllers").write_text("cpuset cpu\n")
        (self.cgroup("cart") / "cgroup.threads").write_text("")
        (self.cgroup("batch") / "cgroup.threads").write_text("".join(f"{tid}\n" for tid in TIDS))
        (self.proc / "self/cpu_resctrl_groups").write_text("res:/\nmon:\n")
        (self.proc / "sys/kernel/random/boot_id").write_text("f2cc-boot\n")
        (self.sys / "devices/system/cpu/online").write_text("0-7\n")
        self.state, self.config = self.folder / "state", self.folder / "governor.json"
        self.count = self.folder / "count"
        self.fuse = start([sys.executable, HERE / "resctrl_fuse.py", self.mount, self.proc,
                           groups, *TIDS])
        wait_until(lambda: (self.mount / "schemata").exists(), 20, "the file system")
        self.server = JsonServer(lambda _: json.dumps(self.document()).encode())
        self.reset()

    def reset(self, slowdown=2.0):
        shutil.rmtree(self.state, ignore_errors=True)
        self.state.mkdir(mode=0o700)
        self.tick, self.slowdown, self.observed, self.lost = 0, slowdown, 0, 0
        anything = {"pod": "*", "container": "*"}
        by_slowdown = {"classes": ["batch"], "step": "10ms"}
        self.config.write_text(json.dumps({
            "governor": 1, "mode": "enforce", "state_directory": str(self.state),
            "exporter": {"socket": self.server.socket, "stale": "60s", "dead": "120s"},
            "classes": [{"name": "web", "role": "protected", "slowdown_bound": 1.5,
                         "match": [{"namespace": "shop", **anything}]},
                        {"name": "batch", "role": "best_effort", "llc": {"floor_ways": 10},
                         "mba": {"floor_percent": 90}, "match": [{"namespace": "jobs", **anything}]}],
            "policies": {"ways": by_slowdown, "mba": by_slowdown}}))

    def container(self, namespace, name, values):
        return {"namespace": namespace, "pod": name, "container": name,
                **told_of(name, self.cgroup(name).stat().st_ino, values)}

    def cgroup(self, path):
        """Of a container, or below one."""
        name, *inside = path.split("/")
        return pathlib.Path(self.tree / cgroup_of(name), *inside)

    def document(self):
        self.tick += 1
        self.observed += 1e9
        self.lost += 1e9 * (1 - 1 / self.slowdown)
        lost = [{"labels": {"model": "passive", "resource": resource}, "value": self.lost / 2}
                for resource in ("memory", "cache")]
        return {"source": "perf", "replay_ended": False,
                "tick": {"number": self.tick, "monotonic_seconds": time.monotonic(),
                         "timestamp_seconds": time.time(), "interval_seconds": 0.02},
                "containers": [
                    self.container("shop", "cart", {
                        "interference_container_slowdown_observed_cycles_total": [
                            {"labels": {"model": "passive"}, "value": self.observed}],
                        "interference_container_interference_cycles_total": lost}),
                    *(self.container("jobs", name, {
                        "interference_container_memory_reads_total": self.tick * 1e6})
                      for name in ("batch", "twin") if self.cgroup(name).exists())]}

    def close(self):
        self.server.close()
        stop(self.fuse)
        if self.mount.is_mount():
            subprocess.run(["umount", "-l", self.mount], check=True)
        shutil.rmtree(self.folder)

    def threads(self, cgroup, *tids):
        self.cgroup(cgroup).mkdir(exist_ok=True)
        (self.cgroup(cgroup) / "cgroup.threads").write_text("".join(f"{tid}\n" for tid in tids))

    def group(self, tid):
        return (self.proc / tid / "cpu_resctrl_groups").read_text().split()[0]

    def groups(self):
        return {(self.proc / tid / "cpu_resctrl_groups").read_text().split()[0] for tid in TIDS}

    def own_groups(self):
        return [path.name for path in self.mount.iterdir() if path.name.startswith("ig_")]

    def argv(self, *more):
        return [GOVERNOR, f"--config.file={self.config}", f"--path.cgroupfs={self.tree}",
                f"--state-directory={self.state}",
                f"--path.sysfs={self.sys}", f"--path.procfs={self.proc}",
                "--web.listen-address=127.0.0.1:0", *more]

    def play(self, process, expected):
        """Until both are turned down, and then to its end; or until it has died. Its status, which is
        one of these."""
        def is_over():
            return process.poll() is not None or self.tick > 14
        wait_until(is_over, 30, "the plot's end")
        return self.end(process, expected)


class Resctrl(Governed, unittest.TestCase):
    def machine(self, **named):
        machine = Machine(**named)
        self.addCleanup(machine.close)
        return machine

    def expect_restored(self, machine):
        for _ in range(2):
            result = machine.restore()
            self.assertEqual(result.returncode, 0, result.stderr.decode())
            self.assertEqual(machine.groups(), {"res:/"})
            self.assertEqual(machine.own_groups(), [])

    def test_turned_down_and_given_back(self):
        machine = self.machine()
        process = self.governed(machine, "--enforce")
        wait_until(lambda: machine.groups() == {"res:ig_3ff_90"} and
                   machine.own_groups() == ["ig_3ff_90"], 20, "turned down")
        self.assertEqual((machine.mount / "ig_3ff_90/schemata").read_text().split(),
                         ["L3:0=3ff;1=3ff", "MB:0=", "90;1=", "90"])
        machine.slowdown = 1.0001
        wait_until(lambda: machine.groups() == {"res:/"} and not machine.own_groups(), 20,
                   "given back")
        machine.slowdown = 2
        wait_until(lambda: machine.groups() == {"res:ig_3ff_90"}, 20, "turned down again")
        log = self.ended(process)
        self.assertEqual(machine.groups(), {"res:/"})
        self.assertEqual(machine.own_groups(), [])
        self.assertIn("policy=ways action=cut container=jobs/batch/batch knob=ways from=7ff to=3ff "
                      "cause=shop/cart/cart", log.replace('\\"', ""))

    def test_child_cgroups(self):
        """Who is in one before is not restricted, and who goes there while restricted is given back."""
        machine = self.machine()
        machine.threads("batch", TIDS[0])
        machine.threads("batch/child", TIDS[1])
        machine.threads("twin", TIDS[2])
        process = self.governed(machine, "--enforce")
        expect = lambda *groups: wait_until(
            lambda: [machine.group(tid) for tid in TIDS] == [f"res:{group}" for group in groups],
            20, groups)
        expect("ig_3ff_90", "/", "ig_3ff_90")
        machine.threads("batch")
        machine.threads("batch/child", *TIDS[:2])
        machine.config.write_text(machine.config.read_text().replace(
            '{"namespace": "jobs", "pod": "*"', '{"namespace": "jobs", "pod": "twin"'))
        expect("/", "/", "ig_3ff_90")
        stop(process)
        expect("/", "/", "/")

    def test_no_group_is_left_over_when_there_are_few(self):
        machine = self.machine(groups=2)
        process = self.governed(machine, "--enforce")
        wait_until(lambda: machine.tick > 20, 20, "ticks")
        self.assertLessEqual(len(machine.own_groups()), 1)
        stop(process)
        self.assertEqual(machine.groups(), {"res:/"})
        self.assertEqual(machine.own_groups(), [])

    def test_the_decider_is_killed(self):
        machine = self.machine()
        process = self.governed(machine, "--enforce")
        wait_until(lambda: machine.groups() == {"res:ig_3ff_90"}, 20, "turned down")
        os.kill(children(process.pid)[0], signal.SIGKILL)
        log = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 1, log)
        self.assertEqual(machine.groups(), {"res:/"})
        self.assertEqual(machine.own_groups(), [])

    def sweep(self, case, stride):
        """case(machine, n) for every stride-th n from 1 on, until one says that its step, or call, did
        not come; how many there were. Each worker has one machine. GOVERNOR_STRIDE=1: each."""
        stride = int(os.environ.get("GOVERNOR_STRIDE", stride))
        first = 1
        machines = queue.Queue()
        for _ in range(WORKERS):
            machines.put(self.machine())

        def run(at):
            machine = machines.get()
            try:
                machine.reset()
                return case(machine, at)
            finally:
                machines.put(machine)

        last = 0  # a run whose governor had no CPU for a while has fewer steps than others
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            while True:
                steps = range(first, first + 2 * WORKERS * stride, stride)
                passed = dict(zip(steps, pool.map(run, steps)))
                last = max([last, *(at for at in steps if not passed[at])])
                if all(passed.values()):
                    return last
                first = steps.stop

    def test_killed_at_any_step(self):
        """By an odd stride: before calls and after them."""
        def case(machine, at):
            code = machine.play(machine.run("--enforce", at=at), (0, -signal.SIGKILL))
            self.expect_restored(machine)
            return code == 0
        self.assertGreater(self.sweep(case, 5), 40)

    def test_any_call_fails(self):
        """By a stride that is no multiple of three: with each error."""
        def case(machine, call):
            fault = machine.failing(call, errno.EIO, errno.ENOSPC, errno.EBUSY)
            machine.play(machine.run("--enforce", **fault), (0, 1, 3))
            failed = machine.has_failed(call)
            self.expect_restored(machine)
            return not failed
        self.assertGreater(self.sweep(case, 4), 20)


if __name__ == "__main__":
    main()
