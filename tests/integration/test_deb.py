#!/usr/bin/python3
"""cmake --install, the .debs, the .rpms and the tarball put working programs where they say, and name or
bring what these need. And the list of what a system consists of is one."""
import json
import os
import pathlib
import re
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
                          "interference_exporter.socket", "interference_exporter.8"})

    def test_package(self):
        run("cpack", "-G", "DEB", "--config", harness.BUILD / "CPackConfig.cmake", "-B", self.root)
        (package,) = self.root.glob("interference-exporter_*.deb")
        depends = run("dpkg-deb", "--field", package, "Depends")
        for library in ("libmicrohttpd", "libjansson", "libcgroup", "libdeflate", "libpfm4",
                        "libcap2", "libseccomp2", "libbpf1", "libgnutls30", "libyaml-0-2", "libcrypt1",
                        "libc6"):
            self.assertIn(library, depends)
        self.assertIn("libmicrohttpd12 (>=", depends)

        dpkg, target = self.install(package)
        program = self.check_program(target)
        self.assertNotIn("not stripped", run("file", program))
        # The scripts leave the machine's own systemd alone while this root is installed.
        for script in ("postinst", "prerm", "postrm"):
            self.assertIn("systemctl", run("dpkg-deb", "--info", package, script))
        run(*dpkg, "--purge", "interference-exporter")
        self.assertFalse(program.exists())

    def install(self, package):
        """By dpkg itself, into a root of its own that lacks the dependencies: the command, the root."""
        target = self.root / "root"
        for directory in ("info", "updates", "triggers"):
            (target / "var/lib/dpkg" / directory).mkdir(parents=True)
        (target / "var/lib/dpkg/status").touch()
        dpkg = ("dpkg", f"--root={target}", "--force-depends", "--force-not-root",
                "--force-script-chrootless")
        run(*dpkg, "--install", package)
        return dpkg, target

    def check_governor(self, root, listed):
        """The program, its unit, examples that it takes; nothing that starts it."""
        examples = "/usr/share/doc/interference-governor/examples"
        self.assertEqual({name.removesuffix(".gz") for name in listed}, {
                                  "/usr/bin/interference_governor",
                                  "/usr/share/man/man8/interference_governor.8",
                                  "/usr/share/bash-completion/completions/interference_governor",
                                  "/usr/lib/systemd/system/interference_governor.service",
                                  f"{examples}/interference_governor.json",
                                  f"{examples}/affinity.conf"})
        program = root / "usr/bin/interference_governor"
        self.assertIn("interference_governor", run(program, "--version"))
        self.assertNotIn("not stripped", run("file", program))
        unit = (root / "usr/lib/systemd/system/interference_governor.service").read_text()
        self.assertIn("\nExecStart=/usr/bin/interference_governor ", unit)
        self.assertIn("\nExecStopPost=/usr/bin/interference_governor ", unit)
        (example,) = root.rglob("interference_governor.json")
        config = json.loads(example.read_text())
        self.assertEqual(config["mode"], "observe")
        mine = self.root / "governor.json"
        mine.write_text(json.dumps(config))
        state = f"--state-directory={self.root}"
        run(program, state, "--restore")  # nothing is left
        checked = subprocess.run([program, f"--config.file={mine}", state, "--check"],
                                 capture_output=True, timeout=20, check=False)
        self.assertEqual(checked.returncode, 1, checked.stderr)  # no exporter; a wrong file is 2
        return program

    def test_governor(self):
        """A package of its own, which nobody gets unasked: installed and purged by dpkg."""
        run("cpack", "-G", "DEB", "--config", harness.BUILD / "CPackConfig.cmake", "-B", self.root,
            "-D", "CPACK_COMPONENTS_ALL=governor")
        (package,) = self.root.glob("*.deb")
        self.assertTrue(package.name.startswith("interference-governor_"), package.name)
        depends = run("dpkg-deb", "--field", package, "Depends")
        self.assertIn("libjansson", depends)
        self.assertNotIn("interference-exporter", depends)  # it may run before, or without it
        dpkg, target = self.install(package)
        listed = {name for name in run("dpkg-query", f"--admindir={target}/var/lib/dpkg", "-L",
                                       "interference-governor").split()
                  if (target / name[1:]).is_file()}
        program = self.check_governor(target, listed)
        scripts = {script: run("dpkg-deb", "--info", package, script)
                   for script in ("postinst", "prerm", "postrm")}
        for script, text in scripts.items():
            self.assertIn("systemctl", text)
            self.assertNotRegex(text, r"systemctl (.* )?(enable|start)\b")
            self.assertNotIn("interference_exporter", text)
        self.assertIn("disable --now interference_governor.service", scripts["prerm"])
        run(*dpkg, "--purge", "interference-governor")
        self.assertFalse(program.exists())

    def test_governor_rpm(self):
        run("cpack", "-G", "RPM", "--config", harness.BUILD / "CPackConfig.cmake", "-B",
            self.root / "made", "-D", "CPACK_COMPONENTS_ALL=governor")
        (package,) = (self.root / "made").glob("*.rpm")
        self.assertTrue(package.name.startswith("interference-governor-"), package.name)
        target = self.root / "root"
        target.mkdir()
        rpm = ("rpm", "--root", target)
        run(*rpm, "--install", "--nodeps", "--nosignature", "--noscripts", package)
        listed = set(run(*rpm, "-ql", "interference-governor").split())
        program = self.check_governor(target, {name for name in listed
                                               if (target / name[1:]).is_file()})
        scripts = run("rpm", "-qp", "--scripts", package)
        self.assertEqual(scripts.count("interference_governor.service"), 2)
        self.assertNotIn("interference_exporter", scripts)
        run(*rpm, "--erase", "--nodeps", "--noscripts", "interference-governor")
        self.assertFalse(program.exists())

    def test_rpm(self):
        """Installed by rpm itself, into a root of its own; then removed."""
        run("cpack", "-G", "RPM", "--config", harness.BUILD / "CPackConfig.cmake", "-B",
            self.root / "made")
        (package,) = (self.root / "made").glob("interference-exporter-*.rpm")
        needs = run("rpm", "-qp", "--requires", package)
        for library in ("libmicrohttpd.so.12", "libjansson.so.4", "libgnutls.so.30", "libpfm.so.4",
                        "libseccomp.so.2", "libc.so.6"):
            self.assertIn(f"{library}(", needs)
        target = self.root / "root"
        target.mkdir()
        rpm = ("rpm", "--root", target)
        run(*rpm, "--install", "--nodeps", "--nosignature", "--noscripts", package)
        program = self.check_program(target)
        self.assertNotIn("not stripped", run("file", program))
        listed = set(run(*rpm, "-ql", "interference-exporter").split())
        self.assertEqual(listed, {"/" + str(p.relative_to(target)) for p in target.rglob("*")
                                  if p.is_file() and ".rpmdb" not in p.parts})
        # No directory of the system's is the package's own.
        run(*rpm, "--erase", "--nodeps", "--noscripts", "interference-exporter")
        self.assertFalse(program.exists())
        scripts = run("rpm", "-qp", "--scripts", package)
        self.assertEqual(scripts.count("if "), 3)
        self.assertEqual(scripts.count("[ -d /run/systemd/system ]"), 3)

    def test_tarball(self):
        """Everything is in it: it runs in a root that has nothing else, and from any place."""
        run("cmake", f"-DPROGRAM={harness.EXPORTER}", f"-DOUT={self.root}", "-P",
            harness.SOURCE / "deploy/tarball.cmake")
        (tarball,) = self.root.glob("interference_exporter-*.tar.gz")
        self.assertRegex(tarball.name,
                         rf"^interference_exporter-\d+\.\d+\.\d+-linux-{os.uname().machine}\.tar\.gz$")
        bare = self.root / "bare"
        bare.mkdir()
        run("tar", "-C", bare, "-xzf", tarball)
        (folder,) = bare.iterdir()
        self.assertEqual([p for p in folder.rglob("*") if p.is_symlink()], [])
        recording = folder / "idle.jsonl"
        recording.write_bytes((harness.REPLAYS / "idle.jsonl").read_bytes())
        launcher = (folder / "interference_exporter").read_text()
        (loader,) = (p.name for p in (folder / "lib").glob("ld-linux*"))
        self.assertIn(f"/lib/{loader}", launcher)
        here = "/" + folder.name
        replay = ("--once", "--source=replay")
        page = run("chroot", bare, f"{here}/lib/{loader}", "--library-path", f"{here}/lib",
                   f"{here}/lib/interference_exporter", *replay,
                   f"--source.replay.file={here}/idle.jsonl")
        self.assertIn("\ninterference_container_info{", page)
        # By its launcher, from elsewhere, through a link, with no library of the system's.
        moved = self.root / "mo ved"
        folder.rename(moved)
        link = self.root / "link"
        link.symlink_to(moved / "interference_exporter")
        page = run(link, *replay, f"--source.replay.file={moved}/idle.jsonl",
                   cwd="/", env={"PATH": os.environ["PATH"], "LD_DEBUG": "libs",
                                 "LD_DEBUG_OUTPUT": str(self.root / "libraries")})
        self.assertIn("\ninterference_container_info{", page)
        loaded = set()
        for trace in self.root.glob("libraries.*"):
            # The shell had become the program by the time that something of the folder is there.
            _, there, text = trace.read_text().partition(f"calling init: {moved}")
            loaded |= set(re.findall(r"calling init: (.+)", there + text))
        self.assertGreater(len(loaded), 10)
        self.assertEqual({str(pathlib.Path(name).parent) for name in loaded}, {str(moved / "lib")})
        # With the notices of the libraries, as far as they are of packages.
        self.assertLessEqual({"libc6", "libgnutls30", "libcap2", "libmicrohttpd12"},
                             {p.name for p in (moved / "copyright").iterdir()})

    def test_list_of_parts(self):
        """deploy/sbom.sh: SPDX's tags with what they may contain, and every package once."""
        text = run(harness.SOURCE / "deploy/sbom.sh",
                   env={**os.environ, "SOURCE_DATE_EPOCH": "1000000000"})
        head, *packages = text.split("\n\n")
        links = packages.pop().splitlines()
        self.assertRegex(head, r"\nDocumentNamespace: urn:uuid:[0-9a-f-]{36}\n")
        self.assertTrue(head.endswith("\nCreated: 2001-09-09T01:46:40Z"), head)
        installed = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n")
        wanted = {tuple(line.split()[1:]) for line in installed.splitlines()
                  if line.startswith("installed ")}
        found, ids = set(), []
        for package in packages:
            tags = dict(line.split(": ", 1) for line in package.splitlines())
            self.assertRegex(tags["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertRegex(tags["ExternalRef"],
                             r"^PACKAGE-MANAGER purl pkg:deb/debian/[a-z0-9.%B-]+@[\w.~%-]+\?arch=\w+$")
            ids.append(tags["SPDXID"])
            found.add((tags["PackageName"], tags["PackageVersion"]))
        self.assertEqual(found, wanted)
        self.assertEqual(len(set(ids)), len(ids))
        self.assertEqual(links, [f"Relationship: SPDXRef-DOCUMENT DESCRIBES {i}" for i in ids])


if __name__ == "__main__":
    harness.need_command("cpack", "dpkg-deb", "dpkg-shlibdeps", "file", "rpm", "rpmbuild", "strip")
    harness.main()
