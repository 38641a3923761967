#!/usr/bin/python3
"""A week's report from a Prometheus with this project's rules: a page (HTML) and a table (CSV).

    deploy/report/report.py --prometheus http://prometheus:9090 --html week.html --csv week.csv
    deploy/report/report.py ... --match 'cluster="a"' --team-label label_team --change 2026-11-20T12:00Z

For each team what its containers waited for, by cause, and the CPU time that they lost; the worst workloads; who made memory
slow and who took CPUs; the worst nodes; and whether it got better after a date. README.md says how each number is made.
Needs Python 3.9 and nothing else.
"""
import argparse
import csv
import dataclasses
import datetime
import html
import json
import math
import pathlib
import re
import ssl
import statistics
import sys
import urllib.error
import urllib.parse
import urllib.request

WHOSE = {"own_quota": "own CPU limit", "own_memory_limit": "own memory limit", "itself": "own threads",
         "cpu_neighbour": "others' CPU use", "memory_slow": "slow memory", "memory_full": "the node's full memory",
         "disk": "disks", "hypervisor": "the hypervisor"}
TOP = 20
NOBODY = "(no team)"


class Failure(Exception):
    """What the user is told in a line."""


def seconds_of(text):
    match = re.fullmatch(r"(\d+)(s|m|h|d|w)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a number and s, m, h, d or w")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}[match[2]]


def time_of(text):
    try:
        when = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: a date like 2026-11-20 or 2026-11-20T12:00Z") from error
    return (when if when.tzinfo else when.replace(tzinfo=datetime.timezone.utc)).timestamp()


def words_of(when):
    return datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


class Prometheus:
    def __init__(self, url, token=None, ca=None):
        self.url = url.rstrip("/") + "/api/v1/query"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.tls = ssl.create_default_context(cafile=ca) if url.startswith("https:") else None

    def ask(self, query, at):
        """[(labels, value)]"""
        form = urllib.parse.urlencode({"query": query, "time": at}).encode()
        request = urllib.request.Request(self.url, form, self.headers)
        try:
            with urllib.request.urlopen(request, timeout=300, context=self.tls) as answer:
                document = json.load(answer)
        except urllib.error.HTTPError as error:
            raise Failure(f"{self.url} answers {error.code}: {error.read(300).decode('utf-8', 'replace')}") from error
        except (OSError, ValueError) as error:
            raise Failure(f"{self.url}: {error}") from error
        data = document.get("data", {})
        if document.get("status") != "success" or data.get("resultType") != "vector":
            raise Failure(f"{self.url} answers no vector to: {query}")
        found = [(sample["metric"], float(sample["value"][1])) for sample in data["result"]]
        return [(labels, value) for labels, value in found if math.isfinite(value)]


@dataclasses.dataclass
class Week:
    start: float
    end: float
    step: int
    slices: list  # when each begins and ends
    team: dict  # of a namespace
    lost: dict = dataclasses.field(default_factory=dict)  # (team, cause, slice): container-seconds
    cpus: dict = dataclasses.field(default_factory=dict)  # (team, slice): CPU-seconds lost
    used: dict = dataclasses.field(default_factory=dict)  # (team, slice): CPU-seconds used
    workloads: dict = dataclasses.field(default_factory=dict)  # (namespace, container): {cause: seconds}
    workload_cpus: dict = dataclasses.field(default_factory=dict)  # (namespace, container): CPU-seconds lost
    causers: dict = dataclasses.field(default_factory=dict)  # (namespace, workload): [ns x seconds, seconds, nodes]
    takers: dict = dataclasses.field(default_factory=dict)  # (namespace, container): CPU-seconds
    nodes: dict = dataclasses.field(default_factory=dict)  # node: score x seconds

    def team_of(self, namespace):
        return self.team.get(namespace, NOBODY if self.team else namespace or "(no namespace)")


def add(table, key, value):
    table[key] = table.get(key, 0.0) + value


