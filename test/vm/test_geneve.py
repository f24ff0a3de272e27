# SPDX-License-Identifier: Apache-2.0
"""Geneve against the kernel's own geneve device, over both families."""

import pytest

from lab import MeshLab
from lab.capture import Capture
from lab.mesh_lab import VNI
from lab.traffic import ping_udp_and_tcp

GATEWAY6, C6 = "2001:db8::1", "2001:db8::3"


def geneve(peer, remote, mtu):
    """The peer's tunnel device, as the kernel's geneve."""
    peer.namespace.run("ip", "link", "del", "vx0", check=False)
    peer.namespace.ip("link", "add", "vx0", "address", peer.mac, "mtu", mtu, "type", "geneve", "id", VNI, "remote", remote,
                      "dstport", 6081)
    peer.namespace.address("vx0", f"{peer.vxlan4}/32", f"{peer.vxlan6}/128")
    peer.namespace.ip("link", "set", "vx0", "up")


@pytest.fixture(scope="module")
def lab():
    """Peer b speaks Geneve over IPv4, peer c over IPv6."""
    with MeshLab(start=False) as made:
        made.gateway.namespace.address("mesh0", f"{GATEWAY6}/64")
        made.c.namespace.address("eth0", f"{C6}/64")
        geneve(made.b, made.gateway.underlay, 1450)
        geneve(made.c, GATEWAY6, 1430)
        for peer, other in ((made.b, made.c), (made.c, made.b)):
            peer.reach("10.1.0", "fd00:1", "10.1.0.1", "fd00:1::1")
            peer.reach(other.network4, other.network6, "10.1.0.1", "fd00:1::1")
        made.found()
        made.gateway.start(ready=False)
        policy = made.base_policy()
        policy.tree["gateways"][0]["underlay"].append(GATEWAY6)
        for peer in policy.tree["peers"]:
            peer["tunnel"] = "geneve"
            if peer["id"] == "c":
                peer["addresses"] = [C6]
        made.adopt(policy)
        made.settle()
        yield made


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source, destination", [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a"), ("b", "c")])
def test_the_kernels_geneve_device_and_we_understand_each_other(lab, source, destination, family):
    here, there = getattr(lab, f"host_{source}"), getattr(lab, f"host_{destination}")
    ping_udp_and_tcp(here, there, family, pings=3, datagrams=20, rate=50, stream_bytes=20_000, timeout=60)


def test_outer_checksums_over_ipv6_are_real(lab):
    with Capture(lab.c.namespace, "eth0", f"ip6 and udp port 6081 and src {GATEWAY6}") as capture:
        assert lab.host_a.ping(lab.host_c.address4, 2) == 2
        assert lab.host_a.ping(lab.host_c.address6, 2) == 2
        capture.wait(4)
        packets = capture.text("-vvv")
    for packet in packets:
        assert "[udp sum ok]" in packet, packet
        assert "Geneve" in packet and "vni 0x64" in packet, packet
