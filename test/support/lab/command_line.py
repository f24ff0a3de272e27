# SPDX-License-Identifier: Apache-2.0
"""The command-line tool where no agent is needed: an authority's desk, and a gateway's files."""

import json

from .authority import public_key
from .command import run
from .gateway import BUILD
from .signer import Signer

POSTERN = BUILD / "postern"

OK, FAILURE, USAGE, UNREACHABLE, CONFIG, AUTHORITY, CONFLICT, _CHANGES, CAPACITY = range(9)

POLICY = """\
mesh: lab
on_expiry: hold
authority:
  threshold: 1
  keys: ["{key}"]
segments:
  - {{id: blue, vni: 100}}
gateways:
  - id: gw
    key: "{node}"
    underlay: [192.0.2.1]
    mac: "02:00:00:00:01:01"
    addresses: [{{segment: blue, address: 10.1.0.1}}]
peers:
  - {{id: site-b, addresses: [192.0.2.2], segments: [blue], mac: "02:00:00:00:02:01"}}
  - {{id: site-c, addresses: [192.0.2.3], segments: [blue], state: revoked}}
prefixes:
  - {{segment: blue, prefix: 10.1.0.0/24, owner: {{gateway: gw}}, class: site-a}}
  - {{segment: blue, prefix: 10.2.0.0/24, owner: {{peer: site-b}}, class: site-b}}
  - {{segment: blue, prefix: 10.3.0.0/24, owner: {{peer: site-c}}, class: site-c}}
rules:
  - {{from: site-a, to: site-b, protocol: tcp, ports: [80, "8000-8100"]}}
  - {{from: site-b, to: site-a, protocol: icmp, types: [0, 8]}}
"""

CONFIG_TEXT = """\
mesh: lab
gateway: gw
state: {state}
pins: {pins}
socket: {socket}
root: {root}
interfaces:
  - {{name: mesh0, role: underlay}}
  - {{name: site0, role: local, segment: blue}}
"""


def postern(*args):
    return run(POSTERN, *args, check=False)


def refused(code, *args):
    """What it said to people; and that it says the same to programs, with the same exit code."""
    done = postern(*args)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == "" and done.stderr.startswith("postern: ")
    machine = postern("--json", *args)
    assert machine.returncode == code and machine.stderr == ""
    answer = json.loads(machine.stdout)
    assert answer["schema"] == "postern/error/v1" and answer["error"]["exit"] == code
    assert answer["error"]["message"].split("\n")[0] in done.stderr
    assert f"[{answer['error']['code']}]" in done.stderr
    return done.stderr


def accepted(*args):
    done = postern(*args)
    assert done.returncode == OK and done.stderr == "", (args, done.returncode, done.stderr)
    return done.stdout


def accepted_json(*args):
    out = accepted("--json", *args)
    assert out.count("\n") == 1
    return json.loads(out)


class Desk:
    """An authority's desk: keys, root, policy, and a first signed snapshot."""

    def __init__(self, directory):
        self.directory = directory
        self.key_file = directory / "authority.key"
        self.key = public_key(accepted("keygen", self.key_file))
        self.node = public_key(accepted("keygen", directory / "node.key"))
        self.root = directory / "root.json"
        accepted("authority", "root", "--mesh", "lab", "--key", self.key, "-o", self.root)
        self.policy = self.write("policy.yaml", POLICY.format(key=self.key, node=self.node))
        self.snapshot = self.sign(self.compile("one.json"))

    def write(self, name, text):
        path = self.directory / name
        path.write_text(text, encoding="utf-8")
        return path

    def edited_policy(self, old, new):
        text = self.policy.read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        return self.write("edited.yaml", text.replace(old, new))

    def compile(self, name, *options, policy=None):
        out = self.directory / name
        accepted("authority", "compile", policy or self.policy, "-o", out, *options)
        return out

    def sign(self, path):
        accepted("authority", "sign", path, "--key", self.key_file)
        return path

    def sealed(self, payload):
        """A file whose signature is good, around any bytes."""
        path = self.directory / "sealed.json"
        path.write_bytes(Signer(self.key_file).seal(payload))
        return path

    def verify(self, path, *options):
        return ("authority", "verify", path, "--root", self.root, *options)

    def line_of(self, path, text):
        lines = path.read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


class Site:
    """A gateway's config in a directory of its own."""

    def __init__(self, directory):
        self.state = directory / "state"
        self.root = directory / "etc" / "root.json"
        self.pins = directory / "pins"
        self.socket = directory / "agent.sock"
        self.config = directory / "postern.yaml"
        self.config.write_text(CONFIG_TEXT.format(state=self.state, root=self.root, pins=self.pins, socket=self.socket),
                               encoding="utf-8")
