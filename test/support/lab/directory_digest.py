# SPDX-License-Identifier: Apache-2.0
"""Everything that can change about a directory without reading it: names, kinds, modes, owners, sizes, times of
change, contents. Times of access are left out."""

import hashlib
import os
import pathlib
import stat


def digest(directory):
    """{relative path: facts}; equal digests mean that not one byte was changed."""
    directory = pathlib.Path(directory)
    found = {".": _facts(directory)}
    for path in sorted(directory.rglob("*")):
        found[str(path.relative_to(directory))] = _facts(path)
    return found


def _facts(path):
    info = os.lstat(path)
    content = None
    if stat.S_ISREG(info.st_mode):
        with open(path, "rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") \
                else hashlib.sha256(file.read()).hexdigest()
    size = info.st_size if stat.S_ISREG(info.st_mode) else None
    return (oct(info.st_mode), info.st_uid, info.st_gid, info.st_nlink, size, info.st_mtime_ns, content)
