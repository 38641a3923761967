#!/usr/bin/python3
"""Samples of the real kernel, attributed: processes in real cgroups store known numbers of bytes
with known instructions to fresh pages, so that each store is a page fault and, at period 1, a
sample. A directory stands for persistent memory."""
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import harness
import storing
from harness import Cgroups

PROGRAM = harness.PROGRAMS / "store_forms"
SAMPLES = harness.PROGRAMS / "samples"
COUNT = 20


class Lost(Exception):
    """Page faults of the whole machine are sampled here: when others make very many, some have no
    room. Then nothing can be said about exactness, and the test is made again."""


class Refused(Exception):
    """Sampling does not work, for the reason given."""


# What a machine can have against sampling page faults. Any other reason is a fault of ours.
NOT_HERE = ("kernel.perf_event_paranoid", "without perf events")


def paranoid():
    return int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())


class Sampling:
    """samples; owners is a list of (name, cgroup)."""

    def __init__(self, directory, field, owners, capabilities=None, before=(), **roles):
        events = storing.write_events(pathlib.Path(directory, "..", "events.json").resolve(), **roles)
        only = list(before)
        if capabilities is not None:
            only += ["setpriv", "--no-new-privs",
                     "--bounding-set=-all" + "".join(f",+{c}" for c in capabilities)]
        self.process = subprocess.Popen(
            [*only, SAMPLES, directory, field, "1", events, *(f"{n}={c}" for n, c in owners)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.nice(-15))
        said = self.process.stdout.readline().strip()
        if said != "ready":
            self.end()
            raise Refused(said)

    def take(self):
        print(file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert answer["period"] == 1
        if answer["lost"]:
            raise Lost(answer["lost"])
        return answer["samples"]

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(20)


def sums(samples, by, **only):
    """Counts by some of a sample's fields, of those samples that have the others so."""
    found = {}
    for sample in samples:
        if all(sample[key] == value for key, value in only.items()):
            key = tuple(sample[name] for name in by)
            found[key] = found.get(key, 0) + sample["count"]
    return found


ALL = ("pid", "ip", "size", "bytes")


class Pagefaults(unittest.TestCase):
    def setUp(self):
        harness.need_root()
        self.top = self.enterContext(storing.memory_folder())
        self.nvmm = pathlib.Path(self.top, "nvmm")
        self.nvmm.mkdir()
        self.file, self.other = self.nvmm / "file", pathlib.Path(self.top, "other")
        self.cgroups = self.enterContext(Cgroups())
        self.a, self.b = self.cgroups.make("a"), self.cgroups.make("b")
        self.payload = self.cgroups.make("a/payload")
        self.outside = self.cgroups.make("outside")

    def sampling(self, field, **roles):
        """Where nothing is taken away, only the machine itself may be in the way."""
        try:
            sampling = Sampling(self.nvmm, field,
                                [("a", self.a), ("a", self.payload), ("b", self.b)], **roles)
        except Refused as refused:
            if not roles.keys() & {"capabilities", "before"} and \
                    any(words in str(refused) for words in NOT_HERE):
                self.skipTest(str(refused))
            raise
        self.addCleanup(sampling.end)
        return sampling

    def storer(self, cgroup, before=(), arguments=()):
        return self.enterContext(storing.Storer(self.cgroups, cgroup, before, arguments))

    def both(self, test):
        for field in ("cgroup", "pid"):
            with self.subTest(field=field):
                self.until_nothing_is_lost(lambda: test(self.sampling(field)))

    def until_nothing_is_lost(self, test, attempts=10):
        for attempt in range(attempts):
            try:
                return test()
            except Lost as lost:
                print(f"{lost} samples were lost", file=sys.stderr)
                if attempt == attempts - 1:
                    raise

    def check(self, samples, stored, owner, medium="nvmm"):
        """Exactly what was stored, and of nothing else."""
        found, expected = sums(samples, ALL, owner=owner, medium=medium), sums(stored, ALL)
        different = {key for key in found.keys() | expected.keys()
                     if found.get(key) != expected.get(key)}
        about = [s for s in samples if s["ip"] in {key[1] for key in different}]
        self.assertFalse(different, about)

    def test_forms(self):
        def test(sampling):
            a, payload = self.storer(self.a), self.storer(self.payload)
            b, outside = self.storer(self.b), self.storer(self.outside)
            stored = a.tell("forms", self.file, COUNT) + payload.tell("forms", self.file, 3)
            stored_b = b.tell("forms", self.file, 2 * COUNT)
            outside.tell("forms", self.file, COUNT)
            samples = sampling.take()
            self.assertGreater(len(stored_b), 40)
            self.check(samples, stored, 0)
            self.check(samples, stored_b, 2)
            self.assertEqual({s["owner"] for s in samples}, {0, 2})
            # A program's first stores are to what its start then maps anew: those alone may be
            # unknown.
            self.assertFalse(set(sums(samples, ALL, medium="unknown")) &
                             set(sums(stored + stored_b, ALL)))
            # Of ordinary memory, and of a file elsewhere, nothing counts as persistent.
            stored = a.tell("forms", "-", COUNT) + a.tell("forms", self.other, COUNT)
            samples = sampling.take()
            self.assertEqual(sums(samples, (), medium="nvmm"), {})
            found = sums(samples, ALL, owner=0, medium="other")
            for key, count in sums(stored, ALL).items():
                self.assertEqual(found[key], count, key)
        self.both(test)

    def test_code_made_at_run_time(self):
        def test(sampling):
            storer = self.storer(self.a)
            for size in (8, 1, 4, 2, 8):  # always at the same address
                stored = storer.tell("jit", self.file, COUNT, size)
                self.check(sampling.take(), stored, 0)
        self.both(test)

    def test_the_first_thread_has_ended(self):
        """/proc shows nothing under the process's number; a second later it was forgotten."""
        def test(sampling):
            storer = self.storer(self.a, arguments=["headless"])
            for size in (8, 4):
                stored = storer.tell("jit", self.file, COUNT, size)
                self.check(sampling.take(), stored, 0)
                time.sleep(1.5)
            stored = storer.tell("forms", self.file, COUNT)
            self.check(sampling.take(), stored, 0)
        self.both(test)

    def test_mount_namespace(self):
        """The file has another name there, and this name is another file here."""
        inside = pathlib.Path(self.top, "inside")
        inside.mkdir()
        (inside / "file").write_bytes(b"")

        def test(sampling):
            storer = self.storer(self.a, ["unshare", "-m", "sh", "-c",
                                          f"mount --bind {self.nvmm} {inside} && exec $0"])
            stored = storer.tell("forms", inside / "file", COUNT)
            self.check(sampling.take(), stored, 0)
        self.both(test)

    def test_loads_as_well(self):
        """The same faults once more, by another event: their instructions load or not."""
        def test():
            sampling = self.sampling("pid", loads="software:minor-faults")
            storer = self.storer(self.a)
            stored = storer.tell("forms", self.file, COUNT)
            samples = sampling.take()
            self.check([s for s in samples if s["access"] == "store"], stored, 0)
            loads = [s for s in samples if s["access"] == "load"]
            self.assertEqual(sums(loads, ("pid", "ip"), medium="nvmm"),
                             sums(stored, ("pid", "ip")))
            form_at = {s["ip"]: s["form"] for s in stored}
            sizes = {form_at[s["ip"]]: (s["size"], s["bytes"])
                     for s in loads if s["medium"] == "nvmm"}
            self.assertEqual(sizes["mov64"], ("no_access", 0))
            self.assertEqual(sizes["xadd64"], ("known", 8))
            self.assertEqual(sizes["cmpxchg16b"], ("known", 16))
            self.assertEqual(sizes["rep_movsb"], ("repeated", 0))
        self.until_nothing_is_lost(test)

    def test_privileges(self):
        """PERFMON and SYS_PTRACE suffice, and what is missing is said."""
        self.sampling("pid")  # or it is skipped
        # Debian's and Ubuntu's kernels have a level at which PERFMON is not enough.
        enough = ("perfmon", "sys_ptrace", *(["sys_admin"] if paranoid() > 2 else []))

        def test():
            sampling = self.sampling("pid", capabilities=enough)
            storer = self.storer(self.a)
            for how in ("forms", "stay", "exec"):
                stored = storer.tell(how, self.file, COUNT, *([5] if how != "forms" else []))
                self.check(sampling.take(), stored, 0)
        self.until_nothing_is_lost(test)
        with self.assertRaisesRegex(Refused, "grant CAP_SYS_PTRACE"):
            self.sampling("pid", capabilities=("perfmon",))
        if paranoid() > 0:
            with self.assertRaisesRegex(Refused, "CAP_PERFMON"):
                self.sampling("pid", capabilities=("sys_ptrace",))
        with self.assertRaisesRegex(Refused, "hostPID"):
            self.sampling("pid", before=("unshare", "--pid", "--fork"))

    def test_children_that_stay(self):
        def test(sampling):
            storer = self.storer(self.a)
            for how in ("stay", "exec", "stay"):
                stored = storer.tell(how, self.file, COUNT, 30)
                self.assertEqual(len({s["pid"] for s in stored}), 30)
                self.check(sampling.take(), stored, 0)
        self.both(test)

    def check_never_others(self, samples, stored, owner):
        """All of them are there; what could not be found out is unknown, and not something else."""
        expected = sums(stored, ("pid", "ip"))
        for key, count in expected.items():
            of_it = [s for s in samples if (s["pid"], s["ip"]) == key and s["owner"] == owner]
            self.assertEqual(sum(s["count"] for s in of_it), count, of_it)
            self.assertLessEqual({s["medium"] for s in of_it}, {"nvmm", "unknown"})
            self.assertLessEqual({(s["size"], s["bytes"]) for s in of_it},
                                 {("known", 1), ("unreadable", 0)})
        self.assertLessEqual(set(sums(samples, ("pid", "ip"), medium="nvmm")), set(expected))

    def test_storm_of_children_that_end(self):
        def test(sampling):
            storer = self.storer(self.a)
            stored = storer.tell("fork", self.file, 5, 200)
            self.check_never_others(sampling.take(), stored, 0)
            # By now their parent is known, and what it had mapped they had as well.
            stored = storer.tell("fork", self.file, 5, 200)
            samples = sampling.take()
            self.check_never_others(samples, stored, 0)
            self.assertEqual(sums(samples, ("pid", "ip"), owner=0, medium="nvmm"),
                             sums(stored, ("pid", "ip")))
        self.both(test)

    def test_another_program_is_run(self):
        def test(sampling):
            for _ in range(10):
                storer = self.storer(self.a)
                stored = storer.tell("leave", self.file, COUNT, harness.PROGRAMS / "idle")
                self.check_never_others(sampling.take(), stored, 0)
        self.both(test)

    def test_something_else_is_mapped_there(self):
        def test(sampling):
            self.other.write_bytes(b"x" * 4096 * COUNT)
            for known in (False, True):  # to the sampler, before
                for other in ("-", self.other):
                    storer = self.storer(self.a)
                    if known:
                        stored = storer.tell("jit", self.file, COUNT, 1)
                        self.check(sampling.take(), stored, 0)
                    stored = storer.tell("remap", self.file, other, COUNT)
                    self.check_never_others(sampling.take(), stored, 0)
        self.both(test)


if __name__ == "__main__":
    harness.main()
