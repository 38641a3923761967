#!/usr/bin/python3
"""The chart's governor: a DaemonSet of its own, not there unless asked for, with exactly the privileges that
it needs and a configuration that the program takes; and the exporter beside it, which serves a socket
for it and is otherwise as it was."""
import copy
import json
import pathlib
import re
import shlex
import socket
import tempfile
import unittest

import jsonschema
import yaml

import harness
import test_chart
from test_chart import CHART, TESTS, build_renderer, merge, render, run

GOVERNOR = harness.BUILD / "interference_governor"
CLASSES = [{"name": "web", "role": "protected",
            "match": [{"namespace": "shop", "pod": "*", "container": "cart"}]},
           {"name": "batch", "role": "best_effort",
            "match": [{"namespace": "batch-*", "pod": "*", "container": "*"}]}]
UNIT = (harness.SOURCE / "deploy/systemd/interference_governor.service").read_text()
TEXTS = [harness.SOURCE / "deploy/governor.md",
         *sorted((harness.SOURCE / "dashboards/runbooks").glob("InterferenceGovernor*.md"))]
GIVEN = {"enabled": True, "nodeSelector": {"kubernetes.io/hostname": "node-7"},
         "config": {"classes": CLASSES, "policies": {"threshold": {"classes": ["batch"]}}}}


def governed(governor=(), **values):
    return render(governor={**GIVEN, **dict(governor)}, **values)


def of_governor(objects, kind):
    (found,) = [o for o in objects if o["kind"] == kind and
                o["metadata"]["labels"].get("app.kubernetes.io/component") == "governor"]
    return found


def of_exporter(objects, kind):
    (found,) = [o for o in objects if o["kind"] == kind and
                o["metadata"]["labels"].get("app.kubernetes.io/component") == "metrics"]
    return found


def restoring(text):
    """The flags of each command that gives back, as it is printed: in a block or within a line."""
    text = text.replace("\\\n", " ")
    commands = re.findall(r"^ {4,}(.*interference_governor .*--restore)", text, re.M)
    commands += re.findall(r"`(interference_governor [^`]*--restore)`", text)
    return [shlex.split(command.split("interference_governor ", 1)[1]) for command in commands]


def with_prefix(prefix, flags):
    return {flag for flag in flags if flag.startswith(prefix)}


def pod(daemonset):
    return daemonset["spec"]["template"]["spec"]


def accepts(address, port):
    try:
        socket.create_connection((address, port), timeout=5).close()
    except OSError:
        return False
    return True


