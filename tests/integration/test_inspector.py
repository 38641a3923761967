#!/usr/bin/python3
"""The processes that look into others, in the whole exporter: what each holds, what happens when
one of them dies, and when what they look at does not answer. Page faults stand for sampled stores,
a directory for persistent memory, as in test_nvmm_live."""
import contextlib
import os
import pathlib
import signal
import subprocess
import unittest

import harness
import storing
from harness import Cgroups, children, is_gone, wait_until
from harness import process_status as status

SAMPLES = "interference_container_memory_samples_total"
# SYS_PTRACE, CHECKPOINT_RESTORE, DAC_READ_SEARCH.
PTRACE, LOOKS = 1 << 19, 1 << 19 | 1 << 40 | 1 << 2


class Case(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.top = pathlib.Path(self.enterContext(storing.memory_folder()))
        self.nvmm = self.top / "nvmm"
        self.nvmm.mkdir()
        self.groups = self.enterContext(Cgroups())
        self.neighbour, self.neighbour_id = self.groups.docker()
        self.tenant, self.tenant_id = self.groups.docker()
        self.stored = 0

    def start(self):
        events = storing.write_events(self.top / "events.json")
        self.exporter = self.enterContext(storing.sampling_exporter(
            self.nvmm, events, self.groups.only(), "--sampling.interval=300ms"))
        said = self.exporter.collector("pebs_nvmm")
        if not said["available"]:
            self.skipTest(said["words"])
        self.storer = storing.Storer(self.groups, self.neighbour)
        self.addCleanup(self.storer.close)
        wait_until(lambda: self.exporter.status()["containers"]["monitored"] == 2, 20,
                   "two containers are monitored")
        self.exporter.wait_tick()

    def processes(self):
        (warden,) = children(self.exporter.pid)
        (worker,) = children(warden)
        return warden, worker

    def samples(self, container_id, medium):
        return self.exporter.scrape().get(SAMPLES, container_id=container_id[:12],
                                          access="store", medium=medium) or 0

    def neighbour_is_sampled(self):
        """All that it stores is known to be persistent memory."""
        before = self.samples(self.neighbour_id, "nvmm")
        stored = sum(s["count"] for s in self.storer.tell("forms", self.nvmm / "file", 10))
        wait_until(lambda: self.samples(self.neighbour_id, "nvmm") == before + stored, 20,
                   f"{stored} more samples of the neighbour")

    def words(self):
        return self.exporter.collector("pebs_nvmm")["words"]

    def metric(self, name):
        return self.exporter.scrape().get("interference_sampler_" + name)


class Processes(Case):
    def test_what_they_hold(self):
        """The table of deploy/security.md."""
        self.start()
        self.neighbour_is_sampled()
        warden, worker = self.processes()
        reader = status(self.exporter.pid)
        for process in map(status, (warden, worker)):
            self.assertEqual(int(process["CapEff"], 16), int(process["CapPrm"], 16))
            self.assertTrue(int(process["CapEff"], 16) & PTRACE)
            self.assertFalse(int(process["CapEff"], 16) & ~LOOKS)
            self.assertEqual(process["NoNewPrivs"], "1")
        self.assertFalse(int(reader["CapPrm"], 16) & LOOKS)
        for pid in warden, worker:
            links = list(harness.fd_targets(pid))
            self.assertFalse([l for l in links if "cgroup" in l or "perf" in l or "TCP" in l])
            self.assertEqual(pathlib.Path(f"/proc/{pid}/net/tcp").exists(), True)
        if harness.sanitized():
            return
        for pid in warden, worker:
            self.assertEqual(status(pid)["Threads"], "1")  # beside a sanitizer's own
        filters = [int(status(pid)["Seccomp_filters"]) for pid in (warden, worker)]
        self.assertGreater(filters[1], filters[0])
        # It may outlive the exporter: then it holds nothing that others wait for.
        (link,) = harness.fd_targets(worker)
        self.assertTrue(link.startswith("socket:"), link)

    def test_the_worker_dies(self):
        self.start()
        self.neighbour_is_sampled()
        warden, worker = self.processes()
        for _ in range(3):
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: children(warden) not in ([], [worker]), 20, "another worker")
            (worker,) = children(warden)
            self.neighbour_is_sampled()
        self.assertIn("the process that looks into others has ended; starting it again",
                      self.exporter.log())
        self.assertEqual(self.metric("containers_refused"), 0)
        self.assertEqual(self.metric("reads_hung_total"), 0)

    def test_the_warden_dies(self):
        """Nobody could look any more: the exporter ends, with words, to be started again."""
        self.start()
        warden, worker = self.processes()
        os.kill(warden, signal.SIGKILL)
        self.assertEqual(self.exporter.process.wait(20), 1)
        wait_until(lambda: is_gone(worker), 20, "the worker's end")
        self.assertIn("the process that looks into others has ended", self.exporter.log())

    def test_the_exporter_dies(self):
        self.start()
        pids = self.processes()
        self.exporter.process.kill()
        self.exporter.process.wait()
        for pid in pids:
            wait_until(lambda pid=pid: is_gone(pid), 20, "its end")

    def test_signals_of_a_terminal(self):
        self.start()
        pids = self.processes()
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGINT)
        self.neighbour_is_sampled()
        self.assertEqual(self.processes(), pids)
        self.assertEqual(self.exporter.stop()[0], 0)
        for pid in pids:
            wait_until(lambda pid=pid: is_gone(pid), 20, "its end")