def collect(prometheus, args):
    match = "{" + args.match + "}"
    model = "{" + ", ".join(filter(None, [args.match, f'model="{args.model}"'])) + "}"
    end = args.end - args.end % args.step
    n = args.last // args.slice
    slices = [(end - (n - i) * args.slice, end - (n - i - 1) * args.slice) for i in range(n)]
    team = {}
    if args.team_label:
        for labels, _ in prometheus.ask(f"group by (namespace, {args.team_label}) (kube_namespace_labels{match})", end):
            if labels.get(args.team_label):
                team[labels.get("namespace", "")] = labels[args.team_label]
        if not team:
            raise Failure(f"no kube_namespace_labels with {args.team_label}: see README.md")
    week = Week(slices[0][0], end, args.step, slices, team)

    def over(query, at):
        """Sampled once a step, as seconds times what it was."""
        for labels, value in prometheus.ask(f"sum_over_time(({query})[{args.slice}s:{args.step}s])", at):
            yield labels, value * args.step

    for i, (_, at) in enumerate(slices):
        for labels, value in over(f"sum by (namespace, cause) (namespace:interference_lost:rate5m{match})", at):
            add(week.lost, (week.team_of(labels.get("namespace", "")), labels.get("cause", ""), i), value)
        for table, name in ((week.cpus, "lost_cpus"), (week.used, "cpus")):
            for labels, value in over(f"sum by (namespace) (namespace:interference_{name}:rate5m{match})", at):
                add(table, (week.team_of(labels.get("namespace", "")), i), value)
        for labels, value in over("topk(200, sum by (namespace, container, cause) "
                                  f"(container:interference_lost:ratio5m{match}))", at):
            key = labels.get("namespace", ""), labels.get("container", "")
            add(week.workloads.setdefault(key, {}), labels.get("cause", ""), value)
        container = f"cluster, {args.node_label}, namespace, pod, container"
        lost_cpus = (f"sum by ({container}) (container:interference_lost_cycles:ratio5m{model}) * on ({container}) "
                     f"container:interference_cpus:rate5m{match}")
        for labels, value in over(f"topk(200, sum by (namespace, container) ({lost_cpus}))", at):
            add(week.workload_cpus, (labels.get("namespace", ""), labels.get("container", "")), value)
        caused = f"numa:interference_workload_caused_latency_seconds:mean10m{match}"
        for index, query in enumerate((caused, f"group without () ({caused})")):
            for labels, value in over(query, at):
                row = week.causers.setdefault((labels.get("namespace", ""), labels.get("workload", "")), [0.0, 0.0, set()])
                row[index] += value
                row[2].add((labels.get("cluster"), labels.get(args.node_label)))
        for labels, value in prometheus.ask("sum by (namespace, container) (increase("
                                            f"interference_container_cpu_taken_seconds_total{match}[{args.slice}s]))", at):
            add(week.takers, (labels.get("namespace", ""), labels.get("container", "")), value)
        for labels, value in over(f"topk(100, node:interference_score:ratio5m{match})", at):
            add(week.nodes, (labels.get("cluster", ""), labels.get(args.node_label, "")), value)
    return week


def student(df, within=0.95):
    """The quantile of Student's t, two-sided: by bisection of its integral (Simpson's rule)."""
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)

    def inside(t, n=400):
        height = [scale * (1 + (t * i / n) ** 2 / df) ** (-(df + 1) / 2) for i in range(n + 1)]
        return 2 * t / n / 3 * (height[0] + height[-1] + 4 * sum(height[1:-1:2]) + 2 * sum(height[2:-1:2]))

    low, high = 0.0, 1.0
    while inside(high) < within and high < 1e4:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < within else (low, middle)
    return high


def difference(before, after):
    """Of the means, after less before, with its 95 % interval (Welch); None: fewer than three slices on a side."""
    if min(len(before), len(after)) < 3:
        return None
    parts = [statistics.variance(side) / len(side) for side in (before, after)]
    mean, square = statistics.mean(after) - statistics.mean(before), sum(parts)
    if square == 0:
        return mean, mean, mean
    df = square ** 2 / sum(part ** 2 / (len(side) - 1) for part, side in zip(parts, (before, after)))
    half = student(df) * math.sqrt(square)
    return mean, mean - half, mean + half


def changes(week, change):
    """{(team, what): (before, after, difference)}, in minutes of a slice; a slice with the change in it is left out."""
    out, tables = {}, {}
    for (team, _, i), value in week.lost.items():
        add(tables.setdefault((team, "waited"), {}), i, value / 60)
    for (team, i), value in week.cpus.items():
        add(tables.setdefault((team, "CPU lost"), {}), i, value / 60)
    for key, table in tables.items():
        of = [table.get(k, 0.0) for k in range(len(week.slices))]
        before = [v for v, (_, end) in zip(of, week.slices) if end <= change]
        after = [v for v, (start, _) in zip(of, week.slices) if start >= change]
        if before and after:
            out[key] = statistics.mean(before), statistics.mean(after), difference(before, after)
    return out


def verdict(found):
    if found is None:
        return "too few slices to tell"
    _, low, high = found
    return "less is lost" if high < 0 else "more is lost" if low > 0 else "no difference that can be told"


