"""Plays a day of kinds.py through the real exporter, scraped as by Prometheus; then through the real rules.

    tests/replay/days/play.py BUILD KIND [SEED [SECONDS]]     what was published, and which alerts fire
    tests/replay/days/play.py BUILD --table [KIND...]         seconds that are true, and that are wrong

--table-stateless: of an exporter that takes no state file in a replay.

The exporter replays from a pipe that is filled up to the next scrape and no further, so that each scrape
sees the tick that it is due at, however fast both are.
"""
import bisect
import collections
import fcntl
import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path += [str(pathlib.Path(__file__).resolve().parent),
             str(pathlib.Path(__file__).resolve().parents[2] / "integration")]
import harness
import kinds

RULES = harness.SOURCE / "dashboards/rendered"
SCRAPE_S, EVALUATION_S = 30, 60
WITHIN_S, RESOLVED_S = 20 * 60, 25 * 60
TARGET = 'cluster="a", node="n1", instance="n1", job="interference-exporter"'
LAST_TICK = re.compile(rb"^interference_exporter_last_tick_timestamp_seconds (\S+)", re.M)
OVER = "interference_container_memory_read_latency_over_threshold_seconds_total"
KEY = re.compile(r'container_id="([0-9a-f]+)"')
# As test_onset_alert: alerts before what they read.
ORDER = ["interference-nodes", "interference-containers", "interference-exporter", "interference-fleet.rules",
         "interference-baselines.rules", "interference-nodes.rules", "interference-containers.rules"]


def wanted_names():
    text = "".join((RULES / name).read_text() for name in ("rules.yaml", "alerts.yaml"))
    return set(re.findall(r"\binterference_[a-z0-9_]+", text)) | {OVER}


