"""Programs that store to a directory that stands for persistent memory, and an exporter to which it
does: page faults are what is counted and sampled."""
import json
import os
import pathlib
import subprocess
import tempfile

import harness


def memory_folder():
    """On tmpfs, where there is one: no file system's own work between a store and its page."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


class Storer:
    """store_forms in a cgroup. A context manager."""

    def __init__(self, groups, cgroup, before=(), arguments=()):
        self.process = groups.spawn(cgroup, [*before, harness.PROGRAMS / "store_forms", *arguments],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, *words):
        """What it says that it stored."""
        print(*words, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, f"store_forms ended with {self.process.wait()} at {words}"
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        assert self.process.wait(20) == 0


def write_events(path, **roles):
    """The same for --events.file, with stores counted by page faults; the path."""
    path = pathlib.Path(path)
    path.write_text(json.dumps({"roles": {"stores": "software:page-faults", **roles}}))
    return path


def sampling_exporter(directory, events, *flags):
    """Samples of stores only, at each page fault. A busy machine has more of those than are read in time
    from behind in a queue."""
    return harness.Exporter("--source=perf", f"--events.file={events}", "--collector.disable-defaults",
                            "--collector.pebs_nvmm", "--collector.pebs_nvmm.period=1",
                            "--containers.names=none", *flags, command=("nice", "-n", "-15"),
                            env={"PMEM_DIRECTORY": str(directory)},
                            program=harness.PROGRAMS / "exporter_pmem")
