#!/usr/bin/python3
"""tests/bench/validate.sh on this machine: what can be checked is, the rest says why not."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import harness

SCRIPT = harness.SOURCE / "tests/bench/validate.sh"


STALL = "interference_container_memory_stall_seconds_total"
STALL_READS = "interference_container_memory_stall_reads_total"
# Of a Neoverse V2, on which a chase takes 100 ns, and of that stalls for as long as the file says.
CHASE = """#!/usr/bin/python3
import time
while True:
    print(100.0, flush=True)
    time.sleep(0.3)
"""
EXPORTER = f"""#!/usr/bin/python3
import http.server, pathlib, re, sys
if "--version" in sys.argv:
    sys.exit(print("interference_exporter 0"))
reads, stall = 0, float(pathlib.Path(__file__).with_name("stall").read_text())
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global reads
        reads += 1000
        body = ('interference_exporter_source_info{{source="perf",microarchitecture="neoverse-v2"}} 1\\n'
                'interference_exporter_collector_info{{collector="core_latency",reason="ok"}} 1\\n'
                f'{STALL}{{{{container="chase"}}}} {{reads * stall * 1e-9}}\\n'
                f'{STALL_READS}{{{{container="chase"}}}} {{reads}}\\n').encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
port = re.search(r"127.0.0.1:(\\d+)", " ".join(sys.argv))[1]
http.server.HTTPServer(("127.0.0.1", int(port)), Page).serve_forever()
"""


def run(results, build=harness.BUILD, **more):
    return subprocess.run([SCRIPT, build, results], capture_output=True, text=True,
                          timeout=250, env={**os.environ, "PART_SECONDS": "2", "CHASE_MIB": "64",
                                            **more})


def left():
    """os.walk passes over cgroups that other tests remove meanwhile; a glob fails."""
    return {os.path.join(at, name) for at, names, _ in os.walk("/sys/fs/cgroup") for name in names
            if name.startswith("ie-validation-")}


class Validate(unittest.TestCase):
    def setUp(self):
        before = left()
        self.addCleanup(lambda: self.assertEqual(left(), before))

    def test_every_check_has_an_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            results = pathlib.Path(folder, "results.txt")
            done = run(results)
            text = results.read_text()
        lines = text.splitlines()
        self.assertEqual(lines[0], "validation 1", done.stderr)
        self.assertRegex(lines[-1], r"^end failed=[01] missing=[01]$", text)
        for line in lines:
            self.assertRegex(line, r"^(validation|value|as-expected|unexpected|not-made|end) ")
        answered = set(re.findall(r"^(?:as-expected|unexpected|not-made) ([a-z_.]+)", text, re.M))
        for check in ("idle", "loaded", "traffic", "beside_perf", "spinning",
                      "spinning.threshold"):
            self.assertIn(check, answered)
        truth = re.search(r"^value idle\.truth_ns ([0-9.]+)$", text, re.M)
        self.assertGreater(float(truth[1]), 1, text)
        self.assertEqual(done.returncode,
                         1 if "failed=1" in lines[-1] else 3 if "missing=1" in lines[-1] else 0)
        if "value pmu_name none" in text:  # nothing to count with
            self.assertEqual(done.returncode, 3)
            self.assertIn("not-made idle no latency: core_latency is no_pmu", text)

    def test_stalls_of_an_arm_core(self):
        """A page as of one that counts no latency: the check is made, and can fail."""
        metrics = (harness.SOURCE / "collectors/METRICS.md").read_text()
        self.assertIn(f"`{STALL}`", metrics)
        self.assertIn(f"`{STALL_READS}`", metrics)
        with tempfile.TemporaryDirectory() as folder:
            build, results = pathlib.Path(folder), pathlib.Path(folder, "results.txt")
            for name, text in (("interference_exporter", EXPORTER), ("bench/bench_chase", CHASE),
                               ("programs/memory_hog", "#!/bin/sh\nexec sleep 600\n")):
                (build / name).parent.mkdir(exist_ok=True)
                (build / name).write_text(text)
                (build / name).chmod(0o755)
            for stall, answer in ((90, "as-expected"), (30, "unexpected")):
                (build / "stall").write_text(str(stall))
                done = run(results, build, PART_SECONDS="1")
                text = results.read_text()
                self.assertIn(f"value idle.stall_ns {stall}\n", text, done.stderr)
                self.assertIn(f"\n{answer} stall ", text)
                self.assertIn("\nnot-made idle no latency", text)
                self.assertEqual(done.returncode, 3 if stall == 90 else 1)

    def test_wrong_usage(self):
        done = subprocess.run([SCRIPT, "/nonexistent"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    harness.need_root()
    harness.need_command("curl", "awk")
    harness.main()
