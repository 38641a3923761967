"""What the counted workloads pay: pairs of processes in two cgroups, with and without counters."""
import random

import measure
from measure import Row, Samples

# What runs: (name, program, CPU of each).
PAIRS = (
    ("ping-pong through pipes, one CPU", "pingpong", 0, 0),
    ("ping-pong through pipes, two CPUs", "pingpong", 0, -1),
    ("compute pair sharing a CPU", "compute", 0, 0),
)


MODES = ("off", "two", "all")


class Rates:
    """Of one pair, by mode: turns per second, turns per CPU second, switches per second."""

    def __init__(self):
        self.rate, self.per_cpu, self.switches = ({mode: Samples() for mode in MODES}
                                                  for _ in range(3))

    def add(self, mode, result):
        self.rate[mode].append(result["turns"] / result["seconds"])
        self.per_cpu[mode].append(result["turns"] / result["cpu_seconds"])
        self.switches[mode].append(result["switches"] / result["seconds"])

    @staticmethod
    def loss(values, mode):
        """Per cent of what it is without counters, round by round."""
        return Samples(100 * (1 - on / off) for on, off in zip(values[mode], values["off"]))

    def cpu_added_us(self, mode):
        """CPU time that a turn takes more."""
        return Samples(1e6 / on - 1e6 / off
                       for on, off in zip(self.per_cpu[mode], self.per_cpu["off"]))


def _round(live, pair, scale, rates, mode):
    cpus = measure.harness.online_cpus()
    for name, program, a, b in PAIRS:
        # A pair that did not get the CPU at all tells nothing about counters.
        for _ in range(10):
            result = measure.run_json(
                "bench_workload", program, scale.workload_seconds, cpus[a], cpus[b], *pair)
            if result["turns"] > 0 and result["cpu_seconds"] > 0:
                break
        rates[name].add(mode, result)


def _mode(live, pair, scale, rates, mode, n):
    if mode == "off":
        _round(live, pair, scale, rates, mode)
        return
    with live.exporter(subtree="" if mode == "all" else "pair") as exporter:
        live.wait_counted(exporter, n if mode == "all" else 2)
        _round(live, pair, scale, rates, mode)


def rows(live, scale):
    n = scale.workload_containers
    live.reach(n)
    pair = live.cgroups[:2]
    rates = {name: Rates() for name, *_ in PAIRS}
    modes = list(MODES)
    for i in range(scale.workload_rounds):
        measure.say(f"workloads: round {i + 1} of {scale.workload_rounds}")
        random.shuffle(modes)
        for mode in modes:
            _mode(live, pair, scale, rates, mode, n)
    found = []
    for name, *_ in PAIRS:
        r = rates[name]
        unit = "round trips" if "ping" in name else "turns"
        found.append(Row(
            f"what workloads pay: {name}", "reported",
            f"throughput loss {r.loss(r.rate, 'all').show('%', 2)}", "reported",
            f"{n} containers counted; with only the pair counted "
            f"{r.loss(r.rate, 'two').median():.2f} %; loss of turns per CPU second "
            f"{r.loss(r.per_cpu, 'all').show('%', 2)}; without counters "
            f"{r.rate['off'].median():,.0f} {unit}/s at {r.switches['off'].median():,.0f} "
            "switches/s"))
    one = rates[PAIRS[0][0]]
    return found, {"switch_us": one.cpu_added_us("all").median() / 2,
                   "switch_us_pair": one.cpu_added_us("two").median() / 2}
