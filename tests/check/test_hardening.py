#!/usr/bin/python3
"""The program is built so that a defect is harder to use: by readelf, and by the compiler's calls."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SOURCE / "build/plain"
PROGRAM = BUILD / "interference_exporter"


def readelf(*options):
    return subprocess.run(["readelf", "--wide", *options, PROGRAM], capture_output=True, text=True,
                          check=True).stdout


def accepts(compiler, flag):
    """Whether this compiler has the flag, asked without the build's own answer."""
    return subprocess.run([*compiler, "-Werror", flag, "-x", "c", "-c", "-o", "/dev/null", "-"],
                          input=b"int x;", capture_output=True).returncode == 0


class Hardening(unittest.TestCase):
    def test_linking(self):
        self.assertRegex(readelf("--file-header"), r"Type:\s+DYN \(Position-Independent Executable")
        dynamic = readelf("--dynamic")
        self.assertRegex(dynamic, r"\(FLAGS\).*BIND_NOW")
        self.assertRegex(dynamic, r"\(FLAGS_1\).*NOW")
        self.assertNotRegex(dynamic, r"TEXTREL|RPATH|RUNPATH")
        segments = readelf("--segments")
        self.assertIn("GNU_RELRO", segments)
        (stack,) = re.findall(r"GNU_STACK(?:\s+0x\w+){5}\s+(\w+)", segments)
        self.assertEqual(stack, "RW")

    def test_calls_are_checked(self):
        """With _FORTIFY_SOURCE these calls are the checking ones, and the stack is guarded."""
        symbols = readelf("--dyn-syms")
        self.assertIn("__stack_chk_fail", symbols)
        for name in ("vsnprintf", "memcpy", "snprintf"):
            self.assertRegex(symbols, rf"__{name}_chk\b")

    def test_compiling(self):
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        own = [c for c in commands
               if pathlib.Path(c["file"]).relative_to(SOURCE).parts[0] in ("exporter", "collectors")]
        self.assertGreater(len(own), 100)
        arguments = shlex.split(own[0]["command"])
        compiler = arguments[:2] if arguments[0].endswith("ccache") else arguments[:1]
        wanted = {"-D_FORTIFY_SOURCE=3", "-fstack-protector-strong"}
        wanted |= {flag for flag in ("-fstack-clash-protection", "-fcf-protection=full",
                                     "-ftrivial-auto-var-init=zero") if accepts(compiler, flag)}
        for command in own:
            self.assertEqual(wanted - set(shlex.split(command["command"])), set(), command["file"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
