#!/usr/bin/python3
"""What a newcomer waits for, beside its targets: sudo tests/bench/demo.py [QUICKSTART]

Runs deploy/quickstart.sh --rounds=1, then deploy/quickstart.sh --stack --demo until the last alert of
its first run is over, some four minutes. Packages should be there and the tree built: the quickstart
builds below build/quickstart, and what that takes is in the first row. Needs root. Fails where the first
table shows nothing useful, neither the probe's line nor a container with a value, where the quickstart ends by
itself, or where something does not come at all, with what it printed last; times are only shown beside their targets.
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/integration"))
import harness  # noqa: E402

SCRIPT = sys.argv[1] if len(sys.argv) > 1 else SOURCE / "deploy/quickstart.sh"
LAST = 2000  # characters of what it printed
# In seconds: to the first table of a built tree; all others from the first table on.
FIRST_SIGHT = 60
TARGETS = {"trouble": 30, "the first alert fires": 90, "no alert any more": 300}
ROW = re.compile(r"(?m)^[\w./:-]+((?: +(?:-|[\d.]+[kMG]?))+)(?:  <-.*)?$")


def firing(port):
    url = f"http://127.0.0.1:{port}/api/v1/alerts"
    with urllib.request.urlopen(url, timeout=5) as answer:
        alerts = json.load(answer)["data"]["alerts"]
    return sorted({a["labels"]["alertname"] for a in alerts if a["state"] == "firing"})


class Demo:
    """A quickstart that runs on, and what it printed."""

    def __init__(self, directory, *flags):
        self.log = pathlib.Path(directory) / "log"
        with open(self.log, "w", encoding="utf-8") as file:
            self.process = subprocess.Popen([SCRIPT, *flags], stdin=subprocess.DEVNULL, stdout=file,
                                            stderr=file, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait()

    def shown(self, pattern):
        return re.search(pattern, self.log.read_text(errors="replace"))

    def give_up(self, why):
        sys.exit(f"{self.log.read_text(errors='replace')[-LAST:]}\n{why}")

    def wait(self, what, condition, seconds):
        end = time.monotonic() + seconds
        while not (result := condition()):
            if self.process.poll() is not None:
                self.give_up(f"the quickstart ended with status {self.process.returncode} before: {what}")
            if time.monotonic() > end:
                self.give_up(f"not seen within {seconds} s: {what}")
            time.sleep(0.2)
        return result


def here():
    """Until the first table of this machine, and what is in it."""
    start = time.monotonic()
    run = subprocess.run([SCRIPT, f"--port={harness.free_port()}", "--rounds=1"], check=False,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if run.returncode != 0:
        sys.exit(f"{(run.stdout + run.stderr)[-LAST:]}\nthe quickstart ended with status {run.returncode}")
    memory = re.search(r"(?m)^memory, measured by the probe: .*", run.stdout)
    table = re.search(r"(?s)\nCONTAINER.*\ncollectors:", run.stdout)
    used = [values for values in ROW.findall(table[0] if table else "") if re.search(r"\d", values)]
    if not (memory or used):
        sys.exit(f"{run.stdout[-LAST:]}\nnothing useful in the first table: no line of the probe, no container's "
                 "value")
    yield "this machine: the first useful table, build included", seconds, FIRST_SIGHT
    print(memory[0] if memory else "no probe here", file=sys.stderr)
    print(f"{len(used)} containers with a value", file=sys.stderr)


def demo():
    ports = [harness.free_port() for _ in range(3)]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as directory, \
            Demo(directory, "--stack", "--demo", f"--port={ports[0]}", f"--prometheus-port={ports[1]}",
                 f"--alertmanager-port={ports[2]}") as it:
        it.wait("a table", lambda: it.shown("Ctrl-C ends it"), 300)
        first = time.monotonic()
        yield "the demo: the first table, build included", first - start, None
        it.wait("trouble", lambda: it.shown("<- waits"), 60)
        yield "trouble", time.monotonic() - first, TARGETS["trouble"]
        seen = set(it.wait("an alert", lambda: firing(ports[1]), 200))
        yield "the first alert fires", time.monotonic() - first, TARGETS["the first alert fires"]
        print(sorted(seen), file=sys.stderr)
        it.wait("the end of the job", lambda: time.monotonic() - first > 125, 200)
        seen |= set(firing(ports[1]))
        it.wait("no alert", lambda: not firing(ports[1]), 200)
        yield "no alert any more", time.monotonic() - first, TARGETS["no alert any more"]
        print(f"fired: {', '.join(sorted(seen))}", file=sys.stderr)


def main():
    print("| | seconds | target |\n|---|---|---|")
    for part in (here, demo):
        for what, seconds, target in part():
            print(f"| {what} | {seconds:.0f} | {target or ''} |", flush=True)


main()
