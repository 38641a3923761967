#!/usr/bin/python3
"""The figures of deploy/fleet-scale.md: tests/bench/fleet_scale.py BUILD [--hours=8] [--containers=300] [--nodes=4]

Exporters replay nodes of many containers; a real Prometheus scrapes and keeps them, evaluates the
committed recording rules, and writes its blocks; beside it a Prometheus in agent mode scrapes the
same exporters and sends everything to VictoriaMetrics, where vmalert evaluates the same rules. What each of them then has on disk and in
memory is printed as one table.

Hours are made in minutes: each tick of the recordings, a second, counts what 30 seconds would, and
is scraped once. So a block of two hours is 240 samples a series, four minutes long. A recording's
containers are put together from windows of the simulated node (deploy/demo), each container from
another place and scaled; counts of neighbouring windows differ as the simulation's do. At first they all
do little, so that baselines and slowdowns are there: the full number of series.

Takes (hours x 2) minutes and some more, at least ten. Needs prometheus and victoria-metrics (Debian's).
"""
import collections
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SCRAPE_SECONDS = 30  # what a scrape stands for
SCRAPES_PER_BLOCK = 240
CALM_UNTIL = 40  # ticks in which no container does much, so that each container's calm is known
LINE = re.compile(r"^(\w+)(?:\{(.*)\})? \S+$")


def options():
    values = {"hours": 8, "containers": 300, "nodes": 4}
    folders = []
    for argument in sys.argv[1:]:
        name, _, value = argument.lstrip("-").partition("=")
        if argument.startswith("--") and name in values:
            values[name] = int(value)
        elif argument.startswith("-"):
            sys.exit(__doc__)
        else:
            folders.append(argument)
    if len(folders) != 1:
        sys.exit(__doc__)
    return pathlib.Path(folders[0]), values


# --- recordings ---------------------------------------------------------------------------------


