# SPDX-License-Identifier: Apache-2.0
"""What is allowed arrives, intact, through XDP, and looks like VXLAN to everybody else."""

import json
import os
import re
import subprocess

import pytest

from lab import until
from lab.capture import Capture
from lab.traffic import TcpStream, UdpFlow, connects, lost_nothing

A4, A6 = "10.1.0.10", "fd00:1::10"
B4, B6 = "10.2.0.10", "fd00:2::10"
C4, C6 = "10.3.0.10", "fd00:3::10"

WAYS = [("b", "a", A4), ("b", "a", A6), ("a", "b", B4), ("a", "b", B6), ("b", "c", C4), ("c", "b", B6)]


def host(lab, letter):
    return getattr(lab, f"host_{letter}")


def names(ways):
    return [f"{source}-{destination}-{'v6' if ':' in address else 'v4'}" for source, destination, address in ways]


@pytest.mark.parametrize("source, destination, address", WAYS, ids=names(WAYS))
def test_ping_is_answered(lab, source, destination, address):
    assert host(lab, source).ping(address, 5) == 5


@pytest.mark.parametrize("source, destination, address", WAYS, ids=names(WAYS))
def test_udp_arrives_without_loss_or_duplicate(lab, source, destination, address):
    with UdpFlow(host(lab, source).namespace, host(lab, destination).namespace, address) as flow:
        flow.wait_received(700)
        (report,) = lost_nothing(flow)
    assert report.duplicates == 0


def test_a_loss_is_noticed_and_its_failure_tells_where_it_was_counted(lab):
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4) as flow:
        flow.wait_received(50)
        lab.adopt(lab.policy.changed(lambda tree: tree.update(
            rules=[rule for rule in tree["rules"] if rule["protocol"] != "udp"])))
        lab.adopt(lab.base_policy())
        flow.wait_received(50)
        with pytest.raises(AssertionError) as failed:
            lost_nothing(flow)
    assert re.search(r"lost: numbers \d+ to \d+ missed at ", str(failed.value)), failed.value
    dropped = re.search(r"packet path of gw: drop policy_denied \+(\d+)$", str(failed.value), re.M)
    assert dropped and int(dropped.group(1)) == flow.stop().lost, failed.value


@pytest.mark.parametrize("source, destination, address", WAYS, ids=names(WAYS))
def test_tcp_streams_without_a_stall(lab, source, destination, address):
    with TcpStream(host(lab, source).namespace, host(lab, destination).namespace, address) as stream:
        stream.wait_received(100_000)
        assert stream.longest_gap < 0.5


def test_each_way_is_counted_under_its_verdict(lab, gw):
    before, drops = gw.verdicts(), gw.drops()
    assert lab.host_b.ping(A4, 10) == 10
    assert lab.host_b.ping(C4, 10) == 10
    after = gw.verdicts()
    assert after["decapsulated"] - before["decapsulated"] == 10
    assert after["encapsulated"] - before["encapsulated"] == 10
    assert after["relayed"] - before["relayed"] == 20
    assert gw.drops() == drops


def test_peers_are_counted_in_packets_and_bytes(lab, gw):
    before = gw.peers()
    assert lab.host_b.ping(C4, 10) == 10
    after = gw.peers()

    def rise(peer, way, unit):
        return int(after[peer][way][unit]) - int(before[peer][way][unit])
    for peer in ("b", "c"):
        assert rise(peer, "rx", "packets") == 10
        assert rise(peer, "tx", "packets") == 10
        assert rise(peer, "rx", "bytes") >= 10 * 84
        assert rise(peer, "dropped", "packets") == 0


def test_ttl_goes_down_once_at_the_gateway(lab):
    done = lab.host_a.namespace.run("ping", "-n", "-c", 1, "-W", 1, B4)
    # 64 at host-b, less one at its stock router, less one here.
    assert "ttl=62" in done.stdout


def test_the_segment_address_answers_arp_and_nd_without_static_neighbours(lab, gw):
    peer = lab.b.namespace
    peer.ip("neighbour", "flush", "dev", "vx0")
    assert lab.host_b.ping(A4, 1, wait=2) == 1
    assert lab.host_b.ping(A6, 1, wait=2) == 1
    known = peer.run("ip", "neighbour", "show", "dev", "vx0").stdout
    assert re.search(rf"^10\.1\.0\.1 lladdr {gw.mac} ", known, re.M), known
    assert re.search(rf"^fd00:1::1 lladdr {gw.mac} ", known, re.M), known


