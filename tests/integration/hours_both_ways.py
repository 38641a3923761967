"""An hour of a made-up node (tests/attribution/node_hour.h) through the collector alone, and through the
exporter."""
import json
import subprocess
import tempfile

import harness
from harness import Exporter, wait_until


def say(kind, seed, seconds):
    """What the collector says of a node at the end of so many seconds, and what the exporter does."""
    program = harness.PROGRAMS / "attribution_hours"
    arguments = [kind, str(seed), str(seconds)]
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as recording:
        subprocess.run([program, "record", *arguments], check=True, stdout=recording)
        told = subprocess.run([program, "tell", *arguments], check=True, capture_output=True,
                              text=True).stdout.splitlines()[-1]
        with Exporter("--source=replay", "--source.replay.speed=max",
                      f"--source.replay.file={recording.name}", "--collector.disable-defaults",
                      "--collector.attribution", "--collector.probe") as exporter:
            wait_until(lambda: exporter.tick() == seconds, 120, "the last tick")
            return json.loads(told), exporter.json("/api/v1/interference")["domains"][0]


def same(domain):
    """What must be the same: names, and latencies to a tenth of a nanosecond, for a recording has whole
    microseconds of CPU time."""
    def rounded(value):
        return round(value, 1) if isinstance(value, float) else value

    def row(one):
        return {key: rounded(one[key]) for key in ("pod", "caused_ns", "p")}

    return {"by": {who: rounded(ns) for who, ns in domain["by"].items()},
            **{key: rounded(domain[key]) for key in
               ("state", "latency_ns", "calm_ns", "readings", "steps_outside_per_hour")},
            **{key: [row(one) for one in domain[key]] for key in ("aggressors", "suspects")},
            "groups": [sorted(one["pod"] for one in group["members"]) for group in domain["groups"]]}
