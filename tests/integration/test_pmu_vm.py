#!/usr/bin/python3
"""The exporter on counters that count: emulated machines of 64-bit Arm, whose PMU Debian's kernel
drives. Instructions are exact there, so counts are held against what each container's program
counted itself, by perf's cgroup events and by BPF.

What is counted is the same to the instruction where it is counted the same way: by an event of the
cgroup. An event of the process, which programs have of themselves, lacks what the kernel does
between stopping it and leaving the CPU, and once it has stopped at the process's end. By BPF the
work of a switch belongs to who comes, by perf mostly to nobody."""
import json
import re
import unittest

import arm64
import harness

EXACT = 0.0005
SWITCH = 500  # instructions, at most, that a switch may belong to another by BPF
ENTRY = 25000  # that a process did before it moved itself into its cgroup, which BPF takes along
SOURCES = ("perf", "bpf")
INSTRUCTIONS = "interference_container_cpu_instructions_total"
CYCLES = "interference_container_cpu_cycles_total"


class Guest(unittest.TestCase):
    """One life of a machine; the subclass says of which kind, and which function of guests/pmu.sh
    is run there."""
    PLAN, MACHINE = "", {}

    @classmethod
    def setUpClass(cls):
        cls.steps = arm64.live(cls.__name__, "pmu.sh", ["counted"], {"plan": cls.PLAN.encode()},
                               **cls.MACHINE)

    def text(self, name):
        self.assertIn(name, self.steps)
        self.assertEqual(self.steps[name].status, 0, self.steps[name].text)
        return self.steps[name].text

    def page(self, name):
        return harness.parse_text(self.text(name))

    def own(self, name):
        """What programs counted of themselves: {name: [(instructions and cycles of the process,
        instructions and switches of the cgroup), ...]}"""
        found = {}
        for container, *counts in re.findall(r"^(\S+) (\d+) (\d+) (\d+) (\d+)$",
                                             self.text(f"own.{name}"), re.M):
            found.setdefault(container, []).append(tuple(map(int, counts)))
        return found

    def near(self, shown, truth, ratio, more=0):
        self.assertLessEqual(abs(shown - truth), ratio * truth + more,
                             f"{shown:.0f}, and {truth} are true: {shown / truth - 1:+.4%}")


class Exact(Guest):
    PLAN = "exact"

    def check(self, source, allowed):
        page, own = self.page(f"page.{source}"), self.own(source)
        self.assertEqual(page.get("interference_exporter_source_info", source=source), 1)
        truth = {name: (sum(c[2] for c in counts), sum(c[3] for c in counts))
                 for name, counts in own.items() if name not in ("task", "old")}
        truth["family"] = tuple(map(sum, zip(truth["family"], truth["child"])))
        self.assertEqual(len(truth), 9)
        for name, (instructions, switches) in truth.items():
            with self.subTest(f"{source} {name}"):
                self.near(page.get(INSTRUCTIONS, container=name), instructions, EXACT,
                          allowed * switches)

    def test_by_perf(self):
        """By turns, side by side, of a cgroup below, of programs one after another, of threads."""
        self.check("perf", 0)

    def test_by_bpf(self):
        self.check("bpf", SWITCH)

    def test_of_a_process(self):
        """From its first instruction on, which it does at once."""
        for source in SOURCES:
            ((instructions, cycles, _, _),) = self.own(source)["task"]
            page = self.page(f"page.{source}")
            self.near(page.get(INSTRUCTIONS, container="task"), instructions, EXACT)
            self.near(page.get(CYCLES, container="task"), cycles, EXACT)

    def test_one_that_was_empty_for_long(self):
        """It is counted once it is seen to have a process, and may lack its beginning."""
        for source in SOURCES:
            ((_, _, instructions, _),) = self.own(source)["old"]
            shown = self.page(f"page.{source}").get(INSTRUCTIONS, container="old")
            print(f"{source}: {instructions - shown:.0f} instructions of an old cgroup's beginning")
            self.near(shown, instructions, 0.1)


class Shared(Guest):
    """Beside another program's counters."""
    PLAN, MACHINE = "shared", {"shift": 4}

    def test_turns(self):
        """Twelve others take turns with ours for 15 s: what is extrapolated is true."""
        for source in SOURCES:
            ((instructions, _, _, _),) = self.own(f"shared.{source}")["turns"]
            page = self.page(f"page.shared.{source}")
            shares = [page.get(f"interference_exporter_pmu_{kind}_seconds_total",
                               collector="core_latency") for kind in ("running", "enabled")]
            self.assertLess(shares[0], 0.9 * shares[1])
            self.near(page.get(INSTRUCTIONS, container="turns"), instructions, 0.02)

    def test_nothing_left(self):
        """All counters are another's: windows are dropped, the reason is said, and counts stand."""
        for source in SOURCES:
            page, later = (self.page(f"page.{name}.{source}") for name in ("held", "free"))
            dropped = {key: page.get("interference_exporter_windows_discarded_total",
                                     collector="core_latency", reason=key)
                       for key in ("starved", "reset")}
            self.assertGreater(dropped["starved"], 0)
            self.assertEqual(dropped["reset"], 0)
            self.assertRegex(self.text(f"log.shared.{source}"),
                             "group cpi never runs: other programs hold the counters")
            held, free = self.own(f"shared.{source}")["held"]
            self.assertEqual(held[:3], (0, 0, 0))  # nor did its own count
            self.assertFalse(page.get(INSTRUCTIONS, container="held"))
            self.near(later.get(INSTRUCTIONS, container="held"), free[2], EXACT, SWITCH * free[3])


