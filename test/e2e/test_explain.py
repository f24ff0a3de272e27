# SPDX-License-Identifier: Apache-2.0
"""`postern explain` says what the gateway does with a packet, and nothing of the gateway moves by that."""

import struct

import pytest

from lab.mesh_lab import FORBIDDEN_UDP_PORT, SPARE_VNI, UDP_PORT
from lab.packets import ETH_IPV4, UDP, ethernet, inner_udp, ipv4, udp, vxlan
from lab.traffic import send_datagrams

A4, B4, C4 = "10.1.0.10", "10.2.0.10", "10.3.0.10"


def explain(gw, *args):
    return gw.ask("explain", *args)


def by_fields(source, destination, port, *more, interface="mesh0"):
    return ("--in", interface, "--src", source, "--dst", destination, "--proto", "udp", "--dport", port, *more)


# name -> (question, reason, stage, end of the deciding path)
DENIED = {
    "a stranger's tunnel": (
        by_fields(B4, A4, UDP_PORT, "--from", "192.0.2.66", "--segment", "corp"), "peer_unknown", "admit", "addresses"),
    "a segment that the peer may not use": (
        by_fields(B4, A4, UDP_PORT, "--peer", "b", "--vni", SPARE_VNI), "vni_denied", "admit", "[?@.id=='b'].segments"),
    "another peer's source": (
        by_fields(C4, A4, UDP_PORT, "--peer", "b"), "source_denied", "own", "@.prefix=='10.3.0.0/24']"),
    "a port that no rule allows": (
        by_fields(B4, A4, FORBIDDEN_UDP_PORT), "policy_denied", "policy", "$.rules"),
    "a destination that nobody owns": (
        by_fields(B4, "10.99.0.1", UDP_PORT), "no_route", "policy", "$.prefixes"),
    "a mesh source outside of a tunnel": (
        by_fields(B4, "192.0.2.1", UDP_PORT, "--plain"), "untunnelled", "ours", None),
    "a site host that borrows a peer's source": (
        by_fields(B4, C4, UDP_PORT, interface="site0"), "source_denied", "own", "@.prefix=='10.2.0.0/24']"),
}


@pytest.mark.parametrize("case", DENIED)
def test_explain_names_reason_stage_and_the_snapshots_line_of_a_denial(gw, case):
    question, reason, stage, path = DENIED[case]
    said = explain(gw, *question)
    assert (said["schema"], said["verdict"], said["reason"], said["stage"]) == (
        "postern/explain/v1", "drop", reason, stage), said
    assert said["meaning"]
    assert (said["decided_by"] or "").endswith(path or ""), said["decided_by"]


def test_explain_names_sender_owners_rule_and_way_of_a_packet_that_passes(gw):
    said = explain(gw, *by_fields(B4, A4, UDP_PORT, "--sport", 40_123))  # of no flow that other tests made
    assert said["verdict"] == "decapsulated" and said["reason"] is None
    assert said["sender"] == "b" and said["segment"] == "corp"
    assert said["source_owner"]["owner"] == "b" and said["source_owner"]["prefix"] == "10.2.0.0/24"
    assert said["destination_owner"]["owner"] == "gw" and said["destination_owner"]["kind"] == "local"
    assert said["policy"]["rule"].startswith("site-b to site-a: udp") and said["policy"]["by"] == "rule"
    assert said["decided_by"] == said["policy"]["path"] == f"$.rules[{said['policy']['rule_number'] - 1}]"
    assert said["egress"] == "site0" and said["route"]["next_hop"] == A4
    assert "remember the flow for its replies" in said["would"]
    out = explain(gw, *by_fields(A4, B4, UDP_PORT, interface="site0"))
    assert out["verdict"] == "encapsulated" and out["receiver"] == "b" and out["egress"] == "mesh0"
    assert out["route"]["mtu"] == 1450


