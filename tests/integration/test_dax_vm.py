#!/usr/bin/python3
"""Persistent memory that is there: a virtual machine with DAX file systems, device-dax and disks in
sector mode, where the exporter's own code says which mappings and which page-fault samples are
persistent memory. Physical addresses, which that code does not use for this, must agree. Then the
exporter itself, over containers that store."""
import json
import re
import unittest

import harness
import virtual_machine

PROGRAMS = [harness.EXPORTER, harness.PROGRAMS / "pmem", harness.PROGRAMS / "store_pages",
            harness.BUILD / "tests/test_bpf_switches"]
EVENTS = {"roles": {"stores": "software:page-faults"}}
PAGES = 64

# Stores, loads; the medium of the physical page that was accessed; what its block device is.
# "unknown" for loads: a page of a private mapping is the file's until the process writes to it.
RULES = {
    "file_with_flag": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_without_flag": ("other", "other", "other", "dax"),
    "xfs_file_with_flag": ("nvmm", "nvmm", "nvmm", "dax"),
    "xfs_file_without_flag": ("other", "other", "other", "dax"),
    "file_always": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_never": ("other", "other", "other", "dax"),
    "file_in_partition": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_over_partition": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_over_sector": ("other", "other", "other", "no"),
    "file_bound": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_private": ("other", "unknown", "other", "dax"),
    "file_readonly": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_deleted": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_in_namespace": ("nvmm", "nvmm", "nvmm", "dax"),
    "file_gone_from_sight": ("nvmm", "nvmm", "nvmm", "dax"),
    # The mapping shows the file below the overlay, everything else the overlay's.
    "file_in_overlay": ("unknown", "unknown", "nvmm", "dax"),
    "device": ("nvmm", "nvmm", "nvmm", "none"),
    "device_readonly": ("nvmm", "nvmm", "nvmm", "none"),
    "device_by_other_node": ("nvmm", "nvmm", "nvmm", "none"),
    "tmpfs": ("other", "other", "other", "none"),
    "zero": ("other", "other", "other", "none"),
    "anonymous": ("other", "other", "other", "none"),
    "anonymous_private": ("other", "other", "other", "none"),
}

# What one execution stores; for some the instruction alone does not say.
INSTRUCTIONS = (("known", 1), ("known", 2), ("known", 4), ("known", 8), ("known", 8),
                ("known", 16), ("known", 16), ("known", 32), ("known", 8), ("known", 8),
                ("known", 4), ("known", 16), ("masked", 0), ("repeated", 0), ("no_access", 0))

# Of the guest's step samples.media, in its order.
MEDIA = ("nvmm", "other", "nvmm", "other", "nvmm", "other", "other", "nvmm", "nvmm", "other", "other")

# What each container stores to persistent memory, times and bytes; how often to other memory; and
# how often where the medium cannot be known.
CONTAINERS = {
    "a": (64, 64 * 8, 0, 0),  # a DAX file, in a mount namespace of its own
    "b": (0, 0, 64, 0),  # a file of the same kind of disk, without DAX
    "c": (48, 48 * 32, 0, 0),  # device-dax
    "d": (0, 0, 64, 0),  # anonymous memory
    "e": (32, 32 * 16, 64, 0),  # two child cgroups: a DAX file, a tmpfs
    "f": (64, 64 * 8, 0, 0),  # a DAX file that was deleted
    "1": (16, 16 * 16, 0, 0),  # a volume with DAX, in a root directory of its own
}


def nvdimm(number, mebibytes):
    return ["-object", f"memory-backend-ram,id=memory{number},size={mebibytes}M",
            "-device", f"nvdimm,id=nvdimm{number},memdev=memory{number}"]


def samples_line(medium, size, size_bytes):
    """Every page one sample, at its address and by the program's instruction; nothing unknown."""
    media = {"nvmm": 0, "other": 0, "unknown": 0, medium: PAGES}
    return (f"samples={PAGES} once={PAGES} elsewhere=0 not_from_program=0 nvmm={media['nvmm']} "
            f"other={media['other']} unknown={media['unknown']} no_medium=0 late=0 "
            f"size_{size}={PAGES} bytes={PAGES * size_bytes}")


def without_late(line, medium):
    """A sample that the kernel delivers after its time was settled is of an unknown medium, by
    design. The guest's CPUs are threads of a busy host: one may stop between the reading of the
    clock and the record. Few at most, else the order of records is wrong."""
    match = re.search(r"late=([12])\b", line)
    if not match:
        return line
    few = int(match[1])
    line = re.sub(rf"\b{medium}=(\d+)", lambda n: f"{medium}={int(n[1]) + few}", line, count=1)
    return line.replace(match[0], "late=0")


