#!/usr/bin/python3
"""What tests take, and which speed runs them: times.tsv.

    tests/times.py compare JUNIT     what ctest wrote of a run beside the list; fails for a test of
                                     over a minute that the list does not name
    tests/times.py write JUNIT...    the list's seconds anew, from runs of run.sh on two CPUs
    tests/times.py sums BUILD        how long each speed takes by the list"""
import collections
import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

LIST = pathlib.Path(__file__).resolve().parent / "times.tsv"
SPEEDS = ["quick", "run", "ci", "all"]  # each runs what those before it run
# Seconds by the list. Of the 1500 that CI has, the builds take the rest.
BUDGETS = {"quick": 60, "run": 600, "ci": 1320}
BESIDE = 3  # how many tests run.sh starts on two CPUs
NAMED = 5  # seconds from which on a test is named
UNNAMED = 60  # seconds that no test takes unnamed, however busy the machine

Line = collections.namedtuple("Line", "speed seconds")
Test = collections.namedtuple("Test", "labels alone")


def kind(name):
    """unit.* of unit.test_x: how the list calls those that it does not name."""
    return name.rpartition(".")[0] + ".*"


def parse(text):
    """{name: Line} in the list's order. Raises ValueError with the line that is wrong."""
    lines = {}
    for number, text_line in enumerate(text.splitlines(), 1):
        if text_line.startswith("#"):
            continue
        try:
            speed, seconds, name = text_line.split("\t")
            line = Line(speed, float(seconds))
        except ValueError as error:
            raise ValueError(f"line {number}: not SPEED, SECONDS, TEST: {text_line}") from error
        if speed not in SPEEDS:
            raise ValueError(f"line {number}: no speed: {speed}")
        if name in lines:
            raise ValueError(f"line {number}: a second time: {name}")
        lines[name] = line
    return lines


def line_of(lines, name):
    """What the list says of a test; of one that it does not know, run and what may go unnamed."""
    return lines.get(name) or lines.get(kind(name)) or Line("run", NAMED)


def tests_of(build):
    """{name: Test} of a build, or of run.sh's suite of builds."""
    shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                           stdout=subprocess.PIPE, check=True, timeout=100).stdout
    tests = {}
    for test in json.loads(shown)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        tests[test["name"]] = Test(properties.get("LABELS", []), properties.get("RUN_SERIAL", False))
    return tests


def sums(lines, tests):
    """{speed: seconds that it takes}: who runs alone keeps all others waiting."""
    total = dict.fromkeys(SPEEDS, 0.0)
    for name, test in tests.items():
        line = line_of(lines, name)
        for speed in SPEEDS[SPEEDS.index(line.speed):]:
            total[speed] += line.seconds / (1 if test.alone else BESIDE)
    return total


def problems(lines, tests):
    """What is wrong with the list beside the tests that there are."""
    found = []
    kinds = {kind(name) for name in tests}
    for name in lines:
        if name not in tests and kind(name) in kinds and name != kind(name):
            found.append(f"there is no test {name}")
    for name, test in tests.items():
        speed = line_of(lines, name).speed
        if [label for label in test.labels if label in SPEEDS] != [speed]:
            found.append(f"{name} is of speed {speed}, and ctest has it as {test.labels}")
    for speed, seconds in sums(lines, tests).items():
        if seconds > BUDGETS.get(speed, seconds):
            found.append(f"{speed} takes {seconds:.0f} s of {BUDGETS[speed]}: a test must become "
                         "quicker, or of a later speed")
    return found


def measured(path):
    """{name: seconds} of the tests that passed, as ctest --output-junit wrote them."""
    cases = xml.etree.ElementTree.parse(path).getroot().iter("testcase")
    return {case.get("name"): float(case.get("time")) for case in cases if case.get("status") == "run"}


def compare(path):
    lines = parse(LIST.read_text())
    status = 0
    for name, seconds in sorted(measured(path).items(), key=lambda item: -item[1]):
        if name in lines:
            if seconds > 2 * lines[name].seconds + NAMED:
                print(f"{name} took {seconds:.0f} s, not {lines[name].seconds:g}")
        elif seconds > UNNAMED:
            print(f"{name} took {seconds:.0f} s: tests/times.tsv must name it")
            status = 1
        elif seconds > 2 * NAMED:
            print(f"{name} took {seconds:.0f} s, and tests/times.tsv does not name it")
    return status


def rewritten(lines, took):
    """The list with these seconds: {name: Line}. Speeds stay, as does what was not measured."""
    new = {name: line for name, line in lines.items() if name not in took}
    others = collections.defaultdict(list)
    for name, seconds in took.items():
        speed = line_of(lines, name).speed
        if seconds >= NAMED or speed != line_of(lines, kind(name)).speed:
            new[name] = Line(speed, max(1, round(seconds)))
        else:
            others[kind(name)].append(seconds)
    for name, seconds in others.items():
        new[name] = Line(line_of(lines, name).speed, max(0.1, round(sum(seconds) / len(seconds), 1)))
    return new


def write(paths):
    text = LIST.read_text()
    took = {}
    for path in paths:
        took.update(measured(path))
    new = rewritten(parse(text), took)
    head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
    order = sorted(new.items(), key=lambda item: (SPEEDS.index(item[1].speed), item[0] != kind(item[0]),
                                                  -item[1].seconds, item[0]))
    LIST.write_text(head + "".join(f"{line.speed}\t{line.seconds:g}\t{name}\n" for name, line in order))
    return 0


def main(command="", *arguments):
    if command == "compare" and len(arguments) == 1:
        return compare(*arguments)
    if command == "write" and arguments:
        return write(arguments)
    if command == "sums" and len(arguments) == 1:
        for speed, seconds in sums(parse(LIST.read_text()), tests_of(*arguments)).items():
            print(f"{speed} {seconds:.0f} s" + (f" of {BUDGETS[speed]}" if speed in BUDGETS else ""))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
