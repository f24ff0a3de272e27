# SPDX-License-Identifier: Apache-2.0
"""A Geneve peer that shares no code with the gateway: scapy writes what it sends and reads what it gets."""

import json

import pytest

from lab.mesh_lab import SEGMENT, VNI

pytest.importorskip("scapy.contrib.geneve")

PEER_MAC = "02:00:00:00:02:66"
INSIDE = "10.66.0.10"

SPEAKER = """
import json, logging, socket, sys
logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import Ether

gateway, gateway_mac, own_mac, vni, inside, target = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 6081))
s.settimeout(0.5)
inner = Ether(dst=gateway_mac, src=own_mac) / IP(src=inside, dst=target) / ICMP(id=7, seq=1) / (b"x" * 32)


def asked(options, critical=0):
    s.sendto(bytes(GENEVE(vni=int(vni), critical=critical, options=options) / inner), (gateway, 6081))
    try:
        answer = GENEVE(s.recv(2000))
    except TimeoutError:
        return None
    return {"vni": answer.vni, "options": len(answer.options), "version": answer.version, "proto": answer.proto,
            "to": answer[Ether].dst, "from": answer[IP].src, "ttl": answer[IP].ttl, "type": answer[ICMP].type}


asked([])  # has the neighbours on the way resolved
print(json.dumps({
    "plain": asked([]),
    "unknown": asked([GeneveOptions(classid=0x0102, type=5, data=b"1234")]),
    "critical": asked([GeneveOptions(classid=0x0102, type=0x85, data=b"1234")], 1),
}))
"""


def test_a_geneve_peer_of_another_making_is_understood_and_understands(lab, gw):
    def add(tree):
        tree["peers"].append({"id": "geneve", "addresses": [lab.stranger.underlay], "segments": [SEGMENT],
                              "mac": PEER_MAC, "tunnel": "geneve"})
        tree["prefixes"].append({"segment": SEGMENT, "prefix": "10.66.0.0/24", "owner": {"peer": "geneve"},
                                 "class": "site-g"})
        tree["rules"].append({"from": "site-g", "to": "site-a", "protocol": "icmp", "types": [8]})
    lab.adopt(lab.base_policy().changed(add))
    before = gw.drops()["bad_tunnel"]
    done = lab.stranger.namespace.run("/usr/bin/python3", "-c", SPEAKER, gw.underlay, gw.mac, PEER_MAC, VNI, INSIDE,
                                      lab.host_a.address4, timeout=60)
    answers = json.loads(done.stdout)
    for kind in ("plain", "unknown"):
        answer = answers[kind]
        assert answer is not None, kind
        assert (answer["vni"], answer["version"], answer["proto"], answer["options"]) == (VNI, 0, 0x6558, 0)
        assert (answer["to"], answer["from"], answer["type"]) == (PEER_MAC, lab.host_a.address4, 0)
        assert answer["ttl"] == 63
    assert answers["critical"] is None
    assert gw.drops()["bad_tunnel"] == before + 1
