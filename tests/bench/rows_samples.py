"""Samples of memory accesses: what finding out about them costs us, and taking them the kernel."""
import measure
from measure import Row, Samples

MILLION = 1e6


def _attribute(scale):
    warm, new, read = Samples(), Samples(), Samples()
    for i in range(scale.repeats):
        measure.say(f"attributing samples: {i + 1} of {scale.repeats}")
        found = measure.run_json("bench_samples", "attribute", scale.sample_rounds)
        assert found["dropped"] == found["foreign"] == 0 and found["new_ip_reads"] > 0, found
        warm.append(1e9 / found["warm_ns"] / MILLION)
        new.append(1e9 / found["new_ip_ns"] / MILLION)
        read.append(100 * found["new_ip_reads"])
    how = f"from the buffers' bytes to the queue, {found['processes']} processes"
    return [Row("samples: attributed by one core, everything known", "1 million/s",
                warm.show("million/s", 2), "met" if warm.median() >= 1 else "missed", how),
            Row("samples: attributed by one core, each instruction new", "0.1 million/s",
                new.show("million/s", 2),
                "met" if new.median() >= 0.1 and read.median() > 90 else "missed",
                f"{how}; the instruction was read for {read.median():.0f} % of them: reading takes "
                "at most a twentieth of a CPU, and the rest has no size")]


def _read(scale):
    def cost(*arguments):
        microseconds = Samples()
        for _ in range(scale.repeats):
            found = measure.run_json("bench_samples", "attribute", scale.sample_rounds,
                                     *arguments)
            ns = (found["new_ip_ns"] - found["warm_ns"]) / found["new_ip_reads"]
            microseconds.append(ns / 1e3)
        return microseconds

    measure.say("reading code")
    return [Row("samples: CPU time to read one new instruction", "reported",
                cost("apart").show("us", 0), "reported",
                f"by the process that looks into others, both sides counted; {cost().median():.0f} "
                "us where one process does it all. All reading together takes at most a tenth of a "
                "CPU, beyond which sizes are unreadable and media unknown")]


def _keep_up(scale):
    measure.say("keeping up with samples")
    found = measure.run_json("bench_samples", "keep-up", scale.sample_seconds)
    missing = found["put"] - found["arrived"] + found["no_room"]
    told = (found["throttles"][0] == found["throttles"][1] and found["lost"][0] == found["lost"][1]
            and found["dropped"] == 0)
    return [Row("samples: 100,000 a second", "none lost", f"{missing} of {found['put']} lost",
                "met" if missing == 0 and told else "missed",
                f"through the sampler's own thread, which used {100 * found['cpu_share']:.1f} % of "
                f"a CPU; {found['throttles'][1]} throttlings and {found['lost'][1]} losses that "
                "the kernel reported in between were counted")]


def _memory():
    found = measure.run_json("bench_samples", "memory")
    return [Row("samples: memory per process whose mappings are known", "reported",
                f"{found['small_bytes'] / 1024:.1f} KiB", "reported",
                f"with {found['small_mappings']} mappings; {found['large_bytes'] / 1024:.0f} KiB "
                f"with {found['large_mappings']}; for all processes together a table of "
                f"{found['table_bytes'] / 2**20:.1f} MiB and remembered instructions of "
                f"{found['code_bytes'] / 2**20:.1f} MiB, only while samples are taken")]


def _fields(scale):
    measure.say("what is sampled")
    found = measure.run_json("bench_samples", "fields", scale.sample_rounds)
    return [Row("samples: the kernel's time for one, a page fault", "reported",
                f"{found['basic_ns']:.0f} ns", "reported",
                f"instruction, address, process, time; with the cgroup {found['cgroup_ns']:.0f} "
                f"ns; the fault itself {found['fault_ns']:.0f} ns. Precise samples of a PMU, which the kernel collects "
                "by the dozen if the cgroup is not asked for, cannot be had here")]


def rows(scale):
    return [*_attribute(scale), *_read(scale), *_keep_up(scale), *_memory(), *_fields(scale)]
