#!/usr/bin/python3
"""The kernel's interfaces as Debian's kernel has them, which is not the one that tests run on: the
unit tests of those, counts of known calls in a container, what it takes to be allowed to count, and
what is said of a machine on which nothing has been set up."""
import json
import pathlib
import re
import unittest

import harness
import virtual_machine
from test_governor_exporter import Recording

UNITS = ("test_sampler", "test_perf_kernel", "test_process_code", "test_pmem")
ROLES = ("cycles", "ref_cycles", "l3_miss_reads", "l3_miss_read_occupancy")
ID = "0123456789ab"
GOVERNOR = harness.BUILD / "interference_governor"
SYSTEMD = [pathlib.Path(path) for path in ("/lib/systemd/systemd", "/bin/systemctl",
                                           "/usr/bin/systemd-run")]
# The scopes of two containers, which the guest's systemd makes; the third one's cgroup is nobody's.
POD = ("/node/kubepods.slice/kubepods-burstable.slice/"
       "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice")
SCOPES = {name: f"{POD}/cri-containerd-{letter}{('0123456789abcdef' * 4)[1:]}.scope"
          for name, letter in (("reloaded", "a"), ("resized", "b"))}


class Tape(Recording):
    """Four seconds in which all are calm, and ten minutes in which cart waits."""

    READS = {"cart": 100000, "batch": 1000000, "reloaded": 1000000, "resized": 1000000}

    def cgroup(self, name):
        return SCOPES.get(name, f"/{name}")

    def open(self, path):
        self.lines = path

    def put(self, line):
        self.lines.append(json.dumps(line) + "\n")

    @classmethod
    def text(cls):
        lines = []
        tape = cls(lines)
        for i in range(6000):
            tape.play(100 if i < 40 else 131, neighbours=i >= 20)
        return "".join(lines)


def governor_config():
    anything = {"pod": "*", "container": "*"}
    return {"governor": 1, "mode": "enforce", "state_directory": "/tmp/governor",
            # A busy machine's guest may stand still for long.
            "exporter": {"socket": "/tmp/exporter/socket", "stale": "60s", "dead": "120s"},
            "classes": [{"name": "web", "role": "protected",
                         "match": [{"namespace": "shop", **anything}]},
                        {"name": "batch", "role": "best_effort",
                         "match": [{"namespace": "jobs", **anything}]}],
            "policies": {"threshold": {"classes": ["batch"], "mode": "paper", "factor": 1.1,
                                       "window": "10ms", "culprit_share": 0}},  # all are
            "limits": {"quota_period_ms": 10}}


