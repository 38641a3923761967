"""What tests of the governor share: the program, what it says, and runs in which it is killed, or in
which a write fails."""
import hashlib
import os
import signal
import struct
import subprocess
import urllib.request

from harness import BUILD, OPENMETRICS, parse_openmetrics, start, stop

GOVERNOR = BUILD / "interference_governor"
FAULTS = BUILD / "programs/libgovernor_faults.so"


POD_UID = "11111111-2222-3333-4444-555555555555"


def id_of(name):
    return hashlib.sha256(name.encode()).hexdigest()


def cgroup_of(name, pod=f"kubepods/pod{POD_UID}"):
    """Where the kubelet would have a container, below a hierarchy's root; without a slash ahead."""
    return f"{pod}/{id_of(name)}"


def told_of(name, cgroup_id, values, path=None):
    """What the exporter tells of that container, but for its names."""
    labels = {"id": path or f"/{cgroup_of(name)}", "pod_uid": POD_UID}
    return {"container_id": id_of(name)[:12], "cgroup_id": cgroup_id,
            "values": {"interference_container_info": [{"labels": labels, "value": 1}], **values}}


class GovernorPage:
    """For what has a 'port'. An OSError: it does not listen yet, or has published nothing."""

    def ask(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}",
                                         headers={"Accept": OPENMETRICS})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()

    def metric(self, name, **labels):
        return parse_openmetrics(self.ask("/metrics")).get("interference_governor_" + name, **labels)


class Governed:
    """Of a TestCase: governors that end with the test, of what has GovernorRuns."""

    def governed(self, scene, *flags, **environment):
        process = scene.run(*flags, **environment)
        self.addCleanup(process.stderr.close)
        self.addCleanup(stop, process, signal.SIGKILL)
        return process

    @staticmethod
    def ended(process, status=0):
        """It is told to; its log."""
        process.send_signal(signal.SIGTERM)
        log = process.communicate(timeout=120)[1].decode()
        assert process.returncode == status, f"status {process.returncode}: {log}"
        return log


class GovernorRuns:
    """For what has the argv(*flags) of a governor, and a file 'count' for its steps that write. With
    'at' it is killed at that step, with 'error', too, the step fails; 0: they are only counted. Each
    call is two steps, of which the first can fail."""

    def environment(self, at=0, error=0):
        self.count.write_bytes(bytes(16))
        return {**os.environ, "LD_PRELOAD": str(FAULTS), "FAULT_AT": str(at),
                "FAULT_ERRNO": str(error), "FAULT_COUNT": str(self.count)}

    def steps(self):
        return struct.unpack("=QQ", self.count.read_bytes())[0]

    def failed(self):
        """How many calls were made to fail."""
        return struct.unpack("=QQ", self.count.read_bytes())[1]

    def run(self, *flags, **environment):
        return start(self.argv(*flags), stderr=subprocess.PIPE,
                     env=self.environment(**environment) if environment else None)

    def restore(self, **environment):
        return subprocess.run([str(a) for a in self.argv("--restore")], capture_output=True,
                              timeout=120, check=False,
                              env=self.environment(**environment) if environment else None)

    def said(self, *more):
        """A run that ends."""
        return subprocess.run([str(a) for a in self.argv(*more)], capture_output=True, timeout=20,
                              check=False)

    @staticmethod
    def failing(call, *errors):
        """The environment in which the call-th call fails, of all that write, with each of the errors
        in turn."""
        return {"at": 2 * call - 1, "error": errors[call % len(errors)]}

    def has_failed(self, call):
        """Whether that call came; if so, it has failed."""
        came = self.steps() >= 2 * call - 1
        assert self.failed() == came, f"{self.failed()} calls failed of {self.steps()} steps"
        return came

    @staticmethod
    def end(process, expected):
        """It is told to, unless it has died. Its status, which is one of these."""
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        log = process.communicate(timeout=120)[1].decode()
        assert process.returncode in expected, f"status {process.returncode}: {log}"
        return process.returncode
