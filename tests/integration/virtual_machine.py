"""A virtual machine with Debian's kernel and the devices that a test asks for: for hardware that
test machines do not have. It is emulated in software, so it needs nothing of its host.

The guest's first process is a script of guests/. What its function `step` runs are the results;
consoles and images are files below BUILD/virtual-machine.
"""
import dataclasses
import os
import pathlib
import platform
import re
import shutil
import stat
import subprocess
import time

import harness

PLACE = harness.BUILD / "virtual-machine"
KERNEL_PLACE = PLACE / "kernel"
GUESTS = harness.SOURCE / "tests/integration/guests"
KERNEL = "linux-image-cloud-amd64"  # depends on the kernel of the day
MODULES = ("drivers/nvdimm/*", "drivers/dax/*", "drivers/acpi/nfit/*", "drivers/md/dm-mod.ko*",
           "fs/overlayfs/*", "fs/xfs/*", "lib/libcrc32c.ko*")
BPFTOOL = pathlib.Path("/usr/sbin/bpftool")
TOOLS = ("mkfs.ext4", "mkfs.xfs", "chattr", "dmsetup", "setpriv")


def need_virtual_machine():
    """Skips the test on machines that cannot run one; fetches the kernel where it is not there."""
    if platform.machine() != "x86_64":
        harness.skip("needs x86_64: the guest is emulated")
    harness.need_command("qemu-system-x86_64", "busybox", *TOOLS)
    if not _kernel_is_there():
        harness.need_command("apt-get", "apt-cache", "dpkg")
        _fetch_kernel()


# --- the kernel ---------------------------------------------------------------------------------


def _run(*argv, **options):
    return subprocess.run(argv, text=True, capture_output=True, **options)


def _kernel_is_there():
    complete = KERNEL_PLACE / "complete"
    return complete.exists() and complete.read_text() == str(MODULES)


def _download(directory):
    """The kernel's package; None and the reason where it cannot be had."""
    depends = _run("apt-cache", "depends", "--no-recommends", "--no-suggests", KERNEL)
    names = re.findall(r"Depends: (linux-image-\S+)", depends.stdout)
    if not names:
        return None, f"no package {KERNEL} in apt's lists"
    result = _run("apt-get", "-o", "APT::Sandbox::User=root", "download", names[0], cwd=directory)
    packages = list(directory.glob("*.deb"))
    return (packages[0], "") if packages else (None, result.stderr.strip())


def _fetch_kernel():
    """Unpacks what is needed of it; nothing is installed."""
    shutil.rmtree(KERNEL_PLACE, ignore_errors=True)
    KERNEL_PLACE.mkdir(parents=True)
    package, why = _download(KERNEL_PLACE)
    if not package and os.geteuid() == 0:  # the lists may be older than the archive
        subprocess.run(["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=60", "update"])
        package, why = _download(KERNEL_PLACE)
    if not package:
        harness.skip(f"no kernel for the virtual machine: {why}")
    wanted = ["./boot/vmlinuz-*", "./lib/modules/*/modules.order", "./lib/modules/*/modules.builtin",
              *(f"./lib/modules/*/kernel/{path}" for path in MODULES)]
    with subprocess.Popen(["dpkg", "--fsys-tarfile", package], stdout=subprocess.PIPE) as tar:
        subprocess.run(["tar", "-x", "-C", KERNEL_PLACE, "--wildcards", *wanted],
                       stdin=tar.stdout, check=True)
    package.unlink()
    version = next((KERNEL_PLACE / "lib/modules").iterdir()).name
    subprocess.run(["busybox", "depmod", "-b", KERNEL_PLACE, version], check=True)
    (KERNEL_PLACE / "complete").write_text(str(MODULES))


# --- the image: an archive that the kernel unpacks into its root --------------------------------


