# SPDX-License-Identifier: Apache-2.0
"""Signs arbitrary bytes as a snapshot, which the command-line tool rightly refuses to do.

Ed25519 after RFC 8032, section 5.1, written from the formulas: slow, not constant-time, for tests only. It is also a
second opinion on the file format: canonical envelope, domain separation, key ids (SPEC 3.2).
"""

import base64
import hashlib
import json

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
DOMAIN = b"postern/snapshot/v1"


def _add(a, b):
    """Extended twisted Edwards coordinates (x, y, z, t), complete addition."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    e = (y1 - x1) * (y2 - x2) % P
    f = (y1 + x1) * (y2 + x2) % P
    g = 2 * t1 * t2 * D % P
    h = 2 * z1 * z2 % P
    return ((f - e) * (h - g) % P, (h + g) * (f + e) % P, (h - g) * (h + g) % P, (f - e) * (f + e) % P)


def _multiply(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


def _base():
    y = 4 * pow(5, -1, P) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 else x
    return (x, y, 1, x * y % P)


BASE = _base()


def _encode(point):
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return (y * inverse % P | (x * inverse % P & 1) << 255).to_bytes(32, "little")


def _number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


class Signer:
    def __init__(self, key_file):
        words = key_file.read_text(encoding="ascii").split()
        assert words[0] == "postern-key-v1", words[0]
        digest = hashlib.sha512(base64.b64decode(words[1])).digest()
        self._scalar = int.from_bytes(digest[:32], "little") & (2**254 - 8) | 2**254
        self._prefix = digest[32:]
        self.public = _encode(_multiply(self._scalar, BASE))

    def signature(self, message):
        nonce = _number(self._prefix, message) % L
        commitment = _encode(_multiply(nonce, BASE))
        answer = (nonce + _number(commitment, self.public, message) * self._scalar) % L
        return commitment + answer.to_bytes(32, "little")

    def seal(self, payload, domain=DOMAIN):
        """The signed file around these payload bytes, whatever they are."""
        signature = {"key": hashlib.blake2b(self.public, digest_size=32).hexdigest(),
                     "sig": base64.b64encode(self.signature(domain + b"\0" + payload)).decode()}
        return b'{"signatures":[' + canonical(signature) + b'],"signed":' + payload + b"}"


def canonical(tree):
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def payload_of(signed_file):
    """The bytes that were signed."""
    data = signed_file.read_bytes().rstrip(b"\n")
    return data[data.index(b',"signed":') + len(b',"signed":'):-1]
