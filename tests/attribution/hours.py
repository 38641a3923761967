#!/usr/bin/env python3
"""Hours of made-up nodes (node_hour.h) through the collector attribution: a table.

    tests/attribution/hours.py build/plain [--kinds a,b] [--seeds 0-9] [--json] [--list] [--elsewhere 100-109]
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import tempfile

# In none of them anybody hurts, or nobody who could be seen.
NOBODY = ("quiet", "deploys", "waiters", "outside", "outside-deploys", "drift", "chain-quiet")
UNSEEN = ("always-on", "ramp", "phase")
FRAMED = ("frame-step", "frame-80", "frame-behind", "frame-host")
# Longer than the others, or with what is wrong only for a while.
LONG = ("night-15", "night-30", "restless-15", "day", "boot", "borrowed", "gap", "computes-then")


def judge(program, kind, seed, elsewhere=None):
    out = subprocess.run([program, "judge", kind, str(seed), *(["0", elsewhere] if elsewhere else [])],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def found_elsewhere(results):
    """What Prometheus answers to the query of collectors/README.md where these runs are the nodes."""
    nodes, named = collections.Counter(), collections.Counter()
    for run in (run for runs in results.values() for run in runs):
        for workload, was_named in run["workloads"].items():
            nodes[workload] += 1
            named[workload] += was_named
    return {"status": "success", "data": {"resultType": "vector", "result": [
        {"metric": dict(zip(("namespace", "workload"), workload.split("/"))),
         "value": [0, str((named[workload] + 1) / (nodes[workload] + 20))]}
        for workload in sorted(nodes)]}}


def judge_all(build, kinds, seeds, jobs=2, elsewhere=None):
    """{kind: [judgement]}"""
    program = pathlib.Path(build).resolve() / "programs/attribution_hours"
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {kind: [pool.submit(judge, program, kind, seed, elsewhere) for seed in seeds]
                   for kind in kinds}
        return {kind: [f.result() for f in runs] for kind, runs in futures.items()}


def all_kinds(build):
    program = pathlib.Path(build).resolve() / "programs/attribution_hours"
    return subprocess.run([program, "kinds"], check=True, capture_output=True,
                          text=True).stdout.split()


def mean(values):
    values = list(values)
    return statistics.mean(values) if values else 0.0


def row(kind, runs):
    at = [mean(run["named_at"][m] for run in runs) for m in ("1", "5", "10", "30", "60")]
    hurt = [run for run in runs if run["hurting"]]
    of_all = lambda key: 100 * sum(r[key] for r in runs) / sum(r["readings"] for r in runs)
    return [kind, *((f"{mean(r[key] for r in hurt):.2f}" if hurt else "")
                    for key in ("right", "right_or_one_of")),
            f"{min(r['worst_hour'] for r in hurt):.2f}" if hurt else "",
            " ".join(f"{v:.1f}".lstrip("0") or "0" for v in at) if hurt else "",
            str(sum(bool(r["wrong_names"]) for r in runs)), f"{of_all('wrong_readings'):.2f}",
            f"{of_all('wrong_outside'):.2f}", f"{of_all('stale'):.2f}", f"{of_all('unknown'):.1f}",
            f"{statistics.median(r['caused_over_true'] for r in hurt):.2f}" if hurt else "",
            f"{mean(r['us_per_tick'] for r in runs):.0f}"]


HEAD = ["kind", "right", "right or one of these", "worst hour of any run",
        "named at 1 5 10 30 60 min", "runs with a wrong name", "wrong time, %",
        "of it while raised from outside", "named without harm, %", "a tenth unknown, %",
        "told/true", "us a tick"]


def table(results):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    lines += ["| " + " | ".join(row(kind, runs)) + " |" for kind, runs in results.items()]
    return "\n".join(lines)


def totals(results):
    runs = [run for kind in NOBODY for run in results.get(kind, ())]
    if not runs:
        return ""
    hours = sum(run["readings"] for run in runs) / 3600
    names = sum(len(run["wrong_names"]) for run in runs)
    wrong = sum(run["wrong_readings"] for run in runs) / sum(run["readings"] for run in runs)
    return (f"Without an aggressor: {names} wrong names in {hours:.0f} hours "
            f"({24 * names / hours:.1f} a node-day), wrong time {100 * wrong:.2f} %.")


def calibration(results):
    runs = [run for runs in results.values() for run in runs]
    lines = ["| p | containers that once had it | culprits |", "|---|---|---|"]
    for i in range(10):
        n, right = (sum(run[key][i] for run in runs) for key in ("p", "p_right"))
        if n:
            lines.append(f"| {i / 10:.1f} to {(i + 1) / 10:.1f} | {n} | {right / n:.2f} |")
    return "\n".join(lines)


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--kinds")
    parser.add_argument("--seeds", default="0-9")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--list", action="store_true", help="who was wrongly named, and where")
    parser.add_argument("--elsewhere", help="seeds of other nodes, whose names are known here")
    args = parser.parse_args()
    kinds = args.kinds.split(",") if args.kinds else all_kinds(args.build)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        if args.elsewhere:
            json.dump(found_elsewhere(judge_all(args.build, kinds, seeds_of(args.elsewhere))), file)
            file.flush()
        results = judge_all(args.build, kinds, seeds_of(args.seeds),
                            elsewhere=file.name if args.elsewhere else None)
    if args.json:
        print(json.dumps(results))
        return
    print(table(results), "\n")
    print(totals(results), "\n")
    print(calibration(results))
    for kind, runs in results.items() if args.list else ():
        for run in runs:
            if run["wrong_names"] or (kind not in NOBODY and run["right"] < 0.8):
                print(kind, run["seed"], f"{run['right']:.2f}", run["first_named"],
                      run["wrong_names"], run["wrong_readings"])


if __name__ == "__main__":
    main()
