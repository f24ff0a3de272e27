# SPDX-License-Identifier: Apache-2.0
"""The mesh's authority: a key, a trust anchor, and a chain of signed snapshots. All by the command-line tool."""

import re

from .command import run

PUBLIC_KEY = re.compile(r"[A-Za-z0-9+/]{43}=")


def public_key(output):
    """The base64 key that `postern keygen` or `postern init` printed."""
    found = PUBLIC_KEY.search(output)
    if not found:
        raise AssertionError(f"no public key in: {output!r}")
    return found.group()


class Authority:
    def __init__(self, postern, directory, mesh):
        self.directory = directory
        self.root = directory / "root.json"
        self.postern = postern
        self._key = directory / "authority.key"
        self._editions = 0
        directory.mkdir(mode=0o700)
        self.key = public_key(run(postern, "keygen", self._key).stdout)
        run(postern, "authority", "root", "--mesh", mesh, "--threshold", 1, "--key", self.key, "-o", self.root)

    def edition(self, policy, after=None, key=None, expires="90d"):
        """Compiles and signs `policy` as the snapshot that follows the signed file `after`, or as the first one."""
        self._editions += 1
        source = self.directory / f"policy-{self._editions}.yaml"
        payload = self.directory / f"snapshot-{self._editions}.json"
        source.write_text(policy.yaml(), encoding="utf-8")
        run(self.postern, "authority", "compile", source, *(["--after", after] if after else []), "--expires", expires,
            "-o", payload)
        run(self.postern, "authority", "sign", payload, "--key", key or self._key)
        return payload
