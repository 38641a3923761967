#!/usr/bin/python3
"""Every kind of metric under awkward labels, read back by parsers that are not ours."""
import json
import re
import subprocess
import unittest

import harness

PROGRAM = harness.PROGRAMS / "render_sample"

# What is given, and what a scraper must read.
VALUES = {
    b"": "",
    b"plain": "plain",
    b'a"b': 'a"b',
    b"back\\slash": "back\\slash",
    b"ends in \\": "ends in \\",
    b'\\"': '\\"',
    b"new\nline\n": "new\nline\n",
    b"not a \\n newline": "not a \\n newline",
    b'{a="b",c=}': '{a="b",c=}',
    b'"} 1 # {x="y"} 2': '"} 1 # {x="y"} 2',
    b"# EOF": "# EOF",
    b" space ": " space ",
    b"tab\tcr\rbell\x07": "tab\tcr\rbell\x07",
    "é€😀\u2028\x85".encode(): "é€😀\u2028\x85",
    b"\xff\xfecut \xe2\x82": "\ufffd\ufffdcut \ufffd\ufffd",
    b"x" * 5000: "x" * 5000,
}


def render(how):
    result = subprocess.run([PROGRAM, how, *VALUES], stdout=subprocess.PIPE, check=True)
    return result.stdout.decode("utf-8", errors="strict")


def container(i, value, **own):
    return dict(own, namespace="", pod=value, container="c", container_id=f"{i:012d}")


class Parsers(unittest.TestCase):
    def check_values(self, page):
        for i, value in enumerate(VALUES.values()):
            labels = container(i, value)
            self.assertEqual(float(page.get("sample_reads_total", **labels)), float(2**53 + 1 + i))
            self.assertEqual(page.get("sample_latency_seconds", **labels), 80.238e-9 * (i + 1))
            self.assertEqual(page.get("sample_error_ratio", **labels), -0.125)
            labels["model"] = "asm"
            self.assertEqual(page.get("sample_wait_seconds_total", **labels), 0.1 + i)
            self.assertEqual(page.get("sample_window_seconds_count", **labels), i + 1)
            self.assertEqual(page.get("sample_window_seconds_bucket", le="+Inf", **labels), i + 1)
            self.assertEqual(page.get("sample_window_seconds_bucket", le="1e-07", **labels), 1)
        self.assertEqual(page.get("sample_build_info", version="0.1.0"), 1)
        self.assertEqual(page.get("sample_frequency_hertz"), 2.1e9)
        self.assertNotIn("sample_note", page.names())
        self.assertNotIn("sample_empty", page.names())

    def test_openmetrics(self):
        text = render("openmetrics")
        page = harness.parse_openmetrics(text)
        self.check_values(page)
        self.assertEqual(page.get("sample_reads_created", **container(1, "plain")),
                         1790000000.123456789)
        # This parser reads integers whole, also beyond what floats hold.
        self.assertEqual(page.get("sample_reads_total", **container(1, "plain")), 2**53 + 2)
        self.assertEqual(page.get("sample_reads_total", **container(2, 'a"b')), 2**53 + 3)
        self.assertEqual(re.findall(r"# UNIT (\S+) (\S+)", text), [
            ("sample_wait_seconds", "seconds"), ("sample_latency_seconds", "seconds"),
            ("sample_frequency_hertz", "hertz"), ("sample_error_ratio", "ratio"),
            ("sample_window_seconds", "seconds")])
        edges = re.findall(r'sample_window_seconds_bucket\{le="(\S+)"\}', text)
        self.assertEqual(edges, ["6e-08", "1e-07", "1e-06", "0.5", "1.0", "10.0", "1e+06", "+Inf"])

    def test_the_strict_parser_is_strict(self):
        text = render("openmetrics")
        for broken in (text.replace("# EOF\n", ""), text.replace("_total{", "{", 1),
                       text.replace('le="+Inf"', 'le="2e+06"'),
                       text.replace("# UNIT sample_wait_seconds seconds",
                                    "# UNIT sample_wait_seconds ratio")):
            self.assertNotEqual(broken, text)
            with self.assertRaises(ValueError):
                harness.parse_openmetrics(broken)

    def test_text(self):
        self.check_values(harness.parse_text(render("text")))

    def test_promtool(self):
        harness.need_command("promtool")
        result = subprocess.run(["promtool", "check", "metrics"], input=render("text"), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_json(self):
        containers = json.loads(render("json"))["containers"]
        self.assertEqual([c["pod"] for c in containers], list(VALUES.values()))
        for i, found in enumerate(containers):
            values = found["values"]
            self.assertEqual(values["sample_reads_total"], 2**53 + 1 + i)
            self.assertEqual(values["sample_latency_seconds"], 80.238e-9 * (i + 1))
            self.assertEqual(values["sample_note"], 1)
            self.assertEqual(values["sample_wait_seconds_total"],
                             [{"labels": {"model": "asm"}, "value": 0.1 + i}])
            self.assertEqual(values["sample_window_seconds"][0]["value"]["count"], i + 1)


if __name__ == "__main__":
    harness.main()