class Silence(Case):
    """Who is waited for never answers."""

    def fuse(self):
        """A mount of a directory's files; its flag."""
        if not os.access("/dev/fuse", os.W_OK):
            self.skipTest("no /dev/fuse")
        shown, mount, flag = (self.top / name for name in ("shown", "mount", "silent"))
        shown.mkdir()
        mount.mkdir()
        (shown / "code").write_bytes((bytes([0x88, 0x07, 0xc3]) + bytes(61)) * 64)
        (shown / "data").write_bytes(bytes(1 << 20))
        daemon = harness.start([pathlib.Path(__file__).with_name("silent_fuse.py"), shown, mount,
                                flag], stderr=subprocess.DEVNULL)

        def end():
            daemon.kill()  # so that nobody waits for it any longer
            daemon.wait()
            subprocess.run(["umount", "-l", mount], check=False, stderr=subprocess.DEVNULL)

        self.addCleanup(end)
        wait_until(lambda: mount.is_mount() and (mount / "code").exists(), 20, "the FUSE is mounted")
        return mount, flag, daemon

    def overlay(self, lower):
        """A container's root file system, as a runtime mounts it on the node."""
        upper, merged = self.top / "upper", self.top / "merged"
        work = self.top / "work"
        for path in upper, merged, work:
            path.mkdir()
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                        f"lowerdir={lower},upperdir={upper},workdir={work}", merged], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", merged], check=False)
        return merged

    def run_tenant(self, *argv):
        process = self.groups.spawn(self.tenant, argv, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.exporter.wait_tick()
        print(file=process.stdin, flush=True)
        self.assertEqual(process.stdout.readline(), "done\n")
        return process

    def ends(self, worker):
        """All but a worker that the kernel lets nobody end."""
        warden, _ = (children(self.exporter.pid) + [None])[:2]
        code, seconds = self.exporter.stop()
        self.assertEqual(code, 0)
        self.assertLess(seconds, 15 if harness.sanitized() else 5)  # 0.03 s as a rule
        wait_until(lambda: is_gone(warden), 5, "the warden's end")

    def check_silence(self, how):
        """A tenant's code does not answer: it is refused, and nobody else notices."""
        warden, worker = self.processes()
        for _ in range(5):  # the sampler may be faster than the tenant
            tenant = how()
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self.metric("reads_hung_total") > 0, 5, "a read that hangs",
                           patience=1)
                break
        self.assertEqual(self.metric("reads_hung_total"), 1)
        self.assertEqual(self.metric("containers_refused"), 1)
        self.assertIn(f"the memory of process {tenant.pid} does not answer", self.words())
        self.assertEqual(self.exporter.collector("pebs_nvmm")["reason"], "ok")
        for _ in range(3):
            self.neighbour_is_sampled()
        self.assertEqual(self.metric("reads_hung_total"), 1)
        wait_until(lambda: [p for p in children(warden) if p != worker], 20, "another worker")
        self.ends(worker)
        return worker

    def test_memory(self):
        self.start()
        self.neighbour_is_sampled()
        program = harness.PROGRAMS / "silent_code"

        def how():
            (self.nvmm / "tenant").unlink(missing_ok=True)
            return self.run_tenant(program, self.nvmm / "tenant", "userfaultfd")

        worker = self.check_silence(how)
        wait_until(lambda: is_gone(worker), 20, "the end of the worker that hung")

    def test_code_of_a_file(self):
        mount, flag, daemon = self.fuse()
        code = self.overlay(mount) / "code"
        self.start()
        self.neighbour_is_sampled()
        program = harness.PROGRAMS / "silent_code"

        def how():
            with contextlib.suppress(FileNotFoundError):
                flag.unlink()
            (self.nvmm / "tenant").unlink(missing_ok=True)
            return self.run_tenant(program, self.nvmm / "tenant", code, flag)

        worker = self.check_silence(how)
        daemon.kill()
        wait_until(lambda: is_gone(worker), 20, "the end of the worker that hung")

    def test_code_and_mappings_of_a_tenants_own_fuse(self):
        """Nothing of it is read: nothing hangs."""
        mount, flag, _ = self.fuse()
        self.start()
        self.neighbour_is_sampled()
        program = harness.PROGRAMS / "silent_code"
        before = self.samples(self.tenant_id, "other")
        self.run_tenant(program, mount / "data", mount / "code", flag)
        wait_until(lambda: self.samples(self.tenant_id, "other") >= before + 2, 20,
                   "the tenant's samples")
        for _ in range(3):
            self.neighbour_is_sampled()
        self.assertEqual(self.metric("reads_hung_total"), 0)
        self.ends(None)


if __name__ == "__main__":
    harness.main()
