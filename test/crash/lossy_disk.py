#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""A disk that forgets: a FUSE file to put a loop device on (SPEC 4.11).

    lossy_disk.py IMAGE MOUNTPOINT      serves MOUNTPOINT/disk, kept in IMAGE, until it is unmounted

What was written since the last flush is remembered sector by sector. Commands are written to MOUNTPOINT/control:

    crash-at N SEED   at the N-th flush from now, instead of it, the power goes: each sector written since the last flush
                      holds any one of its contents since then, chosen by SEED; from then on every call fails
    restart           calls are answered again
    fail-flush N SEED the N-th flush from now fails, and a part of what it was to bring is lost for good, chosen by SEED
    fail-records      the next write that brings records of a journal fails, and is not made

MOUNTPOINT/control reads as one line: "flushes N lost N of N".
"""
import errno
import os
import random
import stat
import sys

import fusepy as fuse

SECTOR = 512
RECORD_MAGIC = b"PREC"


class LossyDisk(fuse.Operations):
    def __init__(self, image):
        self.image = os.open(image, os.O_RDWR)
        self.size = os.fstat(self.image).st_size
        self.newer = {}  # sector: its contents since the last flush, the flushed one first
        self.dead = False
        self.countdown, self.doom, self.seed = 0, "", ""
        self.doom_records = False
        self.flushes = self.lost = self.at_stake = 0

    # ---- what the loop device asks for ----

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
        if path == "/disk":
            return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": self.size}
        if path == "/control":
            return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": len(self._report())}
        raise fuse.FuseOSError(errno.ENOENT)

    def readdir(self, path, fh):
        return [".", "..", "disk", "control"]

    def truncate(self, path, length, fh=None):
        if path == "/disk":
            raise fuse.FuseOSError(errno.EPERM)

    def read(self, path, size, offset, fh):
        if path == "/control":
            return self._report()[offset:offset + size]
        self._answer()
        return os.pread(self.image, size, offset)

    def write(self, path, data, offset, fh):
        if path == "/control":
            self._command(*data.decode().split())
            return len(data)
        self._answer()
        if self.doom_records and RECORD_MAGIC in data:
            self.doom_records = False
            raise fuse.FuseOSError(errno.EIO)
        if offset % SECTOR or len(data) % SECTOR:
            raise fuse.FuseOSError(errno.EINVAL)  # a loop device with direct I/O writes whole sectors
        before = os.pread(self.image, len(data), offset)
        for at in range(0, len(data), SECTOR):
            contents = self.newer.setdefault((offset + at) // SECTOR, [before[at:at + SECTOR]])
            contents.append(data[at:at + SECTOR])
        return os.pwrite(self.image, data, offset)

    def fsync(self, path, datasync, fh):
        if path != "/disk":
            return
        self._answer()
        self.flushes += 1
        self.countdown -= 1
        if self.countdown == 0:
            self._lose(self.seed)
            self.dead = self.doom == "crash-at"
            raise fuse.FuseOSError(errno.EIO)
        self.newer.clear()

    def flush(self, path, fh):
        """close(2), which promises nothing."""

    # ---- what the test asks for ----

    def _answer(self):
        if self.dead:
            raise fuse.FuseOSError(errno.EIO)

    def _command(self, word, count="0", seed=""):
        if word in ("crash-at", "fail-flush"):
            self.countdown, self.doom, self.seed = int(count), word, seed
        elif word == "restart":
            self.dead, self.countdown = False, 0
        elif word == "fail-records":
            self.doom_records = True
        else:
            raise fuse.FuseOSError(errno.EINVAL)

    def _lose(self, seed):
        choice = random.Random(seed)
        survive = choice.choice([0.0, 0.95, 1.0, choice.random(), choice.random()])
        self.at_stake += len(self.newer)
        for sector, contents in sorted(self.newer.items()):
            kept = choice.choice(contents[1:]) if choice.random() < survive else contents[0]
            self.lost += kept is not contents[-1]
            os.pwrite(self.image, kept, sector * SECTOR)
        self.newer.clear()

    def _report(self):
        return f"flushes {self.flushes} lost {self.lost} of {self.at_stake}\n".encode()


if __name__ == "__main__":
    fuse.FUSE(LossyDisk(sys.argv[1]), sys.argv[2], foreground=True, nothreads=True, direct_io=False, big_writes=True,
              max_read=131072)
