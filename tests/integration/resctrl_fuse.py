#!/usr/bin/python3
"""resctrl as a FUSE, which refuses what the kernel refuses; tasks are told, no real ones.

    resctrl_fuse.py MOUNT_POINT PROC GROUPS TID...

Two domains of 11 ways and of bandwidth in steps of ten, GROUPS groups with the root group. Holes in
a mask, more ways than there are, a group too many, a task that is not there: refused. Bandwidth is
rounded up; a task is in one group; the tasks of a group that is removed are the root group's.
PROC/TID/cpu_resctrl_groups says where each is.
"""
import errno
import pathlib
import re
import stat
import sys

import fusepy

INFO = {"/info/L3/min_cbm_bits": "1\n", "/info/L3/cbm_mask": "7ff\n", "/info/MB/min_bandwidth": "10\n",
        "/info/MB/bandwidth_gran": "10\n"}
FOLDERS = ("/", "/info", "/info/L3", "/info/MB")


def refuse(number):
    raise fusepy.FuseOSError(number)


class Resctrl(fusepy.Operations):
    def __init__(self, proc, closids, tids):
        self.proc, self.closids = proc, closids
        self.groups = {"": [0x7ff, 100]}
        self.of = {tid: "" for tid in tids}
        for tid in tids:
            self.tell(tid)

    def tell(self, tid):
        folder = self.proc / tid
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "new").write_text(f"res:{self.of[tid] or '/'}\nmon:\n")
        (folder / "new").replace(folder / "cpu_resctrl_groups")  # who reads it finds it whole

    def text(self, path):
        if path in INFO:
            return INFO[path]
        group, _, name = path[1:].rpartition("/")
        if group not in self.groups:
            refuse(errno.ENOENT)
        mask, percent = self.groups[group]
        if name == "schemata":
            return f"    L3:0={mask:x};1={mask:x}\n    MB:0={percent:3};1={percent:3}\n"
        if name == "tasks":
            return "".join(f"{tid}\n" for tid, of in self.of.items() if of == group)
        return refuse(errno.ENOENT)

    def is_folder(self, path):
        return path in FOLDERS or path[1:] in self.groups

    def getattr(self, path, handle=None):
        if self.is_folder(path):
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        self.text(path)
        return {"st_mode": stat.S_IFREG | 0o644, "st_nlink": 1, "st_size": 4096}

    def readdir(self, path, handle):
        return [".", "..", "info", "schemata", "tasks", *(g for g in self.groups if g)]

    def read(self, path, size, offset, handle):
        return self.text(path).encode()[offset:offset + size]

    def truncate(self, path, length, handle=None):
        self.text(path)

    def write(self, path, data, offset, handle):
        group, _, name = path[1:].rpartition("/")
        if name == "tasks":
            self.move(data.decode().strip(), group)
        else:
            self.set(group, data.decode())
        return len(data)

    def move(self, tid, group):
        if tid not in self.of:
            refuse(errno.ESRCH)
        self.of[tid] = group
        self.tell(tid)

    def set(self, group, text):
        mask, percent = self.groups[group]
        for line in text.splitlines():
            resource, _, rest = line.strip().partition(":")
            values = dict(re.fullmatch(r"(\d)=(\w+)", item).groups() for item in rest.split(";"))
            if set(values) != {"0", "1"} or len(set(values.values())) != 1:
                refuse(errno.EINVAL)
            value = int(values["0"], 16 if resource == "L3" else 10)
            if resource == "L3":
                if not re.fullmatch("1+0*", f"{value:b}") or value > 0x7ff:
                    refuse(errno.EINVAL)
                mask = value
            else:
                if not 0 < value <= 100:
                    refuse(errno.EINVAL)
                percent = (value + 9) // 10 * 10
        self.groups[group] = [mask, percent]

    def mkdir(self, path, mode):
        if path[1:] in self.groups:
            refuse(errno.EEXIST)
        if "/" in path[1:]:
            refuse(errno.EPERM)
        if len(self.groups) >= self.closids:
            refuse(errno.ENOSPC)
        self.groups[path[1:]] = [0x7ff, 100]

    def rmdir(self, path):
        if not path[1:] or path[1:] not in self.groups:
            refuse(errno.EPERM)
        for tid, of in self.of.items():
            if of == path[1:]:
                self.move(tid, "")
        del self.groups[path[1:]]

    def statfs(self, path):
        return {"f_bsize": 4096, "f_namemax": 255}


if __name__ == "__main__":
    mount_point, proc, groups, *tids = sys.argv[1:]
    fusepy.FUSE(Resctrl(pathlib.Path(proc), int(groups), tids), mount_point, foreground=True,
                nothreads=True, direct_io=True, attr_timeout=0, entry_timeout=0, fsname="resctrl")