class Player:
    def __init__(self, day, directory, program=None, flags=()):
        self.day, self.flags = day, flags
        self.program = program or harness.EXPORTER
        self.directory = pathlib.Path(directory)
        self.names = wanted_names()
        self.series = collections.defaultdict(dict)  # with labels: {scrape: value}
        self.up = {}
        self.logs, self.samples = [], []  # (hour, resident bytes, descriptors, series on the page)
        self.process = None
        self.problems = []

    # ---- the exporter ----

    def start(self, t, flags=()):
        self.fifo = self.directory / f"pipe{t}"
        os.mkfifo(self.fifo)
        self.pipe = os.fdopen(os.open(self.fifo, os.O_RDWR), "w", buffering=1 << 20)
        fcntl.fcntl(self.pipe, 1031, 1 << 20)  # F_SETPIPE_SZ
        state = [f"--state.file={self.directory}/state"] if self.day.state else []
        self.port = harness.free_port()
        self.log = tempfile.TemporaryFile("w+b")
        if "spoil" in flags and (self.directory / "state").exists():
            with open(self.directory / "state", "r+b") as file:
                file.seek(8)
                file.write(b"\1\0\0\0")
        if "skx" in flags:
            self.day.microarchitecture = "skx"
        self.process = harness.start(
            [self.program, f"--web.listen-address=127.0.0.1:{self.port}", "--source=replay",
             "--source.replay.speed=max", f"--source.replay.file={self.fifo}", *state, *self.flags],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.connection = None
        self.before = {}
        self.goes_on = t > 0 and self.day.state and not flags
        self.pipe.write(self.day.header(t))

    def end(self):
        self.pipe.close()  # without a next tick the last one ends with the recording
        assert harness.stop(self.process) == 0, harness.text_of(self.log)[-2000:]
        self.logs.append(harness.text_of(self.log))
        self.problems += [line for line in self.logs[-1].splitlines() if "level=error" in line]
        self.log.close()
        if self.connection:
            self.connection.close()
        self.fifo.unlink()

    def get(self, path):
        for _ in range(2000):
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
                self.connection.request("GET", path)
                answer = self.connection.getresponse()
                body = answer.read()
                if answer.status == 200:
                    return body
            except (OSError, http.client.HTTPException):
                self.connection = None
            assert self.process.poll() is None, harness.text_of(self.log)[-2000:]
            time.sleep(0.005)
        raise AssertionError(f"no answer to {path}")

    def page(self, wall):
        """The page once it is of this tick."""
        for wait in range(4000):
            body = self.get("/metrics")
            found = LAST_TICK.search(body)
            if found and abs(float(found.group(1)) - wall) < 1e-3:
                return body.decode()
            time.sleep(min(0.0005 * (wait + 1), 0.02))
        raise AssertionError(f"tick of {wall} is not published: {found and found.group(1)}\n"
                             f"{harness.text_of(self.log)[-2000:]}")

    # ---- the day ----

    def play(self):
        day, last = self.day, None
        self.start(0)
        for t in range(day.seconds):
            if t in day.restarts:
                self.write_rest()
                self.end()
                self.start(t, day.restarts[t])
                last = None
            text = day.tick(t)
            if not text:
                continue
            head, rest = text.split("\n", 1)
            self.pipe.write(head + "\n")
            # The tick before this one is published now.
            if last is not None and t // SCRAPE_S > last // SCRAPE_S:
                self.pipe.flush()
                self.scrape(last, t)
            self.rest = rest
            self.write_rest()
            last = t
        self.end()
        return self

    def write_rest(self):
        self.pipe.write(getattr(self, "rest", ""))
        self.rest = ""

    def scrape(self, t, now):
        day = self.day
        at = int(day.prometheus(now)) // SCRAPE_S
        if any(a <= t < b for a, b in day.gaps):
            return
        page = self.page(day.wall(t) + 1)
        self.up[at] = t
        n = 0
        for line in page.splitlines():
            if line[0] == "#":
                continue
            n += 1
            name, value = line.rsplit(" ", 1)
            # Of a replay, alerts do not believe the clock.
            name = name.replace('source="replay"', 'source="perf"')
            self.check(t, name, float(value))
            short = name.partition("{")[0]
            if short == OVER or short in self.names and t < day.rules_until:
                self.series[name][at] = value
        if self.goes_on:
            self.goes_on = False
            self.check_history(t)
        if now % 3600 < SCRAPE_S:
            fds = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in self.family())
            rss = sum(resident(pid) for pid in self.family())
            self.check_ages(t)
            self.samples.append((now // 3600, rss, fds, n))

    def check(self, t, name, value):
        """No counter goes back while the exporter runs, and no latency is beyond what memory takes here."""
        short = name.partition("{")[0]
        if short.endswith(("_total", "_bucket", "_sum", "_count")):
            bad = not 0 <= value or value < self.before.get(name, 0)
            self.before[name] = value
        else:
            bad = value != value or (short.endswith("_latency_seconds") and not 2e-8 <= value <= 1e-6)
        if bad and len(self.problems) < 20:
            self.problems.append(f"{t}: {name} {value}")

    def check_history(self, t):
        """After a restart with state, the picture has the quarter of an hour before it: 180 points."""
        line = re.search(r'<path class="line" d="([^"]*)"', self.get("/").decode())
        points = len(re.findall("[ML]", line.group(1))) if line else 0
        if points < 170:
            self.problems.append(f"{t}: {points} points of history")

    def check_ages(self, t):
        """What has been so for some time has been so since a time of this day, by the clock as it is now."""
        wall, lived = self.day.wall(t) + 1, self.day.mono(t) + 1
        document = json.loads(self.get("/api/v1/containers"))
        for container in document["containers"]:
            for key in ("normal_since_timestamp_seconds", "waits_since_timestamp_seconds"):
                since = container.get(key)  # of an exporter that tells it
                if since is not None and not -0.001 <= wall - since <= lived + 0.001:
                    self.problems.append(f"{t}: {key} {since} of {container['pod']}, now {wall}")

    def family(self):
        pids = [self.process.pid]
        for pid in pids:
            pids += harness.children(pid)
        return pids

    # ---- what was published against what is true ----

    def wrong_seconds(self):
        """Of all containers, added up: counted above their threshold and not waiting, or the reverse."""
        day, wrong = self.day, 0.0
        by_id = {c.id[:12] + c.pod: c for c in day.containers}
        for name, values in self.series.items():
            if not name.startswith(OVER):
                continue
            found = KEY.search(name).group(1)
            c = by_id.get(found + re.search(r'pod="([^"]*)"', name).group(1))
            before = None
            for at, value in sorted(values.items()):
                t, value = self.up[at], float(value)
                if before and value >= before[1]:
                    true = sum(day.waits(c, s) for s in range(before[0] + 1, t + 1)) if c else 0
                    wrong += abs(value - before[1] - true)
                before = t, value
        return wrong

    def true_seconds(self):
        day = self.day
        return sum(day.waits(c, t) for c in day.containers for a, b, _ in day.true
                   for t in range(max(a, c.comes), min(b, c.goes, day.seconds)))

    # ---- the rules ----

    def scrapes_for_rules(self):
        return min(max(self.up), self.day.rules_until // SCRAPE_S) + 1

    def input_series(self):
        length = self.scrapes_for_rules()
        made = []

        def add(name, tokens):
            name = name if "{" in name else name + "{}"
            sign = "" if name.endswith("{}") else ", "
            for i in range(self.day.exporters):
                target = TARGET if i == 0 else TARGET.replace('instance="n1"', f'instance="n1-{i}"')
                made.append({"series": name.replace("{", "{" + target + sign, 1),
                             "values": " ".join(tokens)})

        scraped = [at in self.up for at in range(length)]
        for name, values in self.series.items():
            first = min(values)
            if first >= length:
                continue
            tokens, ended = [f"_x{first}"] if first else [], False
            for at in range(first, min(max(values) + 2, length)):
                if at in values:
                    tokens.append(values[at])
                    ended = False
                else:
                    tokens.append("_" if ended or not scraped[at] else "stale")
                    ended = ended or scraped[at]
            add(name, tokens)
        add("up", ["1" if known else "_" for known in scraped])
        made.append({"series": 'up{cluster="a", node="n2", instance="n2", job="interference-exporter"}',
                     "values": f"1x{length}"})  # one that is always there: the cluster is not empty
        return made

    def rules(self, tests):
        path = self.directory / "test.yaml"
        path.write_text(json.dumps({
            "rule_files": [str(RULES / "rules.yaml"), str(RULES / "alerts.yaml")],
            "evaluation_interval": f"{EVALUATION_S}s", "group_eval_order": ORDER,
            "tests": [{"interval": f"{SCRAPE_S}s", "input_series": self.input_series(),
                       "promql_expr_test": tests}]}))
        done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True,
                              timeout=600)
        return done.stdout + done.stderr if done.returncode else ""

    def expected(self):
        """Of the names that fire: at all, and every five minutes, but where they may or may not."""
        day, end = self.day, (self.scrapes_for_rules() - 1) * SCRAPE_S
        at_all = [{"labels": f'{{alertname="{name}"}}', "value": 1}
                  for name, spans in day.alerts.items() if any(a + WITHIN_S < end for a, _ in spans)]
        others = f'alertstate="firing", alertname!~"{"|".join(day.perhaps)}"'
        tests = [{"expr": f"group by (alertname) (max_over_time(ALERTS{{{others}}}[2d]))",
                  "eval_time": f"{end}s", "exp_samples": at_all}]
        for name, spans in day.alerts.items():
            for t in range(0, end, 300):
                fires = any(a + WITHIN_S <= t < b for a, b in spans)
                if not fires and any(a < t < b + RESOLVED_S for a, b in spans):
                    continue
                tests.append({
                    "expr": f'group by (alertname) (ALERTS{{alertname="{name}", alertstate="firing"}})',
                    "eval_time": f"{t}s",
                    "exp_samples": [{"labels": f'{{alertname="{name}"}}', "value": 1}] if fires else []})
        return tests


def resident(pid):
    try:
        return int(re.search(r"VmRSS:\s+(\d+) kB",
                             pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) * 1024
    except (AttributeError, FileNotFoundError):
        return 0


def play(kind, seed=0, seconds=None, program=None, directory=None, stateless=False):
    day = kinds.make(kind, seed)
    day.state &= not stateless
    day.seconds = min(day.seconds, seconds or day.seconds)
    return Player(day, directory, program).play()


def main():
    arguments = sys.argv[2:]
    if arguments[0].startswith("--table"):
        for kind in arguments[1:] or kinds.KINDS:
            with tempfile.TemporaryDirectory() as directory:
                played = play(kind, directory=directory, stateless=arguments[0] == "--table-stateless")
                print(f"| `{kind}` | {played.true_seconds()} | {played.wrong_seconds():.0f} |", flush=True)
        return
    with tempfile.TemporaryDirectory() as directory:
        begin = time.monotonic()
        played = play(arguments[0], *map(int, arguments[1:]), directory=directory)
        middle = time.monotonic()
        print(f"{len(played.up)} scrapes, {len(played.series)} series in {middle - begin:.1f} s")
        print(f"wrong seconds: {played.wrong_seconds():.0f}")
        for sample in played.samples:
            print("hour %d: resident %d, descriptors %d, series %d" % sample)
        print("".join(played.logs), *played.problems, sep="\n")
        said = played.rules(played.expected())
        print(said[:6000] or "alerts as expected", f"{time.monotonic() - middle:.1f} s")


if __name__ == "__main__":
    main()
