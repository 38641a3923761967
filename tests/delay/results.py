#!/usr/bin/python3
"""Writes RESULTS-delay.md: tests/delay/results.py BUILD. Some minutes, on a machine that is quiet; where
the quickest runs of something never agree, it writes nothing."""
import pathlib
import platform
import sys
import unittest

from measuring import ALIKE, BATCH, BATCHES, COMPUTE, PROGRAMS, command, emulation, harness, measured, run

HERE = pathlib.Path(__file__).resolve().parent
POINTS = (0, 50, 100, 200, 400)
NOPS = (0, 64, 128, 256, 512)
SHARES = (250, 500, 750)
# Larger than any cache, so that the real machine waits as well.
FAR_CHASE = ("chase", "262144", "3000000")


def cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def table(header, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in
                     (header, ["---"] * len(header), *rows)) + "\n"


def seconds(runs):
    return runs[0].seconds  # the quickest


def ms(runs):
    return f"{seconds(runs) * 1e3:.0f}"


def apart(found):
    return f"{max(runs[1].seconds / runs[0].seconds - 1 for runs in found.values()):.1%}"


def curves():
    rows = []
    for name, arguments in (*PROGRAMS.items(), (COMPUTE[0], COMPUTE[1:])):
        program = command(name, *arguments)
        found = measured({ns: run(program, near=ns) for ns in POINTS})
        native = min((emulation.native(program) for _ in range(BATCH * BATCHES)),
                     key=lambda one: one.seconds)
        slope, _, fit = emulation.line([ns * 1e-9 for ns in POINTS],
                                       [seconds(found[ns]) for ns in POINTS])
        misses = emulation.misses(found[0][0])
        rows.append([name, ms([native]), *(ms(found[ns]) for ns in POINTS), f"{misses:,}",
                     f"{slope:,.0f}", f"{slope / misses - 1:+.1%}" if misses > 10000 else "",
                     f"{fit:.4f}", apart(found)])
    return table(["program", "native", *(f"{ns} ns" for ns in POINTS), "misses counted", "slope",
                  "difference", "R2", "two quickest apart"], rows)


def nops():
    rows = []
    for name, arguments in ((FAR_CHASE[0], FAR_CHASE[1:]), ("matvec", ("500", "3"))):
        program = command(name, *arguments)
        found = measured({n: run(program, every="on", nops=n or None) for n in NOPS})
        rows.append([name, *(ms(found[n]) for n in NOPS),
                     f"{found[0][0].report['accesses']:,}", apart(found)])
    return table(["program", *(f"{n} NOPs" for n in NOPS), "accesses", "two quickest apart"], rows)


def tiers():
    rows = []
    for name, arguments in PROGRAMS.items():
        program = command(name, *arguments)
        found = measured(
            {"near": run(program, near=100, far=100), "far": run(program, near=400, far=400)} |
            {share: run(program, near=100, far=400, share=share) for share in SHARES})
        near, far = seconds(found["near"]), seconds(found["far"])
        errors = []
        for share in SHARES:
            report = found[share][0].report
            counted = report["far_misses"] / (report["near_misses"] + report["far_misses"])
            errors.append(f"{emulation.weighted(near, far, counted) / seconds(found[share]) - 1:+.1%}")
        first = found["near"][0]
        alone = near + emulation.misses(first) * 300e-9
        rows.append([name, ms(found["near"]), ms(found["far"]), f"{alone / far - 1:+.1%}", *errors,
                     apart(found)])
    return table(["program", "100 ns", "400 ns", "400 ns, predicted from 100 ns and the misses",
                  *(f"{share / 10:.0f} % far" for share in SHARES), "two quickest apart"], rows)


def main():
    page = f"""# Delay insertion, measured

Made by `tests/delay/results.py build/plain`. Milliseconds of CPU time of whole processes: the quickest of {BATCH} to
{BATCH * BATCHES} interleaved runs, as others on the machine make none quicker, on {cpu()} (a virtual machine of
{harness.os.cpu_count()} CPUs). How far the two quickest are apart is the most of a row, at most {ALIKE:.0%}. Emulated by
qemu-user with a cache of 256 KiB per thread. None of these latencies is that of real memory: the waiting is put in.

## Every miss waits

The slope of CPU time over the delay should be the number of misses. The waiting itself costs a fence and a
read of the TSC, which all columns contain.

{curves()}
`compute` is the control: it needs no memory. Its own time is not the same in each run (test_times.py says why).

## NOPs in place of waiting

Akiyama's paper executes NOPs after each access. A core that waits for memory executes them meanwhile:

{nops()}
## Two tiers

Every miss waits 100 or 400 ns, by a hash of its page; the error of equation 4 of Serrano's paper from the two
pure runs, by the share of misses that was counted:

{tiers()}"""
    (HERE / "RESULTS-delay.md").write_text(page)


if __name__ == "__main__":
    try:
        main()
    except unittest.SkipTest as busy:
        sys.exit(f"nothing is written: {busy}")
