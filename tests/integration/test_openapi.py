#!/usr/bin/python3
"""deploy/openapi.yaml is what the documents below /api/v1/ are: recordings that show much, and this machine."""
import json
import re
import signal
import subprocess
import tempfile
import unittest

import jsonschema
import yaml

import harness
from harness import Exporter, wait_until

SPEC = yaml.safe_load((harness.SOURCE / "deploy/openapi.yaml").read_text())
REPLAY = harness.SOURCE / "tests/replay"
DOCUMENTS = ("status", "containers", "interference", "nvmm")


def schema(document):
    content = SPEC["paths"][f"/api/v1/{document}"]["get"]["responses"]["200"]["content"]
    return {**content["application/json"]["schema"], "components": SPEC["components"]}


class Documents(unittest.TestCase):
    def look(self, exporter):
        for document in DOCUMENTS:
            answer = exporter.json(f"/api/v1/{document}")
            for error in jsonschema.Draft202012Validator(schema(document)).iter_errors(answer):
                self.fail(f"{document} {list(error.absolute_path)}: {error.message[:300]}")
            yield document, answer

    def replay(self, name, *flags, until=lambda answers: answers["containers"]["replay_ended"]):
        file = REPLAY / f"{name}.jsonl"
        options = REPLAY / f"{name}.flags"
        given = [flag for flag in options.read_text().split() if "thresholds" not in flag] if options.exists() else []
        with Exporter("--source=replay", f"--source.replay.file={file}", "--source.replay.speed=max", *given, *flags) as exporter:
            return wait_until(lambda: (lambda answers: until(answers) and answers)(dict(self.look(exporter))), 30, name, 0.1)

    def test_replays(self):
        latencies = self.replay("worked")
        self.assertIsNotNone(latencies["containers"]["containers"][0]["read_latency_seconds"])
        stores = self.replay("nvmm", until=lambda answers: answers["nvmm"]["containers"])
        self.assertTrue(stores["nvmm"]["containers"][0]["processes"][0]["threads"])
        elsewhere = self.replay("placement", until=lambda a: any(c["elsewhere"] for c in a["containers"]["containers"]))
        self.assertGreater(elsewhere["containers"]["total"], 0)
        for name in ("zen", "l3", "lifecycle", "labels"):
            self.replay(name)

    def test_who_makes_memory_slow(self):
        """From a made-up hour: somebody is named; six begin together."""
        for kind, seed, key in (("new-pod-30", "600", "aggressors"), ("drain", "502", "groups")):
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
                subprocess.run([harness.BUILD / "programs/attribution_hours", "record", kind, seed, "2400"], stdout=file,
                               check=True, timeout=120)
                with Exporter("--source=replay", f"--source.replay.file={file.name}", "--source.replay.speed=max") as exporter:
                    def named():
                        (domain,) = dict(self.look(exporter))["interference"]["domains"] or [{}]
                        return domain.get(key)
                    wait_until(named, 30, kind, 0.1)

    def test_this_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            with Exporter(f"--state.file={folder}/state") as exporter:
                exporter.wait_tick()
                answers = dict(self.look(exporter))
        self.assertEqual(answers["status"]["state"]["file"], f"{folder}/state")

    def test_black_box(self):
        with tempfile.TemporaryDirectory() as folder:
            with Exporter(f"--blackbox.directory={folder}") as exporter:
                exporter.wait_tick()
                exporter.process.send_signal(signal.SIGUSR2)
                answer = wait_until(lambda: (lambda told: told["files"] and told)(
                    exporter.json("/api/v1/blackbox")), 15, "a file")
        jsonschema.Draft202012Validator(schema("blackbox")).validate(answer)
        self.assertEqual(answer["directory"], folder)

    def test_arguments(self):
        with Exporter("--source=replay", f"--source.replay.file={REPLAY / 'labels.jsonl'}") as exporter:
            given = SPEC["paths"]["/api/v1/containers"]["get"]["parameters"]
            self.assertEqual({p["name"] for p in given}, {"pretty", "limit", "offset"})
            status, _, body = exporter.get("/api/v1/containers?limit=1&offset=0&pretty")
            self.assertEqual(status, 200)
            self.assertLessEqual(len(json.loads(body)["containers"]), 1)
            self.assertEqual(exporter.get("/api/v1/containers?limit=x")[0], 400)

    def test_what_does_not_fit_is_seen(self):
        with Exporter("--source=replay", f"--source.replay.file={REPLAY / 'labels.jsonl'}") as exporter:
            answer = exporter.json("/api/v1/status")
        check = jsonschema.Draft202012Validator(schema("status"))
        for change in ({"more": 1}, {"version": 1}, {"tick": {}}):
            self.assertTrue(list(check.iter_errors({**answer, **change})), change)
        self.assertTrue(list(check.iter_errors({k: v for k, v in answer.items() if k != "left_out"})))

    def test_all_of_them(self):
        """No document is missing: those that the page at / and the collectors have."""
        collectors = "".join(f.read_text() for f in (harness.SOURCE / "collectors").rglob("*.c"))
        paths = set(re.findall(r'"(/api/v1/\w+)"', collectors + "".join(
            f.read_text() for f in (harness.SOURCE / "exporter/pages").glob("*.c"))))
        self.assertEqual(set(SPEC["paths"]), paths)


if __name__ == "__main__":
    harness.main()