class Plain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        program = harness.PROGRAMS / "uprobe_roles"
        offsets = harness.function_offsets(program, "role_")
        events = {"machine": {"base_frequency_hz": 1e9, "cache_cycles": 44},
                  "roles": {role: f"uprobe:/bin/uprobe_roles:{offsets['role_' + role]:#x}"
                            for role in ROLES}}
        software = {"machine": events["machine"],
                    "roles": {role: "software:page-faults" for role in ROLES}}
        cls.steps = virtual_machine.run(
            "plain.sh", [harness.EXPORTER, GOVERNOR, program, virtual_machine.BPFTOOL, *SYSTEMD,
                          *(harness.BUILD / "tests" / u for u in UNITS)],
            {"events.json": json.dumps(events).encode(),
             "software.json": json.dumps(software).encode(),
             "governor.json": json.dumps(governor_config()).encode(),
             "governor.jsonl": Tape.text().encode()},
            kernel_flags="lockdown=confidentiality")

    def text(self, name):
        self.assertIn(name, self.steps)
        step = self.steps[name]
        self.assertEqual(step.status, 0, step.text)
        return step.text

    def test_units(self):
        for unit in UNITS:
            with self.subTest(unit):
                self.assertIn("[  PASSED  ]", self.text(f"unit.{unit}"))

    def test_untouched(self):
        """No controller is on: the kernel refuses to count per cgroup, and the remedy is named."""
        text = self.text("untouched")
        self.assertIn('collector_info{collector="core_latency",reason="no_device"} 1', text)
        self.assertIn("echo +cpu > /sys/fs/cgroup/cgroup.subtree_control", text)

    def test_no_persistent_memory(self):
        text = self.text("untouched")
        self.assertIn('collector_info{collector="pebs_nvmm",reason="no_device"} 1', text)
        self.assertRegex(text, r"module=pebs_nvmm .*this node has no persistent memory")

    def test_counts(self):
        for name in ("page", "page.ended"):
            page = harness.parse_text(self.text(name))
            self.assertEqual(page.get("interference_container_cpu_cycles_total", container_id=ID),
                             1234 + 321)
            self.assertEqual(page.get("interference_container_memory_reads_total",
                                      container_id=ID), 77)

    def test_counts_by_bpf(self):
        """With the kernel locked down; by a CPU, too, that was away. Killed, it leaves nothing."""
        self.assertIn("on_switch", self.text("bpf.loaded"))
        for name, cycles in (("bpf.page", 1234 + 321), ("bpf.ended", 1234 + 321 + 10 + 7 + 5)):
            page = harness.parse_text(self.text(name))
            self.assertEqual(page.get("interference_exporter_source_info", source="bpf"), 1)
            self.assertEqual(page.get("interference_container_cpu_cycles_total", container_id=ID),
                             cycles)
            self.assertEqual(page.get("interference_container_memory_reads_total",
                                      container_id=ID), 77)
        self.assertNotRegex(self.text("bpf.killed"), "on_switch|flush")
        self.assertNotIn("could not be read", self.text("bpf.log"))
        # Such a kernel lets no program read its tasks.
        self.assertIn("switches between tasks of one cgroup are paid for", self.text("bpf.log"))

    def test_quotas_of_v2(self):
        """Held by the kernel, in a shorter period; in force after a kill, and put back with what it was at first."""
        self.assertEqual(self.text("quota.held").split(), ["10000", "10000"])
        self.assertRegex(self.text("quota.throttled"), r"(?m)^nr_throttled [1-9]")
        self.assertEqual(self.text("quota.killed").split(), ["10000", "10000"])
        self.assertIn("outcome=restored", self.text("quota.restore"))
        self.assertEqual(self.text("quota.restored").split(), ["max", "100000"])

    def test_quotas_and_systemd(self):
        """A real systemd's reload writes its own values, which is answered six times; another value
        by it is the new original, but the third: then that container, too, is its own."""
        self.assertEqual(self.text("reload.before").split(), ["100000", "100000"])
        self.assertEqual(self.foreign("quota.page"), (2, 3, 1))
        page = harness.parse_text(self.text("quota.page"))
        originals = {name: page.get("interference_governor_container_cpu_quota_original_cores",
                                    container=name) for name in ("batch", *SCOPES)}
        self.assertEqual(originals, {"batch": 2, "reloaded": 2, "resized": None})
        self.assertEqual(self.foreign("quota.yielded"), (8, 3, 2))
        self.assertEqual(self.text("quota.left").split(), ["max", "100000", "130000", "100000"])

    def foreign(self, name):
        """(Originals written back, other values, containers that have been given up.)"""
        page = harness.parse_text(self.text(name))
        writes = [page.get("interference_governor_foreign_writes_total", actuator="cpu", kind=kind)
                  for kind in ("reset", "changed")]
        return (*writes, page.get("interference_governor_yielded_containers", actuator="cpu"))

    def test_lockdown(self):
        """What is shown here is shown of a kernel that is locked down."""
        self.assertIn("[confidentiality]", self.text("lockdown"))

    def test_permission_for_bpf(self):
        text = self.text("bpf.permission.2.bpf")
        self.assertIn('source_info{source="bpf"', text)
        for name in ("bpf.permission.2.none", "bpf.permission.1.none"):
            text = self.text(name)
            self.assertIn('source_info{source="perf"', text)
            self.assertRegex(text, "grant CAP_BPF and CAP_PERFMON.*; perf counts instead")
            self.assertIn('collector_info{collector="core_latency",reason="ok"} 1', text)

    def test_scopes_of_systemd(self):
        """Those that the guest's systemd made are containers, by its name."""
        ids = re.findall(r'interference_container_info{.*[{,]id="([^"]*)"',
                         self.text("permission.2.perfmon"))
        self.assertEqual(sorted(ids), sorted(SCOPES.values()))

    def test_permission(self):
        """Who may count: Debian's own setting asks for more than CAP_PERFMON."""
        for paranoid, capability, remedy in (
                (3, "sys_admin", None),
                (3, "perfmon", "set sysctl kernel.perf_event_paranoid=2 and grant CAP_PERFMON"),
                (3, "sys_ptrace", "set sysctl kernel.perf_event_paranoid=2 and grant CAP_PERFMON"),
                (2, "sys_admin", None),
                (2, "perfmon", None),
                (2, "sys_ptrace", "CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8) is missing")):
            with self.subTest(paranoid=paranoid, capability=capability):
                text = self.text(f"permission.{paranoid}.{capability}")
                reason = "no_permission" if remedy else "ok"
                self.assertIn(f'collector_info{{collector="core_latency",reason="{reason}"}} 1',
                              text)
                self.assertIn(remedy or "", text)


class FullMemory(unittest.TestCase):
    """The memory of a container, and then of the whole machine: what those are told who wait."""

    @classmethod
    def setUpClass(cls):
        cls.steps = virtual_machine.run(
            "full.sh", [harness.EXPORTER, harness.PROGRAMS / "read_again"],
            kernel_flags="memmap=128M!512M")

    def check(self, name, verdict, words):
        self.assertEqual(self.steps[f"{name}.said"].text.split(), [verdict] * 3)
        (one,) = (c for c in json.loads(self.steps[name].text)["containers"]
                  if c["container"] == name)
        self.assertGreater(one["lost"][verdict], 0.05)
        self.assertIn(words, one["why"])

    def test_its_own_limit(self):
        self.check("limited", "own_memory_limit", "its own memory limit of 32 MiB")

    def test_the_whole_node(self):
        self.check("free", "memory_full", "because the whole node's is full")


if __name__ == "__main__":
    harness.need_command("systemctl", "systemd-run")
    virtual_machine.need_virtual_machine()
    harness.main()
