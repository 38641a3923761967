#!/usr/bin/python3
"""The kernel's interfaces as Debian's kernel has them, which is not the one that tests run on: the
unit tests of those, counts of known calls in a container, what it takes to be allowed to count, and
what is said of a machine on which nothing has been set up."""
import json
import unittest

import harness
import virtual_machine
from test_governor_exporter import Recording

UNITS = ("test_sampler", "test_perf_kernel", "test_process_code", "test_pmem")
ROLES = ("cycles", "ref_cycles", "l3_miss_reads", "l3_miss_read_occupancy")
ID = "0123456789ab"
GOVERNOR = harness.BUILD / "interference_governor"


class Tape(Recording):
    """Four seconds in which all are calm, and ten minutes in which cart waits."""

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
            "classes": [{"name": "web", "role": "protected",
                         "match": [{"namespace": "shop", **anything}]},
                        {"name": "batch", "role": "best_effort",
                         "match": [{"namespace": "jobs", **anything}]}],
            "policies": {"threshold": {"classes": ["batch"], "mode": "paper", "factor": 1.1}}}


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
            "plain.sh", [harness.EXPORTER, GOVERNOR, program, virtual_machine.BPFTOOL, *(harness.BUILD / "tests" / u for u in UNITS)],
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

    def test_quotas_of_v2(self):
        """Held by the kernel; set again after somebody wrote the original, as systemd does when it
        is reloaded; in force after a kill, and put back with what it was at first."""
        self.assertEqual(self.text("quota.held").split(), ["100000", "100000"])
        self.assertRegex(self.text("quota.throttled"), r"(?m)^nr_throttled [1-9]")
        page = harness.parse_text(self.text("quota.page"))
        self.assertEqual(page.get("interference_governor_foreign_writes_total", actuator="cpu",
                                  kind="reset"), 1)
        self.assertEqual(page.get("interference_governor_container_cpu_quota_original_cores",
                                  container="batch-0"), 2)
        self.assertEqual(self.text("quota.killed").split(), ["100000", "100000"])
        self.assertIn("outcome=restored", self.text("quota.restore"))
        self.assertEqual(self.text("quota.restored").split(), ["max", "100000"])

    def test_permission_for_bpf(self):
        text = self.text("bpf.permission.2.bpf")
        self.assertIn('source_info{source="bpf"', text)
        for name in ("bpf.permission.2.none", "bpf.permission.1.none"):
            text = self.text(name)
            self.assertIn('source_info{source="perf"', text)
            self.assertRegex(text, "grant CAP_BPF and CAP_PERFMON.*; perf counts instead")
            self.assertIn('collector_info{collector="core_latency",reason="ok"} 1', text)

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


if __name__ == "__main__":
    virtual_machine.need_virtual_machine()
    harness.main()
