#!/usr/bin/python3
"""The manual page and the completion that are installed name what the program takes: tests/check/test_pages.py BUILD"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build/plain").resolve()
PROGRAM = BUILD / "interference_exporter"


def run(*argv, **options):
    return subprocess.run([str(a) for a in argv], check=True, capture_output=True, text=True, timeout=120, **options).stdout


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name)
        run("cmake", "--install", BUILD, "--prefix", cls.root, "--component", "exporter")
        cls.page = (cls.root / "share/man/man8/interference_exporter.8").read_text()
        cls.completion = cls.root / "share/bash-completion/completions/interference_exporter"
        cls.flags = re.findall(r"(?m)^  (--\S+)", run(PROGRAM, "--help"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_each_flag_is_in_the_page(self):
        self.assertGreater(len(self.flags), 50)
        told = [line.replace("\\-", "-") for line in re.findall(r"(?m)^\.TP\n\.B (.*)$", self.page)]
        self.assertEqual(told, self.flags)
        self.assertRegex(self.page, r"(?m)^\.SH NAME\ninterference_exporter \\- [A-Z]\w+")

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_the_page_is_roff(self):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=self.page, capture_output=True, text=True,
                              timeout=60, check=True)
        self.assertEqual(done.stderr, "")

    def complete(self, line):
        return run("bash", "--norc", "-c", 'source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _interference_exporter 2>/dev/null; '
                   'printf "%s\\n" "${COMPREPLY[@]}"', "-", self.completion, line).split()

    def test_each_flag_is_completed(self):
        for flag in self.flags:
            name, has_value, _ = flag.replace("[no-]", "").partition("=")
            self.assertIn(name + has_value, self.complete(f"interference_exporter {name}"))
            if "[no-]" in flag:
                self.assertIn("--no-" + name[2:], self.complete("interference_exporter --no-" + name[2:]))

    def test_values_are_completed(self):
        self.assertEqual(self.complete("interference_exporter --source=p"), ["perf"])
        self.assertEqual(self.complete("interference_exporter --once --log.level=w"), ["warn"])
        self.assertIn("/etc/hosts", self.complete("interference_exporter --state.file=/etc/host"))
        self.assertEqual(self.complete("interference_exporter --nothing"), [])


if __name__ == "__main__":
    if not PROGRAM.exists():
        print("skipped: the exporter is not built")
        sys.exit(77)
    unittest.main(argv=[__file__])
