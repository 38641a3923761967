"""What the collector attribution says of the recordings of hours/: half an hour each, in which pods
come, go, and one of them may start once and stay. Pods are told apart by their names.

    tests/attribution/half_hours.py BUILD [RECORDING ...]

prints the cases; results.py makes a section of its page of them.
"""
import dataclasses
import statistics
import sys

import replays
from replays import HERE, readings

HOURS = HERE / "hours"
EFFECTS = (0.15, 0.30, 0.60)  # for each CPU that the hog uses
AT_MINUTES = (1, 5, 10, 20)
STAYS_S = 600  # who starts and is there so long is one who stays
SHIFTS = (300, 600, 900, 1200, 1500)  # of 1,800 s
FAR = 0.08
CALM = "deploys"  # its latency is that of a machine on which no container hurts


def pods(rows):
    return {row["pod"] for row in rows}


def named(line):
    return pods((line["domain"] or {}).get("aggressors", ()))


def groups(line):
    return [pods(group["members"]) for group in (line["domain"] or {}).get("groups", ())]


@dataclasses.dataclass
class Case:
    recording: str
    what: str
    hurts: str | None = None  # the pod
    readings: int = 0
    effect: float = 0.0  # put in, mean after its start
    hurting: int = 0  # readings after its start
    right: float = 0.0  # share of those in which it is named
    among: float = 0.0  # the same, or a group with it
    at: tuple = ()  # per AT_MINUTES after the start: named; None: the recording is shorter
    until_s: float | None = None  # from the start to the first of its names
    longest_s: float = 0.0  # for which its name stands without a gap
    withdrawn: int = 0  # how often its name goes while it is there
    wrong_readings: int = 0
    wrong: dict = dataclasses.field(default_factory=dict)  # {pod: readings}


def onset(lines, truth, pod):
    """Seconds of the tape at which the pod starts."""
    first = next(line["seconds"] for line in lines if line["tick"] == truth["first_tick"])
    return first + truth["on"][pod][0][0]


def owner(pod):
    """Of a Deployment's pod, or a job's."""
    return pod.rsplit("-", 2)[0]


def judge_wrong(case, lines, right):
    """Others of the same workload are not wrong: what one pod of it was given is told of all."""
    owners = {owner(pod) for pod in right}
    for line in lines:
        bad = {pod for pod in named(line) - right if owner(pod) not in owners}
        for group in groups(line):
            bad |= group if not group & right else set()
        case.wrong_readings += bool(bad)
        for pod in bad:
            case.wrong[pod] = case.wrong.get(pod, 0) + 1


def stretches(lines, pod):
    """[(from, to)] in seconds, in which the pod is named."""
    found, since, before = [], None, None
    for line in lines:
        if pod in named(line):
            since, before = since if since is not None else line["seconds"], line["seconds"]
        elif since is not None:
            found.append((since, before))
            since = None
    return found + ([(since, before)] if since is not None else [])


def judge_right(case, lines, start, end, effect):
    """While the pod is there."""
    after = [line for line in lines if start <= line["seconds"] <= end]
    there = [line for line in after if case.hurts in line["containers"]]
    case.hurting = len(after)
    case.effect = sum(effect * (line["containers"][case.hurts]["activity"] or 0)
                      for line in there) / max(1, len(there))
    case.right = sum(case.hurts in named(line) for line in after) / max(1, case.hurting)
    case.among = sum(case.hurts in named(line) or any(case.hurts in g for g in groups(line))
                     for line in after) / max(1, case.hurting)
    case.at = tuple(next((case.hurts in named(line) for line in after
                          if line["seconds"] >= start + 60 * minute), None)
                    for minute in AT_MINUTES)
    found = stretches(after, case.hurts)
    case.until_s = found[0][0] - start if found else None
    case.longest_s = max((b - a for a, b in found), default=0.0)
    case.withdrawn = sum(b < after[-1]["seconds"] for a, b in found)


def play(recordings, name, what, hurts, effect, *changes):
    """A case. Nobody's name is right but that of who hurts."""
    lines = recordings.play(name, *changes)
    found = readings(lines)
    case = Case(name, what, hurts, len(found))
    judge_wrong(case, found, {hurts} if hurts else set())
    if hurts:
        truth = recordings.truth[name]
        start = onset(lines, truth, hurts)
        length = truth["on"][hurts][0][1] - truth["on"][hurts][0][0]
        judge_right(case, found, start, start + length, effect)
    return case


# --- what the hogs really do ----------------------------------------------------------------------


@dataclasses.dataclass
class Felt:
    recording: str
    hurts: str
    cpus: float  # mean, while it is there
    before_ns: float  # medians of the readings
    after_ns: float
    far_before: float  # share of the readings that are FAR above the median before its start
    far_after: float


