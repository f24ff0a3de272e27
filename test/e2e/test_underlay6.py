# SPDX-License-Identifier: Apache-2.0
"""Tunnels over IPv6 to a stock Linux peer, and between it and one over IPv4."""

import pytest

from lab import MeshLab
from lab.capture import Capture
from lab.traffic import connects, ping_udp_and_tcp

GATEWAY6, C6 = "2001:db8::1", "2001:db8::3"
MTU6 = 1430  # 1500 less the headers of a tunnel over IPv6

WAYS = [("a", "c"), ("c", "a"), ("b", "c"), ("c", "b")]


@pytest.fixture(scope="module")
def lab6():
    """Peer c speaks IPv6 on the underlay, peer b IPv4."""
    with MeshLab(start=False) as lab:
        lab.gateway.namespace.address("mesh0", f"{GATEWAY6}/64")
        lab.c.namespace.address("eth0", f"{C6}/64")
        lab.c.tunnel(C6, GATEWAY6, mtu=MTU6)
        for other4, other6 in (("10.1.0", "fd00:1"), (lab.b.network4, lab.b.network6)):
            lab.c.reach(other4, other6, "10.1.0.1", "fd00:1::1")
        lab.found()
        lab.gateway.start(ready=False)
        policy = lab.base_policy()
        policy.tree["gateways"][0]["underlay"].append(GATEWAY6)
        next(peer for peer in policy.tree["peers"] if peer["id"] == "c")["addresses"] = [C6]
        lab.adopt(policy)
        lab.settle()
        yield lab


def host(lab, letter):
    return getattr(lab, f"host_{letter}")


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source, destination", WAYS)
def test_all_combinations_of_families_carry_ping_udp_and_tcp(lab6, source, destination, family):
    here, there = host(lab6, source), host(lab6, destination)
    ping_udp_and_tcp(here, there, family, datagrams=200)


def test_the_stock_peer_sees_right_outer_checksums(lab6):
    with Capture(lab6.c.namespace, "eth0", f"ip6 and udp and src {GATEWAY6}") as capture:
        assert lab6.host_a.ping(lab6.host_c.address4, 3) == 3
        assert lab6.host_a.ping(lab6.host_c.address6, 3) == 3
        assert connects(lab6.host_a.namespace, lab6.host_c.namespace, lab6.host_c.address4, 5001)
        capture.wait(8)
        packets = capture.text("-vvv")
    for packet in packets:
        assert "[udp sum ok]" in packet, packet
        assert "VXLAN, flags [I] (0x08), vni 100" in packet, packet