def ask_in_silence(gw, *args):
    """What explain says, and the counters that a question left alone. The lab's hosts talk now and then by themselves; a
    question that moves a counter moves it each time."""
    for _ in range(10):
        before = (gw.drops(), gw.verdicts(), gw.peers())
        said = explain(gw, *args)
        if (gw.drops(), gw.verdicts(), gw.peers()) == before:
            return said, before
    pytest.fail(f"each question moves something: {before}")


def test_explain_ends_packets_as_the_live_path_does_and_moves_nothing(lab, gw):
    frames = {
        "policy_denied": inner_udp(B4, A4, FORBIDDEN_UDP_PORT, gw.mac),
        "source_denied": inner_udp(C4, A4, UDP_PORT, gw.mac),
        "ttl_exceeded": inner_udp(B4, A4, UDP_PORT, gw.mac, ttl=1),
        "not_our_mac": inner_udp(B4, A4, UDP_PORT, "02:00:00:00:09:09"),
        None: inner_udp(B4, A4, UDP_PORT, gw.mac),
    }
    port = gw.namespace.mac("mesh0")
    for reason, frame in frames.items():
        payload = vxlan(100, frame)
        whole = ethernet(port, lab.b.namespace.mac("eth0"), ETH_IPV4,
                         ipv4("192.0.2.2", gw.underlay, UDP, udp("192.0.2.2", gw.underlay, 50000, 4789, payload)))
        said, before = ask_in_silence(gw, "--in", "mesh0", "--hex", whole.hex())
        assert said["reason"] == reason
        send_datagrams(lab.b.namespace, gw.underlay, 4789, [payload] * 3)
        after = gw.drops()
        if reason:
            assert after[reason] - before[0][reason] == 3
        else:
            assert after == before[0]


def test_explain_takes_a_capture_file_packet_by_packet(lab, gw, tmp_path):
    port, mac = gw.namespace.mac("site0"), lab.host_a.namespace.mac("eth0")
    frames = [ethernet(port, mac, ETH_IPV4, ipv4(A4, B4, UDP, udp(A4, B4, 40000, number)))
              for number in (UDP_PORT, FORBIDDEN_UDP_PORT)]
    file = tmp_path / "two.pcap"
    file.write_bytes(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(
        struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame for frame in frames))
    said = gw.ask("explain", "--in", "site0", "--pcap", file)
    assert said["schema"] == "postern/explained-file/v1"
    assert [packet["verdict"] for packet in said["packets"]] == ["encapsulated", "drop"]
    table = gw.cli("explain", "--in", "site0", "--pcap", file).stdout
    assert "policy_denied" in table and f"{A4}:40000 > {B4}:{UDP_PORT} udp" in table
    file.write_bytes(file.read_bytes()[:-1])
    cut = gw.cli("explain", "--in", "site0", "--pcap", file, check=False)
    assert cut.returncode == 2 and "packet 2" in cut.stderr


def test_explain_tells_people_in_lines(gw):
    page = gw.cli("explain", *by_fields(B4, A4, FORBIDDEN_UDP_PORT)).stdout
    for words in ("policy_denied", "source is of    peer b, class site-b, by 10.2.0.0/24", "rule            none",
                  "decided by      $.rules"):
        assert words in page, page


@pytest.mark.parametrize("question, words", {
    "an interface that is not the gateway's": (by_fields(B4, A4, 1, interface="nope0"), "mesh0"),
    "a peer that there is not": (by_fields(B4, A4, 1, "--peer", "zz"), "zz"),
    "two families": (by_fields(B4, "fd00:1::10", 1), "family"),
    "a frame without a header": (("--in", "mesh0", "--hex", "0011"), "Ethernet header"),
    "no packet": (("--in", "mesh0"), "--pcap"),
    "a source that no peer owns": (by_fields("198.51.100.7", A4, 1, "--segment", "corp"), "from"),
}.values())
def test_a_question_that_makes_no_sense_is_refused_with_what_to_add(gw, question, words):
    done = gw.cli("explain", *question, check=False)
    assert done.returncode == 2 and words in done.stderr, done.stderr

