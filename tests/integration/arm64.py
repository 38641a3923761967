"""Builds for 64-bit Arm on this machine, by Debian's cross compiler, and virtual machines of Arm's that
run them: their PMU counts, and Debian's kernel drives it. With -icount time is what instructions
take, so that a busy host changes nothing.

Libraries, build and kernel stay below BUILD/arm64 for the next run.
"""
import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import subprocess

import harness
import virtual_machine

WORK = harness.BUILD / "arm64"
ROOT, PROGRAM = WORK / "root", WORK / "build/interference_exporter"
COMPILER = "aarch64-linux-gnu-gcc"
KERNEL = "linux-image-cloud-arm64"  # depends on the kernel of the day
PROGRAMS = harness.SOURCE / "tests/integration/programs/arm64"


def run(*argv, **options):
    result = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=900,
                            **options)
    assert result.returncode == 0, f"{argv}: {result.stdout[-3000:]}{result.stderr[-3000:]}"
    return result.stdout


@contextlib.contextmanager
def one_at_a_time():
    """Two tests may want the same build."""
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_root():
    """Unpacked, not installed: nothing of it runs but by qemu."""
    listed = (harness.SOURCE / "deploy/packages-build.txt").read_text().split()
    packages = ",".join(p for p in listed if p.endswith("-dev"))
    stamp = WORK / "packages"
    if stamp.exists() and stamp.read_text() == packages:
        return
    shutil.rmtree(ROOT, ignore_errors=True)
    suite = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(),
                      re.M)[1]
    run("mmdebstrap", "--variant=extract", "--architectures=arm64", "--mode=root",
        f"--include={packages}", suite, ROOT)
    stamp.write_text(packages)


def build():
    """PROGRAM, as it is now."""
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    environment = {**os.environ, "IE_SYSROOT": str(ROOT)}
    with one_at_a_time():
        make_root()
        run("cmake", "-S", harness.SOURCE, "-B", WORK / "build", "-G", "Ninja", "-DIE_TESTS=OFF",
            f"-DCMAKE_TOOLCHAIN_FILE={harness.SOURCE}/deploy/arm64/toolchain.cmake",
            "-DIE_WERROR=ON", "-DIE_BPF=REQUIRED", *launcher, env=environment)
        run("ninja", "-C", WORK / "build", env=environment)


# --- the machine --------------------------------------------------------------------------------


def _fetch():
    """The kernel and a shell, by apt with lists of its own, so that the machine's apt stays as it
    is."""
    place = WORK / "kernel"
    if (place / "complete").exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    (place / "lists/partial").mkdir(parents=True)
    (place / "status").touch()
    apt = [f"-o{option}" for option in (
        "APT::Architecture=arm64", "APT::Architectures=arm64", "APT::Sandbox::User=root",
        f"Dir::State={place}", f"Dir::State::lists={place}/lists",
        f"Dir::State::status={place}/status", f"Dir::Cache={place}", "Acquire::Languages=none")]
    run("apt-get", *apt, "-q", "update")
    depends = run("apt-cache", *apt, "depends", "--no-recommends", "--no-suggests", KERNEL)
    run("apt-get", *apt, "-q", "download", re.search(r"Depends: (linux-image-\S+)", depends)[1],
        "busybox-static", cwd=place)
    for package in place.glob("*.deb"):
        wanted = "./boot/vmlinuz-*" if package.name.startswith("linux") else "./bin/busybox"
        with subprocess.Popen(["dpkg", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
            run("tar", "-x", "-C", place, "--wildcards", wanted, stdin=tar.stdout)
        package.unlink()
    (place / "complete").touch()


def _libraries(program):
    """What it loads, by what it and they say that they need."""
    found, left = {}, [program]
    while left:
        text = run("readelf", "-l", "-d", left.pop())
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
            if name not in found:
                found[name] = next(path for folder in ("lib", "usr/lib")
                                   for path in (ROOT / folder / "aarch64-linux-gnu").glob(name))
                left.append(found[name])
    return found


def _image(script, programs, files):
    image = virtual_machine.Image()
    image.file("bin/busybox", (WORK / "kernel/bin/busybox").read_bytes())
    for applet in subprocess.run(["busybox", "--list"], capture_output=True,
                                 text=True).stdout.split():
        if applet != "busybox":
            image.link(f"bin/{applet}", "busybox")
    image.file("bin/interference_exporter", PROGRAM.read_bytes())
    for name, path in _libraries(PROGRAM).items():
        image.file(f"lib/{name}", path.read_bytes())
    for program in programs:
        source = PROGRAMS / f"{program}.c"
        run(COMPILER, f"--sysroot={ROOT}", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", source, "-o",
            WORK / program)
        image.file(f"bin/{program}", (WORK / program).read_bytes())
    for path, data in files.items():
        image.file(path, data, 0o644)
    for path in ("dev", "proc", "sys", "tmp", "etc"):
        image.directory(path)
    image.file("common.sh", (virtual_machine.GUESTS / "common.sh").read_bytes(), 0o644)
    image.file("init", (virtual_machine.GUESTS / script).read_bytes())
    return image


def need_machine():
    """Skips the test on machines that cannot run one; fetches and builds what is not there."""
    harness.need_command("qemu-system-aarch64", COMPILER, "mmdebstrap", "cmake", "ninja", "busybox",
                         "apt-get", "apt-cache", "dpkg", "readelf")
    build()
    with one_at_a_time():
        _fetch()


def live(name, script, programs, files=None, cpu="max,pmu=on", cpus=1, shift=2, seconds=900):
    """One life of a machine: {step: Step}. An instruction takes two to the power of 'shift'
    nanoseconds."""
    place = WORK / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _image(script, programs, files or {}).write(place / "initramfs")
    argv = ["qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", cpu, "-smp", str(cpus),
            "-m", "1G", "-icount", f"shift={shift},sleep=off", "-display", "none", "-monitor", "none",
            "-nic", "none", "-no-reboot",
            "-kernel", next((WORK / "kernel/boot").glob("vmlinuz-*")),
            "-initrd", place / "initramfs", "-append", "console=ttyAMA0 quiet panic=-1",
            "-serial", f"file:{place}/console",
            "-chardev", f"file,id=results,path={place}/results",
            "-device", "pci-serial,chardev=results"]
    return virtual_machine.live(place, name, argv, seconds)
