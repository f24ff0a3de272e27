# SPDX-License-Identifier: Apache-2.0
"""The pinned maps as bpftool shows them: a second opinion on what Postern says of itself."""

import hashlib
import ipaddress
import json
import struct

from .command import run


HERE = 0xFFFFFFFF  # PT_HOLDER_LOCAL in bpf/abi.h


def _words(data):
    return ["hex", *(f"{byte:02x}" for byte in data)]


def _bytes(values):
    return bytes(int(value, 16) for value in values)


class KernelTables:
    def __init__(self, gateway):
        self._directory = gateway.pins / gateway.mesh / gateway.id

    def pin(self, name):
        """The pin of a map; names carry the ABI's version."""
        found = list(self._directory.glob(f"v*-{name}"))
        if len(found) != 1:
            raise AssertionError(f"{len(found)} pins of {name} below {self._directory}: {found}")
        return found[0]

    def any_pins(self):
        return self._directory.exists()

    def rows(self, *how):
        """[(key bytes, value bytes)] of a map, named as bpftool does: "pinned", PATH or "id", NUMBER."""
        rows = json.loads(run("bpftool", "-j", "map", "dump", *how).stdout)
        return [(_bytes(row["key"]), _bytes(row["value"])) for row in rows]

    def _write(self, how, key, value):
        run("bpftool", "map", "update", *how, "key", *_words(key), "value", *_words(value))

    def _inner(self, table):
        """Id of the inner map that packets use now."""
        _, slot = self.selector()
        outer = dict(self.rows("pinned", self.pin(table)))
        (inner,) = struct.unpack("<I", outer[struct.pack("<I", slot)])
        return inner

    def peer_id(self, name):
        key = hashlib.blake2b(name.encode(), digest_size=32).digest()[:16]
        (number,) = struct.unpack("<I", dict(self.rows("pinned", self.pin("peer_ids")))[key])
        return number

    def set_holder(self, number, epoch, peer):
        """Who holds a resource in the active generation: a peer's id, or None for this gateway."""
        self._write(("id", self._inner("resources")), struct.pack("<I", number),
                    struct.pack("<QII", epoch, HERE if peer is None else peer, 0))

    def set_fence(self, number, epoch, deadline_boot_ns):
        self._write(("pinned", self.pin("fences")), struct.pack("<I", number), struct.pack("<QQ", epoch, deadline_boot_ns))

    def deadline_boot_ns(self, number):
        """Of a resource's lease."""
        row = json.loads(run("bpftool", "-j", "map", "lookup", "pinned", self.pin("fences"), "key",
                             *_words(struct.pack("<I", number))).stdout)
        return struct.unpack("<QQ", _bytes(row["value"])[:16])[1]

    def selector(self):
        """(generation, slot)"""
        word = self._selector_word(0)
        return word >> 1, word & 1

    def closes_ns(self):
        """When the active generation closes by itself, of CLOCK_MONOTONIC; 0: never."""
        return self._selector_word(1 + self.selector()[1])

    def _selector_word(self, place):
        words = dict(self.rows("pinned", self.pin("selector")))
        return struct.unpack("<Q", words[struct.pack("<I", place)])[0]

    def active(self, table):
        """Rows of the inner map that packets use now."""
        return self.rows("id", self._inner(table))

    def owners(self):
        """{(vni, prefix): (kind, class id, owner's number)} of both families, those of one segment only."""
        found = {}
        for table, width in (("owners4", 4), ("owners6", 16)):
            for key, value in self.active(table):
                length, vni = struct.unpack("<I", key[:4])[0], struct.unpack(">I", key[4:8])[0]
                if vni == 0:
                    continue  # "owned in any segment"
                prefix = ipaddress.ip_network((key[8:8 + width], length - 32))
                kind, _, class_id, number = struct.unpack("<BBHI", value)
                found[(vni, str(prefix))] = (kind, class_id, number)
        return found

    def fence(self, number):
        """The epoch below which the kernel refuses a resource."""
        rows = dict(self.rows("pinned", self.pin("fences")))
        return struct.unpack("<Q", rows[struct.pack("<I", number)][:8])[0]
