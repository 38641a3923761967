"""How fast the simulated node is: no cost of the exporter, but of its proofs."""
import re
import subprocess

import harness
import measure
from measure import Row, Samples

PROGRAM = harness.BUILD / "tests/simnode/simnode_bench"
LIMIT = 20


def rows(scale):
    mixes = {}
    ticks = 1 if scale.smoke else 6
    for i in range(scale.repeats):
        measure.say(f"simulated node: {i + 1} of {scale.repeats}")
        text = subprocess.run([PROGRAM, str(ticks)], capture_output=True, text=True, timeout=300,
                              check=True).stdout
        for name, speed in re.findall(r"^\| (\S.*?) +\| +([\d.]+) \|$", text, re.M):
            mixes.setdefault(name, Samples()).append(float(speed))
    assert mixes, text
    slowest = min(mixes.values(), key=Samples.median)
    others = ", ".join(f"{name} {speeds.median():.0f}" for name, speeds in mixes.items())
    return [Row("simulated node: core-cycles per second of CPU, four cores", f"{LIMIT} million",
                slowest.show("million", 1), "met" if slowest.median() >= LIMIT else "missed",
                f"the slowest of the mixes: {others}")]
