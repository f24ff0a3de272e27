# SPDX-License-Identifier: Apache-2.0
"""What must not pass does not, and is counted under the reason that an operator would look for."""

import ipaddress
import struct

import pytest

from lab import packets, until
from lab.mesh_lab import FORBIDDEN_UDP_PORT, SPARE_VNI, UDP_PORT, VNI
from lab.packets import ETH_ARP, ETH_IPV4, UDP, ethernet, inner_udp, ipv4, udp, vxlan
from lab.traffic import UdpFlow, connects, lost_nothing, send_datagrams, send_frames

A4, A6, B4, C4 = "10.1.0.10", "fd00:1::10", "10.2.0.10", "10.3.0.10"
PORT = 4789
COUNT = 5


class Senders:
    """Ways to get a handmade packet to the gateway."""

    def __init__(self, lab):
        self.lab = lab
        self.gw = lab.gateway
        self.mac = lab.gateway.mac

    def tunnel(self, frame, vni=VNI, source=None, **header):
        """In a tunnel packet of peer b, or of `source`."""
        send_datagrams((source or self.lab.b).namespace, self.gw.underlay, PORT, [vxlan(vni, frame, **header)] * COUNT)

    def bare(self, packet, source=None):
        """On the underlay, outside of any tunnel."""
        site = (source or self.lab.b).namespace
        frame = ethernet(self.gw.namespace.mac("mesh0"), site.mac("eth0"), ETH_IPV4, packet)
        send_frames(site, "eth0", [frame] * COUNT)

    def local(self, packet, ethertype=ETH_IPV4, vlan=None):
        """From host-a."""
        site = self.lab.host_a.namespace
        frame = ethernet(self.gw.namespace.mac("site0"), site.mac("eth0"), ethertype, packet, vlan)
        send_frames(site, "eth0", [frame] * COUNT)


def datagram(source, destination, port=UDP_PORT, **header):
    return ipv4(source, destination, UDP, udp(source, destination, 40000, port), **header)


def arp_request(asked, sender="10.2.0.254", sender_mac="02:00:00:00:02:02"):
    return struct.pack("!HHBBH", 1, ETH_IPV4, 6, 4, 1) + packets.mac(sender_mac) + \
        ipaddress.IPv4Address(sender).packed + bytes(6) + ipaddress.IPv4Address(asked).packed


OPTION_LOOSE_ROUTE = bytes([131, 3, 4, 0])
SHORT_UDP = struct.pack("!HHHH", 40000, UDP_PORT, 80, 0) + b"short"

