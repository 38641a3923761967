#!/usr/bin/python3
"""The Helm chart, rendered with several sets of values (tests/chart/values).

What is rendered holds against the schemas of Kubernetes and of the Prometheus operator, unknown
fields included; it asks for the privileges that are documented and for no others; its flags are the
exporter's. The plain manifests and the chart's copies are what they are made from. And a real
Prometheus, with the scrape configuration that follows from the ServiceMonitor, the PodMonitor and the
examples, gives each series the labels of the container that was measured.
"""
import contextlib
import copy
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import tomllib
import unittest
import urllib.parse
import urllib.request

import jsonschema
import yaml

import harness
import web_files
from harness import Exporter, wait_until

CHART = harness.SOURCE / "deploy/kubernetes/chart"
MANIFESTS = harness.SOURCE / "deploy/kubernetes/manifests"
TESTS = harness.SOURCE / "tests/chart"
CASES = {file.stem: [file] for file in sorted((TESTS / "values").glob("*.yaml"))}
CASES["defaults"] = []
NEEDED = harness.SOURCE / "deploy/kubernetes/manifests.yaml"
WORK = harness.BUILD / "chart"
# Of these no schema is at hand: test_openshift and test_autoscaler look at their fields.
WITHOUT_SCHEMA = {"security.openshift.io/v1", "autoscaling.k8s.io/v1"}


class StrictLoader(yaml.SafeLoader):
    """YAML in which a key stands once."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        assert not twice, f"{node.start_mark}: twice: {twice}"
        return super().construct_mapping(node, deep)


def load(text):
    return [document for document in yaml.load_all(text, StrictLoader) if document]


def run(*argv, **options):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=240,
                          **options)


def build_renderer():
    WORK.mkdir(exist_ok=True)
    result = run("go", "build", "-o", WORK / "render", TESTS / "render.go", env={
        **os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": "/usr/share/gocode",
        "GOCACHE": str(WORK / "go")})
    assert result.returncode == 0, result.stderr


def render(*values, **given):
    """The chart's objects; with keywords, values in place of a file. What has no default comes from
    the plain manifests' values."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(given, file)
        file.flush()
        result = run(WORK / "render", CHART, NEEDED, *values, file.name)
    assert result.returncode == 0, result.stderr
    return load(result.stdout)


def of_kind(objects, kind):
    (found,) = [o for o in objects if o["kind"] == kind]
    return found


def pod_of(objects):
    return of_kind(objects, "DaemonSet")["spec"]["template"]["spec"]


