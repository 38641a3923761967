#!/usr/bin/python3
"""cmake --install and the .deb put a working program where they say, and name what it needs."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import harness


def run(*argv, **options):
    result = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=120,
                            **options)
    assert result.returncode == 0, f"{argv}: {result.stdout}{result.stderr}"
    return result.stdout


class Install(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def check_program(self, root):
        program = root / "usr/bin/interference_exporter"
        if not program.exists():
            program = root / "usr/local/bin/interference_exporter"
        self.assertIn("interference_exporter", run(program, "--version"))
        # Its service starts the program where it is.
        (unit,) = root.rglob("interference_exporter.service")
        self.assertEqual(unit.parent, program.parent.parent / "lib/systemd/system")
        self.assertIn(f"ExecStart=/{program.relative_to(root)} ", unit.read_text())
        return program

    def test_cmake_install(self):
        run("cmake", "--install", harness.BUILD, env={**os.environ, "DESTDIR": str(self.root)})
        self.check_program(self.root)
        self.assertEqual({p.name for p in self.root.rglob("*") if p.is_file()},
                         {"interference_exporter", "interference_exporter.service",
                          "interference_exporter.socket"})

    def test_package(self):
        run("cpack", "-G", "DEB", "--config", harness.BUILD / "CPackConfig.cmake", "-B", self.root)
        (package,) = self.root.glob("interference-exporter_*.deb")
        depends = run("dpkg-deb", "--field", package, "Depends")
        for library in ("libmicrohttpd", "libjansson", "libcgroup", "libdeflate", "libpfm4",
                        "libcap2", "libseccomp2", "libgnutls30", "libyaml-0-2", "libcrypt1",
                        "libc6"):
            self.assertIn(library, depends)
        self.assertIn("libmicrohttpd12 (>=", depends)

        # Installed by dpkg itself, into a root of its own that lacks the dependencies.
        target = self.root / "root"
        for directory in ("info", "updates", "triggers"):
            (target / "var/lib/dpkg" / directory).mkdir(parents=True)
        (target / "var/lib/dpkg/status").touch()
        dpkg = ("dpkg", f"--root={target}", "--force-depends", "--force-not-root",
                "--force-script-chrootless")
        run(*dpkg, "--install", package)
        program = self.check_program(target)
        self.assertNotIn("not stripped", run("file", program))
        # The scripts leave the machine's own systemd alone while this root is installed.
        for script in ("postinst", "prerm", "postrm"):
            self.assertIn("systemctl", run("dpkg-deb", "--info", package, script))
        run(*dpkg, "--purge", "interference-exporter")
        self.assertFalse(program.exists())


if __name__ == "__main__":
    harness.need_command("cpack", "dpkg-deb", "dpkg-shlibdeps", "file")
    harness.main()
