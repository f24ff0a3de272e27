# SPDX-License-Identifier: Apache-2.0
"""ext4 or xfs on a loop device on a disk that forgets. Owns a lab's directory, so that whatever a killed run leaves is
swept by the next one."""
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from lab import leftovers  # noqa: E402  the path comes first

MKFS = {"ext4": ["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "xfs": ["mkfs.xfs", "-q"]}
IMAGE_BYTES = 1 << 30  # sparse


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


class LossyMount:
    """`path` is the root of the file system while it is mounted."""

    def __init__(self, kind):
        self.kind = kind
        self.lab_id, directory = leftovers.claim()
        self.server = None
        try:
            self._build(directory)
        except BaseException:
            self.remove()
            raise

    def _build(self, directory):
        image, self.fuse, self.path = directory / "lossy.img", directory / "fuse", directory / "fs"
        self.fuse.mkdir()
        self.path.mkdir()
        with open(image, "wb") as file:
            file.truncate(IMAGE_BYTES)
        call(*MKFS[self.kind], image)
        self.server = subprocess.Popen([sys.executable, "-B", HERE / "lossy_disk.py", image, self.fuse])
        deadline = time.monotonic() + 20
        while not (self.fuse / "disk").exists():
            assert self.server.poll() is None and time.monotonic() < deadline, "the FUSE server does not come up"
            time.sleep(0.02)

    def mount(self):
        loop = call("losetup", "--find", "--show", "--direct-io=on", self.fuse / "disk")
        try:
            assert call("losetup", "-n", "-O", "DIO", loop) == "1", "the loop device does not pass flushes on"
            call("mount", "-t", self.kind, loop, self.path)
        finally:
            call("losetup", "-d", loop)  # once it is unmounted

    def unmount(self):
        call("umount", self.path)

    def command(self, text):
        with open(self.fuse / "control", "w", encoding="ascii") as control:
            control.write(text)

    def lost(self):
        """(sectors that were lost, sectors that could have been), of all crashes and failed flushes."""
        words = (self.fuse / "control").read_text().split()
        return int(words[3]), int(words[5])

    def remove(self):
        leftovers.remove(self.lab_id)
        if self.server:
            try:
                self.server.wait(10)
            except subprocess.TimeoutExpired:
                self.server.kill()
