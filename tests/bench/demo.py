#!/usr/bin/python3
"""What a newcomer waits for, beside its targets: sudo tests/bench/demo.py

Runs deploy/quickstart.sh --rounds=1, then deploy/quickstart.sh --stack --demo until the last alert of
its first run is over, some four minutes. Packages should be there and the tree built: the quickstart
builds below build/quickstart, and what that takes is in the first row. Needs root. Fails where the first
table shows nothing useful, neither the probe's line nor a container with a value; times are only shown
beside their targets.
"""
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

SCRIPT = SOURCE / "deploy/quickstart.sh"
# In seconds: to the first table of a built tree; all others from the first table on.
FIRST_SIGHT = 60
TARGETS = {"trouble": 30, "the first alert fires": 90, "no alert any more": 300}
ROW = r"(?m)^[\w./:-]+(?: +[\d.-]+)+(?:  <-.*)?$"


def firing(port):
    url = f"http://127.0.0.1:{port}/api/v1/alerts"
    with urllib.request.urlopen(url, timeout=5) as answer:
        alerts = json.load(answer)["data"]["alerts"]
    return sorted({a["labels"]["alertname"] for a in alerts if a["state"] == "firing"})


def wait(what, condition, seconds):
    end = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > end:
            sys.exit(f"not seen within {seconds} s: {what}")
        time.sleep(0.2)
    return result


def here():
    """Until the first table of this machine, and what is in it."""
    start = time.monotonic()
    text = subprocess.run([SCRIPT, f"--port={harness.free_port()}", "--rounds=1"], check=True,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    seconds = time.monotonic() - start
    memory = re.search(r"(?m)^memory, measured by the probe: .*", text)
    used = re.findall(ROW, text[text.index("\nCONTAINER"):text.index("\ncollectors:")])
    if not (memory or used):
        sys.exit("nothing useful in the first table: no line of the probe, no container's value")
    yield "this machine: the first useful table, build included", seconds, FIRST_SIGHT
    print(memory[0] if memory else "no probe here", file=sys.stderr)
    print(f"{len(used)} containers with a value", file=sys.stderr)


def demo():
    ports = [harness.free_port() for _ in range(3)]
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / "log"
        start = time.monotonic()
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [SCRIPT, "--stack", "--demo", f"--port={ports[0]}", f"--prometheus-port={ports[1]}",
                 f"--alertmanager-port={ports[2]}"], stdin=subprocess.DEVNULL, stdout=file,
                stderr=file, start_new_session=True)
        try:
            def shown(pattern):
                return re.search(pattern, log.read_text())
            wait("a table", lambda: shown("Ctrl-C ends it"), 300)
            first = time.monotonic()
            yield "the demo: the first table, build included", first - start, None
            wait("trouble", lambda: shown("<- waits"), 60)
            yield "trouble", time.monotonic() - first, TARGETS["trouble"]
            seen = set(wait("an alert", lambda: firing(ports[1]), 200))
            yield "the first alert fires", time.monotonic() - first, TARGETS["the first alert fires"]
            print(sorted(seen), file=sys.stderr)
            wait("the end of the job", lambda: time.monotonic() - first > 125, 200)
            seen |= set(firing(ports[1]))
            wait("no alert", lambda: not firing(ports[1]), 200)
            yield "no alert any more", time.monotonic() - first, TARGETS["no alert any more"]
            print(f"fired: {', '.join(sorted(seen))}", file=sys.stderr)
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait()


def main():
    print("| | seconds | target |\n|---|---|---|")
    for part in (here, demo):
        for what, seconds, target in part():
            print(f"| {what} | {seconds:.0f} | {target or ''} |", flush=True)


main()