# name -> (reason, how to provoke it)
CASES = {
    "a tunnel from an address that is no peer":
        ("peer_unknown", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac), source=s.lab.stranger)),
    "a peer in a segment that it may not use":
        ("vni_denied", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac), vni=SPARE_VNI)),
    "a peer in a segment that nobody knows":
        ("vni_denied", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac), vni=4711)),
    "VXLAN without the I flag":
        ("bad_tunnel", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac), flags=0)),
    "an inner frame for another MAC":
        ("not_our_mac", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, "02:00:00:00:09:09"))),
    "an inner multicast":
        ("inner_multicast", lambda s: s.tunnel(inner_udp(B4, "224.0.0.251", 5353, "01:00:5e:00:00:fb"))),
    "an inner broadcast":
        ("inner_multicast", lambda s: s.tunnel(inner_udp(B4, "10.1.0.255", UDP_PORT, "ff:ff:ff:ff:ff:ff"))),
    "a VLAN tag inside the tunnel":
        ("vlan_tag", lambda s: s.tunnel(ethernet(s.mac, s.lab.b.mac, ETH_IPV4, datagram(B4, A4), vlan=5))),
    "an inner protocol that is not IP":
        ("inner_ethertype", lambda s: s.tunnel(ethernet(s.mac, s.lab.b.mac, 0x88CC, b"\0" * 50))),
    "an inner link-local destination":
        ("link_local", lambda s: s.tunnel(inner_udp(B4, "169.254.1.1", UDP_PORT, s.mac))),
    "ARP for an address that is not the gateway's":
        ("neighbour_refused", lambda s: s.tunnel(
            ethernet("ff:ff:ff:ff:ff:ff", s.lab.b.mac, ETH_ARP, arp_request("10.1.0.77")))),
    "ARP under an address of somebody else":
        ("neighbour_refused", lambda s: s.tunnel(
            ethernet("ff:ff:ff:ff:ff:ff", s.lab.b.mac, ETH_ARP, arp_request("10.1.0.1", sender="10.3.0.254")))),
    "an inner source of another peer":
        ("source_denied", lambda s: s.tunnel(inner_udp(C4, A4, UDP_PORT, s.mac))),
    "an inner source of the local site":
        ("source_denied", lambda s: s.tunnel(inner_udp("10.1.0.20", A4, UDP_PORT, s.mac))),
    "an inner source that nobody owns":
        ("source_denied", lambda s: s.tunnel(inner_udp("10.99.0.1", A4, UDP_PORT, s.mac))),
    "an inner IPv6 source of another peer":
        ("source_denied", lambda s: s.tunnel(inner_udp("fd00:3::10", A6, UDP_PORT, s.mac))),
    "a port that no rule allows":
        ("policy_denied", lambda s: s.tunnel(inner_udp(B4, A4, FORBIDDEN_UDP_PORT, s.mac))),
    "a destination that nobody owns":
        ("no_route", lambda s: s.tunnel(inner_udp(B4, "10.99.0.1", UDP_PORT, s.mac))),
    "a TTL that is used up":
        ("ttl_exceeded", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac, ttl=1))),
    "a later fragment":
        ("fragment", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac, fragment=64))),
    "a source route in the tunnel":
        ("source_route", lambda s: s.tunnel(inner_udp(B4, A4, UDP_PORT, s.mac, options=OPTION_LOOSE_ROUTE))),
    "an inner protocol beyond TCP, UDP and ICMP":
        ("l4_unsupported", lambda s: s.tunnel(ethernet(s.mac, s.lab.b.mac, ETH_IPV4, ipv4(B4, A4, 47, bytes(20))))),
    "an inner header that is cut short":
        ("malformed", lambda s: s.tunnel(ethernet(s.mac, s.lab.b.mac, ETH_IPV4, datagram(B4, A4)[:12]))),
    "an inner UDP length beyond the packet":
        ("malformed", lambda s: s.tunnel(ethernet(s.mac, s.lab.b.mac, ETH_IPV4, ipv4(B4, A4, UDP, SHORT_UDP)))),
    "an untunnelled packet from a mesh address":
        ("untunnelled", lambda s: s.bare(datagram(B4, s.gw.underlay))),
    "an untunnelled packet to a mesh address":
        ("untunnelled", lambda s: s.bare(datagram(s.lab.b.underlay, A4))),
    "a fragment to the tunnel address":
        ("fragment", lambda s: s.bare(ipv4(s.lab.b.underlay, s.gw.underlay, UDP, bytes(64), fragment=8))),
    "a local host that claims a peer's address":
        ("source_denied", lambda s: s.local(datagram(B4, C4))),
    "a local host that claims a peer's address towards the outside":
        ("source_denied", lambda s: s.local(datagram(B4, "198.51.100.1"))),
    "a local host with an address that nobody owns":
        ("source_denied", lambda s: s.local(datagram("10.99.0.1", B4))),
    "a local host to a port that no rule allows":
        ("policy_denied", lambda s: s.local(datagram(A4, B4, FORBIDDEN_UDP_PORT))),
    "a local packet with a tag that is not configured":
        ("vlan_tag", lambda s: s.local(datagram(A4, B4), vlan=7)),
    "a local packet to an unowned address of the mesh's owner":
        ("no_route", lambda s: s.local(datagram(A4, "198.51.100.1"))),
}


@pytest.mark.parametrize("case", CASES)
def test_dropped_and_counted_by_name(lab, gw, case):
    reason, provoke = CASES[case]
    before, moved = gw.drops(), gw.verdicts()
    provoke(Senders(lab))
    rise = {name: count - before[name] for name, count in gw.drops().items() if count != before[name]}
    assert rise.get(reason) == COUNT, f"{COUNT} of {reason} expected, counted: {rise}"
    after = gw.verdicts()
    for verdict in ("decapsulated", "encapsulated", "relayed", "routed"):
        assert after[verdict] == moved[verdict], verdict


def test_a_forbidden_flow_delivers_nothing_while_an_allowed_one_runs(lab):
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4) as allowed, \
            UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4, FORBIDDEN_UDP_PORT) as forbidden:
        allowed.wait_received(500)
        forbidden.wait_sent(500)
    lost_nothing(allowed)
    report = forbidden.stop()
    assert report.received == 0 and report.sent >= 500


def test_a_tcp_port_that_no_rule_allows_does_not_connect(lab):
    assert connects(lab.host_b.namespace, lab.host_a.namespace, A4, 5001)
    assert not connects(lab.host_b.namespace, lab.host_a.namespace, A4, 5002)


def test_a_strangers_tunnel_gets_no_answer(lab, gw):
    before = gw.drops()["peer_unknown"]
    assert lab.stranger.host.ping(A4, 3, wait=0.2) == 0
    assert gw.drops()["peer_unknown"] - before >= 3