NOTHING_LOST = "lost=0 throttles=0 broken=0"


class Dax(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.maxDiff = None
        cls.steps = virtual_machine.run(
            "dax.sh", PROGRAMS, {"events.json": json.dumps(EVENTS).encode()},
            kernel_flags="memmap=64M!256M memmap=72M!384M memmap=320M!512M",
            devices=[*nvdimm(0, 48), *nvdimm(1, 56), *nvdimm(2, 32)],
            memory="1G,slots=4,maxmem=4G")

    def lines(self, name):
        self.assertIn(name, self.steps)
        step = self.steps[name]
        self.assertEqual(step.status, 0, step.text)
        return step.lines

    def test_switches_by_bpf(self):
        """Those inside a cgroup are passed over: this kernel lets a program read its tasks."""
        text = "\n".join(self.lines("unit.test_bpf_switches"))
        self.assertIn("[       OK ] test_two_in_one\n", text)
        self.assertNotIn("SKIPPED", text)

    def test_node(self):
        """As its drivers come: none, the modules, their raw namespaces, namespaces for programs."""
        nothing = "dax_disks=0 other_disks=0 dax_devices=0 usable=0"
        self.assertEqual(self.lines("node.none"),
                         [f"dimms=0 {nothing} this node has no persistent memory"])
        line, = self.lines("node.modules")
        self.assertRegex(line, f"^dimms=3 {nothing} this node has 3 persistent memory modules but")
        line, = self.lines("node.raw")
        self.assertRegex(line, "^dimms=3 dax_disks=0 other_disks=3 dax_devices=0 usable=0 "
                               ".* raw or sector mode: .*-m fsdax")
        self.assertEqual(self.lines("node"),
                         ["dimms=3 dax_disks=4 other_disks=1 dax_devices=1 usable=1 "])

    def test_rule(self):
        said = dict(line.split(" ", 1) for step in ("rules", "rules.never", "rules.always")
                    for line in self.lines(step))
        self.assertEqual(set(said), set(RULES))
        for name, (store, load, physical, disk) in RULES.items():
            with self.subTest(name):
                self.assertEqual(
                    said[name].rsplit(" ", 1)[0],
                    f"store={store} load={load} physical={physical} disk={disk}", said[name])

    def test_samples_of_instructions(self):
        """Each store form, on pages of a DAX file."""
        self.assertEqual([without_late(line, "nvmm") for line in self.lines("samples.instructions")],
                         [*(samples_line("nvmm", *size) for size in INSTRUCTIONS), NOTHING_LOST])

    def test_samples_of_media(self):
        said = self.lines("samples.media")
        self.assertEqual([*map(without_late, said, MEDIA), *said[len(MEDIA):]],
                         [*(samples_line(medium, "known", 8) for medium in MEDIA), NOTHING_LOST])

    def test_exporter(self):
        """What happens between the two pages are the stores alone."""
        before = harness.parse_text("\n".join(self.lines("exporter.before")) + "\n")
        after = harness.parse_text("\n".join(self.lines("exporter.after")) + "\n")

        def grown(name, **labels):
            return after.get(name, **labels) - before.get(name, **labels)

        prefix = "interference_container_"
        for letter, (stores, size, others, unknown) in CONTAINERS.items():
            with self.subTest(letter):
                of = {"container_id": letter * 12, "access": "store"}
                self.assertEqual(after.get(prefix + "nvmm_accesses_total", **of), stores)
                self.assertEqual(after.get(prefix + "nvmm_bytes_total", **of), size)
                samples = {medium: grown(prefix + "memory_samples_total", medium=medium, **of)
                           for medium in ("nvmm", "other", "unknown")}
                self.assertEqual(samples, {"nvmm": stores, "other": others, "unknown": unknown})
        self.assertEqual(after.get("interference_pmem_dimms"), 3)
        self.assertEqual(after.get("interference_sampler_samples_lost_total", access="store"), 0)
        undecoded = after.select("interference_sampler_samples_undecoded_total")
        self.assertEqual({labels: n for labels, n in undecoded.items() if n}, {})
        status = json.loads("\n".join(self.lines("exporter.status")))
        collector = next(c for c in status["collectors"] if c["name"] == "pebs_nvmm")
        self.assertEqual((collector["available"], collector["reason"]), (True, "ok"))
        self.assertNotIn("level=warn", "\n".join(self.lines("exporter.log")))

    def test_exporter_without_an_event(self):
        """There is persistent memory, but no PMU in the guest."""
        self.assertIn('interference_exporter_collector_info{collector="pebs_nvmm",'
                      'reason="no_pmu"} 1', self.lines("exporter.no_event"))


if __name__ == "__main__":
    virtual_machine.need_virtual_machine()
    harness.main()