class Image:
    """A cpio archive ("newc"), written here because device nodes then need no privilege."""

    def __init__(self):
        self.entries = {}  # path without the leading slash -> (mode, data)

    def _parents(self, path):
        for parent in list(pathlib.PurePosixPath(path).parents)[::-1]:
            if str(parent) != ".":
                self.entries.setdefault(str(parent), (stat.S_IFDIR | 0o755, b""))

    def _add(self, path, mode, data):
        path = str(path).lstrip("/")
        self._parents(path)
        self.entries[path] = (mode, data)

    def directory(self, path):
        self._add(path, stat.S_IFDIR | 0o755, b"")

    def file(self, path, data, mode=0o755):
        self._add(path, stat.S_IFREG | mode, data)

    def link(self, path, target):
        self._add(path, stat.S_IFLNK | 0o777, str(target).encode())

    def program(self, path, source):
        """With the libraries that it loads, under their own paths."""
        source = pathlib.Path(source)
        self.file(path, source.read_bytes())
        for library in re.findall(r"(/\S+) \(0x", _run("ldd", source).stdout):
            self.file(library, pathlib.Path(library).read_bytes())

    def tree(self, path, source):
        for file in sorted(source.rglob("*")):
            if file.is_file():
                self.file(f"{path}/{file.relative_to(source)}", file.read_bytes(), 0o644)

    def write(self, path):
        with open(path, "wb") as out:
            for number, (name, (mode, data)) in enumerate(self.entries.items(), 1):
                self._entry(out, number, name, mode, data)
            self._entry(out, 0, "dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))
            self._entry(out, 0, "TRAILER!!!", 0, b"")

    @staticmethod
    def _entry(out, number, name, mode, data, device=(0, 0)):
        name = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
        out.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        out.write(b"\0" * (-(110 + len(name)) % 4) + data + b"\0" * (-len(data) % 4))


def image(script, programs, files):
    """What a guest has: busybox, the tools, the programs in /bin, the script as its first process."""
    result = Image()
    result.program("bin/busybox", shutil.which("busybox"))
    for applet in _run("busybox", "--list").stdout.split():
        if applet != "busybox":
            result.link(f"bin/{applet}", "busybox")
    for tool in TOOLS:
        result.program(f"sbin/{tool}", shutil.which(tool))
    for program in programs:
        result.program(f"bin/{program.name}", program)
    for path, data in files.items():
        result.file(path, data, 0o644)
    for path in ("dev", "proc", "sys", "tmp", "mnt", "etc"):
        result.directory(path)
    result.tree("lib/modules", KERNEL_PLACE / "lib/modules")
    result.file("common.sh", (GUESTS / "common.sh").read_bytes(), 0o644)
    result.file("init", (GUESTS / script).read_bytes())
    return result


# --- the machine --------------------------------------------------------------------------------


@dataclasses.dataclass
class Step:
    status: int
    text: str

    @property
    def lines(self):
        return self.text.splitlines()


_STEP = re.compile(r"^@begin (\S+)\n(.*?)\n@end \1 (\d+)\n", re.DOTALL | re.MULTILINE)


def live(place, name, argv, seconds):
    """One life of a guest, whose console and results are files below 'place'; it fails when the guest
    does not come to its end."""
    console, results = place / "console", place / "results"
    process = harness.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    began, error = time.monotonic(), ""
    try:
        output = process.communicate(timeout=seconds)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        error = f"the guest did not end within {seconds} s; "
        process.kill()
        output = process.communicate()[0].decode(errors="replace")
    print(f"guest {name}: {time.monotonic() - began:.1f} s", flush=True)
    text = results.read_text(errors="replace") if results.exists() else ""
    if error or not text.endswith("@done\n"):
        tail = console.read_text(errors="replace")[-4000:] if console.exists() else ""
        raise AssertionError(f"{error}qemu: {process.returncode} {output}\n"
                             f"--- its console ends so:\n{tail}\n"
                             f"--- its results end so:\n{text[-2000:]}")
    (place / "initramfs").unlink()
    return {name: Step(int(status), body) for name, body, status in _STEP.findall(text)}


def run(script, programs, files=None, kernel_flags="", devices=(), memory="1G", seconds=900):
    """One life of a guest of this architecture: {step: Step}."""
    place = PLACE / pathlib.Path(script).stem
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    image(script, programs, files or {}).write(place / "initramfs")
    return live(place, script,
                ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max",
                 "-machine", "q35,nvdimm=on", "-smp", "2", "-m", memory, *devices,
                 "-kernel", next((KERNEL_PLACE / "boot").glob("vmlinuz-*")),
                 "-initrd", place / "initramfs",
                 "-append", f"console=ttyS0 quiet panic=-1 {kernel_flags}",
                 "-display", "none", "-monitor", "none", "-nic", "none", "-no-reboot",
                 "-serial", f"file:{place}/console", "-serial", f"file:{place}/results"],
                seconds)
