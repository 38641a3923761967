#!/usr/bin/env python3
"""The governor on a simulated node, from outside: test_governor.py SIMNODE EXPORTER GOVERNOR.

The node writes its counters into a FIFO; the exporter replays what it reads there and serves it; the
governor reads that and writes quotas into the node's control files; the node's next ticks obey.
"""
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile

simnode, exporter, governor = sys.argv[1:4]

TICKS, ALONE, HOG_ENDS = 84, 26, 64
EVERYBODY = {"namespace": "*", "pod": "*"}
SCENARIO = {
    "scenario": 1, "ticks": TICKS, "tick_cycles": 100000, "stretch": 2100,  # 0.1 s
    "machine": {"preset": "clx", "cores_per_socket": 8, "memory": {"channels": 3}},
    "workloads": {
        "lc": {"kind": "random", "bytes": 268435456, "instructions_per_access": 60,
               "dependence": 0.5},
        "stream": {"kind": "stream", "bytes": 268435456, "instructions_per_access": 4},
        "compute": {"kind": "compute"},
    },
    "containers": [
        {"key": "lc", "workload": "lc", "cpus": [0], "namespace": "shop"},
        {"key": "hog", "workload": "stream", "cpus": [1, 2, 3], "start_tick": ALONE + 1,
         "stop_tick": HOG_ENDS},
        {"key": "compute", "workload": "compute", "cpus": [4, 5, 6], "start_tick": ALONE + 1},
    ],
}


def free_port():
    """Below the ports that the kernel gives to connections: no client of another test gets it."""
    while True:
        with socket.socket() as listener:
            port = 20000 + random.randrange(12000)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def configuration(folder):
    return {
        "governor": 1, "mode": "enforce", "state_directory": str(folder / "state"),
        "exporter": {"socket": str(folder / "exporter.sock"), "stale": "3s", "dead": "20s"},
        "classes": [
            {"name": "web", "role": "protected",
             "match": [{"namespace": "shop", "pod": "*", "container": "*"}]},
            {"name": "batch", "role": "best_effort", "match": [{**EVERYBODY, "container": "*"}]}],
        "policies": {"threshold": {"classes": ["batch"], "mode": "paper", "factor": 1.4,
                                   "window": "10ms"}},
        "limits": {"cuts_per_10m": 60},
    }


def stop(process):
    process.send_signal(signal.SIGTERM)
    return process.wait(timeout=60)


def quotas(tree):
    return [file.read_text().strip() for file in tree.rglob("cpu.max")]


def run(folder):
    """What each container might use in each tick, and the quotas that are left when the node ends and
    when the governor has ended."""
    scenario, fifo, tree = folder / "s.json", folder / "fifo", folder / "tree"
    config = folder / "governor.json"
    scenario.write_text(json.dumps(SCENARIO))
    config.write_text(json.dumps(configuration(folder)))
    (folder / "state").mkdir(mode=0o700)
    os.mkfifo(fifo)
    # While nobody has it open for writing, a pipe is at its end: the exporter may open it first.
    held = os.open(fifo, os.O_RDWR)
    exporting = subprocess.Popen(
        [exporter, "--source=replay", f"--source.replay.file={fifo}", "--source.replay.speed=max",
         f"--web.listen-address=unix:{folder}/exporter.sock", "--log.level=error"])
    node = subprocess.Popen([simnode, "--live", scenario, fifo, tree], stdout=subprocess.PIPE,
                            text=True)
    governing = None
    ticks = []
    try:
        for line in node.stdout:
            if held is not None:
                os.close(held)
                held = None
            words = line.split()
            ticks.append({key: float(cores) for key, cores in zip(words[1::2], words[2::2])})
            if not governing:  # the node's files are there
                governing = subprocess.Popen(
                    [governor, f"--config.file={config}", f"--path.cgroupfs={tree / 'cgroup'}",
                     f"--state-directory={folder / 'state'}", "--allow-replay", "--enforce",
                     "--log.level=warn",
                     f"--web.listen-address=127.0.0.1:{free_port()}"])
        assert node.wait() == 0
        left = quotas(tree)  # its own doing: it has not been told to end
        assert stop(governing) == 0
    finally:
        for process in (node, exporting, governing):
            if process and process.poll() is None:
                process.kill()
                process.wait()
    return ticks, left, quotas(tree)


def acted(ticks, left):
    """Whether it saw the hog come and go: the ticks do not wait for a governor that has no CPU."""
    later = ticks[ALONE + 10:HOG_ENDS]
    mean = {key: sum(tick[key] for tick in later) / len(later) for key in later[0]}
    print(f"cores of {len(later)} ticks beside the hog: {mean}")
    return (min(tick["hog"] for tick in ticks) == 1 and mean["hog"] < 2.2 < 2.4 < mean["compute"]
            and ticks[-1]["hog"] == ticks[-1]["compute"] == 3 and left == ["max 100000"] * 3)


def main():
    for _ in range(6):
        with tempfile.TemporaryDirectory() as folder:
            ticks, left, at_the_end = run(pathlib.Path(folder))
        assert len(ticks) == TICKS, ticks
        # Nobody is touched while nobody else runs; the protected one never is.
        assert all(tick["hog"] == 3 and tick["compute"] == 3 for tick in ticks[:ALONE]), ticks
        assert all(tick["lc"] == 1 for tick in ticks)
        assert at_the_end == ["max 100000"] * 3, at_the_end
        if acted(ticks, left):
            return
    raise AssertionError((ticks, left))


main()
