"""Rendering and serving, beside Debian's node_exporter with the same series from a textfile."""
import http.client
import json
import pathlib
import re
import tempfile
import time

import harness
import measure
from measure import Row, Samples, verdict

KINDS = (("plain", "identity"), ("gzip", "gzip"))


def _rendering(scale):
    wanted = {
        "counter": r"a counter's line +([\d.]+) ns",
        "float": r"a float's line +([\d.]+) ns",
        "fresh": r"page, not cached +([\d.]+) ms",
        "cached": r"page, cached +([\d.]+) ms",
        "gzip": r"page, gzip +([\d.]+) ms",
        "publish": r"publish +([\d.]+) ms",
        "protobuf": r"protobuf, not cached +([\d.]+) ms",
        "protobuf_gzip": r"protobuf, gzip +([\d.]+) ms",
    }
    values = {name: Samples() for name in wanted}
    for i in range(scale.repeats):
        measure.say(f"rendering: {i + 1} of {scale.repeats}")
        text = measure.run_text("bench_render", *scale.render_arguments)
        for name, pattern in wanted.items():
            values[name].append(float(re.search(pattern, text).group(1)))
    series = re.search(r"(\d+) series", text).group(1)

    def row(name, what, unit, limit, note="", digits=1):
        return Row(what, f"{limit} {unit}", values[name].show(unit, digits),
                   verdict(values[name].median(), limit), note)

    return [
        row("counter", "rendering: a counter's series", "ns", 40),
        row("float", "rendering: a float's series", "ns", 200, "17 random digits each: the worst"),
        row("fresh", "rendering: 100,000 series, not cached", "ms", 15,
            f"{series} series, OpenMetrics; publishing them before: "
            f"{values['publish'].median():.2f} ms"),
        row("cached", "rendering: 100,000 series, cached", "ms", 4, digits=4),
        row("gzip", "gzip of 100,000 series", "ms", 50, "once per publication"),
        row("protobuf", "rendering: 100,000 series as protobuf, not cached", "ms", 15,
            "for who stores native histograms"),
        row("protobuf_gzip", "gzip of 100,000 series as protobuf", "ms", 50,
            "once per publication"),
    ]


def _get(port, encoding):
    """One scrape by a client that closes: (milliseconds, bytes)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.monotonic()
    try:
        connection.request("GET", "/metrics",
                           headers={"Accept": "text/plain;version=0.0.4",
                                    "Accept-Encoding": encoding})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, answer.status
        return (time.monotonic() - began) * 1e3, body
    finally:
        connection.close()


class Server:
    """CPU and wall time per scrape of one exporter."""

    def __init__(self, pid, port):
        self.pid, self.port = pid, port
        self.cpu = {name: Samples() for name, _ in KINDS}
        self.wall = {name: Samples() for name, _ in KINDS}
        self.bytes = {}

    def scrape(self, kind, encoding, pause):
        before = measure.cpu_seconds(self.pid)
        wall, body = _get(self.port, encoding)
        time.sleep(pause)  # what it cleans up afterwards belongs to the scrape
        self.cpu[kind].append((measure.cpu_seconds(self.pid) - before) * 1e3)
        self.wall[kind].append(wall)
        self.bytes[kind] = len(body)


def _textfile(node, directory):
    """The containers' series as a file for the textfile collector; how many."""
    _, body = _get(node.port, "identity")
    ours = re.compile(r"(?:# \w+ )?interference_(?:container|node)_")
    lines = [line for line in body.decode().splitlines(keepends=True) if ours.match(line)]
    (directory / "containers.prom").write_text("".join(lines))
    return sum(not line.startswith("#") for line in lines)