def felt(recordings, name, pod):
    lines = [line for line in readings(recordings.play(name)) if line["domain"]["latency_ns"]]
    start = onset(lines, recordings.truth[name], pod)
    before, after = ([line["domain"]["latency_ns"] for line in lines
                      if (line["seconds"] >= start) == on] for on in (False, True))
    calm = statistics.median(before)
    activity = [line["containers"][pod]["activity"] or 0 for line in lines
                if pod in line["containers"]]
    far = [sum(ns > (1 + FAR) * calm for ns in part) / len(part) for part in (before, after)]
    return Felt(name, pod, statistics.mean(activity), calm, statistics.median(after), *far)


# --- the cases ------------------------------------------------------------------------------------


def hogs(recordings):
    """[(recording, pod)]"""
    return [(name, pod) for name, truth in recordings.truth.items() for pod in truth["hurts"]]


def calm_latency(recordings):
    return ("latency-of", recordings.path(CALM)) if CALM in recordings.truth else ()


def stays(recordings, name):
    """Innocent pods that start late and stay: who of them uses any CPU gets an effect in turn."""
    truth = recordings.truth[name]
    return [pod for pod, ((start, end),) in truth["on"].items()
            if start > 300 and end - start >= STAYS_S and pod not in truth["hurts"]]


def as_recorded(recordings):
    return [play(recordings, name, "as recorded", pod, 0) for name, pod in hogs(recordings)]


def put_in(recordings):
    """On top of what the hog really does; and instead of it, on the latency of a machine on which
    nobody hurts."""
    calm = calm_latency(recordings)
    return [play(recordings, name, f"{effect:.0%} a CPU{more}", pod, effect, *changes, "put-in", pod,
                 effect)
            for name, pod in hogs(recordings) for effect in EFFECTS
            for more, changes in ((("", ()), (f", latency of {CALM}", calm)) if calm else
                                  (("", ()),))]


def put_in_innocent(recordings):
    """Who only computes, and stays: little CPU, so that much for each is an effect."""
    return [play(recordings, name, f"{effect:.0%} a CPU", pod, effect, "put-in", pod, effect)
            for name, truth in recordings.truth.items() if not truth["hurts"]
            for pod in stays(recordings, name) for effect in (0.60, 1.20)]


def nobody(recordings):
    """No container hurts: as recorded; with latency from another time, in which a hog's start is a
    step from outside; with that of another recording."""
    calm = [name for name, truth in recordings.truth.items() if not truth["hurts"]]
    return ([play(recordings, name, "as recorded", None, 0) for name in calm] +
            [play(recordings, name, f"latency {shift} s later", None, 0, "shift-latency", shift)
             for name in recordings.truth for shift in SHIFTS] +
            [play(recordings, name, f"latency of {other}", None, 0, "latency-of",
                  recordings.path(other))
             for name in recordings.truth for other in recordings.truth
             if name != other and not (recordings.truth[name]["hurts"] and
                                       recordings.truth[other]["hurts"])])


# --- the tables -----------------------------------------------------------------------------------

HEAD_RIGHT = ("recording", "effect", "mean", "readings after the start", "right",
              "right or in a group", "named at " + " / ".join(map(str, AT_MINUTES)) + " min",
              "s until named", "longest, s", "withdrawn", "wrong readings", "wrong names")
HEAD_NOBODY = ("recording", "what", "readings", "wrong readings", "wrong names")


HEAD_FELT = ("recording", "pod", "CPUs", "ns before its start", "after it", "more",
             f"readings {FAR:.0%} above the median before", "the same after it")


def row_felt(case):
    return (case.recording, case.hurts, f"{case.cpus:.2f}", f"{case.before_ns:.1f}",
            f"{case.after_ns:.1f}", f"{case.after_ns / case.before_ns - 1:+.1%}",
            f"{case.far_before:.0%}", f"{case.far_after:.0%}")


def wrong_names(case):
    return ", ".join(f"{pod} {n}" for pod, n in sorted(case.wrong.items())) or "none"


def row_right(case):
    said = {None: "-", True: "1", False: "0"}
    return (case.recording, case.what, f"{case.effect:.1%}" if case.effect else "-", case.hurting,
            f"{case.right:.2f}", f"{case.among:.2f}", " / ".join(said[at] for at in case.at),
            "never" if case.until_s is None else f"{case.until_s:.0f}", f"{case.longest_s:.0f}",
            case.withdrawn, case.wrong_readings, wrong_names(case))


def row_nobody(case):
    return (case.recording, case.what, case.readings, case.wrong_readings, wrong_names(case))


def unpacked(build):
    return replays.Recordings(build, HOURS)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with unpacked(sys.argv[1]) as recordings:
        for name in set(recordings.truth) - set(sys.argv[2:] or recordings.truth):
            del recordings.truth[name]
        print("\t".join(HEAD_FELT))
        for hog in hogs(recordings):
            print("\t".join(row_felt(felt(recordings, *hog))))
        print("\t".join(HEAD_RIGHT))
        for cases in (as_recorded, put_in, put_in_innocent):
            for case in cases(recordings):
                print("\t".join(map(str, row_right(case))))
        print("\t".join(HEAD_NOBODY))
        for case in nobody(recordings):
            print("\t".join(map(str, row_nobody(case))))


if __name__ == "__main__":
    main()
