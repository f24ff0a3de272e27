# SPDX-License-Identifier: Apache-2.0
"""The mesh's authority: a key, a trust anchor, and a chain of signed snapshots. All by the command-line tool."""

import hashlib
import itertools
import json
import re
import time

from .command import run
from .signer import Signer, canonical, payload_of

PUBLIC_KEY = re.compile(r"[A-Za-z0-9+/]{43}=")

TIMESTAMP_DOMAIN = b"postern/timestamp/v1"


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def bundle(*snapshots):
    """The bytes of a bundle of signed files, in this order."""
    out = b"postern-bundle-v1\n"
    for snapshot in snapshots:
        data = snapshot.read_bytes()
        out += b"%d %d\n" % (json.loads(payload_of(snapshot))["serial"], len(data)) + data + b"\n"
    return out


def public_key(output):
    """The base64 key that `postern keygen` or `postern init` printed."""
    found = PUBLIC_KEY.search(output)
    if not found:
        raise AssertionError(f"no public key in: {output!r}")
    return found.group()


class Authority:
    """`key` is the public key in force; rotate() moves on to a new one."""

    def __init__(self, postern, directory, mesh):
        self.directory = directory
        self.root = directory / "root.json"
        self.postern = postern
        self._key = directory / "authority.key"
        self._editions = 0
        self._numbers = itertools.count(1)
        directory.mkdir(mode=0o700)
        self.key = public_key(run(postern, "keygen", self._key).stdout)
        run(postern, "authority", "root", "--mesh", mesh, "--threshold", 1, "--key", self.key, "-o", self.root)

    def rotate(self):
        """A new key. Snapshots are signed by the old one as well until the next rotation: `keep_old` of edition()."""
        self._old_key = self._key
        self._key = self.directory / f"authority-{self._editions}.key"
        self.key = public_key(run(self.postern, "keygen", self._key).stdout)

    def revocation(self, snapshot, resource, epoch, key=None):
        """A signed revocation of all claims of the resource up to this epoch; by another key, if one is given."""
        out = self.directory / f"revocation-{next(self._numbers)}.json"
        run(self.postern, "authority", "revoke", snapshot, resource, "--epoch", epoch, "--key", key or self._key, "-o", out)
        return out

    def timestamp(self, snapshot, issued=0, valid=60):
        """A signed timestamp for the signed file `snapshot`: issued so many seconds from now, valid for so many."""
        payload = payload_of(snapshot)
        signed = json.loads(payload)
        now = int(time.time()) + issued
        path = self.directory / f"timestamp-{next(self._numbers)}.json"
        path.write_bytes(Signer(self._key).seal(canonical({
            "expires": utc(now + valid), "hash": hashlib.blake2b(payload, digest_size=32).hexdigest(),
            "issued": utc(now), "mesh": signed["mesh"], "serial": signed["serial"], "v": 1}), TIMESTAMP_DOMAIN))
        return path

    def edited(self, snapshot, change):
        """The signed file that follows `snapshot`, with its content as `change(tree)` leaves it."""
        payload = payload_of(snapshot)
        tree = json.loads(payload)
        tree["serial"] += 1
        tree["prev"] = hashlib.blake2b(payload, digest_size=32).hexdigest()
        change(tree)
        path = self.directory / f"edited-{next(self._numbers)}.json"
        path.write_bytes(Signer(self._key).seal(canonical(tree)))
        return path

    def edition(self, policy, after=None, key=None, expires="90d", keep_old=False, options=()):
        """Compiles and signs `policy` as the snapshot that follows the signed file `after`, or as the first one.
        With `keep_old` the key before signs too."""
        self._editions += 1
        source = self.directory / f"policy-{self._editions}.yaml"
        payload = self.directory / f"snapshot-{self._editions}.json"
        source.write_text(policy.yaml(), encoding="utf-8")
        run(self.postern, "authority", "compile", source, *(["--after", after] if after else []), "--expires", expires,
            *options, "-o", payload)
        for signer in [key or self._key] + ([self._old_key] if keep_old else []):
            run(self.postern, "authority", "sign", payload, "--key", signer)
        return payload