def _beside(scale):
    port = harness.free_port()
    with tempfile.TemporaryDirectory() as name, measure.Node(scale.serve_containers) as node:
        directory = pathlib.Path(name)
        node.tick(measure.WARM_TICKS)
        series = _textfile(node, directory)
        reference = harness.start(
            ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile",
             f"--collector.textfile.directory={directory}", "--web.disable-exporter-metrics",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"])
        try:
            servers = {"ours": Server(node.process.pid, node.port),
                       "node_exporter": Server(reference.pid, port)}

            def there():
                try:
                    return _get(port, "identity")
                except OSError:
                    return None

            harness.wait_until(there, 30, "node_exporter answers", 0.1)
            for i in range(scale.serve_rounds):
                measure.say(f"serving: round {i + 1} of {scale.serve_rounds}")
                for kind, encoding in KINDS:
                    node.tick()  # a new publication: nothing is cached
                    for server in servers.values():
                        server.scrape(kind, encoding, scale.serve_pause_seconds)
            again = Samples()
            for _ in range(scale.serve_rounds):
                before = measure.cpu_seconds(node.process.pid)
                _get(node.port, "gzip")
                again.append((measure.cpu_seconds(node.process.pid) - before) * 1e3)
            memory = {name: measure.resident_bytes(s.pid) / 2**20 for name, s in servers.items()}
        finally:
            harness.stop(reference)
    found = []
    for kind, _ in KINDS:
        ours, other = servers["ours"], servers["node_exporter"]
        ratio = other.cpu[kind].median() / ours.cpu[kind].median()
        note = (f"{series:,} series, {ours.bytes[kind] / 1e6:.1f} MB; wall "
                f"{ours.wall[kind].median():.0f} ms beside {other.wall[kind].median():.0f} ms")
        if kind == "gzip":
            note += (f"; a second scraper of the same publication {again.median():.2f} ms; "
                     f"resident {memory['ours']:.0f} MiB beside "
                     f"{memory['node_exporter']:.0f} MiB")
        found.append(Row(f"serving beside node_exporter: CPU of a scrape, {kind}", "reported",
                         f"ours {ours.cpu[kind].show('ms')}; node_exporter "
                         f"{other.cpu[kind].show('ms')}", "reported",
                         f"{ratio:.0f} times less; {note}"))
    return found


def _apart(scale):
    """What it costs that the server is a process of its own: the same scrapes without and with."""
    with measure.Node(scale.serve_containers) as inside, \
            measure.Node(scale.serve_containers, apart=True) as apart:
        servers = [Server(node.process.pid, node.port) for node in (inside, apart)]
        again = [Samples(), Samples()]
        for node in inside, apart:
            node.tick(measure.WARM_TICKS)
        for i in range(scale.serve_rounds):
            measure.say(f"apart: round {i + 1} of {scale.serve_rounds}")
            for kind, encoding in KINDS:
                for node, server in zip((inside, apart), servers):
                    node.tick()
                    server.scrape(kind, encoding, scale.serve_pause_seconds)
            for samples, server in zip(again, servers):
                before = measure.cpu_seconds(server.pid)
                _get(server.port, "gzip")
                samples.append((measure.cpu_seconds(server.pid) - before) * 1e3)
        memory = [measure.resident_bytes(s.pid) / 2**20 for s in servers]
    one, two = servers
    found = [Row(f"serving from a process of its own: CPU of a scrape, {kind}", "reported",
                 f"{two.cpu[kind].show('ms')}; from within the exporter "
                 f"{one.cpu[kind].show('ms')}", "reported",
                 f"{two.bytes[kind] / 1e6:.1f} MB; wall {two.wall[kind].median():.0f} ms and "
                 f"{one.wall[kind].median():.0f} ms") for kind, _ in KINDS]
    found.append(Row("serving from a process of its own: a second scraper of the same publication",
                     "reported", f"{again[1].show('ms', 2)}; from within {again[0].show('ms', 2)}",
                     "reported", f"resident {memory[1]:.0f} MiB and {memory[0]:.0f} MiB"))
    return found


GREEDY_CONTAINERS = 512  # of a large node


def _greedy(scale):
    """One client that asks on one connection as fast as it is answered, within one publication."""
    with measure.Node(10 if scale.smoke else GREEDY_CONTAINERS, apart=True) as node:
        node.tick(measure.WARM_TICKS)
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)

        def ask(path, encoding="identity"):
            connection.request("GET", path, headers={"Accept": "text/plain;version=0.0.4",
                                                     "Accept-Encoding": encoding})
            answer = connection.getresponse()
            assert answer.status == 200, (path, answer.status)
            return answer.read()

        others = [c["name"] for c in json.loads(ask("/api/v1/status"))["collectors"]
                  if c["name"] != "core_latency"]

        def selection(i):
            names = ["core_latency"] + [o for k, o in enumerate(others) if i >> k & 1]
            return "/metrics?" + "&".join(f"collect[]={name}" for name in names)

        kinds = {
            "the page, gzip": lambda i: ask("/metrics", "gzip"),
            "ever other collect[], gzip asked for": lambda i: ask(selection(i), "gzip"),
            "/api/v1/containers": lambda i: ask("/api/v1/containers"),
        }
        requests = 4 if scale.smoke else 1 << min(len(others), 7)
        found = []
        for kind, asks in kinds.items():
            samples, sizes = Samples(), 0
            for _ in range(scale.repeats):
                measure.say(f"one greedy connection: {kind}")
                node.tick()
                before = measure.cpu_seconds(node.process.pid)
                sizes = sum(len(asks(i)) for i in range(requests))
                spent = measure.cpu_seconds(node.process.pid) - before
                samples.append(spent * 1e3 / requests)
            found.append(Row(f"one greedy connection: CPU of a request, {kind}", "reported",
                             samples.show("ms", 2), "reported",
                             f"{GREEDY_CONTAINERS} containers, {requests} requests within one "
                             f"publication, what is made once included; "
                             f"{sizes / requests / 1e3:.0f} KB each"))
        connection.close()
        return found


def rows(scale):
    return [*_rendering(scale), *_beside(scale), *_apart(scale), *_greedy(scale)]