def windows(build, directory):
    """[[{role: count in a tick}]]: the demo's containers that read memory, tick by tick."""
    recording = directory / "demo.jsonl"
    subprocess.run([build / "tests/simnode/simnode", SOURCE / "deploy/demo/quarter-hour.json",
                    recording], check=True)
    before, found = {}, {}
    with open(recording, encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line.get("group") == "core" and line["read"] != "p0":
                old = before.get(line["read"], {})
                found.setdefault(line["read"], []).append(
                    {role: n - old.get(role, 0) for role, n in line["values"].items()})
                before[line["read"]] = line["values"]
    return [found[key] for key in ("cart", "search", "web", "ledger", "report2")]


def machine_lines(rng):
    yield {"recording": 1, "interval_ns": 10**9,
           "machine": {"microarchitecture": "clx", "base_frequency_hz": 2.1e9, "cache_cycles": 44,
                       "llc_hit_cycles": 30, "cas_latency_seconds": 1.43e-8, "sockets": 2,
                       "numa_nodes": 2, "cpus": 96}}
    for i in range(12):
        yield {"unit": {"key": f"imc{i}", "kind": "imc", "socket": i // 6, "imc": i % 6}}


def container_lines(n, rng):
    for i in range(n):
        hexes = f"{rng.getrandbits(256):064x}"
        uid = f"{hexes[:8]}-{hexes[8:12]}-4{hexes[13:16]}-8{hexes[17:20]}-{hexes[20:32]}"
        yield {"container": {
            "key": f"c{i}", "cgroup": f"/kubepods/burstable/pod{uid}/{hexes}", "id": hexes,
            "namespace": f"team-{i % 23}", "pod": f"service-{i % 97}-{hexes[:10]}-{hexes[10:15]}",
            "container": f"service-{i % 97}", "image": f"registry.example.org/service-{i % 97}:1.{i}",
            "pod_uid": uid}}


def write_recording(path, source, n, ticks, seed):
    rng = random.Random(seed)
    kinds = [(rng.choice(source), rng.randrange(10**6), rng.uniform(0.05, 1)) for _ in range(n)]
    totals = [dict.fromkeys(source[0][0], 0) for _ in range(n)]
    units = [[0, 0, 0] for _ in range(12)]
    with open(path, "w", encoding="utf-8") as out:
        def put(line):
            out.write(json.dumps(line, separators=(",", ":")) + "\n")

        for line in (*machine_lines(rng), *container_lines(n, rng)):
            put(line)
        for tick in range(1, ticks + 1):
            put({"tick": tick, "mono_ns": tick * 10**9, "wall_ns": (1790000000 + tick) * 10**9})
            calm = 1 < tick <= CALM_UNTIL
            for i, (kind, offset, scale) in enumerate(kinds):
                share = scale * SCRAPE_SECONDS * rng.uniform(0.9, 1.1) * (0.02 if calm else 1)
                for role, count in kind[(tick + offset) % len(kind)].items():
                    totals[i][role] += int(count * share)
                values = ",".join(f'"{role}":{total}' for role, total in totals[i].items())
                out.write(f'{{"read":"c{i}","group":"core","enabled_ns":{tick}000000000,'
                          f'"running_ns":{tick}000000000,"values":{{{values}}}}}\n')
            for i, unit in enumerate(units):
                reads = int(4e8 * rng.uniform(0.5, 1.5))
                unit[0] += 1466666667 * SCRAPE_SECONDS
                unit[1] += reads
                unit[2] += int(reads * rng.uniform(60, 90))
                put({"read": f"imc{i}", "group": "rpq", "enabled_ns": tick * 10**9,
                     "running_ns": tick * 10**9, "values": dict(zip(
                         ("imc_clockticks", "rpq_inserts", "rpq_occupancy"), unit))})
            for i in range(4):
                put({"probe": {"initiator_numa_node": i // 2, "target_numa_node": i % 2,
                               "latency_ns": (90 if i % 3 == 0 else 150) * rng.uniform(0.95, 1.3)}})


# --- servers ------------------------------------------------------------------------------------


def scrape_config(ports):
    return {"global": {"scrape_interval": "1s", "scrape_timeout": "1s",
                       "evaluation_interval": "1s"},
            "scrape_configs": [{"job_name": "interference-exporter", "static_configs": [
                {"targets": [f"127.0.0.1:{port}"],
                 "labels": {"node": f"ip-10-0-0-{i}.ec2.internal", "cluster": "prod-1"}}
                for i, port in enumerate(ports)]}]}


def scaled_rules(directory):
    """Rules whose minutes are as short as the recordings'."""
    path = directory / "rules.yaml"
    with open(path, "w", encoding="utf-8") as out:
        subprocess.run([SOURCE / "deploy/demo/scale-rules.sh", str(SCRAPE_SECONDS),
                        SOURCE / "dashboards/rendered/rules.yaml"], stdout=out, check=True)
    return str(path)


def resident_mib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def cpu_seconds(pid):
    return time.clock_gettime(~pid << 3 | 2)


def folder_bytes(path):
    return sum(f.stat().st_size for f in path.rglob("*") if f.is_file())


def fetch(port, path, timeout=60):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
        return answer.read().decode()


def count_series(page):
    """(series by container_id, how many others)"""
    containers, others = collections.Counter(), 0
    for line in page.splitlines():
        match = not line.startswith("#") and LINE.match(line)
        labels = match and re.search('container_id="([^"]*)"', match.group(2) or "")
        if labels:
            containers[labels.group(1)] += 1
        elif match:
            others += 1
    return containers, others


def blocks(tsdb):
    """Sums over the blocks that Prometheus wrote: bytes of chunks, of all, samples, series."""
    chunks = everything = samples = series = n = 0
    for meta in tsdb.glob("*/meta.json"):
        stats = json.loads(meta.read_text())["stats"]
        chunks += folder_bytes(meta.parent / "chunks")
        everything += folder_bytes(meta.parent)
        samples += stats["numSamples"]
        series = max(series, stats["numSeries"])
        n += 1
    return {"blocks": n, "chunks": chunks, "bytes": everything, "samples": samples,
            "series": series}


def sums(text, name):
    """The sum of a metric's series on a page."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
               if re.match(rf"{name}[ {{]", line))


class Fleet:
    """Exporters and everybody who scrapes them."""

    def __init__(self, directory, values, source):
        import contextlib
        import harness
        import monitoring
        self.harness, self.monitoring = harness, monitoring
        self.directory, self.values, self.source = directory, values, source
        self.ticks = values["hours"] * 3600 // SCRAPE_SECONDS
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    def spawn(self, *argv):
        log = self.stack.enter_context(open(self.directory / f"{argv[0]}.log", "w+b"))
        process = self.harness.start(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stack.callback(self.harness.stop, process, seconds=60)
        return process

    def start(self):
        recordings = []
        for i in range(self.values["nodes"]):
            recordings.append(self.directory / f"node{i}.jsonl")
            say(f"recording {i + 1} of {self.values['nodes']}")
            write_recording(recordings[-1], self.source, self.values["containers"], self.ticks, i)
        self.exporters = [self.stack.enter_context(self.harness.Exporter(
            "--source=replay", f"--source.replay.file={recording}")) for recording in recordings]
        config = scrape_config([exporter.port for exporter in self.exporters])
        self.tsdb = self.directory / "prometheus/tsdb"
        self.tsdb.parent.mkdir()
        block = f"{SCRAPES_PER_BLOCK}s"
        self.prometheus = self.stack.enter_context(self.monitoring.Prometheus(
            self.tsdb.parent, {**config, "rule_files": [scaled_rules(self.directory)]},
            f"--storage.tsdb.min-block-duration={block}",
            f"--storage.tsdb.max-block-duration={block}"))
        self.empty_mib = resident_mib(self.prometheus.process.pid)
        self.start_agent(config)

    def start_agent(self, config):
        self.victoria_port, self.agent_port = (self.harness.free_port() for _ in range(2))
        self.victoria = self.spawn("victoria-metrics",
                                   f"-storageDataPath={self.directory / 'victoria'}",
                                   f"-httpListenAddr=127.0.0.1:{self.victoria_port}",
                                   "-retentionPeriod=1", "-search.latencyOffset=0s")
        self.harness.wait_until(self.victoria_is_there, 30, "VictoriaMetrics answers", 0.2)
        agent = self.directory / "agent.yml"
        agent.write_text(json.dumps({**config, "remote_write": [
            {"url": f"http://127.0.0.1:{self.victoria_port}/api/v1/write"}]}))
        (self.directory / "agent").mkdir()
        self.agent = self.spawn("prometheus", "--enable-feature=agent", f"--config.file={agent}",
                                f"--storage.agent.path={self.directory / 'agent'}",
                                f"--web.listen-address=127.0.0.1:{self.agent_port}")
        victoria = f"http://127.0.0.1:{self.victoria_port}"
        self.spawn("vmalert", f"-rule={self.directory / 'rules.yaml'}",
                   f"-datasource.url={victoria}", f"-remoteWrite.url={victoria}",
                   f"-httpListenAddr=127.0.0.1:{self.harness.free_port()}")

    def victoria_is_there(self):
        try:
            return fetch(self.victoria_port, "/health") == "OK"
        except OSError:
            return False

    def wait(self):
        end = time.monotonic() + self.ticks
        while time.monotonic() < end:
            time.sleep(10)
            say(f"{max(0, end - time.monotonic()):.0f} s to go")


def say(text):
    print(text, file=sys.stderr, flush=True)


def print_row(what, value, how=""):
    print(f"| {what} | {value} | {how} |", flush=True)


FLEET_NODES = 5000


def print_fleet(figures):
    """What the measured figures make of a fleet: arithmetic, nothing measured."""
    print(f"\n| containers a node | series | samples/s | Prometheus: memory | Prometheus: disk, 15 days "
          f"| VictoriaMetrics: disk, 15 days | series sent on |\n{'|---' * 7}|")
    for containers in (30, 110, 300):
        series = FLEET_NODES * (figures["node"] + containers * figures["container"])
        rate = series / SCRAPE_SECONDS
        fortnight = rate * 86400 * 15
        print(f"| {containers} | {series / 1e6:.1f} M | {rate / 1e3:,.0f} k "
              f"| {series * figures['kib'] / 2**20:,.0f} GiB "
              f"| {fortnight * figures['bytes'] / 1e12:.1f} TB "
              f"| {fortnight * figures['victoria_bytes'] / 1e12:.1f} TB "
              f"| {FLEET_NODES * (figures['sent'] + containers * figures['recorded_container']) / 1e6:.1f} M |")


def report_series(fleet, figures):
    exporter = fleet.exporters[0]
    containers, others = count_series(exporter.text())
    n = len(containers)
    figures.update(container=sum(containers.values()) / n, node=others)
    own = sum(line.startswith(("interference_exporter_", "process_"))
              for line in exporter.text().splitlines())
    print_row("series of a container", f"{sum(containers.values()) / n:.1f}",
              f"mean of {n}, at most {max(containers.values())}; 19 with a CPU that counts all, beside causes of lost time")
    print_row("series of a node beside its containers", others,
              f"two sockets, 12 controllers, 4 NUMA pairs; {own} of them about the exporter itself")
    page = exporter.text(accept="application/openmetrics-text")
    print_row(f"a scrape of {n} containers", f"{len(page) / 1e6:.2f} MB",
              "OpenMetrics, before compression")


def report_rules(fleet, figures):
    total = {}
    for labels, value in fleet.prometheus.query(
            'count by (__name__) ({__name__=~"[a-z]+:interference_.*"})'):
        total[labels["__name__"]] = value / fleet.values["nodes"]
    per_container = sum(n for name, n in total.items() if name.startswith("container:"))
    per_node = sum(n for name, n in total.items() if not name.startswith("container:"))
    figures.update(recorded_container=per_container / fleet.values["containers"],
                   recorded_node=per_node)
    print_row("recorded series of a container", f"{figures['recorded_container']:.1f}",
              "the rules whose name begins with container:")
    print_row("recorded series of a node", f"{per_node:.0f}", "node:, socket:, numa:")
    kept = re.search(r"regex: '(.*)'\n *action: keep",
                     (SOURCE / "deploy/fleet-scale.md").read_text()).group(1)
    query = "count({__name__=~'%s'})" % kept.replace("\\", "\\\\")
    sent = fleet.prometheus.query(query)[0][1] / fleet.values["nodes"]
    figures["sent"] = sent - figures["recorded_container"] * fleet.values["containers"]
    print_row("series that the filter below sends on", f"{sent:.0f} a node",
              f"of {fleet.values['containers']} containers: {figures['sent']:.0f} and those of the containers")


def report_prometheus(fleet, figures, cpu, seconds):
    (_, good), = fleet.prometheus.query("sum(sum_over_time(up[6h]))")
    print_row("scrapes that Prometheus made", f"{100 * good / fleet.values['nodes'] / fleet.ticks:.0f} %",
              "of those that were due; a missed one makes times irregular, which costs bytes")
    page, pid = fetch(fleet.prometheus.port, "/metrics"), fleet.prometheus.process.pid
    head = sums(page, "prometheus_tsdb_head_series")
    figures["kib"] = (resident_mib(pid) - fleet.empty_mib) * 1024 / head
    print_row("Prometheus: memory of a series", f"{figures['kib']:.1f} KiB",
              f"resident {resident_mib(pid):.0f} MiB with {head:,.0f} series in the head, less the "
              f"{fleet.empty_mib:.0f} MiB of an empty one; rules, scrapes and blocks are in it")
    appended = sums(page, "prometheus_tsdb_head_samples_appended_total")
    print_row("Prometheus: CPU of a sample", f"{cpu / appended * 1e6:.1f} us",
              f"{cpu:.0f} s of CPU for {appended / 1e6:.1f} million samples, rules and compaction "
              f"included, over {seconds:.0f} s")


def report_blocks(fleet, figures):
    found = blocks(fleet.tsdb)
    figures["bytes"] = found["bytes"] / found["samples"]
    print_row("Prometheus: bytes of a sample, chunks", f"{found['chunks'] / found['samples']:.2f}",
              f"{found['samples'] / 1e6:.1f} million samples in {found['blocks']} blocks of two hours")
    print_row("Prometheus: bytes of a sample, with the index",
              f"{found['bytes'] / found['samples']:.2f}",
              f"up to {found['series']:,} series a block; the index is "
              f"{(found['bytes'] - found['chunks']) / found['bytes'] * 100:.0f} % of it")


def report_victoria(fleet, figures, cpu):
    text = fetch(fleet.victoria_port, "/metrics")
    size = sums(text, "vm_data_size_bytes")
    disk = folder_bytes(fleet.directory / "victoria")
    inserted = sums(text, "vm_rows_inserted_total")
    figures["victoria_bytes"] = disk / inserted
    print_row("VictoriaMetrics: bytes of a sample", f"{disk / inserted:.2f}",
              f"{disk / 1e6:.1f} MB on disk for {inserted / 1e6:.1f} million samples; by its own "
              f"metrics {size / 1e6:.1f} MB")
    print_row("VictoriaMetrics: memory, CPU of a sample",
              f"{resident_mib(fleet.victoria.pid):.0f} MiB, {cpu / inserted * 1e6:.1f} us", "")
    agent = fetch(fleet.agent_port, "/metrics")
    sent = sums(agent, "prometheus_remote_storage_bytes_total")
    samples = sums(agent, "prometheus_remote_storage_samples_total")
    failed = sums(agent, "prometheus_remote_storage_samples_failed_total") + sums(
        agent, "prometheus_remote_storage_samples_dropped_total")
    print_row("the agent: memory", f"{resident_mib(fleet.agent.pid):.0f} MiB",
              f"Prometheus in agent mode, {fleet.values['nodes']} targets")
    print_row("the agent: bytes sent for a sample", f"{sent / samples:.1f}",
              f"remote write, snappy; {samples / 1e6:.1f} million samples, {failed:.0f} failed or dropped")


def both(fleet, query):
    """{engine: {labels but the name: value}}"""
    answers = {}
    for name, port in (("Prometheus", fleet.prometheus.port),
                       ("VictoriaMetrics", fleet.victoria_port)):
        url = f"/api/v1/query?query={urllib.request.quote(query)}&time={fleet.now:.0f}"
        result = json.loads(fetch(port, url))["data"]["result"]
        answers[name] = {tuple(sorted(r["metric"].items())): float(r["value"][1]) for r in result}
    return answers


def report_engines(fleet):
    """The fleet's queries on VictoriaMetrics, and the committed rules in its vmalert."""
    answers = both(fleet, "sum by (cluster, node) (rate("
                   "interference_node_memory_read_wait_seconds_total[30s])) / sum by (cluster, node)"
                   " (rate(interference_node_memory_read_latency_reads_total[30s]))")
    shown = "; ".join(f"{name} {min(a.values()) * 1e9:.2f} to {max(a.values()) * 1e9:.2f} ns on "
                      f"{len(a)} nodes" for name, a in answers.items() if a)
    print_row("the same query on both", shown, "mean latency of the nodes")
    answers = both(fleet, 'count by (__name__) ({__name__=~"[a-z]+:interference_.*"})')
    print_row("recorded series", "; ".join(f"{name} {sum(a.values()):,.0f} of {len(a)} rules"
                                           for name, a in answers.items()),
              "by Prometheus itself, and by vmalert from what the agent sent")
    for name in ("rules", "alerts"):
        result = subprocess.run(["vmalert", f"-rule={SOURCE}/dashboards/rendered/{name}.yaml",
                                 "-dryRun"], capture_output=True, text=True, timeout=60)
        print_row(f"vmalert accepts {name}.yaml", "yes" if result.returncode == 0 else "NO",
                  "" if result.returncode == 0 else result.stderr.strip().splitlines()[-1][:200])


def main():
    build, values = options()
    missing = [name for name in ("prometheus", "victoria-metrics", "vmalert") if not shutil.which(name)]
    if missing:
        sys.exit(f"missing: {' '.join(missing)} (as root: apt-get install prometheus victoria-metrics)")
    sys.argv[1:] = [str(build)]
    sys.path[:0] = [str(SOURCE / "tests/integration")]
    with tempfile.TemporaryDirectory() as folder:
        directory = pathlib.Path(folder)
        with Fleet(directory, values, windows(build, directory)) as fleet:
            pids = fleet.prometheus.process.pid, fleet.victoria.pid
            before, began = [cpu_seconds(pid) for pid in pids], time.monotonic()
            fleet.wait()
            fleet.harness.wait_until(lambda: blocks(fleet.tsdb)["samples"], 300, "a block", 1)
            cpu = [cpu_seconds(pid) - old for pid, old in zip(pids, before)]
            fleet.now = time.time() - 5
            print("| what | measured | how |\n|---|---|---|")
            figures = {}
            report_series(fleet, figures)
            report_rules(fleet, figures)
            report_prometheus(fleet, figures, cpu[0], time.monotonic() - began)
            report_engines(fleet)
            fetch(fleet.victoria_port, "/internal/force_flush")
            time.sleep(5)
            report_victoria(fleet, figures, cpu[1])
            report_blocks(fleet, figures)
            print_fleet(figures)


if __name__ == "__main__":
    main()
