#!/usr/bin/python3
"""How long a real Prometheus takes for the queries of the Fleet dashboard:
tests/bench/fleet_queries.py [--clusters=5] [--nodes=1000] [--containers=30] [--times=5]

Writes the recorded series of that many nodes (in each cluster) and containers (on each node) as blocks:
an hour of those of nodes, namespaces and clusters, the last minutes of those of containers. The values
are made up; how many series there are is what counts. Then it asks each query as Grafana would for the
last hour, and, to compare, what the rules ask of all containers instead, and what the dashboard asked
before. Prints a table, with the best of several times: others use the machine, too. Needs prometheus and promtool; 5,000 nodes take some minutes and
3 GB below the folder for temporary files.
"""
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))
END = 1790000000 // 7200 * 7200 - 60  # the whole hour is in one block
MINUTES = 61
STEP = 15  # Grafana's least, unless told otherwise
BUDGET = 0.5

TOP_NODES = ("slowdown:max_ratio5m", "containers_waiting:count15m",
             "memory_read_latency_over_threshold:max_ratio15m", "memory_read_latency_seconds:mean5m",
             "memory_reads:rate5m", "memory_probe_over_baseline:max_ratio")
TOP = ("slowdown:ratio5m", "memory_read_latency_over_threshold:ratio15m",
       "memory_read_latency_seconds:mean5m", "memory_reads:rate5m")
TOP_WORKLOADS = ("caused_latency_seconds:max10m", "nodes_slowed:count10m")
OF_CONTAINERS = ('container:interference_slowdown:ratio5m{%s, model="passive"}',
                 "container:interference_memory_read_latency_over_threshold:ratio15m{%s}",
                 "container:interference_memory_read_latency_seconds:mean5m{%s}",
                 "container:interference_memory_reads:rate5m{%s}")


def options():
    values = {"clusters": 5, "nodes": 1000, "containers": 30, "times": 5}
    for argument in sys.argv[1:]:
        name, _, value = argument.removeprefix("--").partition("=")
        if name not in values:
            sys.exit(__doc__)
        values[name] = int(value)
    return values


def series(values):
    """(metric with labels, its minutes: how many up to the end, or which)"""
    for c in range(values["clusters"]):
        cluster = f'cluster="c{c}"'
        for name in ("nodes:count", "containers_monitored:sum", "containers_waiting:sum",
                     "exporters_down:count"):
            yield f"cluster:interference_{name}{{{cluster}}}", MINUTES
        for reason in ("idle", "learning", "no_latency", "not_counted"):
            yield (f'cluster:interference_containers_without_baseline:sum{{{cluster}, reason="{reason}"}}',
                   MINUTES)
        for collector in ("core_latency", "slowdown", "probe", "attribution", "imc_rpq", "pmm_rpq"):
            for reason in ("ok", "no_pmu", "no_permission"):
                yield (f'cluster:interference_collectors:count{{{cluster}, collector="{collector}", '
                       f'reason="{reason}"}}', MINUTES)
        for i in range(20):
            yield ("cluster:interference_memory_read_window_latency_seconds_bucket:rate5m"
                   f'{{{cluster}, le="{1e-8 * 1.5 ** i:g}"}}', MINUTES)
        for i in range(60):
            namespace = f'{cluster}, namespace="team-{i}"'
            yield f"namespace:interference_lost_cpus:rate5m{{{namespace}}}", MINUTES
            yield f"namespace:interference_cpus:rate5m{{{namespace}}}", MINUTES
            yield (f'workload:interference_slow_containers:count{{{namespace}, container="service-{i}"}}',
                   MINUTES)
            if i < 20:
                for name in TOP_WORKLOADS:
                    yield (f'top:interference_workload_{name}{{{namespace}, workload="service-{i}"}}',
                           MINUTES)
        yield from of_nodes(cluster, values)


def of_nodes(cluster, values):
    for n in range(values["nodes"]):
        node = f'{cluster}, node="ip-10-0-{n // 256}-{n % 256}.ec2.internal"'
        yield f"node:interference_containers_waiting:count15m{{{node}}}", MINUTES
        yield f"node:interference_containers_monitored:sum{{{node}}}", MINUTES
        yield f'node:interference_slowdown:max_ratio5m{{{node}, model="passive"}}', MINUTES
        yield f"node:interference_memory_read_latency_over_threshold:max_ratio15m{{{node}}}", MINUTES
        yield f"node:interference_memory_read_latency_seconds:mean5m{{{node}}}", MINUTES
        yield f"node:interference_memory_reads:rate5m{{{node}}}", MINUTES
        yield f"node:interference_memory_probe_over_baseline:max_ratio{{{node}}}", MINUTES
        # Thirty at a time; twenty times as many were among them at some time of the hour.
        if n < 600:
            for name in TOP_NODES:
                model = ', model="passive"' if "slowdown" in name else ""
                yield f"top:interference_node_{name}{{{node}{model}}}", range(n % 20 * 3, n % 20 * 3 + 4)
        for memory in range(2):
            yield f'numa:interference_memory_latency_seconds:calm1h{{{node}, numa_node="{memory}"}}', 6
        yield f'interference_exporter_build_info{{{node}, instance="{n}", version="0.1.0"}}', 6
        if n < 10:
            yield (f'ALERTS{{{node}, alertname="InterferenceAggressor", alertstate="firing", '
                   'severity="warning"}', MINUTES)
        for i in range(values["containers"]):
            container = (f'{node}, namespace="team-{i * 7 % 60}", pod="service-{i}-7d9c6b5f4-x{n:04}x", '
                         f'container="service-{i}"')
            for query in OF_CONTAINERS:
                name, more = query.replace("%s", "").rstrip("}").split("{")
                yield f"{name}{{{container}{more}}}", 6
            if n < 4 and i < 10:
                for name in TOP:
                    yield f"top:interference_container_{name}{{{container}}}", 6
            if n == 4 and i < 20:
                yield ("top:interference_container_caused_latency_seconds:mean10m"
                       f'{{{container}, numa_node="0"}}', 6)


