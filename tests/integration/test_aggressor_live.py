#!/usr/bin/python3
"""The alert names a real hog: a container of a real containerd that writes memory beside one that
computes, the real probe, no counters, a real Prometheus and Alertmanager.

Both work by turns on the same CPU. The page names the hog once its score is high enough; from then
on it works for two thirds of the time, still by turns, until the alert is there, and then no more,
until the alert is gone. One core is little to a server's memory (5 % on two CPUs of a virtual
machine), and readings scatter by as much: so turns go on until it is seen, up to MOST_TURNS, and the
rules are rendered with SHARE of the calm latency for the alert instead of a tenth, as a user would
set it (aggressorShare of dashboards/config.libsonnet). A name is said from 3 % on, as always. Every
duration in the rules is divided by FACTOR. The black box has it, too: its file, opened, says what was
said live.
"""
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "attribution"))

import harness  # noqa: E402
from containers import Containerd, Pod, oci_image  # noqa: E402
from harness import SOURCE, Exporter, wait_until  # noqa: E402
from monitoring import Alertmanager, Prometheus, Webhook  # noqa: E402
from neighbours import MIB, drawing, own_share_of_cpus  # noqa: E402
from test_blackbox import text_of  # noqa: E402
from test_end_to_end import (AGGRESSOR, alertmanager_config, prometheus_config,  # noqa: E402
                             scaled_rules)
from test_probe_hog import choose_cpus  # noqa: E402

SHARE = 0.02
HOG = {"namespace": "batch", "pod": "report-0", "container": "report"}
COMPUTE = {"namespace": "shop", "pod": "search-0", "container": "search"}
TURN_S, MOST_TURNS = 4.0, 60
BUSY = 2.5  # of the CPUs: the load that others must make, beside the 1 of the test's own
NOISE = 0.045  # what readings scatter by when they hide one core: about as much as it hurts
UNTIL_NAMED = (HOG, COMPUTE, HOG, None)
ONCE_NAMED = (HOG, HOG, COMPUTE, HOG, HOG, None)
COLLECTORS = ("--collector.disable-defaults", "--collector.attribution", "--collector.probe")


def full_name(labels):
    return labels["namespace"], labels["pod"], labels["container"]


def prefer(groups):
    """The containers get the CPU, whatever else the machine does: a hog with a part of it hurts by a
    part. In every hierarchy that the runtime has made their parent in."""
    for version, mount, _ in harness.cgroup_mounts():
        weight = mount / groups.base.name / ("cpu.shares" if version == 1 else "cpu.weight")
        if weight.exists():
            weight.write_text("262144" if version == 1 else "10000")


class Real:
    """A container of containerd whose program is stopped until it is switched on."""

    def __init__(self, containerd, groups, names, mode, cpu):
        pod = Pod(groups.path(groups.base), names["namespace"], names["pod"])
        container_id = secrets.token_hex(32)
        cgroup = f"{pod.cgroup}/{container_id}"
        containerd.run(container_id, cgroup,
                       pod.annotations("container", container_name=names["container"],
                                       image_name="registry/app:1"),
                       "/program", mode, str(cpu), str(MIB))
        procs = groups.mount / cgroup.lstrip("/") / "cgroup.procs"
        self.pids = [int(pid) for pid in procs.read_text().split()]
        assert self.pids, f"nobody is in {cgroup}"
        self.running, self.since, self.on_s = True, time.monotonic(), 0.0
        self.switch(False)

    def switch(self, on):
        if on == self.running:
            return
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT if on else signal.SIGSTOP)
        now = time.monotonic()
        self.on_s += 0 if on else now - self.since
        self.running, self.since = on, now

    def cpus(self):
        """CPU time while it was on."""
        ticks = 0
        for pid in self.pids:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK") / self.on_s


