"""What the collector attribution says of recordings of real containers, and of changed ones: the
cases that integration/test_attribution_replay.py judges, and of which results.py makes a page."""
import dataclasses
import json
import lzma
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RECORDINGS = HERE / "recordings"
LEARNING_READINGS = 60
HURTING = 0.03  # of the latency: below that nobody is ever named
BUSY, BUSY_READINGS = 0.2, 15  # CPUs beside the probe, after the learning: to put an effect in
EFFECTS = (0.10, 0.15, 0.30)
UNSEEN = (0.15, 0.40)


class Recordings:
    """All of a folder, unpacked for as long as this lives. A context manager."""

    def __init__(self, build, folder=RECORDINGS):
        self.program = pathlib.Path(build).resolve() / "programs/attribution_replay"
        self.directory = tempfile.TemporaryDirectory()
        self.truth = {}
        for packed in sorted(folder.glob("*.jsonl.xz")):
            text = lzma.decompress(packed.read_bytes()).decode()
            name = packed.name.removesuffix(".jsonl.xz")
            self.path(name).write_text(text)
            self.truth[name] = next(json.loads(line)["attribution_truth"]
                                    for line in text.splitlines() if "attribution_truth" in line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def path(self, name):
        return pathlib.Path(self.directory.name, f"{name}.jsonl")

    def play(self, name, *changes):
        return play(self.program, self.path(name), *changes)


def play(program, path, *changes):
    """[line of attribution_replay]"""
    result = subprocess.run([program, path, *map(str, changes)], capture_output=True, text=True)
    assert result.returncode == 0, f"{path} {changes}: {result.stderr}"
    return [json.loads(line) for line in result.stdout.splitlines()]


def named(line):
    return {row["container"] for row in (line["domain"] or {}).get("aggressors", ())}


def suspected(line):
    return {row["container"] for row in (line["domain"] or {}).get("suspects", ())}


def groups(line):
    return [{row["container"] for row in group["members"]}
            for group in (line["domain"] or {}).get("groups", ())]


def readings(lines):
    """The lines in which there was a reading of the latency."""
    found, before = [], 0
    for line in lines:
        n = (line["domain"] or {}).get("readings", 0)
        if n > before:
            found.append(line)
        before = n
    return found


def wrong(lines, right):
    """Readings in which somebody innocent is named, and who: a group is wrong if nobody in it is
    right."""
    ticks, who = 0, set()
    for line in readings(lines):
        bad = named(line) - set(right)
        for group in groups(line):
            bad |= group if not group & set(right) else set()
        ticks += bool(bad)
        who |= bad
    return ticks, sorted(who)


def ranking(lines):
    """[(score, container)], the largest first, at the end."""
    return sorted(((row["z"] or 0, name) for name, row in lines[-1]["containers"].items()),
                  reverse=True)


# --- as recorded ----------------------------------------------------------------------------------


@dataclasses.dataclass
class Recorded:
    recording: str
    hurts: list
    readings: int
    scores: list  # (score, container)
    named: list
    groups: list
    wrong_ticks: int
    wrong: list
    noise: float


def as_recorded(recordings, name):
    lines = recordings.play(name)
    truth = recordings.truth[name]
    ticks, who = wrong(lines, truth["hurts"])
    return Recorded(name, truth["hurts"], len(readings(lines)), ranking(lines),
                    sorted(set().union(*map(named, lines))),
                    sorted({tuple(sorted(g)) for line in lines for g in groups(line)}), ticks, who,
                    lines[-1]["domain"]["noise_ratio"])


# --- an effect put in -----------------------------------------------------------------------------


@dataclasses.dataclass
class PutIn:
    recording: str
    container: str
    effect: float
    before: int = 0  # readings while learning in which it hurts
    hurting: int = 0  # readings after the learning in which it does
    until_suspected: int | None = None  # the same, suspected or more
    until_named: int | None = None  # readings of hurting before the first with its name
    until_group: int | None = None  # the same, its name or a group with it
    named_share: float = 0.0  # of the readings of hurting
    wrong_ticks: int = 0
    wrong: list = dataclasses.field(default_factory=list)
    caused: float = 0.0  # caused by it as told / put in, over the readings in which it is named


def targets(recordings):
    """Everyone who switches, with nobody, and enough to hurt: [(recording, container)]. Who runs on
    the probe's CPU most of the time cannot be in its way."""
    found = []
    for name, truth in recordings.truth.items():
        alike = {member for group in truth["alike"] for member in group}
        lines = readings(recordings.play(name))[LEARNING_READINGS:]
        for key, on in truth["on"].items():
            busy = sum((line["containers"][key]["activity"] or 0) >= BUSY for line in lines)
            if len(on) > 1 and key not in alike and busy >= BUSY_READINGS:
                found.append((name, key))
    return found


def companions(recordings):
    """Those of a group that do it: [(recording, container)]"""
    return [(name, member) for name, truth in recordings.truth.items()
            for group in truth["alike"] for member in group if member in truth["hurts"]]


def starts(recordings):
    """Those who start once, after the learning, and stay."""
    return [(name, key) for name, truth in recordings.truth.items()
            for key, on in truth["on"].items() if len(on) == 1 and on[0][0] > LEARNING_READINGS]


def put_in(recordings, name, container, effect):
    lines = recordings.play(name, "put-in", container, effect)
    case = PutIn(name, container, effect)
    right = {container, *recordings.truth[name]["hurts"]}
    case.wrong_ticks, case.wrong = wrong(lines, right)
    told = true = named_while = 0
    for number, line in enumerate(readings(lines)):
        grown = effect * (line["containers"][container]["activity"] or 0)
        if grown < HURTING:
            continue
        if number < LEARNING_READINGS:
            case.before += 1
            continue
        if case.until_suspected is None and container in (
                named(line) | suspected(line) | set().union(*groups(line))):
            case.until_suspected = case.hurting
        if container in named(line):
            named_while += 1
            row = next(r for r in line["domain"]["aggressors"] if r["container"] == container)
            told += row["caused_ns"]
            true += line["domain"]["latency_ns"] * grown / (1 + grown)
            if case.until_named is None:
                case.until_named = case.hurting
        if case.until_group is None and (container in named(line) or
                                         any(container in g for g in groups(line))):
            case.until_group = case.hurting
        case.hurting += 1
    case.named_share = named_while / max(1, case.hurting)
    case.caused = told / true if true else 0.0
    return case


# --- nobody does it -------------------------------------------------------------------------------


@dataclasses.dataclass
class Null:
    what: str
    readings: int
    wrong_ticks: int
    wrong: list


def null(recordings, what, name, *changes):
    lines = recordings.play(name, *changes)
    ticks, who = wrong(lines, ())
    return Null(what, len(readings(lines)), ticks, who)


def shifted(recordings):
    """Activity in a circle, by more than a period of switching."""
    return [null(recordings, f"{name}, activity {ticks} s later", name, "shift", ticks)
            for name in recordings.truth for ticks in range(45, 135, 15)]


def crossed(recordings):
    return [null(recordings, f"activity of {name}, latency of {other}", name, "latency-of",
                 recordings.path(other))
            for name in recordings.truth for other in recordings.truth if other != name]


def unseen(recordings):
    """The same with a neighbour whom nobody monitors."""
    names = list(recordings.truth)
    pairs = [(name, other) for name in names for other in names if name != other]
    return [null(recordings, f"activity of {name}, latency of {other}, +{effect:.0%} unseen", name,
                 "latency-of", recordings.path(other), "unseen", effect, seed)
            for effect in UNSEEN for seed, (name, other) in enumerate(pairs)]
