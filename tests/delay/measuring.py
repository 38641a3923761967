"""What the tests here share: the build, programs, and runs until they scatter little enough."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "integration"))

import emulation  # noqa: E402
import harness  # noqa: E402

PROGRAMS = {
    "chase": ("65536", "300000"),
    "stream": ("200000", "6"),
    "sort": ("400000",),
    "hash": ("131072", "300000"),
}
COMPUTE = ("compute", "20000000")
CACHE = 1 << 18

BATCH, BATCHES = 5, 3
QUIET = 0.08  # interquartile range, as a share of the median


def command(name, *arguments):
    return [str(harness.PROGRAMS / f"delay_{name}"), *arguments]


def run(program, **settings):
    return lambda: emulation.emulated(emulation.find_plugin(harness.BUILD), program,
                                      **{"cache": CACHE, **settings})


def measured(settings):
    """{name: [Run, ...]}: more runs while others on the machine make them scatter. Skips the test if
    they still do in the end: nothing can be told then."""
    found = {name: [] for name in settings}
    for _ in range(BATCHES):
        for name, runs in emulation.interleaved(settings, BATCH).items():
            found[name] += runs
        worst = max(map(emulation.spread, found.values()))
        if worst < QUIET:
            return found
    raise unittest.SkipTest(f"CPU times scatter by {worst:.0%}: others use this machine")


def main():
    if not (harness.PROGRAMS / "delay_plugin.so").exists():
        sys.exit("there is no plugin in this build")
    try:
        emulation.need_qemu()
    except emulation.Trouble as trouble:
        print(trouble)
        sys.exit(77)
    harness.main()