def tunnels_from(lab, address):
    """Peer b's tunnel, from another address of its own."""
    lab.b.tunnel(address, lab.gateway.underlay)
    lab.b.reach("10.1.0", "fd00:1", "10.1.0.1", "fd00:1::1")
    lab.b.reach(lab.c.network4, lab.c.network6, "10.1.0.1", "fd00:1::1")


def test_a_peer_that_changes_its_underlay_address_is_a_stranger_until_that_is_signed(lab, gw):
    moved = "192.0.2.44"
    lab.b.namespace.address("eth0", f"{moved}/24")
    try:
        tunnels_from(lab, moved)
        before = gw.drops()["peer_unknown"]
        assert lab.host_b.ping(A4, 2, wait=0.2) == 0
        assert gw.drops()["peer_unknown"] > before
        lab.adopt(lab.base_policy().changed(lambda tree: tree["peers"][0].update(addresses=[moved])))
        until("b is known at its new address", lambda: lab.host_b.ping(A4, 1) == 1)
        assert lab.host_a.ping(B4, 3) == 3
        # And what comes from the old one is a stranger's.
        before = gw.drops()["peer_unknown"]
        Senders(lab).tunnel(inner_udp(B4, A4, UDP_PORT, gw.mac))
        assert gw.drops()["peer_unknown"] - before == COUNT
    finally:
        tunnels_from(lab, lab.b.underlay)
        lab.b.namespace.ip("address", "del", f"{moved}/24", "dev", "eth0")


def test_drops_of_a_known_peer_are_counted_at_the_peer(lab, gw):
    before = gw.peers()["b"]
    Senders(lab).tunnel(inner_udp(C4, A4, UDP_PORT, gw.mac))
    after = gw.peers()["b"]
    # Beside them, what its own kernel says to all neighbours now and then.
    assert COUNT <= int(after["dropped"]["packets"]) - int(before["dropped"]["packets"]) < 2 * COUNT
    assert after["rx"] == before["rx"]


def test_a_peer_without_a_mac_cannot_be_sent_to(lab, gw):
    def forget(tree):
        tree["peers"][0].pop("mac")
    lab.adopt(lab.base_policy().changed(forget))
    before = gw.drops()["peer_mac_unknown"]
    Senders(lab).local(datagram(A4, B4))
    assert gw.drops()["peer_mac_unknown"] - before == COUNT


def test_a_packet_is_never_sent_back_to_the_peer_that_it_came_from(lab, gw):
    lab.adopt(lab.base_policy().allowing("site-b", "site-b", "udp", ports=[UDP_PORT]))
    before = gw.drops()["relay_refused"]
    Senders(lab).tunnel(inner_udp(B4, "10.2.0.20", UDP_PORT, gw.mac))
    assert gw.drops()["relay_refused"] - before == COUNT


def own_prefix(lab, prefix):
    lab.adopt(lab.base_policy().changed(lambda tree: tree["prefixes"].append(
        {"segment": "corp", "prefix": prefix, "owner": {"gateway": "gw"}, "class": "site-a"})))


def test_a_local_prefix_without_a_kernel_route_is_not_forwarded(lab, gw):
    own_prefix(lab, "10.8.0.0/24")
    before = gw.drops()["no_fib_route"]
    Senders(lab).tunnel(inner_udp(B4, "10.8.0.1", UDP_PORT, gw.mac))
    assert gw.drops()["no_fib_route"] - before == COUNT


def test_a_site_route_that_leaves_by_the_underlay_is_not_followed(lab, gw):
    own_prefix(lab, "10.8.0.0/24")
    gw.namespace.ip("route", "add", "10.8.0.0/24", "via", lab.c.underlay)
    try:
        before = gw.drops()["egress_not_allowed"]
        assert gw.namespace.run("ping", "-n", "-c", 1, "-W", 1, lab.c.underlay).returncode == 0  # its MAC is known
        Senders(lab).tunnel(inner_udp(B4, "10.8.0.1", UDP_PORT, gw.mac))
        assert gw.drops()["egress_not_allowed"] - before == COUNT
    finally:
        gw.namespace.ip("route", "delete", "10.8.0.0/24")


def test_a_packet_that_the_way_out_cannot_carry_and_that_must_not_be_cut_is_dropped_as_too_big(lab, gw):
    before = gw.drops()["too_big"]
    big = ipv4(A4, B4, UDP, udp(A4, B4, 40000, UDP_PORT, bytes(1460)), whole=True)
    Senders(lab).local(big)
    assert gw.drops()["too_big"] - before == COUNT