def highest(table, n=TOP):
    return sorted(((value, key) for key, value in table.items() if value > 0), reverse=True)[:n]


def sections(week, args):
    """[(title, explanation, columns, rows)]; a row's cells are text or (number, unit)."""
    teams = {team: {} for team, _ in week.cpus}
    for (team, cause, _), value in week.lost.items():
        add(teams.setdefault(team, {}), cause, value / 60)
    causes = sorted({cause for of in teams.values() for cause in of},
                    key=lambda c: -sum(of.get(c, 0) for of in teams.values()))
    yield ("Teams", "Minutes in which a container waited, added up over the team's containers, by what for: its own limits and "
           "threads are the team's to change, the rest is the node's or its neighbours'. CPU hours: what it would not have "
           "needed alone, where counters say so.",
           ["team", *(WHOSE.get(c, c) for c in causes), "all, minutes", "CPU hours lost", "of CPU hours used"],
           [[team, *((of[c], "min") if c in of else "" for c in causes), (sum(of.values()), "min") if of else "",
             *((sum(found) / 3600, "h") if found else "" for found in
               ([v for (t, _), v in table.items() if t == team] for table in (week.cpus, week.used)))]
            for team, of in sorted(teams.items(), key=lambda item: (-sum(item[1].values()), item[0]))])
    total = {key: sum(of.values()) / 60 for key, of in week.workloads.items()}
    worst = [key for _, key in highest(total)]
    worst += [key for _, key in highest(week.workload_cpus) if key not in worst]
    rows = []
    for key in worst:
        of = week.workloads.get(key, {})
        cause = max(of, key=of.get, default="")
        rows.append([week.team_of(key[0]), *key, WHOSE.get(cause, cause), (100 * of[cause] / 60 / total[key], "%") if of else "",
                     (total[key], "min") if key in total else "",
                     (week.workload_cpus[key] / 3600, "h") if key in week.workload_cpus else ""])
    yield ("Worst workloads", "The containers, by name, that waited longest, all of their pods together; then those that lost most of "
           "their CPU time to slow memory and caches.",
           ["team", "namespace", "container", "mostly for", "of that", "minutes", "CPU hours lost"], rows)
    yield ("Who made memory slow", "Workloads that were named: for how long (added up over NUMA nodes), by how much a read took "
           "longer because of them meanwhile, and on how many nodes.",
           ["team", "namespace", "workload", "nodes", "a read, longer by", "minutes"],
           [[week.team_of(key[0]), *key, (len(week.causers[key][2]), ""),
             (1e9 * week.causers[key][0] / week.causers[key][1], "ns"), (week.causers[key][1] / 60, "min")]
            for _, key in highest({key: of[0] for key, of in week.causers.items() if of[1] > 0})])
    yield ("Who took CPUs", "Containers, by name, that ran on more than they are entitled to while others waited for a CPU there: "
           "what these waited because of it.",
           ["team", "namespace", "container", "minutes"],
           [[week.team_of(key[0]), *key, (value / 60, "min")] for value, key in highest(week.takers)])
    yield ("Worst nodes", "By their mean score: the share of the time of a memory read that others cost there, or of the time of the "
           "container that loses most to its neighbours.",
           ["cluster", "node", "score"],
           [[*key, (100 * value / (week.end - week.start), "%")] for value, key in highest(week.nodes)])
    if args.change:
        rows = []
        for key, (before, after, found) in sorted(changes(week, args.change).items(), key=lambda item: (item[0][1], -item[1][0])):
            interval = ["", "", ""] if found is None else [(value, "min") for value in found]
            rows.append([*key, (before, "min"), (after, "min"), *interval, verdict(found)])
        yield ("Before and after " + words_of(args.change),
               "Minutes that containers waited in a slice on average, or CPU minutes that they lost, and the difference with its 95 % interval (Welch's t, a slice is one value). It "
               "knows nothing of how many containers there were, nor of weekdays.",
               ["team", "what", "before", "after", "difference", "from", "to", "so"], rows)


def number(value, unit):
    digits = 0 if abs(value) >= 100 or unit == "" else 1 if abs(value) >= 1 else 2
    return f"{value:,.{digits}f}" + (f" {unit}" if unit in ("%", "ns") else "")


STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#1b1f24}
table{border-collapse:collapse;width:100%;margin:.6em 0 2em}th,td{padding:.25em .6em;border-bottom:1px solid #d8dee4;
text-align:left;vertical-align:bottom}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.n{background:linear-gradient(to left,#cfe3f7 var(--w),transparent var(--w))}p{color:#57606a}"""


def page(week, args, parts):
    esc = html.escape
    title = f"What containers waited for, {words_of(week.start)} to {words_of(week.end)}"
    out = ["<!DOCTYPE html>", f'<html lang="en"><head><meta charset="utf-8"><title>{esc(title)}</title>',
           f"<style>{STYLE}</style></head><body><h1>{esc(title)}</h1>",
           f"<p>{esc(args.note)}</p>" if args.note else "",
           f"<p>From {esc(args.prometheus)}, series {{{esc(args.match)}}}, sampled every {week.step} s in {len(week.slices)} slices of "
           f"{args.slice} s. What is shorter than that is seen by chance; a time without data counts as nothing lost.</p>"]
    for name, words, columns, rows in parts:
        out += [f"<h2>{esc(name)}</h2><p>{esc(words)}</p>"]
        if not rows:
            out += ["<p><b>Nothing is recorded.</b></p>"]
            continue
        most = [max((abs(row[i][0]) for row in rows if isinstance(row[i], tuple)), default=0) for i in range(len(columns))]
        numbers = [any(isinstance(row[i], tuple) for row in rows) for i in range(len(columns))]
        out += ["<table><tr>", *(f"<th{' class=n' if n else ''}>{esc(c)}</th>" for c, n in zip(columns, numbers)), "</tr>"]
        for row in rows:
            cells = [f'<td class=n style="--w:{100 * abs(cell[0]) / (most[i] or 1):.0f}%">{esc(number(*cell))}</td>'
                     if isinstance(cell, tuple) else f"<td>{esc(cell)}</td>" for i, cell in enumerate(row)]
            out += ["<tr>", *cells, "</tr>"]
        out += ["</table>"]
    return "\n".join(out + ["</body></html>", ""])


def plain(text):
    """A cell of a table that a spreadsheet takes for a formula is text."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def write_csv(file, parts):
    out = csv.writer(file)
    out.writerow(["section", "row", "column", "value", "unit"])
    for name, _, columns, rows in parts:
        for row in rows:
            key = " / ".join(cell for cell in row if isinstance(cell, str) and cell)
            for column, cell in zip(columns, row):
                if isinstance(cell, tuple):
                    out.writerow([name, plain(key), column, f"{cell[0]:.6g}", cell[1]])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--prometheus", required=True, metavar="URL")
    parser.add_argument("--html", metavar="FILE")
    parser.add_argument("--csv", metavar="FILE")
    parser.add_argument("--end", type=time_of, default=None, help="default: now")
    parser.add_argument("--last", type=seconds_of, default="7d", help="how long it reaches back (7d)")
    parser.add_argument("--slice", type=seconds_of, default="1d", help="what is asked for at once, and compared (1d)")
    parser.add_argument("--step", type=seconds_of, default="10m", help="how often it is sampled (10m)")
    parser.add_argument("--match", default="", help="matchers of all series, such as 'cluster=\"a\"'")
    parser.add_argument("--team-label", default="", help="a label of kube_namespace_labels, such as label_team; else a team "
                        "is a namespace")
    parser.add_argument("--node-label", default="node", help="the label with the node's name (node)")
    parser.add_argument("--model", default="passive", help="of the slowdown, as the rules have it (passive)")
    parser.add_argument("--change", type=time_of, help="compares what was lost before with what was lost after")
    parser.add_argument("--bearer-token-file", type=pathlib.Path)
    parser.add_argument("--ca-file", help="of the authority that Prometheus' certificate is of")
    parser.add_argument("--note", default="", help="a sentence at the top of the page")
    args = parser.parse_args()
    if not args.html and not args.csv:
        parser.error("--html or --csv")
    if args.step > args.slice or args.slice > args.last:
        parser.error("--step is at most --slice, and that at most --last")
    args.end = args.end or datetime.datetime.now(datetime.timezone.utc).timestamp()
    return args


def main():
    args = arguments()
    try:
        token = args.bearer_token_file.read_text().strip() if args.bearer_token_file else None
        week = collect(Prometheus(args.prometheus, token, args.ca_file), args)
        parts = list(sections(week, args))
        if args.html:
            pathlib.Path(args.html).write_text(page(week, args, parts), encoding="utf-8")
        if args.csv:
            with open(args.csv, "w", newline="", encoding="utf-8") as file:
                write_csv(file, parts)
    except (Failure, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    if not week.lost and not week.cpus:
        print("report: neither namespace:interference_lost:rate5m nor ..._lost_cpus:... has series: are the rules loaded?",
              file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