def write_blocks(directory, values):
    count = samples = 0
    rng = random.Random(1)
    text = directory / "series.txt"
    with open(text, "w", encoding="utf-8") as out:
        for name, minutes in series(values):
            minutes = minutes if isinstance(minutes, range) else range(minutes)
            count += 1
            samples += len(minutes)
            name = name.replace(", ", ",")  # OpenMetrics has no space there
            out.writelines(f"{name} {rng.random() + 0.5:.6f} {END - minute * 60}\n"
                           for minute in reversed(minutes))
        out.write("# EOF\n")
    subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", text, directory / "tsdb"],
                   check=True, stdout=subprocess.DEVNULL)
    text.unlink()
    return count, samples


def queries():
    """[(what, query, whether it is one for now)]"""
    dashboard = json.loads((SOURCE / "dashboards/rendered/fleet.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], target.get("instant", False)
    for annotation in dashboard["annotations"]["list"]:
        yield annotation["name"] + " (lines)", annotation["expr"], False
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            selector = re.fullmatch(r"label_values\((.*), \w+\)", variable["query"]["query"])[1]
            yield f"variable {variable['name']}", f"count({selector})", True


def before():
    """What a graph of nodes and the table of containers asked until they had recorded series; each column
    of the table chose its containers anew."""
    here = 'cluster=~".*", node=~".*"'
    nodes = "node:interference_memory_reads:rate5m{%s}" % here
    yield nodes + f" and topk(10, avg_over_time({nodes}[1h] @ end()))"
    slow, share, *_ = queries_of = [query % here for query in OF_CONTAINERS]
    labels = "cluster, node, namespace, pod, container"
    chosen = f"topk(20, sum by ({labels}) ({slow})) or topk(20, sum by ({labels}) ({share}) > 0)"
    for query in queries_of:
        yield f"sum by ({labels}) ({query}) and on ({labels}) ({chosen})"


def ask(prometheus, query, now, times):
    """(seconds of the fastest, series)"""
    query = query.replace("$__range", "1h").replace("$cluster", ".*")
    when = {"time": END} if now else {"start": END - 3600, "end": END, "step": STEP}
    url = (f"http://127.0.0.1:{prometheus.port}/api/v1/query{'' if now else '_range'}?"
           + urllib.parse.urlencode({"query": query, **when}))
    took = []
    for _ in range(times):
        start = time.perf_counter()
        with urllib.request.urlopen(url, timeout=300) as answer:
            page = answer.read()
        took.append(time.perf_counter() - start)
    return min(took), len(json.loads(page)["data"]["result"])


def resident_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def main():
    import monitoring
    values = options()
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        count, samples = write_blocks(directory, values)
        nodes = values["clusters"] * values["nodes"]
        print(f"{nodes:,} nodes in {values['clusters']} clusters, {nodes * values['containers']:,} containers, "
              f"{count:,} series, {samples:,} samples; the best of {values['times']}.\n")
        print("| panel | asks for | series | seconds |\n|---|---|---|---|")
        slowest = total = 0
        with monitoring.Prometheus(directory, {}, "--storage.tsdb.retention.time=10y",
                                   "--query.timeout=5m") as prometheus:
            for what, query, now in queries():
                seconds, found = ask(prometheus, query, now, values["times"])
                slowest, total = max(slowest, seconds), total + seconds
                print(f"| {what} | {'now' if now else 'an hour'} | {found} | {seconds:.3f} |", flush=True)
            print(f"| all of these | | | {total:.2f} |")
            mib = resident_mib(prometheus.process.pid)
            for rule in recording_rules():
                if re.match("top:interference_container(s|_memory_reads):", rule["record"]):
                    seconds, found = ask(prometheus, rule["expr"], True, values["times"])
                    print(f"| the rule {rule['record']}, once a minute | now | {found} | {seconds:.2f} |")
            graph, *table = before()
            seconds, found = ask(prometheus, graph, False, values["times"])
            print(f"| before: a graph of the ten highest nodes | an hour | {found} | {seconds:.2f} |")
            old = [ask(prometheus, query, True, 1) for query in table]
            print(f"| before: the four columns of the first table | now | {old[0][1]} each "
                  f"| {sum(seconds for seconds, _ in old):.2f} |")
            print(f"\nPrometheus: {mib:.0f} MiB resident after the panels. "
                  f"The slowest takes {slowest:.3f} s of {BUDGET} s.")
        sys.exit(slowest > BUDGET)


def recording_rules():
    import yaml
    for group in yaml.safe_load((SOURCE / "dashboards/rendered/rules.yaml").read_text())["groups"]:
        yield from group["rules"]


if __name__ == "__main__":
    main()