def test_a_packet_that_is_not_the_meshs_reaches_the_gateways_own_stack(lab, gw):
    before = gw.verdicts()["pass"]
    assert lab.b.namespace.run("ping", "-n", "-c", 3, "-i", 0.05, "-W", 1, gw.underlay, check=False).returncode == 0
    assert gw.verdicts()["pass"] - before >= 3


def test_tcpdump_on_a_stock_peer_shows_well_formed_vxlan(lab, gw):
    with Capture(lab.b.namespace, "eth0", f"udp port 4789 and src {gw.underlay}") as capture:
        assert lab.host_a.ping(B4, 3) == 3
        assert lab.host_a.ping(B6, 3) == 3
        assert connects(lab.host_a.namespace, lab.host_b.namespace, B4, 5001)
        with UdpFlow(lab.host_a.namespace, lab.host_b.namespace, B4) as flow:
            flow.wait_received(20)
        capture.wait(30)
        packets = capture.text("-vvv")
        frames = capture.text("-e")
    assert len(packets) >= 30
    for packet in packets:
        assert "VXLAN, flags [I] (0x08), vni 100" in packet
        for fault in ("bad cksum", "incorrect", "bad udp cksum", "truncated", "trunc", "[|"):
            assert fault not in packet, packet
    assert any("ICMP6, echo request" in packet for packet in packets)
    assert any("Flags [S]" in packet and "(correct)" in packet for packet in packets)
    for frame in frames:
        assert f"{gw.mac} > {lab.b.mac}" in frame, frame


def test_the_outer_source_port_is_a_flows_own(lab, gw):
    with Capture(lab.b.namespace, "eth0", f"udp port 4789 and src {gw.underlay}") as capture:
        flows = []
        for _ in range(4):  # each from a port of its own
            with UdpFlow(lab.host_a.namespace, lab.host_b.namespace, B4) as flow:
                flow.wait_received(20)
            flows.append(flow)
        capture.wait(80)
        inner = {}
        for packet in capture.text():
            ports = re.findall(r"IP \S+\.(\d+) > \S+\.(?:4789|7000): ", packet)
            if len(ports) == 2:
                inner.setdefault(ports[1], set()).add(int(ports[0]))
    assert len(inner) == 4, inner
    assert all(len(outer) == 1 for outer in inner.values()), inner
    assert len({port for outer in inner.values() for port in outer}) > 1, inner
    assert all(port >= 49152 for outer in inner.values() for port in outer), inner  # RFC 7348, section 5


@pytest.mark.parametrize("reverse", [False, True], ids=["to-local-host", "from-local-host"])
def test_iperf3_runs_without_a_stall(lab, reverse):
    seconds = 30 if os.environ.get("NIGHTLY") == "1" else 8
    server = lab.host_a.namespace.popen("iperf3", "-s", "-1", "-B", A4, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("iperf3 listens", lambda: ":5201" in lab.host_a.namespace.run("ss", "-Hltn").stdout)
        done = lab.host_b.namespace.run("iperf3", "-c", A4, "-t", seconds, "-i", 1, "-J", *(["-R"] if reverse else []),
                                        check=False, timeout=seconds + 30)
    finally:
        server.kill()
        server.wait()
    result = json.loads(done.stdout)
    assert "error" not in result, result["error"]
    intervals = [interval["sum"] for interval in result["intervals"] if interval["sum"]["seconds"] > 0.5]
    assert len(intervals) >= seconds - 1
    stalled = [round(interval["start"]) for interval in intervals if interval["bytes"] == 0]
    assert not stalled, f"nothing got through in seconds {stalled}"


def test_the_agent_resolves_the_peers_next_hops_before_any_traffic_needs_them(lab, gw):
    def known():
        shown = gw.namespace.run("ip", "neighbour", "show", "dev", "mesh0").stdout
        return all(re.search(rf"^{re.escape(peer.underlay)} lladdr ", shown, re.M) for peer in (lab.b, lab.c))
    assert known()
    gw.namespace.ip("neighbour", "flush", "dev", "mesh0")
    assert not known()
    gw.reload()  # begins a round; else one begins every 20 s
    until("the agent has both peers resolved", known, 5)
    before = gw.drops()["neighbour_unresolved"]
    assert lab.host_b.ping(C4, 3) == 3
    assert gw.drops()["neighbour_unresolved"] == before
