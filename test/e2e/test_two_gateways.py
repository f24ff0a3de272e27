# SPDX-License-Identifier: Apache-2.0
"""Two gateways that face each other, and stock peers beside them."""

import pytest

from lab import until
from lab.capture import Capture
from lab.traffic import TcpStream, UdpFlow, lost_nothing, ping_udp_and_tcp
from lab.two_gateways import TwoGatewayLab


@pytest.fixture(scope="module", params=[4, 6], ids=["underlay4", "underlay6"])
def lab(request):
    with TwoGatewayLab(request.param) as made:
        yield made


@pytest.fixture
def based(lab):
    """The lab with the base policy in force before and after."""
    yield lab
    if lab.policy != lab.base_policy():
        lab.adopt(lab.base_policy())


def relaying_for_c(policy):
    def change(tree):
        next(peer for peer in tree["peers"] if peer["id"] == "c")["via"] = "gw"
    return policy.changed(change)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source, destination", [("a", "d"), ("d", "a")])
def test_sites_of_two_gateways_reach_each_other(lab, source, destination, family):
    here, there = getattr(lab, f"host_{source}"), getattr(lab, f"host_{destination}")
    ping_udp_and_tcp(here, there, family)


def test_they_speak_geneve_with_right_checksums(lab):
    where = "ip" if lab.family == 4 else "ip6"
    # XDP takes them off the interface before tcpdump sees them, so it listens at the switch.
    expression = f"{where} and udp dst port 6081 and src {lab.outer(1)}"
    with Capture(lab.underlay.namespace, "to-gw2", expression) as capture:
        assert lab.host_a.ping(lab.host_d.address4, 3) == 3
        capture.wait(3)
        packets = capture.text("-vvv")
    for packet in packets:
        assert "Geneve" in packet and "vni 0x64" in packet, packet
        assert ("[no cksum]" if lab.family == 4 else "[udp sum ok]") in packet, packet


def test_a_stock_peer_reaches_both_sites_by_one_device(lab):
    until("c reaches d", lambda: lab.host_c.ping(lab.host_d.address4, 1) == 1)
    for address in (lab.host_a.address4, lab.host_d.address4, lab.host_d.address6):
        assert lab.host_c.ping(address, 3) == 3
    assert lab.host_d.ping(lab.host_c.address4, 3) == 3


def test_no_gateway_relays_for_a_peer_unless_that_was_signed(based):
    lab = based
    # c sends what is for d by way of gw, which lets it on; gw2 knows that gw does not speak for c.
    lab.c.reach("10.4.0", "fd00:4", "10.1.0.1", "fd00:1::1")
    try:
        before = lab.gateway2.drops()["source_denied"]
        assert lab.host_c.ping(lab.host_d.address4, 3, wait=0.3) == 0
        assert lab.gateway2.drops()["source_denied"] >= before + 3
        lab.adopt(relaying_for_c(lab.base_policy()))
        relayed = lab.gateway.verdicts()["relayed"]
        assert lab.host_c.ping(lab.host_d.address4, 5) == 5
        assert lab.host_d.ping(lab.host_c.address4, 5) == 5
        with TcpStream(lab.host_d.namespace, lab.host_c.namespace, lab.host_c.address4) as stream:
            stream.wait_received(100_000)
        assert lab.gateway.verdicts()["relayed"] >= relayed + 20
    finally:
        lab.c.reach("10.4.0", "fd00:4", "10.4.0.1", "fd00:4::1")


def test_one_gateway_goes_and_the_others_sites_go_on(lab):
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, lab.host_a.address4) as flow:
        flow.wait_received(100)
        lab.gateway2.stop()
        assert lab.gateway2.run_daemon("--detach").returncode == 0
        assert lab.host_a.ping(lab.host_d.address4, 2, wait=0.2) == 0
        assert lab.gateway.status()["ready"]
        flow.wait_received(200)
        lost_nothing(flow)
    lab.gateway2.start()
    until("a reaches d again", lambda: lab.host_a.ping(lab.host_d.address4, 1) == 1)