def rules(directory):
    """The mixin with SHARE, every duration divided by FACTOR."""
    mixin, rendered, scaled = (directory / name for name in ("m.libsonnet", "rendered", "rules"))
    mixin.write_text(f"(import '{SOURCE}/dashboards/mixin.libsonnet') + "
                     f"{{ _config+:: {{ aggressorShare: {SHARE} }} }}")
    subprocess.run([SOURCE / "dashboards/render.sh", rendered], check=True, timeout=60,
                   env={**os.environ, "MIXIN": str(mixin)})
    scaled.mkdir()
    return scaled_rules(scaled, rendered)


class LiveAggressor(unittest.TestCase):
    def setUp(self):
        _, cpus = choose_cpus()
        own_share_of_cpus()
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.groups = self.enterContext(harness.Cgroups())
        containerd = self.enterContext(Containerd(directory))
        oci_image(directory / "image.tar", harness.PROGRAMS / "memory_hog")
        containerd.ctr("images", "import", directory / "image.tar")
        self.containers = {
            full_name(names): Real(containerd, self.groups, names, mode, cpus[0])
            for names, mode in ((HOG, "stream"), (COMPUTE, "compute"))}
        prefer(self.groups)
        self.start_servers(directory, containerd)
        self.draw = drawing("aggressor")
        self.named, self.ever_named, self.last = set(), set(), None
        self.live = {}  # the NUMA node's document by its time

    def start_servers(self, directory, containerd):
        port = harness.free_port()
        self.hook = self.enterContext(Webhook())
        alertmanager = self.enterContext(
            Alertmanager(directory, alertmanager_config(self.hook.url)))
        self.prometheus = self.enterContext(Prometheus(directory, prometheus_config(
            rules(directory), alertmanager.port, {"live": port})))
        self.box = directory / "box"
        self.box.mkdir()
        self.exporter = self.enterContext(Exporter(
            *COLLECTORS, f"--path.rootfs={containerd.rootfs}", self.groups.only(),
            "--sampling.interval=1s", f"--blackbox.directory={self.box}",
            port=port, command=("nice", "-n", "-15")))

    # --- turns ---

    def look(self):
        document = self.exporter.json("/api/v1/interference")
        if document["domains"]:
            self.last = self.live[document["timestamp_seconds"]] = document["domains"][0]
            self.named = {full_name(row) for row in self.last["aggressors"]}
            self.ever_named |= self.named

    def switch(self, who):
        for name, container in self.containers.items():
            container.switch(who is not None and name == full_name(who))

    def turns(self, order, left, until):
        """In an order that is drawn anew, until it is so; how many turns are left then."""
        while left > 0:
            for who in self.draw.sample(order, len(order)):
                self.switch(who)
                end = time.monotonic() + TURN_S
                while time.monotonic() < end:
                    self.look()
                    if until():
                        return left
                    time.sleep(0.2)
                left -= 1
        return 0

    def fired(self):
        return self.hook.seen("firing", alertname=AGGRESSOR, **HOG)

    def need(self, happened, what):
        """A machine that others keep busy hides 5 % in its own noise."""
        load, cpus = os.getloadavg()[1], os.cpu_count()
        noise = (self.last or {}).get("noise_ratio") or 0
        if not happened and (load > BUSY * cpus or noise > NOISE):
            self.skipTest(f"{what} in {MOST_TURNS} turns, with a load of {load:.1f} on {cpus} CPUs "
                          f"and readings that scatter by {noise:.1%}: others use this machine")
        self.assertTrue(happened, f"{what}: {self.last}")

    # --- the test ---

    def test_the_alert_names_it(self):
        collector = self.exporter.collector("attribution")
        if not collector["available"]:
            self.skipTest(f"not here: {collector}")
        left = self.turns(UNTIL_NAMED, MOST_TURNS, lambda: full_name(HOG) in self.named)
        print(f"{MOST_TURNS - left} turns until it was named", flush=True)
        self.need(left, "never named")
        after = self.turns(ONCE_NAMED, left, self.fired)
        self.switch(None)
        self.report(left - after)
        self.check_box()
        self.need(self.fired(), "no alert")
        self.check_alert(self.fired())
        wait_until(lambda: self.hook.seen("resolved", alertname=AGGRESSOR, **HOG), 120,
                   "it resolves when the hog has stopped", 0.2)
        # Nobody innocent, neither on the page nor by an alert.
        self.look()
        self.assertEqual(self.ever_named, {full_name(HOG)})
        self.assertEqual({full_name(alert["labels"]) for alert in self.hook.alerts
                          if alert["labels"]["alertname"] == AGGRESSOR}, {full_name(HOG)})

    def check_alert(self, alert):
        self.assertEqual(alert["labels"], {"alertname": AGGRESSOR, "cluster": "test",
                                           "numa_node": "0", "node": "live",
                                           "component": "interference", "area": "memory",
                                           "severity": "warning", **HOG})
        self.assertIn("/".join(full_name(HOG)), alert["annotations"]["summary"])
        self.assertRegex(alert["annotations"]["description"],
                         r"take \d+(\.\d+)?ns longer.* kubectl -n 'batch' delete pod 'report-0';")

    def check_box(self):
        """While it is still written: who was named, and each number that was live since then."""
        def named():
            """(file, its lines from the mark's tick on), once the mark is in whole ticks."""
            for path in self.box.iterdir():
                lines = [json.loads(line) for line in text_of(path).splitlines()]
                mark = next((i for i, line in enumerate(lines) if line.get("mark") == "named"), 0)
                if mark:
                    tick = max(i for i, line in enumerate(lines[:mark]) if "tick" in line)
                    return path, lines, lines[tick], lines[mark]
            return None

        path, lines, tick, mark = wait_until(named, 20, "the mark is in a file", 0.5)
        marked = [line["container"] for line in lines
                  if line.get("container", {}).get("key") == mark["key"]]
        self.assertEqual(full_name(marked[-1]), full_name(HOG))
        at, last = tick["wall_ns"] / 1e9, max(line.get("wall_ns", 0) for line in lines) / 1e9
        flags = (f"--open={path}", *COLLECTORS)
        compared = []
        with Exporter(*flags) as opened:
            wait_until(lambda: opened.json("/api/v1/containers")["replay_ended"], 60, "its end")
            for time_s, theirs in self.live.items():
                if at <= time_s + 1e-3 and time_s <= last:
                    document = opened.json(f"/api/v1/interference?at={int(time_s)}")
                    if document["timestamp_seconds"] == time_s:  # else two ticks of one second
                        self.assertEqual(document["domains"], [theirs])
                        compared.append(time_s)
            (domain,) = opened.json(f"/api/v1/interference?at={int(at)}")["domains"]
        self.assertEqual([full_name(row) for row in domain["aggressors"]], [full_name(HOG)])
        self.assertAlmostEqual(compared[0], at, delta=1.5)
        page = harness.run_exporter(*flags, "--report=html")
        self.assertEqual(page.returncode, 0, page.stderr)
        self.assertRegex(page.stdout, "named: [^<]*</li>")
        self.assertIn(HOG["pod"], page.stdout)
        print(f"{path.name}: {len(compared)} ticks as they were live", flush=True)

    def report(self, turns):
        caused = self.prometheus.query("max_over_time(interference_container_caused_latency_"
                                       "current_seconds{container='report'}[30m])")
        print(f"{turns} turns from then on; {self.last['readings']} readings, calm "
              f"{self.last['calm_ns'] or 0:.0f} ns, noise {self.last['noise_ratio']:.3f}, largest part "
              f"{max((value for _, value in caused), default=0) * 1e9:.1f} ns, the hog has "
              f"{self.containers[full_name(HOG)].cpus():.2f} of its CPU, load "
              f"{os.getloadavg()[0]:.1f}", flush=True)


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("containerd", "ctr", "runc", "prometheus", "prometheus-alertmanager",
                         "jsonnet")
    harness.main()
