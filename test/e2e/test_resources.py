# SPDX-License-Identifier: Apache-2.0
"""An address that two gateways take turns to own. Who holds it is written into the kernel's tables by the test."""

import os
import signal
import time

import pytest

from lab import until
from lab.capture import Capture
from lab.kernel_tables import KernelTables
from lab.mesh_lab import SEGMENT, VNI
from lab.two_gateways import TwoGatewayLab
from lab.wait import PATIENCE

VIP, NUMBER = "10.90.0.1", 1


@pytest.fixture(scope="module")
def lab():
    """Both sites' hosts have the address; which of them is meant is the holder's to say."""
    with TwoGatewayLab() as made:
        for gateway in (made.gateway, made.gateway2):
            gateway.edit_config("interfaces:", "claims: {automatic: false}\ninterfaces:")
            gateway.hang_up()
        def add(tree):
            tree["resources"] = [{"id": "vip", "number": NUMBER, "candidates": ["gw", "gw2"], "ttl_ms": 10000, "floor": 0}]
            tree["prefixes"].append({"segment": SEGMENT, "prefix": f"{VIP}/32", "owner": {"resource": "vip"},
                                     "class": "vip"})
            for site in ("site-a", "site-b", "site-d"):
                tree["rules"].append({"from": site, "to": "vip", "protocol": "icmp", "types": [8]})
            for site in ("site-a", "site-d"):
                tree["rules"].append({"from": "vip", "to": site, "protocol": "icmp", "types": [8]})
        for gateway, host in ((made.gateway, made.host_a), (made.gateway2, made.host_d)):
            host.namespace.address("lo", f"{VIP}/32")
            gateway.namespace.ip("route", "add", f"{VIP}/32", "via", host.address4)
        reach_by(made, "10.1.0.1")
        made.adopt(made.base_policy().changed(add))
        yield made


def reach_by(lab, gateway):
    """Peer b sends what is for the address to this gateway's."""
    lab.b.namespace.ip("route", "replace", f"{VIP}/32", "via", gateway, "dev", "vx0", "onlink")


def give(lab, holder, epoch, seconds=60):
    """Both gateways are told."""
    for gateway in (lab.gateway, lab.gateway2):
        tables = KernelTables(gateway)
        tables.set_fence(NUMBER, epoch, time.clock_gettime_ns(time.CLOCK_BOOTTIME) + int(seconds * 1e9))
        tables.set_holder(NUMBER, epoch, None if gateway is holder else tables.peer_id(holder.id))


def test_what_nobody_holds_reaches_nobody(lab):
    before = lab.gateway.drops()["unheld"]
    assert lab.host_b.ping(VIP, 2, wait=0.2) == 0
    assert lab.gateway.drops()["unheld"] >= before + 2


def test_it_is_its_holders_and_moves_with_the_epoch(lab):
    give(lab, lab.gateway, 1)
    assert lab.host_b.ping(VIP, 3) == 3
    # A host of the other site that has the address too may not speak from it.
    before = lab.gateway2.drops()["not_holder"]
    assert lab.host_d.ping(lab.host_a.address4, 2, wait=0.2, source=VIP) == 0
    assert lab.gateway2.drops()["not_holder"] >= before + 2

    give(lab, lab.gateway2, 2)
    before = lab.gateway.drops()["not_holder"]
    assert lab.host_a.ping(lab.host_d.address4, 2, wait=0.2, source=VIP) == 0
    assert lab.gateway.drops()["not_holder"] >= before + 2
    reach_by(lab, "10.4.0.1")
    try:
        until("b reaches it at its new holder", lambda: lab.host_b.ping(VIP, 1) == 1)
        assert lab.host_b.ping(VIP, 3) == 3
    finally:
        reach_by(lab, "10.1.0.1")


def test_a_holder_under_an_old_epoch_is_refused_by_the_others(lab):
    give(lab, lab.gateway2, 4)
    # gw has heard of a newer holder, gw2 has not.
    KernelTables(lab.gateway).set_fence(NUMBER, 5, time.clock_gettime_ns(time.CLOCK_BOOTTIME) + int(60e9))
    before = lab.gateway.drops()["stale_epoch"]
    lab.host_d.ping(lab.host_a.address4, 3, wait=0.2, source=VIP)
    assert lab.gateway.drops()["stale_epoch"] >= before + 3


def test_scapy_reads_the_fence_option_as_it_is_specified(lab):
    geneve = pytest.importorskip("scapy.contrib.geneve").GENEVE
    inet, utils = pytest.importorskip("scapy.layers.inet"), pytest.importorskip("scapy.utils")
    epoch = 0x0123456789ABCDEF
    give(lab, lab.gateway2, epoch)
    with Capture(lab.underlay.namespace, "to-gw2", f"udp dst port 6081 and src {lab.outer(4)}") as capture:
        lab.host_d.ping(lab.host_a.address4, 2, wait=0.2, source=VIP)  # host-a has the address too, and answers itself
        assert lab.host_d.ping(lab.host_a.address4, 1) == 1
        capture.wait(3)
        tunnels = [geneve(bytes(frame[inet.UDP].payload)) for frame in utils.rdpcap(capture.path)]
    from_vip = [tunnel for tunnel in tunnels if tunnel[inet.IP].src == VIP]
    assert len(from_vip) == 2 and len(tunnels) == 3
    for tunnel in tunnels:
        assert (tunnel.version, tunnel.vni, tunnel.proto, tunnel.critical, tunnel.oam) == (0, VNI, 0x6558, 0, 0)
    for tunnel in from_vip:
        (option,) = tunnel.options
        assert (option.classid, option.type, option.length) == (0xFFF0, 1, 3)
        assert bytes(option.data) == NUMBER.to_bytes(4, "big") + epoch.to_bytes(8, "big")
    assert all(tunnel.options == [] for tunnel in tunnels if tunnel not in from_vip)


def test_a_holder_stops_at_its_deadline_with_its_agent_frozen(lab):
    before = lab.gateway.drops()["lease_expired"]
    os.kill(lab.gateway.pid, signal.SIGSTOP)
    try:
        give(lab, lab.gateway, 7, seconds=2 * PATIENCE)
        assert lab.host_b.ping(VIP, 1) == 1
        until("the lease is over", lambda: lab.host_b.ping(VIP, 1, wait=0.2) == 0, 5)
        assert lab.host_b.ping(VIP, 2, wait=0.2) == 0
    finally:
        os.kill(lab.gateway.pid, signal.SIGCONT)
    assert lab.gateway.drops()["lease_expired"] >= before + 3
