"""A real Prometheus and a real Alertmanager on free ports of loopback, and a webhook to listen to."""
import http.server
import json
import subprocess
import threading
import urllib.parse
import urllib.request

import harness
from harness import wait_until


class _Server:
    """A daemon with its own folder and log. A context manager: ready inside."""

    def __init__(self, directory, name, config):
        self.port = harness.free_port()
        self.name, self.directory, self.config = name, directory, config
        self.process = self.log = None

    def argv(self, config):
        raise NotImplementedError

    def __enter__(self):
        config = self.directory / f"{self.name}.yml"
        config.write_text(json.dumps(self.config))  # JSON is YAML
        self.log = open(self.directory / f"{self.name}.log", "w+b")
        self.process = harness.start(self.argv(config), stdin=subprocess.DEVNULL, stdout=self.log,
                                     stderr=self.log)
        try:
            wait_until(self.ready, 30, f"{self.name} is ready", 0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            harness.stop(self.process, seconds=20)
        finally:
            self.log.close()

    def get(self, path, **arguments):
        url = f"http://127.0.0.1:{self.port}{path}?" + urllib.parse.urlencode(arguments)
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()

    def ready(self):
        assert self.process.poll() is None, f"{self.name} ended: {self.words()}"
        try:
            self.get("/-/ready")
            return True
        except OSError:
            return False

    def words(self):
        return harness.text_of(self.log)[-3000:]


class Prometheus(_Server):
    def __init__(self, directory, config, *flags):
        super().__init__(directory, "prometheus", config)
        self.flags = flags

    def argv(self, config):
        return ["prometheus", f"--config.file={config}",
                f"--storage.tsdb.path={self.directory / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{self.port}", *self.flags]

    def api(self, path, **arguments):
        """The data of an answer; an HTTPError when the query cannot be parsed or executed."""
        return json.loads(self.get(f"/api/v1/{path}", **arguments))["data"]

    def query(self, query, **arguments):
        """[(labels, value)]"""
        result = self.api("query", query=query, **arguments)["result"]
        return [(r["metric"], float(r["value"][1])) for r in result]

    def target(self):
        """The first target, once it was scraped."""
        targets = self.api("targets")["activeTargets"]
        return targets[0] if targets and targets[0]["health"] != "unknown" else None


class Alertmanager(_Server):
    def __init__(self, directory, config):
        super().__init__(directory, "alertmanager", config)

    def argv(self, config):
        return ["prometheus-alertmanager", f"--config.file={config}",
                f"--storage.path={self.directory / 'alertmanager'}", "--cluster.listen-address=",
                f"--web.listen-address=127.0.0.1:{self.port}"]


class Webhook:
    """What Alertmanager sends: .alerts, oldest first."""

    def __init__(self):
        self.alerts = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
                self.alerts += body["alerts"]
                handler.send_response(200)
                handler.end_headers()

            def log_message(handler, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def seen(self, status, **labels):
        """The first alert of this status that carries these labels."""
        wanted = labels.items()
        return next((a for a in self.alerts
                     if a["status"] == status and wanted <= a["labels"].items()), None)
