#!/usr/bin/python3
"""A FUSE that shows the files of a directory, until a flag is there: then it answers nothing more.

    silent_fuse.py DIRECTORY MOUNT_POINT FLAG
"""
import os
import pathlib
import sys
import time

import fusepy


class Silent(fusepy.Operations):
    def __init__(self, directory, flag):
        self.directory, self.flag = directory, flag

    def __call__(self, operation, path, *args):
        while self.flag.exists():
            time.sleep(1)
        return super().__call__(operation, self.directory + path, *args)

    def getattr(self, path, handle=None):
        st = os.lstat(path)
        return {key: getattr(st, key) for key in ("st_mode", "st_size", "st_uid", "st_gid",
                                                  "st_nlink", "st_mtime")}

    def readdir(self, path, handle):
        return [".", "..", *os.listdir(path)]

    def open(self, path, flags):
        return os.open(path, flags)

    def release(self, path, handle):
        os.close(handle)

    def read(self, path, size, offset, handle):
        return os.pread(handle, size, offset)

    def write(self, path, data, offset, handle):
        return os.pwrite(handle, data, offset)

    def statfs(self, path):
        return {"f_bsize": 4096, "f_namemax": 255}


if __name__ == "__main__":
    directory, mount_point, flag = sys.argv[1:]
    fusepy.FUSE(Silent(directory, pathlib.Path(flag)), mount_point, foreground=True,
              nothreads=False, allow_other=True, fsname="silent")