class Hotplug(Guest):
    """Four containers wander between two CPUs, one of which goes and comes back. Instructions are
    everybody's here, but cycles are time."""
    PLAN, MACHINE = "hotplug", {"cpus": 2}

    def test_cycles(self):
        for source in SOURCES:
            pages = [self.page(f"page.hotplug.{source}.{look}") for look in range(1, 8)]
            total = 0
            missing = 0
            for name in "abcd":
                shown = [page.get(CYCLES, container=name) or 0 for page in pages]
                self.assertEqual(shown, sorted(shown), f"{source} {name}")
                usage = int(self.text(f"usage.{source}.{name}").split()[1])
                self.assertLess(shown[-1] / 1000, 1.005 * usage)
                missing += usage - shown[-1] / 1000
                total += usage
            # What was done on the CPU from its return to the tick that saw it, and no more.
            print(f"{source}: {missing:.0f} of {total} us are missing")
            self.assertLess(missing, 330e3 + 0.005 * total)


class Filtered(Guest):
    """A Neoverse V3 by its number, of whose events cycles and instructions alone count."""
    PLAN, MACHINE = "filtered", {"cpu": "max,pmu=on,midr=0x410fd840"}

    def test_filtered(self):
        page = self.page("page.filtered")
        self.assertEqual(page.get("interference_exporter_source_info",
                                  microarchitecture="neoverse-v3"), 1)
        self.assertEqual(page.get("interference_exporter_collector_info", collector="core_latency",
                                  reason="event_filtered"), 1)
        self.assertGreater(sum(page.select(INSTRUCTIONS).values()), 0)
        self.assertNotRegex(self.text("page.filtered"), r"(?m)^interference_container_memory_")


class Restarts(Guest):
    PLAN = "restarts"

    def test_started_in_between(self):
        for source in SOURCES:
            _, second, last = (c[0] for c in self.own(f"hot.{source}")["hot"])
            shown = self.page(f"page.hot.{source}").get(INSTRUCTIONS, container="hot")
            # What it did since its second start, less what it did until that was ready: 0.8 s.
            self.assertGreater(shown, last - second - 200e6)
            self.assertLess(shown, last - second)

    def test_many(self):
        for source in SOURCES:
            page, own = self.page(f"page.many.{source}"), self.own(f"many.{source}")
            self.assertEqual(len(own), 200)
            missing = [name for name in own if page.get(INSTRUCTIONS, container=name) is None]
            self.assertEqual(missing, [], self.text(f"log.many.{source}")[-3000:])
            for name, ((_, _, instructions, switches),) in own.items():
                self.near(page.get(INSTRUCTIONS, container=name), instructions, EXACT,
                          SWITCH * switches + ENTRY if source == "bpf" else 0)


class Narrow(Guest):
    """Counters of 32 bits, which the driver carries over."""
    PLAN, MACHINE = "narrow", {"cpu": "cortex-a57,pmu=on"}

    def test_overflow(self):
        for source in SOURCES:
            ((_, _, instructions, switches),) = self.own(f"long.{source}")["long"]
            self.assertGreater(instructions, 1 << 32)
            self.near(self.page(f"page.long.{source}").get(INSTRUCTIONS, container="long"),
                      instructions, EXACT, SWITCH * switches)


class Bare(Guest):
    """No controller was ever enabled: the kernel has no cgroups for perf, so BPF counts."""
    PLAN = "bare"

    def test_counted_all_the_same(self):
        self.assertIsNone(self.page("page.bare.perf").get(INSTRUCTIONS, container="naked"))
        self.assertIn("cgroup.subtree_control", self.text("status.bare.perf"))
        page = self.page("page.bare.auto")
        self.assertEqual(page.get("interference_exporter_source_info", source="bpf"), 1)
        self.assertIn("no controller was ever enabled",
                      json.dumps(json.loads(self.text("status.bare.auto"))))
        ((instructions, _, _, _),) = self.own("bare.auto")["naked"]
        self.near(page.get(INSTRUCTIONS, container="naked"), instructions, 0.01)


if __name__ == "__main__":
    arm64.need_machine()
    harness.main()
