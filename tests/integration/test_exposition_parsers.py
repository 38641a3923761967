#!/usr/bin/python3
"""Every kind of metric under awkward labels, read back by parsers that are not ours."""
import gzip
import json
import math
import re
import subprocess
import unittest

from google.protobuf.message import DecodeError

import harness
import protobuf_page

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
    b"tab\tcr\rbell\x07": "tab\ufffdcr\ufffdbell\ufffd",
    "é€😀\u2028\x85\u202e".encode(): "é€😀\u2028\ufffd\ufffd",
    b"\xff\xfecut \xe2\x82": "\ufffd\ufffdcut \ufffd\ufffd",
    b"x" * 5000: "x" * 5000,
}


def render_bytes(how):
    return subprocess.run([PROGRAM, how, *VALUES], stdout=subprocess.PIPE, check=True).stdout


def render(how):
    return render_bytes(how).decode("utf-8", errors="strict")


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
        containers = json.loads(render("json"))
        self.assertEqual([c["pod"] for c in containers], list(VALUES.values()))
        for i, found in enumerate(containers):
            values = found["values"]
            for name, value in (("sample_reads_total", 2**53 + 1 + i), ("sample_note", 1),
                                ("sample_latency_seconds", 80.238e-9 * (i + 1))):
                self.assertEqual(values[name], [{"labels": {}, "value": value}])
            self.assertEqual(values["sample_wait_seconds_total"],
                             [{"labels": {"model": "asm"}, "value": 0.1 + i}])
            self.assertEqual(values["sample_window_seconds_count"][0]["value"], i + 1)


def of_text(text):
    """What a protobuf page must say where the text page is this: samples with 'le' as a number,
    help, types."""
    samples = {}
    for (name, labels), value in harness.parse_text(text).samples.items():
        labels = {key: float(label) if key == "le" else label for key, label in labels}
        samples[name, tuple(sorted(labels.items()))] = value
    unescape = {"\\n": "\n", "\\\\": "\\"}
    help_texts = {name: re.sub(r"\\[\\n]", lambda m: unescape[m.group()], words)
                  for name, words in re.findall(r"^# HELP (\S+) (.*)$", text, re.M)}
    return samples, help_texts, dict(re.findall(r"^# TYPE (\S+) (.*)$", text, re.M))


class Protobuf(unittest.TestCase):
    def check_same(self, data, text):
        page = protobuf_page.Page(data)
        samples, help_texts, types = of_text(text)
        self.assertEqual(page.samples, samples)
        self.assertEqual(page.help, help_texts)
        self.assertEqual(page.types, types)
        return page

    def test_sample(self):
        page = self.check_same(render_bytes("protobuf"), render("text"))
        self.assertEqual(page.units, {
            "sample_wait_seconds_total": "seconds", "sample_latency_seconds": "seconds",
            "sample_frequency_hertz": "hertz", "sample_error_ratio": "ratio",
            "sample_window_seconds": "seconds"})
        self.assertEqual(set(page.created.values()), {1790000000123456789})
        self.assertEqual(len(page.created), 3 * len(VALUES) + 1)
        # Observations are multiples of 90 ns, and no power of 2^(1/8).
        for i, value in enumerate(VALUES.values()):
            labels = tuple(sorted(container(i, value, model="asm").items()))
            expected = {}
            for j in range(i + 1):
                index = math.ceil(math.log2(90e-9 * (j + 1)) * 8)
                expected[index] = expected.get(index, 0) + 1
            self.assertEqual(page.native["sample_window_seconds", labels],
                             (3, 2**-25, 0, expected))
        self.assertEqual(page.native["sample_window_seconds", ()], (3, 2**-25, 0, {}))

    def test_the_decoder_is_strict(self):
        data = render_bytes("protobuf")
        type_field = data.index(b"\x18\x00\x22")
        for broken in (data[:-1],                              # cut
                       data + b"\x00",                         # an empty family
                       data + data,                            # each family twice
                       data[:type_field] + b"\x18\x01" + data[type_field + 2:],  # a wrong type
                       data.replace(b"\x62\x04\x08", b"\x5a\x04\x08", 1)):  # an unknown field
            self.assertNotEqual(broken, data)
            with self.assertRaises((AssertionError, KeyError, DecodeError)):
                protobuf_page.Page(broken)

    def test_served(self):
        """A replay with every collector that has a histogram: the same publication in both formats,
        packed and not, whole and of one collector."""
        recording = harness.REPLAYS / "histogram.jsonl"
        flags = (harness.REPLAYS / "histogram.flags").read_text().split()
        with harness.Exporter("--source=replay", f"--source.replay.file={recording}", *flags) \
                as exporter:
            exporter.wait_tick()

            def same(path):
                """Both formats of one publication: the text before and after is the same."""
                def attempt():
                    before = exporter.text(path)
                    status, headers, data = exporter.get(path, {"Accept": protobuf_page.ACCEPT})
                    self.assertEqual(status, 200)
                    self.assertEqual(headers["Content-Type"], protobuf_page.CONTENT_TYPE)
                    _, headers, packed = exporter.get(path, {"Accept": protobuf_page.ACCEPT,
                                                             "Accept-Encoding": "gzip"})
                    self.assertEqual(headers["Content-Encoding"], "gzip")
                    return (before, data, packed) if exporter.text(path) == before else None
                return harness.wait_until(attempt, 20, "two scrapes of one publication", 0.05)

            text, data, packed = same("/metrics")
            page = self.check_same(data, text)
            self.assertEqual(gzip.decompress(packed), data)
            self.assertEqual({name for name, _ in page.native}, {
                "interference_node_memory_read_window_latency_seconds",
                "interference_container_memory_read_window_latency_seconds"})
            self.assertGreater(max(sum(n[3].values()) for n in page.native.values()), 0)
            text, data, _ = same("/metrics?collect[]=probe")
            part = self.check_same(data, text)
            self.assertFalse(part.native)
            self.assertLess(len(part.samples), len(page.samples))
            asked = harness.wait_until(
                lambda: exporter.scrape().get("interference_exporter_http_requests_total",
                                              handler="metrics", format="protobuf", code="200"),
                20, "protobuf requests are counted", 0.1)
            self.assertGreaterEqual(asked, 4)


if __name__ == "__main__":
    harness.main()