class Governor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build_renderer()
        cls.objects = governed(podMonitor={"enabled": True})
        cls.all_in = governed({"enforce": True, "resctrl": True, "affinity": True,
                               "image": {"repository": "mine", "tag": "2"},
                               "podLabels": {"a": "b"}, "podAnnotations": {"c": "d"},
                               "extraArgs": ["--log.level=debug"]}, monitor={"enabled": True})

    def test_off_by_default(self):
        self.assertNotIn("governor", json.dumps(render()))

    def test_schemas(self):
        folder = test_chart.WORK / "npm"
        test_chart.Rendered.install_schemas(self, folder)
        objects = [o for case in (self.objects, self.all_in) for o in case]
        result = run("node", TESTS / "validate.mjs", folder, input=json.dumps(objects))
        self.assertEqual(result.returncode, 0, result.stderr)
        for o, complaint in zip(objects, json.loads(result.stdout), strict=True):
            self.assertEqual(complaint, [], f"{o['kind']} {o['metadata']['name']}")

    def test_privileges(self):
        """User 0 and no capability; cgroups and its journal are all that it may write."""
        for objects, more in ((self.objects, False), (self.all_in, True)):
            spec = pod(of_governor(objects, "DaemonSet"))
            (container,) = spec["containers"]
            capabilities = {"drop": ["ALL"], **({"add": ["SYS_NICE"]} if more else {})}
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "privileged": False,
                "readOnlyRootFilesystem": True, "capabilities": capabilities})
            self.assertEqual(spec["securityContext"], {
                "runAsUser": 0, "runAsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"},
                **({"appArmorProfile": {"type": "Unconfined"}} if more else {})})
            self.assertEqual((spec["hostPID"], spec["hostNetwork"], spec["hostIPC"]),
                             (more, False, False))
            self.assertIs(spec["automountServiceAccountToken"], False)
            volumes = {v["name"]: v for v in spec["volumes"]}
            mounts = {m["name"]: m for m in container["volumeMounts"]}
            self.assertEqual(volumes.keys(), mounts.keys())
            writable = {volumes[name]["hostPath"]["path"] for name, mount in mounts.items()
                        if not mount.get("readOnly")}
            self.assertEqual(writable, {"/sys/fs/cgroup", "/run/interference_governor",
                                        *(["/sys/fs/resctrl"] if more else [])})
            self.assertEqual({v["hostPath"]["path"] for v in volumes.values() if "hostPath" in v} -
                             writable, {"/run/interference_exporter"})
        for half in ("resctrl", "affinity"):
            spec = pod(of_governor(governed({half: True}), "DaemonSet"))
            self.assertIs(spec["hostPID"], True)
            self.assertEqual("add" in spec["containers"][0]["securityContext"]["capabilities"],
                             half == "affinity")

    def test_listens_on_its_own_addresses(self):
        """Of the pod and of loopback, of whichever kind the pod's is, and on no other."""
        (container,) = pod(of_governor(self.objects, "DaemonSet"))["containers"]
        (flag,) = with_prefix("--web.listen-address=", container["args"])
        self.assertEqual(container["env"], [
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}])
        config = json.loads(of_governor(self.objects, "ConfigMap")["data"]["governor.json"])
        for address, family, other in (("127.9.9.9", socket.AF_INET, "127.9.9.8"),
                                       ("::1", socket.AF_INET6, "127.9.9.8")):
            port = harness.free_port()
            own = flag.replace("$(POD_IP)", address).replace(":10067", f":{port}")
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "governor.json")
                file.write_text(json.dumps({**config, "state_directory": folder}))
                governor = harness.start([GOVERNOR, f"--config.file={file}",
                                          f"--state-directory={folder}", own])
                try:
                    for at in (address, "127.0.0.1"):
                        harness.wait_until(lambda: accepts(at, port), 20, f"it listens on {at}")
                    self.assertFalse(accepts(other, port))
                finally:
                    harness.stop(governor)

    def test_apparmor(self):
        """Unconfined where it is to write resctrl, unless a profile is given."""
        own = {"type": "Localhost", "localhostProfile": "governor"}
        for given, expected in (({}, None), ({"resctrl": True}, {"type": "Unconfined"}),
                                ({"appArmorProfile": own}, own),
                                ({"resctrl": True, "appArmorProfile": own}, own)):
            spec = pod(of_governor(governed(given), "DaemonSet"))
            self.assertEqual(spec["securityContext"].get("appArmorProfile"), expected)

    def test_two_keys(self):
        for enforce in (False, True):
            (container,) = pod(of_governor(governed({"enforce": enforce}), "DaemonSet"))["containers"]
            self.assertEqual("--enforce" in container["args"], enforce)
        config = json.loads(of_governor(self.all_in, "ConfigMap")["data"]["governor.json"])
        self.assertNotIn("mode", config)  # the second one is the user's to turn

    def test_program_takes_what_it_gets(self):
        """Flags, configuration, and what the probes ask for."""
        for objects in (self.objects, self.all_in):
            spec = pod(of_governor(objects, "DaemonSet"))
            (container,) = spec["containers"]
            self.assertEqual(container["command"], ["/usr/bin/interference_governor"])
            result = run(GOVERNOR, *container["args"], "--version")
            self.assertEqual(result.returncode, 0, result.stderr)
            text = of_governor(objects, "ConfigMap")["data"]["governor.json"]
            (mount,) = [m for m in container["volumeMounts"] if m["name"] == "config"]
            self.assertIn(f"--config.file={mount['mountPath']}/governor.json", container["args"])
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "governor.json")
                config = json.loads(text)
                # It reads what it is given: 1, for there is no exporter, or 2.
                for state, status in ((config["state_directory"], 1), (folder, 2), ("relative", 2)):
                    file.write_text(json.dumps({**config, "state_directory": state}))
                    result = run(GOVERNOR, f"--config.file={file}", "--check")
                    self.assertEqual(result.returncode, status, result.stderr)
            served = pathlib.Path(config["exporter"]["socket"])
            mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
            volumes = {v["name"]: v for v in spec["volumes"]}
            self.assertEqual(volumes[mounts[str(served.parent)]]["hostPath"]["path"],
                             str(served.parent))
            self.assertIn(config["state_directory"], mounts)
            self.assertEqual({container[probe]["httpGet"]["path"]
                              for probe in ("livenessProbe", "readinessProbe")},
                             {"/-/healthy", "/-/ready"})

    def test_what_to_type_gives_back(self):
        """A command that gives back by hand sees what the governor has seen: the unit's paths or the
        chart's, or the chart's from where the node's files are below /host."""
        (container,) = pod(of_governor(self.objects, "DaemonSet"))["containers"]
        state = json.loads(of_governor(self.objects, "ConfigMap")["data"]["governor.json"])[
            "state_directory"]
        paths = with_prefix("--path.", container["args"])
        self.assertTrue(paths)
        unit = with_prefix("--state-directory=", shlex.split(
            re.search("^ExecStart=(.*)", UNIT, re.M)[1]))
        needed = {"host": unit, "chart": {*paths, f"--state-directory={state}"},
                  "debug": {*paths, f"--state-directory=/host{state}"}}
        seen = {file.stem: set() for file in TEXTS}
        for file in TEXTS:
            for flags in restoring(file.read_text()):
                result = run(GOVERNOR, *flags, "--version")
                self.assertEqual(result.returncode, 0, (flags, result.stderr))
                if flags == ["--restore"]:  # "with the same flags as it ran with"
                    continue
                kind = "debug" if with_prefix("--state-directory=/host", flags) else \
                    "chart" if with_prefix("--path.cgroupfs=", flags) else "host"
                self.assertLessEqual(needed[kind], set(flags), file.name)
                seen[file.stem].add(kind)
        self.assertEqual(seen["InterferenceGovernorDown"], {"host", "chart", "debug"})
        self.assertEqual(seen["InterferenceGovernorRestoreFailed"], {"host", "chart"})
        self.assertEqual(seen["governor"], {"debug"})

    def test_exporter_beside_it(self):
        """Serves a socket in a directory of root's, as root; all else is as without the governor."""
        with_it = pod(of_exporter(self.objects, "DaemonSet"))
        without = pod(of_exporter(render(becomeNobody=False, podMonitor={"enabled": True}),
                                  "DaemonSet"))
        with_it = copy.deepcopy(with_it)
        (container,) = with_it["containers"]
        flag = "--web.listen-address=unix:/run/interference_exporter/exporter.sock"
        self.assertEqual(container["args"].index(flag), 1)  # the health check asks the first one
        container["args"].remove(flag)
        container["volumeMounts"].remove({"name": "socket", "mountPath": "/run/interference_exporter"})
        with_it["volumes"].remove({"name": "socket", "hostPath": {
            "path": "/run/interference_exporter", "type": "DirectoryOrCreate"}})
        self.assertEqual(with_it, without)

    def test_they_talk(self):
        """The real two programs, over the socket that the chart names, in a directory of our own."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        config = json.loads(of_governor(self.objects, "ConfigMap")["data"]["governor.json"])
        name = pathlib.Path(config["exporter"]["socket"]).name
        config["exporter"]["socket"] = str(folder / name)
        config.pop("state_directory")
        (folder / "governor.json").write_text(json.dumps(config))
        with harness.Exporter(f"--web.listen-address=unix:{folder / name}", "--source=replay",
                              f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}"):
            port = harness.free_port()
            log = self.enterContext(open(folder / "log", "w+b"))
            governor = harness.start([GOVERNOR, f"--config.file={folder / 'governor.json'}",
                                      f"--state-directory={folder}",
                                      f"--web.listen-address=127.0.0.1:{port}"], stderr=log)
            self.addCleanup(harness.stop, governor)
            harness.wait_until(lambda: self.asked(port, "interference_governor_exporter_up 1"), 20,
                               "it reads the exporter's document")
            # A replay: it never acts on one.
            harness.wait_until(lambda: self.asked(port, 'mode{mode="observe"} 1'), 20, "it observes")

    @staticmethod
    def asked(port, line):
        import urllib.request
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                return line in answer.read().decode()
        except OSError:
            return False

    def test_nobody_selects_both(self):
        """Services, policies and monitors of the one are not the other's; the jobs' names differ."""
        labels = {name: of(self.objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"]
                  for name, of in (("governor", of_governor), ("exporter", of_exporter))}
        for o in self.objects:
            selector = o.get("spec", {}).get("selector") or o.get("spec", {}).get("podSelector")
            if not selector:
                continue
            selector = selector.get("matchLabels", selector)
            owner = o["metadata"]["labels"]["app.kubernetes.io/component"]
            fits = {name for name, has in labels.items() if selector.items() <= has.items()}
            self.assertEqual(fits, {"governor" if owner == "governor" else "exporter"}, o["kind"])
        monitor = of_governor(self.objects, "PodMonitor")["spec"]
        self.assertRegex(labels["governor"][monitor["jobLabel"]], "interference.*governor")
        self.assertIs(monitor["podMetricsEndpoints"][0]["honorLabels"], True)
        policy = of_governor(self.objects, "NetworkPolicy")["spec"]
        self.assertEqual((policy["egress"], bool(policy["ingress"][0]["from"])), ([], True))

    def test_where_and_what(self):
        spec = pod(of_governor(self.objects, "DaemonSet"))
        self.assertEqual(spec["nodeSelector"], {"kubernetes.io/hostname": "node-7"})
        images = [pod(of_governor(objects, "DaemonSet"))["containers"][0]["image"] for objects in (
            self.objects, self.all_in, governed({"image": {"tag": "2"}},
                                                image={"digest": "sha256:" + "0" * 64}))]
        registry = "registry.example.org/"
        self.assertEqual(images, [registry + "interference_exporter:0.1.0", registry + "mine:2",
                                  registry + "interference_exporter:2"])

    def test_refused(self):
        for words, given, values in (
                ("nodeSelector is empty", {"nodeSelector": {}}, {}),
                ("classes is empty", {"config": {}}, {}),
                ("the chart's to set", {"config": {**GIVEN["config"], "state_directory": "/x"}}, {}),
                ("the chart's to set", {"config": {**GIVEN["config"], "exporter": {"url": "x"}}}, {})):
            with self.assertRaisesRegex(AssertionError, words):
                governed(given, **values)

    def test_beside_tls_and_passwords(self):
        """These are of the exporter's port; the socket is as without them."""
        objects = governed({}, webConfig={"secretName": "mine"})
        self.assertIn("--web.config.file=/etc/web-config/web-config.yml",
                      pod(of_exporter(objects, "DaemonSet"))["containers"][0]["args"])
        self.assertEqual(of_governor(objects, "ConfigMap"), of_governor(self.objects, "ConfigMap"))

    def test_values_schema(self):
        validator = jsonschema.Draft7Validator(
            json.loads((CHART / "values.schema.json").read_text()))
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        merge(values, {"governor": GIVEN})
        self.assertEqual([e.message for e in validator.iter_errors(values)], [])
        values["governor"]["enforced"] = True
        self.assertFalse(validator.is_valid(values))

    def test_openshift(self):
        """The constraints of the exporter admit it, too: it has its account."""
        for given in ({}, {"resctrl": True}, {"affinity": True}):
            objects = governed(given, openshift={"enabled": True})
            scc = test_chart.of_kind(objects, "SecurityContextConstraints")
            self.assertIs(scc["allowHostPID"], bool(given))
            self.assertEqual("SYS_NICE" in scc["allowedCapabilities"], "affinity" in given)
        spec = pod(of_governor(objects, "DaemonSet"))
        self.assertEqual(spec["securityContext"]["seLinuxOptions"], {"type": "spc_t"})
        self.assertEqual(spec["serviceAccountName"],
                         pod(of_exporter(objects, "DaemonSet"))["serviceAccountName"])


if __name__ == "__main__":
    harness.need_command("go", "node", "npm")
    harness.main()
