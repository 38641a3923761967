#!/usr/bin/python3
"""How long a real Prometheus takes for each group of recording rules:
tests/bench/fleet_rules.py [--nodes=200] [--containers=60] [--minutes=6] [RULES.yaml ...]

A server stands for that many exporters, with the counters of that many containers each that the rules read; the
values are made up, how many series there are is what counts. Prometheus scrapes them every 30 s and evaluates the
rules every minute: at first for 15 minutes, the longest range, then, for each file of rules (by default the
rendered ones), --minutes more, after which it is asked how long its groups took. Prints a table. Needs prometheus;
memory: 10 KiB for each of 18 series of a container.
"""
import contextlib
import http.server
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))
LONGEST_MINUTES = 15
# Of each container: name, further labels, how much in a second.
COUNTERS = [(f"interference_container_{name}_total", labels, rate) for name, labels, rate in (
    ("cpu_cycles", "", 2e9), ("cpu_reference_cycles", "", 2e9), ("cpu_instructions", "", 1e9),
    ("memory_reads", "", 5e6), ("memory_read_occupancy_cycles", "", 8e8), ("llc_reads", "", 2e7),
    ("memory_read_active_cycles", "", 6e8), ("memory_read_wait_seconds", "", 0.4),
    ("memory_read_latency_reads", "", 5e6), ("memory_read_latency_observed_seconds", "", 1),
    ("memory_read_latency_over_threshold_seconds", "", 0.6),
    ("slowdown_observed_cycles", ',model="passive"', 1.9e9),
    ("interference_cycles", ',model="passive",resource="memory"', 4e8),
    ("interference_cycles", ',model="passive",resource="cache"', 1e8),
    ("lost_seconds", ',cause="own_quota"', 0.3), ("lost_seconds", ',cause="itself"', 0.02))]


def options():
    values, files = {"nodes": 200, "containers": 60, "minutes": 6}, []
    for argument in sys.argv[1:]:
        name, _, value = argument.removeprefix("--").partition("=")
        if argument.startswith("--"):
            if name not in values:
                sys.exit(__doc__)
            values[name] = int(value)
        else:
            files.append(pathlib.Path(argument).resolve())
    return values, files or [SOURCE / "dashboards/rendered/rules.yaml"]


def page(node, containers, seconds):
    lines = ['interference_cpu_base_frequency_hertz 2.1e9\ninterference_exporter_build_info{version="0"} 1\n']
    for i in range(containers):
        labels = (f'namespace="team-{i * 7 % 60}",pod="service-{i}-7d9c6b5f4-x{node:04x}",container="service-{i}",'
                  f'container_id="{node:06x}{i:06x}"')
        lines += [f"{name}{{{labels}{more}}} {rate * (0.5 + (i + node) % 100 / 100) * seconds:.6g}\n"
                  for name, more, rate in COUNTERS]
        lines.append(f'interference_container_info{{{labels},workload="service-{i}"}} 1\n')
    return "".join(lines).encode()


@contextlib.contextmanager
def exporters(containers):
    """The port of a server on which /N is node N's page."""
    began = time.monotonic()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = page(int(self.path[1:]), containers, time.monotonic() - began + 1)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # a scrape that was given up: main() counts them
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


def scrape_config(port, nodes):
    return {"global": {"scrape_interval": "30s", "evaluation_interval": "60s"}, "scrape_configs": [
        {"job_name": "interference-exporter", "static_configs": [
            {"targets": [f"127.0.0.1:{port}"],
             "labels": {"cluster": "c", "node": f"n{n}", "instance": f"n{n}", "__metrics_path__": f"/{n}"}}
            for n in range(nodes)]},
        {"job_name": "itself", "scrape_interval": "15s", "static_configs": [{"targets": ["127.0.0.1:PORT"]}]}]}


def measured(prometheus, minutes):
    """{group: (the median of the seconds that an evaluation took, evaluations left out)}"""
    def by_group(query):
        return {labels["rule_group"].rsplit(";", 1)[1]: value for labels, value in prometheus.query(query)}

    took = by_group(f"quantile_over_time(0.5, prometheus_rule_group_last_duration_seconds[{minutes}m])")
    missed = by_group(f"increase(prometheus_rule_group_iterations_missed_total[{minutes}m])")
    return {name: (seconds, missed.get(name, 0)) for name, seconds in took.items()}


def main():
    import monitoring
    values, files = options()
    with tempfile.TemporaryDirectory() as directory, exporters(values["containers"]) as port:
        directory = pathlib.Path(directory)
        rules = directory / "rules.yaml"
        shutil.copy(files[0], rules)
        prometheus = monitoring.Prometheus(
            directory, {**scrape_config(port, values["nodes"]), "rule_files": [str(rules)]})
        prometheus.config = json.loads(json.dumps(prometheus.config).replace("PORT", str(prometheus.port)))
        with prometheus:
            time.sleep(LONGEST_MINUTES * 60)
            for file in files:
                shutil.copy(file, rules)
                prometheus.process.send_signal(signal.SIGHUP)
                time.sleep((values["minutes"] + 2) * 60)  # the first two pass by: other groups, cold
                found = measured(prometheus, values["minutes"])
                ((_, made),) = prometheus.query(f"avg(avg_over_time(up[{values['minutes']}m]))")
                print(f"\n{file.name}: {values['nodes']} nodes of {values['containers']} containers, "
                      f"{made:.0%} of the scrapes\n\n"
                      "| group | seconds of each minute | evaluations missed |\n|---|---|---|")
                for name, (seconds, missed) in sorted(found.items(), key=lambda item: -item[1][0]):
                    print(f"| {name} | {seconds:.2f} | {missed:.0f} |")
                print(f"| all, one after another | {sum(seconds for seconds, _ in found.values()):.2f} | |", flush=True)


if __name__ == "__main__":
    main()
