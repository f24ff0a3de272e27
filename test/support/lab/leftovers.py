# SPDX-License-Identifier: Apache-2.0
"""What a lab owns, and how to get rid of it, also when the run that made it was killed.

A lab's directory is made first and removed last, so whatever else exists of it can be found from there. `owner.json`
says which process runs the lab; a lab whose owner is gone and that was not kept on purpose is swept.
"""

import json
import os
import pathlib
import secrets
import shutil

from . import namespace
from .command import run
from .wait import until

BASE = pathlib.Path("/var/tmp")
STEM = "postern-lab-"
# The journal refuses file systems that do not keep what they acknowledge.
DURABLE = {"ext2/ext3", "ext4", "xfs", "btrfs", "f2fs"}


def claim():
    """A new lab's id and directory, owned by this process: bpf/ is a mounted bpf file system, disk/ durable."""
    while True:
        lab_id = secrets.token_hex(2)
        directory = BASE / (STEM + lab_id)
        # Owned from its first moment on, or another run's sweep could take it for a leftover.
        unborn = BASE / f".{STEM}{os.getpid()}-{lab_id}"
        unborn.mkdir(mode=0o700)
        _write_owner(unborn, kept=False)
        try:
            unborn.rename(directory)
        except OSError:
            shutil.rmtree(unborn)
            continue
        try:
            _mount(directory)
        except BaseException:
            remove(lab_id)
            raise
        return lab_id, directory


def keep(lab_id):
    """The lab stays after this process ends, until remove()."""
    _write_owner(BASE / (STEM + lab_id), kept=True)


def remove(lab_id):
    """Idempotent."""
    prefix = f"pt-{lab_id}-"
    namespace.destroy([name for name in namespaces() if name.startswith(prefix)], until)
    directory = BASE / (STEM + lab_id)
    for loop in _loops_on(directory):
        run("losetup", "-d", loop)  # once nothing is mounted from it
    for mount in reversed(_mounts_below(directory)):
        run("umount", mount)
    shutil.rmtree(directory, ignore_errors=True)


def sweep(also_kept=False):
    """Removes the labs whose owner is gone; returns their ids."""
    swept = []
    for lab_id in sorted(_known()):
        directory = BASE / (STEM + lab_id)
        owner = _read_owner(directory)
        if owner and _alive(owner) and not owner["kept"]:
            continue
        if owner and owner["kept"] and not also_kept:
            continue
        remove(lab_id)
        swept.append(lab_id)
    return swept


def kept():
    return [lab_id for lab_id in sorted(_known())
            if (_read_owner(BASE / (STEM + lab_id)) or {}).get("kept")]


def namespaces():
    return [line.split()[0] for line in run("ip", "netns", "list").stdout.splitlines() if line.startswith("pt-")]


def _known():
    found = {path.name[len(STEM):] for path in BASE.glob(STEM + "*")}
    return found | {name.split("-")[1] for name in namespaces() if name.count("-") >= 2}


def _mount(directory):
    (directory / "bpf").mkdir()
    run("mount", "-t", "bpf", "bpf", directory / "bpf")
    disk = directory / "disk"
    disk.mkdir()
    if run("stat", "-f", "-c", "%T", disk).stdout.strip() not in DURABLE:
        image = directory / "disk.img"
        with open(image, "wb") as file:
            file.truncate(192 << 20)
        run("mkfs.ext4", "-q", image)
        run("mount", "-o", "loop", image, disk)  # umount frees the loop device


def _mounts_below(directory):
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        return [line.split()[1] for line in mounts if line.split()[1].startswith(f"{directory}/")]


def _loops_on(directory):
    devices = [line.split(maxsplit=1) for line in run("losetup", "-n", "-O", "NAME,BACK-FILE").stdout.splitlines()]
    return [device[0] for device in devices if len(device) == 2 and device[1].startswith(f"{directory}/")]


def _start_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        return stat.read().rpartition(")")[2].split()[19]


def _write_owner(directory, kept):
    owner = {"pid": os.getpid(), "start_ticks": _start_ticks(os.getpid()), "kept": kept}
    (directory / "owner.json").write_text(json.dumps(owner), encoding="utf-8")


def _read_owner(directory):
    try:
        return json.loads((directory / "owner.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _alive(owner):
    try:
        return _start_ticks(owner["pid"]) == owner["start_ticks"]
    except OSError:
        return False
