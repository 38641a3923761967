"""What the tests here share: the build, programs, and runs until the quickest ones agree."""
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

BATCH, BATCHES = 3, 5
# Others on the machine make a run take longer, never shorter: two that are as quick as each other
# were disturbed by nobody, or by somebody who disturbs all.
ALIKE = 0.02


def command(name, *arguments):
    return [str(harness.PROGRAMS / f"delay_{name}"), *arguments]


def run(program, **settings):
    return lambda: emulation.emulated(emulation.find_plugin(harness.BUILD), program,
                                      **{"cache": CACHE, **settings})


def measured(settings):
    """{name: [Run, ...]}, the quickest first: more runs while others on the machine disturb them.
    Skips the test if they still do in the end: nothing can be told then."""
    found = {name: [] for name in settings}
    for _ in range(BATCHES):
        for name, runs in emulation.interleaved(settings, BATCH).items():
            found[name] = sorted(found[name] + runs, key=lambda one: one.seconds)
        apart = max(runs[1].seconds / runs[0].seconds - 1 for runs in found.values())
        if apart < ALIKE:
            return found
    raise unittest.SkipTest(f"the two quickest runs are {apart:.0%} apart: others use this machine")


def main():
    if not (harness.PROGRAMS / "delay_plugin.so").exists():
        sys.exit("there is no plugin in this build")
    try:
        emulation.need_qemu()
    except emulation.Trouble as trouble:
        print(trouble)
        sys.exit(77)
    harness.main()
