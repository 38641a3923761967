"""What tests of the exporter on simulated nodes' recordings share; SIMNODE EXPORTER are their first
arguments."""
import json
import os
import re
import subprocess
import sys

simnode, exporter = sys.argv[1:3]


def record(scenario, folder, name="r"):
    """The recording's path, and its lines."""
    file, recording = os.path.join(folder, name + ".json"), os.path.join(folder, name + ".jsonl")
    with open(file, "w", encoding="utf-8") as out:
        json.dump(scenario, out)
    subprocess.run([simnode, file, recording], check=True)
    with open(recording, encoding="utf-8") as text:
        return recording, [json.loads(line) for line in text]


def write(lines, recording):
    with open(recording, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)


def replay(recording, *flags):
    """The exporter's page after the last tick."""
    return subprocess.run(
        [exporter, "--source=replay", "--source.replay.file=" + recording, "--once",
         "--log.level=error", *flags], check=True, capture_output=True, text=True).stdout


def samples(text, name, more=""):
    """{pod: value} of a metric, of series with these further labels."""
    pattern = re.compile(r"^%s\{[^}]*pod=\"([^\"]*)\"[^}]*%s[^}]*\} (\S+)$" % (name, more), re.M)
    return {pod: float(value) for pod, value in pattern.findall(text)}