def connects(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    return False


class Rendered(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build_renderer()
        cls.cases = {name: render(*files) for name, files in CASES.items()}

    def test_schemas(self):
        """Valid as they are; and with any one unknown field not."""
        folder = WORK / "npm"
        self.install_schemas(folder)
        objects = [o for case in self.cases.values() for o in case
                   if o["apiVersion"] not in WITHOUT_SCHEMA]
        objects += [o for file in sorted(MANIFESTS.glob("*.yaml")) for o in load(file.read_text())]
        broken = []
        for kind in sorted({o["kind"] for o in self.cases["full"] + self.cases["podmonitor"]}):
            good = next(o for o in objects if o["kind"] == kind and o in self.cases["full"] or
                        o["kind"] == kind and o in self.cases["podmonitor"])
            broken += [(f"{kind}.{path}", bad) for path, bad in with_unknown_fields(good)]
        self.assertGreater(len(broken), 60)
        wrong = copy.deepcopy(of_kind(self.cases["defaults"], "DaemonSet"))
        wrong["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "1MB"
        broken.append(("a memory of 1MB", wrong))

        result = run("node", TESTS / "validate.mjs", folder,
                     input=json.dumps(objects + [bad for _, bad in broken]))
        self.assertEqual(result.returncode, 0, result.stderr)
        complaints = json.loads(result.stdout)
        for o, complaint in zip(objects, complaints):
            self.assertEqual(complaint, [], f"{o['kind']} {o['metadata']['name']}")
        passed = [what for (what, _), c in zip(broken, complaints[len(objects):]) if not c]
        self.assertEqual(passed, [], "unknown fields that were let through")

    def install_schemas(self, folder):
        lock = (TESTS / "package-lock.json").read_bytes()
        stamp = folder / "installed"
        if stamp.exists() and stamp.read_bytes() == lock:
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(TESTS / name, folder)
        result = run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", cwd=folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        stamp.write_bytes(lock)

    def test_privileges(self):
        """UID 0 with CAP_PERFMON, and what becoming nobody needs, where it can; each switch adds what it says, and nothing else does."""
        nobody = ["SETUID", "SETGID"]
        extra = {**dict.fromkeys(("defaults", "podmonitor", "least", "community", "openshift"),
                                 nobody),
                 "paranoid": [*nobody, "SYS_ADMIN"], "bpf": [*nobody, "BPF"],
                 "by-bpf": [*nobody, "BPF"],
                 "memory-nodes": [*nobody, "SYS_NICE"],
                 "pebs": ["SYS_PTRACE", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH"],
                 "full": ["SYS_ADMIN", "SYS_NICE", "SYS_PTRACE", "CHECKPOINT_RESTORE", "DAC_READ_SEARCH"]}
        self.assertEqual(extra.keys(), self.cases.keys())
        for name, objects in self.cases.items():
            with self.subTest(name):
                pod = pod_of(objects)
                container = pod["containers"][0]
                self.assertEqual(container["securityContext"], {
                    "allowPrivilegeEscalation": False, "privileged": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"], "add": ["PERFMON", *extra[name]]}})
                self.assertNotIn("command", container)
                # What it may do is not what it must: each node's size decides.
                self.assertEqual([a for a in container["args"] if a.startswith("--source=")],
                                 ["--source=bpf"] if name == "by-bpf" else [])
                self.assertEqual(pod["securityContext"]["runAsUser"], 0)
                self.assertEqual("--process.user=65534" in container["args"],
                                 "SETUID" in extra[name])
                self.assertEqual(pod["securityContext"]["seccompProfile"]["type"],
                                 "Localhost" if name == "full" else "RuntimeDefault")
                sampled = name in ("pebs", "full")
                self.assertEqual(pod["hostPID"], sampled)
                self.assertEqual("--collector.pebs_nvmm" in container["args"], sampled)
                self.assertEqual("--no-collector.pebs_nvmm" in container["args"], not sampled)
                self.assertEqual(pod["hostNetwork"], name == "full")
                self.assertIs(pod["hostIPC"], False)
                self.assertIs(pod["automountServiceAccountToken"], False)

                # Nothing of the host can be written to, but the directory that was asked for; every
                # volume is used.
                volumes = {v["name"]: v for v in pod["volumes"]}
                mounts = {m["name"]: m for m in container["volumeMounts"]}
                self.assertEqual(volumes.keys(), mounts.keys())
                hosts = {v["hostPath"]["path"] for v in volumes.values() if "hostPath" in v}
                for volume in volumes:
                    if "hostPath" in volumes[volume]:
                        self.assertIs(mounts[volume].get("readOnly", False), volume != "state")
                # A node without one of them gets an empty one, and not a pod that never starts.
                self.assertEqual({v["hostPath"]["type"] for v in volumes.values()
                                  if "hostPath" in v and v["name"] not in ("cgroup", "resctrl")} -
                                 {"DirectoryOrCreate"}, set())
                self.assertEqual(hosts - {"/sys/fs/cgroup"}, {
                    "least": set(), "full": {"/run/containerd/io.containerd.runtime.v2.task",
                                             "/sys/fs/resctrl",
                                             "/var/lib/interference_exporter"},
                }.get(name, {"/var/log/containers", "/var/log/pods"}))

    def test_names_agree(self):
        """Selectors select, references refer, ports are named alike."""
        for name, objects in self.cases.items():
            with self.subTest(name):
                daemonset = of_kind(objects, "DaemonSet")
                labels = daemonset["spec"]["template"]["metadata"]["labels"]
                selectors = [daemonset["spec"]["selector"]["matchLabels"]]
                kinds = {o["kind"]: o for o in objects}
                port = pod_of(objects)["containers"][0]["ports"][0]
                if "Service" in kinds:
                    selectors.append(kinds["Service"]["spec"]["selector"])
                    self.assertEqual(kinds["Service"]["spec"]["ports"][0]["targetPort"],
                                     port["name"])
                self.assertIn(f"--web.listen-address=:{port['containerPort']}",
                              pod_of(objects)["containers"][0]["args"])
                if "ServiceMonitor" in kinds:
                    monitor = kinds["ServiceMonitor"]["spec"]
                    if name != "openshift":  # there the values select
                        self.assertLessEqual(monitor["selector"]["matchLabels"].items(),
                                             kinds["Service"]["metadata"]["labels"].items())
                    self.assertEqual(monitor["endpoints"][0]["port"],
                                     kinds["Service"]["spec"]["ports"][0]["name"])
                if "PodMonitor" in kinds:
                    if name != "community":
                        selectors.append(kinds["PodMonitor"]["spec"]["selector"]["matchLabels"])
                    self.assertEqual(
                        kinds["PodMonitor"]["spec"]["podMetricsEndpoints"][0]["port"], port["name"])
                if "NetworkPolicy" in kinds:
                    policy = kinds["NetworkPolicy"]["spec"]
                    selectors.append(policy["podSelector"]["matchLabels"])
                    self.assertEqual(policy["egress"], [])
                    self.assertEqual(policy["ingress"][0]["ports"],
                                     [{"port": port["name"], "protocol": "TCP"}])
                if "PriorityClass" in kinds:
                    self.assertEqual(pod_of(objects)["priorityClassName"],
                                     kinds["PriorityClass"]["metadata"]["name"])
                if "ServiceAccount" in kinds:
                    self.assertEqual(pod_of(objects)["serviceAccountName"],
                                     kinds["ServiceAccount"]["metadata"]["name"])
                for selector in selectors:
                    self.assertLessEqual(selector.items(), labels.items())
                ids = [(o["kind"], o["metadata"]["name"]) for o in objects]
                self.assertEqual(len(ids), len(set(ids)))

    def test_flags(self):
        """The exporter knows every flag it is given, and the probes' paths."""
        for name, objects in self.cases.items():
            with self.subTest(name):
                container = pod_of(objects)["containers"][0]
                result = harness.run_exporter(*container["args"], "--version")
                self.assertEqual(result.returncode, 0, result.stderr)
        with Exporter("--source=replay",
                      f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}") as exporter:
            for probe in ("livenessProbe", "readinessProbe"):
                self.assertEqual(exporter.get(container[probe]["httpGet"]["path"])[0], 200)

    def test_config(self):
        """Thresholds and events reach the exporter as it wants them."""
        objects = self.cases["full"]
        config = next(o for o in objects if o["kind"] == "ConfigMap" and
                      "thresholds.json" in o["data"])
        (mount,) = [m for m in pod_of(objects)["containers"][0]["volumeMounts"]
                    if m["name"] == "config"]
        with tempfile.TemporaryDirectory() as directory:
            for name, text in config["data"].items():
                pathlib.Path(directory, name).write_text(text)
            flags = [f.replace(mount["mountPath"], directory)
                     for f in pod_of(objects)["containers"][0]["args"] if mount["mountPath"] in f]
            self.assertEqual(len(flags), 2)
            result = harness.run_exporter(
                *flags, "--once", "--source=replay",
                f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}")
            self.assertEqual(result.returncode, 0, result.stderr)
        # Other values, other pods: the change rolls out.
        def checksum(latency):
            return of_kind(render(thresholds=[{"latency_seconds": latency}]), "DaemonSet")[
                "spec"]["template"]["metadata"]["annotations"]["checksum/config"]
        self.assertNotEqual(checksum(1e-7), checksum(2e-7))

    def test_state(self):
        """Off by default; a directory that the container, or the node, keeps."""
        def state(**values):
            pod = pod_of([of_kind(render(**values), "DaemonSet")])
            container = pod["containers"][0]
            flags = [f for f in container["args"] if f.startswith("--state.file=")]
            mounts = [m for m in container["volumeMounts"] if m["name"] == "state"]
            volumes = [v for v in pod["volumes"] if v["name"] == "state"]
            return flags, mounts, volumes
        self.assertEqual(state(), ([], [], []))
        for values, kind in (({}, "emptyDir"), ({"hostPath": "/var/lib/x"}, "hostPath")):
            (flag,), (mount,), (volume,) = state(state={"enabled": True, **values})
            self.assertEqual(flag, f"--state.file={mount['mountPath']}/state")
            self.assertFalse(mount.get("readOnly", False))
            self.assertEqual(set(volume), {"name", kind})
        self.assertEqual(volume["hostPath"],
                         {"path": "/var/lib/x", "type": "DirectoryOrCreate"})

    def test_blackbox(self):
        """On by default, in a volume that is bounded; off takes all of it away."""
        for enabled in (True, False):
            pod = pod_of([of_kind(render(**({} if enabled else {"blackbox": {"enabled": False}})),
                                  "DaemonSet")])
            container = pod["containers"][0]
            flags = dict(f[2:].split("=") for f in container["args"]
                         if f.startswith("--blackbox."))
            mounts = [m for m in container["volumeMounts"] if m["name"] == "blackbox"]
            volumes = [v for v in pod["volumes"] if v["name"] == "blackbox"]
            self.assertEqual([bool(x) for x in (flags, mounts, volumes)], [enabled] * 3)
            if enabled:
                self.assertEqual(flags["blackbox.directory"], mounts[0]["mountPath"])
                self.assertGreaterEqual(int(volumes[0]["emptyDir"]["sizeLimit"]),
                                        2 * int(flags["blackbox.max-bytes"]))

    def test_web_config(self):
        """The exporter takes the file that the Secret holds, and answers the kubelet's probes, which
        verify nothing and can show nothing; where that cannot be, they only connect."""
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        certificates = web_files.Certificates(directory)
        certificates.authority("ca")
        certificates.server("server", "ca")
        tls = {"cert_file": "server.pem", "key_file": "server.key"}
        ca = {"client_ca_file": "ca.pem"}
        users = {"prometheus": web_files.bcrypt("secret")}
        http, https, connect = "HTTP", "HTTPS", None
        for config, probe in (
                ({"rate_limit": {"interval": "1ms", "burst": 100}}, http),
                ({"tls_server_config": tls}, https),
                ({"tls_server_config": {**tls, **ca, "client_auth_type": "VerifyClientCertIfGiven"}},
                 https),
                ({"tls_server_config": {**tls, **ca,
                                        "client_auth_type": "RequireAndVerifyClientCert"}}, connect),
                ({"tls_server_config": {**tls, "client_auth_type": "RequestClientCert",
                                        "client_allowed_sans": ["a"]}}, connect),
                ({"tls_server_config": tls, "basic_auth_users": users}, connect),
                ({"basic_auth_users": users}, connect)):
            with self.subTest(config):
                objects = render(webConfig={"config": config}, monitor={"enabled": True})
                container = pod_of(objects)["containers"][0]
                (mount,) = [m for m in container["volumeMounts"] if m["name"] == "web-config"]
                (volume,) = [v for v in pod_of(objects)["volumes"] if v["name"] == "web-config"]
                secret = of_kind(objects, "Secret")
                self.assertEqual(volume["projected"], {"defaultMode": 0o400, "sources": [
                    {"secret": {"name": secret["metadata"]["name"]}}]})
                (endpoint,) = of_kind(objects, "ServiceMonitor")["spec"]["endpoints"]
                self.assertEqual(endpoint.get("scheme"),
                                 "https" if "tls_server_config" in config else None)
                for name, text in secret["stringData"].items():
                    (directory / name).write_text(text)
                (flag,) = [f for f in container["args"] if mount["mountPath"] in f]
                trusting = ssl._create_unverified_context() if endpoint.get("scheme") else None
                with web_files.SecureExporter(
                        flag.replace(mount["mountPath"], str(directory)), "--source=replay",
                        f"--source.replay.file={harness.REPLAYS / 'idle.jsonl'}",
                        context=trusting, ready=False) as exporter:
                    wait_until(lambda: connects(exporter.port), 20, "it listens")
                    for name in ("livenessProbe", "readinessProbe"):
                        get = container[name].get("httpGet")
                        self.assertEqual(get and get.get("scheme", "HTTP"), probe)
                        if get:
                            path = get["path"]  # ready: after the first tick
                            wait_until(lambda: exporter.get(path)[0] == 200, 20, path)
                        else:
                            self.assertEqual(container[name]["tcpSocket"], {"port": "metrics"})
        # What needs a restart, and nothing else, rolls out.
        def checksum(**config):
            return of_kind(render(webConfig={"config": config}), "DaemonSet")["spec"]["template"][
                "metadata"]["annotations"]["checksum/web-config"]
        before = checksum(tls_server_config=tls)
        self.assertEqual(before, checksum(tls_server_config={**tls, "min_version": "TLS13"},
                                          basic_auth_users=users))
        self.assertNotEqual(before, checksum(basic_auth_users=users))
        self.assertNotEqual(before, checksum(tls_server_config=tls,
                                             rate_limit={"interval": "1s", "burst": 1}))
        # A Secret of one's own, beside it or in its place.
        for config, names in (({}, ["mine"]),
                              ({"tls_server_config": tls},
                               ["test-interference-exporter-web-config", "mine"])):
            objects = render(webConfig={"config": config, "secretName": "mine", "tls": True})
            (volume,) = [v for v in pod_of(objects)["volumes"] if v["name"] == "web-config"]
            self.assertEqual([s["secret"]["name"].replace(
                of_kind(objects, "DaemonSet")["metadata"]["name"], "test-interference-exporter")
                for s in volume["projected"]["sources"]], names)
            self.assertEqual("tcpSocket" in pod_of(objects)["containers"][0]["livenessProbe"],
                             not config)

    def test_community_values(self):
        """What users of the node-exporter chart set, where they expect it."""
        objects = self.cases["community"]
        daemonset, pod = of_kind(objects, "DaemonSet"), pod_of(objects)
        exporter, sidecar = pod["containers"]
        self.assertEqual(exporter["image"], "mirror.example.org/interference_exporter:0.1.0")
        self.assertEqual(pod["imagePullSecrets"], [{"name": "mirror"}, {"name": "pull"}])
        self.assertEqual(exporter["env"], [{"name": "NUMBER", "value": "10"},
                                           {"name": "TZ", "value": "UTC"}])
        self.assertEqual((exporter["terminationMessagePath"],
                          exporter["terminationMessagePolicy"]), ("/dev/message", "File"))
        self.assertEqual((sidecar["name"], pod["initContainers"][0]["name"]), ("proxy", "first"))
        self.assertEqual(pod["dnsConfig"], {"options": [{"name": "ndots", "value": "1"}]})
        self.assertEqual(daemonset["metadata"]["labels"]["release"], "interference-exporter")
        self.assertNotIn("release", daemonset["spec"]["selector"]["matchLabels"])
        self.assertEqual(daemonset["spec"]["minReadySeconds"], 60)
        mounts = {m["mountPath"]: m["name"] for m in exporter["volumeMounts"]}
        volumes = {v["name"]: v for v in pod["volumes"]}
        self.assertEqual(volumes[mounts["/etc/site"]]["configMap"], {"name": "site"})
        self.assertEqual(volumes[mounts["/etc/keys"]]["secret"], {"secretName": "keys"})
        annotations = [of_kind(case, "DaemonSet")["spec"]["template"]["metadata"]["annotations"]
                       ["cluster-autoscaler.kubernetes.io/safe-to-evict"]
                       for case in (self.cases["defaults"], objects)]
        self.assertEqual(annotations, ["true", "false"])

        service = copy.deepcopy(of_kind(objects, "Service"))
        self.assertEqual(service["metadata"]["annotations"], {"prometheus.io/scrape": "true"})
        self.assertEqual(service["spec"].pop("ports"), [
            {"name": "metrics", "port": 443, "targetPort": "metrics", "protocol": "TCP",
             "nodePort": 31066}])
        del service["spec"]["selector"]
        self.assertEqual(service["spec"], {
            "type": "LoadBalancer", "clusterIP": "10.0.0.66", "externalTrafficPolicy": "Local",
            "internalTrafficPolicy": "Local", "ipFamilies": ["IPv6", "IPv4"],
            "ipFamilyPolicy": "PreferDualStack"})
        self.assertEqual(exporter["ports"][0]["containerPort"], 10067)

        configs = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
        self.assertEqual(configs, {"as-a-map": {"a": "b"},
                                   "interference-exporter-as-a-text": {"c": "d"}})
        (groups,) = [o["spec"]["groups"] for o in objects if o["kind"] == "PrometheusRule" and
                     o["metadata"]["name"] == "interference-exporter-additional"]
        self.assertEqual([g["name"] for g in groups], ["mine"])

    def test_monitors(self):
        """Every value of a monitor is a field of its own; those that are empty are none."""
        for case, kind, values in (("community", "PodMonitor", "podMonitor"),
                                   ("openshift", "ServiceMonitor", "monitor")):
            given = yaml.safe_load((TESTS / f"values/{case}.yaml").read_text())[values]
            del given["enabled"]
            spec = copy.deepcopy(of_kind(self.cases[case], kind)["spec"])
            (endpoint,) = spec.pop("endpoints", None) or spec.pop("podMetricsEndpoints")
            spec["selectorOverride"] = spec.pop("selector")
            self.assertLessEqual(given.items(), {**spec, **endpoint}.items())
            self.assertIs(endpoint["honorLabels"], True)
            spec = of_kind(render(**{values: {"enabled": True}}), kind)["spec"]
            (endpoint,) = spec.pop("endpoints", None) or spec.pop("podMetricsEndpoints")
            self.assertEqual(spec.keys(), {"jobLabel", "selector", "namespaceSelector"})
            self.assertEqual(endpoint.keys(), {"port", "path", "interval", "scrapeTimeout",
                                               "honorLabels", "relabelings"})

    def test_where_it_runs(self):
        """On no virtual node, and only where the image can run; in each of the values' terms."""
        ours = [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]},
                {"key": "eks.amazonaws.com/compute-type", "operator": "NotIn",
                 "values": ["fargate"]},
                {"key": "type", "operator": "NotIn", "values": ["virtual-kubelet"]}]
        def terms(pod):
            return pod["affinity"]["nodeAffinity"][
                "requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        default = copy.deepcopy(ours)
        default[0]["values"] = ["amd64"]
        self.assertEqual(terms(pod_of(self.cases["defaults"])), [{"matchExpressions": default}])
        self.assertEqual(terms(pod_of(render(excludeVirtualNodes=False))),
                         [{"matchExpressions": default[:1]}])
        pod = pod_of(self.cases["community"])
        pool, name = terms(pod)
        self.assertEqual(pool, {"matchExpressions": [
            {"key": "pool", "operator": "In", "values": ["batch"]}, *ours]})
        self.assertEqual(name["matchExpressions"], ours)
        self.assertEqual(name["matchFields"][0]["values"], ["node-1"])
        # What else is asked for stays.
        self.assertIn("podAntiAffinity", pod["affinity"])
        self.assertIn("preferredDuringSchedulingIgnoredDuringExecution",
                      pod["affinity"]["nodeAffinity"])

    def test_user(self):
        """Root only for what only root can read or write."""
        for given, user in (({}, "65534"), ({"becomeNobody": False}, None),
                            ({"containers": {"names": "none"}}, "65534"),
                            ({"containers": {"names": "runtime"}}, None),
                            ({"pebsNvmm": {"enabled": True}}, None),
                            ({"state": {"enabled": True}}, "65534"),
                            ({"state": {"enabled": True, "hostPath": "/var/lib/x"}}, None)):
            container = pod_of(render(**given))["containers"][0]
            flags = [f for f in container["args"] if f.startswith("--process.user")]
            self.assertEqual(flags, [f"--process.user={user}"] if user else [], given)
            added = container["securityContext"]["capabilities"]["add"]
            self.assertEqual({"SETUID", "SETGID"} & set(added),
                             {"SETUID", "SETGID"} if user else set())

    def test_openshift(self):
        """Constraints that admit the pod, whatever the values, and hardly more; bound to its account."""
        for given in ({}, {"hostNetwork": True, "pebsNvmm": {"enabled": True}},
                      {"counters": {"sysAdmin": True}, "seLinuxOptions": {"type": "mine_t"}},
                      {"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}):
            objects = render(openshift={"enabled": True}, **given)
            pod = pod_of(objects)
            security = pod["containers"][0]["securityContext"]
            scc = of_kind(objects, "SecurityContextConstraints")
            self.assertEqual(scc["allowedCapabilities"], security["capabilities"]["add"])
            for field, used in (("allowHostNetwork", pod["hostNetwork"]),
                                ("allowHostPID", pod["hostPID"]), ("allowHostIPC", pod["hostIPC"]),
                                ("allowHostPorts", pod["hostNetwork"]),
                                ("allowPrivilegedContainer", security["privileged"]),
                                ("allowPrivilegeEscalation", security["allowPrivilegeEscalation"]),
                                ("readOnlyRootFilesystem", security["readOnlyRootFilesystem"]),
                                ("allowHostDirVolumePlugin", True)):
                self.assertIs(scc[field], used, field)
            self.assertEqual(scc["seLinuxContext"], {
                "type": "MustRunAs", "seLinuxOptions": pod["securityContext"]["seLinuxOptions"]})
            self.assertEqual(pod["securityContext"]["seLinuxOptions"],
                             given.get("seLinuxOptions", {"type": "spc_t"}))
            self.assertEqual(scc["seccompProfiles"], ["localhost/a.json"]
                             if "seccompProfile" in given else ["runtime/default"])
            self.assertLessEqual({next(iter(v.keys() - {"name"})) for v in pod["volumes"]},
                                 set(scc["volumes"]))
            binding = of_kind(objects, "RoleBinding")
            role = of_kind(objects, "ClusterRole")
            self.assertEqual(binding["subjects"], [
                {"kind": "ServiceAccount", "name": pod["serviceAccountName"],
                 "namespace": "monitoring"}])
            self.assertEqual(binding["roleRef"]["name"], role["metadata"]["name"])
            self.assertEqual(role["rules"], [{
                "apiGroups": ["security.openshift.io"], "verbs": ["use"],
                "resources": ["securitycontextconstraints"],
                "resourceNames": [scc["metadata"]["name"]]}])
        # Cluster-wide names: releases of one name in two namespaces do not meet.
        names = [{o["metadata"]["name"] for o in render(openshift={"enabled": True}, namespaceOverride=space)
                  if o["kind"] in ("SecurityContextConstraints", "ClusterRole")} for space in ("a", "b")]
        self.assertEqual([len(found) for found in names], [2, 2])
        self.assertEqual(names[0] & names[1], set())
        self.assertNotIn("seLinuxOptions", pod_of(self.cases["defaults"])["securityContext"])

    def test_values_for_others_tools(self):
        """The chart's ci/ values are complete: each set renders by itself."""
        files = sorted((CHART / "ci").glob("*-values.yaml"))
        self.assertGreater(len(files), 1)
        for file in files:
            result = run(WORK / "render", CHART, file)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("kind: DaemonSet", result.stdout)
        lean = of_kind(render(CHART.parent / "lean-values.yaml"), "PodMonitor")["spec"]
        (endpoint,) = lean["podMetricsEndpoints"]
        self.assertEqual((endpoint["interval"], endpoint["metricRelabelings"][0]["action"]),
                         ("60s", "drop"))

    def test_settings_of_nodes(self):
        """Every platform's file says the same about the same two settings."""
        wanted = {"kernel.perf_event_paranoid": "2", "kernel.nmi_watchdog": "0"}
        folder = harness.SOURCE / "deploy/kubernetes/nodes"
        def settings(text):
            return dict(re.findall(r"^\s*\"?(kernel\.\w+)\"?\s*[=:]\s*\"?(\d)\"?$", text, re.M))
        for name in ("60-interference-exporter.conf", "tuned.yaml", "talos.yaml",
                     "bottlerocket.toml"):
            self.assertEqual(settings((folder / name).read_text()), wanted, name)
        machine = yaml.load((folder / "machineconfig.yaml").read_text(), StrictLoader)
        (file,) = machine["spec"]["config"]["storage"]["files"]
        self.assertEqual(settings(urllib.parse.unquote(
            file["contents"]["source"].removeprefix("data:,"))), wanted)
        self.assertEqual(pathlib.Path(file["path"]).name, "60-interference-exporter.conf")
        for name in ("tuned.yaml", "talos.yaml"):
            yaml.load((folder / name).read_text(), StrictLoader)
        tomllib.loads((folder / "bottlerocket.toml").read_text())
        # GKE's node pools take one of the two.
        gke = yaml.load((folder / "gke-node-config.yaml").read_text(), StrictLoader)
        self.assertLessEqual(gke["linuxConfig"]["sysctl"].items(), wanted.items())
        namespace = yaml.safe_load((folder.parent / "namespace.yaml").read_text())
        self.assertEqual(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
                         "privileged")

    def test_autoscaler(self):
        vpa = of_kind(self.cases["community"], "VerticalPodAutoscaler")
        self.assertEqual(vpa["spec"], {
            "targetRef": {"apiVersion": "apps/v1", "kind": "DaemonSet",
                          "name": of_kind(self.cases["community"], "DaemonSet")["metadata"]["name"]},
            "updatePolicy": {"updateMode": "Initial"},
            "resourcePolicy": {"containerPolicies": [
                {"containerName": "exporter", "controlledResources": ["memory"],
                 "minAllowed": {"memory": "32Mi"}, "maxAllowed": {"memory": "1Gi"}}]}})

    def test_refused(self):
        for words, given in (
                ("image.registry is empty", {"image": {"registry": ""}}),
                ("containers.names", {"containers": {"names": "docker"}}),
                ("networkPolicy.from is empty", {"networkPolicy": {"from": []}}),
                ("contradict", {"networkPolicy": {"allowAll": True}}),
                ("service.enabled", {"service": {"enabled": False}, "monitor": {"enabled": True}}),
                ("twice", {"monitor": {"enabled": True}, "podMonitor": {"enabled": True}})):
            with self.assertRaisesRegex(AssertionError, words):
                render(**given)

    def test_who_may_scrape(self):
        """Whom the values name; nobody else, unless everybody is asked for."""
        def ingress(**policy):
            (rule,) = of_kind(render(networkPolicy=policy), "NetworkPolicy")["spec"]["ingress"]
            return rule
        peers = [{"podSelector": {"matchLabels": {"app": "prometheus"}}}]
        self.assertEqual(ingress(**{"from": peers})["from"], peers)
        self.assertNotIn("from", ingress(**{"from": [], "allowAll": True}))
        for file in MANIFESTS.glob("networkpolicy.yaml"):
            (rule,) = yaml.safe_load(file.read_text())["spec"]["ingress"]
            self.assertTrue(rule["from"])

    def test_values_schema(self):
        """helm holds values against it: each of ours is known, and a slip is reported."""
        schema = json.loads((CHART / "values.schema.json").read_text())
        validator = jsonschema.Draft7Validator(schema)
        validator.check_schema(schema)
        defaults = yaml.safe_load((CHART / "values.yaml").read_text())
        for name, files in CASES.items():
            values = copy.deepcopy(defaults)
            for file in files:
                merge(values, yaml.safe_load(file.read_text()))
            self.assertEqual([e.message for e in validator.iter_errors(values)], [], name)

        def walk(schema, values, path):
            known = schema.get("properties")
            if known is None or not values:
                yield path, [{}] if isinstance(values, dict) else {}
                return
            if not path:
                self.assertEqual(known.keys(), values.keys())
            if path == ("global",):  # shared with other charts
                return
            yield (*path, "unknownValue"), True
            for key, value in values.items():
                yield from walk(known[key], value, (*path, key))

        for path, value in walk(schema, defaults, ()):
            bad = copy.deepcopy(defaults)
            at = bad
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            self.assertFalse(validator.is_valid(bad), f"{path}: {value}")

    def test_made_from(self):
        """Manifests and copies are what deploy/kubernetes/update.sh makes."""
        advice = "run deploy/kubernetes/update.sh"
        manifests = [o for file in sorted(MANIFESTS.glob("*.yaml")) for o in load(file.read_text())]
        self.assertEqual(manifests, self.cases["defaults"], advice)
        rendered = harness.SOURCE / "dashboards/rendered"
        copies = {f"files/{folder}/{file.name}": file.read_bytes()
                  for folder, pattern in (("rules", "*.yaml"), ("dashboards", "*.json"),
                                          ("persistent-memory", "persistent-memory/*"))
                  for file in rendered.glob(pattern)}
        self.assertTrue(copies)
        self.assertEqual({str(f.relative_to(CHART)): f.read_bytes()
                          for f in CHART.glob("files/*/*")}, copies, advice)
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        version = re.search(r"project\(interference_exporter VERSION (\S+)",
                            (harness.SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(chart["appVersion"], version)

    def test_rules_and_dashboards(self):
        """As they came: templates within them are Prometheus' and Grafana's."""
        objects = self.cases["full"]
        rendered = harness.SOURCE / "dashboards/rendered"
        data = {name: text for o in objects if o["kind"] == "ConfigMap"
                for name, text in o["data"].items()}
        rules = {}
        for o in objects:
            if o["kind"] == "PrometheusRule":
                rules[o["metadata"]["name"].removeprefix("ie-")] = o["spec"]
        for file in rendered.glob("*.yaml"):
            want = yaml.safe_load(file.read_text())
            self.assertEqual(yaml.safe_load(data[f"interference-{file.name}"]), want)
            self.assertEqual(rules[file.stem], want)
        for file in rendered.glob("*.json"):
            want = json.loads(file.read_text())
            want["links"] = [link for link in want["links"] if "${node}:" not in link.get("url", "")]
            self.assertEqual(json.loads(data[file.name]), want)
        self.assertFalse([name for name in [*data, *rules] if "persistent" in name])
        for o in objects:
            if o["kind"] == "ConfigMap":  # what the API server takes
                self.assertLess(len(json.dumps(o["data"])), 1 << 20, o["metadata"]["name"])

    def test_links_of_dashboards(self):
        """To the exporter only where the values say how; to the runbooks as alerts have it."""
        def links(**values):
            objects = render(dashboards={"enabled": True, "persistentMemory": True,
                                         **values.pop("dashboards", {})}, **values)
            return {name: {link["title"]: (link["url"], link["tooltip"]) for link in
                           json.loads(text)["links"] if "url" in link}
                    for o in objects if o["kind"] == "ConfigMap" for name, text in o["data"].items()}

        found = links()
        self.assertEqual(len(found), 4)
        for name, titles in found.items():
            self.assertFalse({"Live page", "Status"} & titles.keys(), name)
            self.assertIn("set-runbookUrlPrefix.invalid", titles["Runbooks"][0])
        runbooks = "https://wiki.example.org/interference/"
        found = links(rules={"runbookUrlPrefix": runbooks},
                      dashboards={"exporterUrl": "https://${node}.example.org/"})
        for name, titles in found.items():
            self.assertEqual(titles["Runbooks"], (f"{runbooks}README.md",) * 2)
            if name != "fleet.json":  # of no single node
                self.assertEqual(titles["Live page"], ("https://${node}.example.org/",) * 2)
                self.assertEqual(titles["Status"], ("https://${node}.example.org/api/v1/status",) * 2)

    def test_rules_as_the_values_want_them(self):
        where = "https://wiki.example.org/interference/"
        gone = {"InterferenceExporterDown", "InterferenceQueueLatencyHigh"}

        def alerts(groups):
            return {rule["alert"]: rule for group in groups for rule in group["rules"]
                    if "alert" in rule}

        want = yaml.safe_load((harness.SOURCE / "dashboards/rendered/alerts.yaml").read_text())
        want = alerts(want["groups"])
        self.assertLess(gone, set(want))
        objects = render(rules={"runbookUrlPrefix": where, "disabled": sorted(gone),
                                "grafanaUrl": "https://grafana.example.org/",
                                "configMap": {"enabled": True}, "prometheusRule": {"enabled": True}})
        specs = [o["spec"] for o in objects if o["kind"] == "PrometheusRule"]
        files = [yaml.safe_load(text) for o in objects if o["kind"] == "ConfigMap"
                 for text in o["data"].values()]
        for groups in ([group for file in way for group in file["groups"]] for way in (specs, files)):
            found = alerts(groups)
            self.assertEqual(set(found), set(want) - gone)
            for name, rule in found.items():
                self.assertEqual(rule["annotations"].pop("runbook_url"), f"{where}{name}.md")
                self.assertRegex(rule["annotations"].pop("dashboard_url"),
                                 r"^https://grafana\.example\.org/d/interference-")
                self.assertEqual(rule, {**want[name], "annotations": {
                    k: v for k, v in want[name]["annotations"].items() if not k.endswith("_url")}})
            self.assertTrue(any("record" in rule for group in groups for rule in group["rules"]))

    def test_persistent_memory_is_asked_for(self):
        rendered = harness.SOURCE / "dashboards/rendered/persistent-memory"
        objects = render(dashboards={"enabled": True, "persistentMemory": True},
                         rules={"persistentMemory": True, "configMap": {"enabled": True},
                                "prometheusRule": {"enabled": True}})
        names = [o["metadata"]["name"] for o in objects]
        self.assertEqual(len(names), len({(o["kind"], o["metadata"]["name"]) for o in objects}))
        data = {name: text for o in objects if o["kind"] == "ConfigMap"
                for name, text in o["data"].items()}
        for kind in ("rules", "alerts"):
            file = rendered / f"persistent-memory-{kind}.yaml"
            want = yaml.safe_load(file.read_text())
            self.assertEqual(yaml.safe_load(data[f"interference-{file.name}"]), want)
            self.assertIn(want, [o["spec"] for o in objects if o["kind"] == "PrometheusRule"])
        self.assertIn("persistent-memory.json", data)


def merge(base, over):
    """As helm merges values: null takes away."""
    for key, value in over.items():
        if value is None:
            base.pop(key, None)
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = value


# Maps whose keys are the user's own.
FREE = {"labels", "annotations", "matchLabels", "data", "nodeSelector", "limits", "requests",
        "additionalLabels", "stringData"}


def with_unknown_fields(document):
    """Copies of it, each with one unknown field, for every map that has named fields."""
    paths = []

    def walk(value, path):
        if isinstance(value, dict):
            if not path or path[-1] not in FREE and not (path[-1] == "selector" and
                                                         document["kind"] == "Service"):
                paths.append(path)
                for key, item in value.items():
                    walk(item, (*path, key))
        elif isinstance(value, list):
            for i, item in enumerate(value[:1]):
                walk(item, (*path, i))

    walk(document, ())
    for path in paths:
        bad = copy.deepcopy(document)
        at = bad
        for step in path:
            at = at[step]
        at["unknownField"] = "x"
        yield ".".join(map(str, path)), bad


# What a service discovery knows of one pod of the exporter.
DISCOVERED = {
    "__meta_kubernetes_namespace": "monitoring",
    "__meta_kubernetes_pod_name": "interference-exporter-x7k2p",
    "__meta_kubernetes_pod_node_name": "node-7",
    "__meta_kubernetes_pod_phase": "Running",
    "__meta_kubernetes_pod_container_name": "exporter",
    "__meta_kubernetes_pod_container_port_name": "metrics",
    "__meta_kubernetes_pod_label_app_kubernetes_io_name": "interference-exporter",
    "__meta_kubernetes_service_name": "interference-exporter",
    "__meta_kubernetes_service_label_app_kubernetes_io_name": "interference-exporter",
    "__meta_kubernetes_endpoint_port_name": "metrics",
    "__meta_kubernetes_endpoint_address_target_kind": "Pod",
    "__meta_kubernetes_endpoint_address_target_name": "interference-exporter-x7k2p",
}


def replace(label, *sources, regex="(.*)"):
    return {"source_labels": list(sources), "target_label": label, "regex": regex}


# What the Prometheus operator writes before a monitor's own relabelings: labels of the pod that was
# scraped, which is what this chart's must undo.
OPERATOR = {
    "ServiceMonitor": [
        replace("__tmp_prometheus_job_name", "job"),
        replace("node", "__meta_kubernetes_endpoint_address_target_kind",
                "__meta_kubernetes_endpoint_address_target_name", regex="Node;(.*)"),
        replace("pod", "__meta_kubernetes_endpoint_address_target_kind",
                "__meta_kubernetes_endpoint_address_target_name", regex="Pod;(.*)"),
        replace("namespace", "__meta_kubernetes_namespace"),
        replace("service", "__meta_kubernetes_service_name"),
        replace("pod", "__meta_kubernetes_pod_name"),
        replace("container", "__meta_kubernetes_pod_container_name"),
        replace("job", "__meta_kubernetes_service_name"),
        replace("job", "__meta_kubernetes_service_label_app_kubernetes_io_name", regex="(.+)"),
        {"target_label": "endpoint", "replacement": "metrics"},
    ],
    "PodMonitor": [
        replace("__tmp_prometheus_job_name", "job"),
        replace("namespace", "__meta_kubernetes_namespace"),
        replace("container", "__meta_kubernetes_pod_container_name"),
        replace("pod", "__meta_kubernetes_pod_name"),
        {"target_label": "job", "replacement": "monitoring/interference-exporter"},
        replace("job", "__meta_kubernetes_pod_label_app_kubernetes_io_name", regex="(.+)"),
        {"target_label": "endpoint", "replacement": "metrics"},
    ],
}


def snake(config):
    """As Prometheus spells what monitors spell in camelCase."""
    return {re.sub("[A-Z]", lambda m: "_" + m[0].lower(), key): value
            for key, value in config.items()}


def of_monitor(kind, objects):
    spec = of_kind(objects, kind)["spec"]
    (endpoint,) = spec.get("endpoints") or spec["podMetricsEndpoints"]
    return {"job_name": kind, "honor_labels": endpoint["honorLabels"],
            "relabel_configs": OPERATOR[kind] +
            [snake(c) for c in endpoint["relabelings"]],
            "metric_relabel_configs": [snake(c) for c in endpoint.get("metricRelabelings", [])]}


def of_example(name, job):
    (config,) = yaml.safe_load(
        (harness.SOURCE / "deploy/prometheus" / name).read_text())["scrape_configs"]
    return {"job_name": job, "honor_labels": config["honor_labels"],
            "relabel_configs": config["relabel_configs"]}


class Labels(unittest.TestCase):
    def test_examples(self):
        """promtool takes them, but for the discovery that Debian's Prometheus is built without."""
        folder = harness.SOURCE / "deploy/prometheus"
        for file in sorted(folder.glob("*.yml")):
            config = yaml.load(file.read_text(), StrictLoader)
            for scrape in config["scrape_configs"]:
                for files in ("tls_config", "basic_auth"):  # test_prometheus has them
                    scrape.pop(files, None)
                if scrape.pop("kubernetes_sd_configs", None):
                    scrape["static_configs"] = []
            config["rule_files"] = [str(folder / pattern) for pattern in config["rule_files"]]
            with tempfile.NamedTemporaryFile("w", suffix=".yml") as checked:
                yaml.safe_dump(config, checked)
                checked.flush()
                result = run("promtool", "check", "config", checked.name)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertIn("rules found", result.stdout)

    def test_whose_series(self):
        build_renderer()
        bare = of_monitor("ServiceMonitor", render(monitor={"enabled": True}))
        bare.update(job_name="bare", relabel_configs=OPERATOR["ServiceMonitor"])
        configs = [of_monitor("ServiceMonitor", render(monitor={"enabled": True})),
                   of_monitor("PodMonitor", render(podMonitor={"enabled": True})),
                   of_example("kubernetes.yml", "example"), of_example("hosts.yml", "hosts"), bare]
        directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        exporter = self.enterContext(Exporter(
            "--source=replay", f"--source.replay.file={harness.REPLAYS / 'baseline.jsonl'}",
            "--source.replay.speed=max"))
        wait_until(lambda: exporter.status()["tick"]["number"] > 3, 10, "the replay has run")
        for config in configs:
            targets = directory / f"{config['job_name']}.json"
            targets.write_text(json.dumps([{"targets": [f"127.0.0.1:{exporter.port}"],
                                            "labels": DISCOVERED}]))
            config["file_sd_configs"] = [{"files": [str(targets)]}]
            # Which configuration a series came by, whatever its job is called.
            config.setdefault("relabel_configs", []).append(
                {"target_label": "configuration", "replacement": config["job_name"]})
        main = directory / "prometheus.yml"
        main.write_text(json.dumps({"global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                                    "scrape_configs": configs}))
        port = harness.free_port()
        log = self.enterContext(open(directory / "log", "w+b"))
        prometheus = harness.start(
            ["prometheus", f"--config.file={main}", f"--storage.tsdb.path={directory / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=log,
            stderr=log)
        self.addCleanup(harness.stop, prometheus)

        def series(selector):
            query = urllib.parse.urlencode({"match[]": selector})
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/series?{query}",
                                        timeout=60) as answer:
                return json.load(answer)["data"]

        def scraped():
            try:
                return {s["configuration"] for s in series("interference_exporter_build_info")} \
                    == {c["job_name"] for c in configs}
            except OSError:
                return False
        wait_until(scraped, 30, "all were scraped", 0.2)

        page = exporter.scrape()
        wanted = {tuple(dict(key)[name] for name in ("namespace", "pod", "container"))
                  for key in page.select("interference_container_memory_reads_total")}
        self.assertTrue(wanted)
        own = {"namespace", "pod", "container", "service", "endpoint"}
        for config in configs[:-1]:
            name = config["job_name"]
            node = "127.0.0.1" if name == "hosts" else "node-7"
            with self.subTest(name):
                found = series(f'interference_container_memory_reads_total{{configuration="{name}"}}')
                self.assertEqual({(s["namespace"], s["pod"], s["container"]) for s in found}, wanted)
                for selector in ("up", "interference_exporter_build_info"):
                    (one,) = series(f'{selector}{{configuration="{name}"}}')
                    self.assertEqual((one["node"], one["instance"]), (node, node))
                    self.assertEqual(own & one.keys(), set())
                for s in series(f'{{configuration="{name}"}}'):
                    self.assertEqual((s["node"], s["instance"]), (node, node))
                    self.assertNotIn("exported_namespace", s)
                    if name.endswith("Monitor"):
                        self.assertEqual(s["job"], "interference-exporter")
                    self.assertNotEqual(s.get("pod"), DISCOVERED["__meta_kubernetes_pod_name"])

        # Without the chart's relabelings the exporter's own pod is on every series of the node.
        (one,) = series('interference_exporter_build_info{configuration="bare"}')
        self.assertEqual(one["pod"], DISCOVERED["__meta_kubernetes_pod_name"])


if __name__ == "__main__":
    harness.need_command("go", "node", "npm", "openssl", "prometheus", "promtool")
    harness.main()
