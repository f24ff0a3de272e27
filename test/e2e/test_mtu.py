# SPDX-License-Identifier: Apache-2.0
"""`postern mtu`: how large a packet may be on the way to a peer, why, and whether the path agrees."""

import json

import pytest

from lab.namespace import Namespace


def mtu(gw, *args):
    """Asked in the gateway's namespace, where probes can be sent."""
    done = gw.namespace.run(gw.postern, "--config", gw.config, "--json", "mtu", *args, check=False)
    return done.returncode, json.loads(done.stdout)


def way_of(gw, *args):
    code, said = mtu(gw, *args)
    assert said["schema"] == "postern/mtu/v1", said
    (way,) = said["ways"]
    return code, way


def test_mtu_names_each_number_and_where_it_comes_from(gw):
    code, way = way_of(gw, "b")
    assert code == 0
    assert way["interface"] == {"name": "mesh0", "mtu": 1500} and way["mtu_from"] == "interface"
    assert way["overhead"]["total"] == 50 and way["inner_mtu"] == 1450
    assert way["segment_size"] == {"ipv4": 1410, "ipv6": 1390, "lowered": True}
    page = gw.cli("mtu", "b").stdout
    for words in ("1500  interface mesh0", "-50  IP 20, UDP 8, vxlan 8, inner Ethernet 14", "1450  largest inner packet",
                  "1410  largest TCP segment over IPv4, which SYN segments are lowered to"):
        assert words in page, page


def test_mtu_takes_the_kernels_route_into_account(gw):
    gw.namespace.ip("route", "add", "192.0.2.2/32", "dev", "mesh0", "mtu", "lock", "1420")
    try:
        _, way = way_of(gw, "b")
        assert (way["route_mtu"], way["mtu"], way["mtu_from"], way["inner_mtu"]) == (1420, 1420, "route", 1370)
        # and so does the packet path
        said = gw.ask("explain", "--in", "site0", "--src", "10.1.0.10", "--dst", "10.2.0.10", "--proto", "udp",
                      "--dport", 7000)
        assert said["route"]["mtu"] == 1370
    finally:
        gw.namespace.ip("route", "delete", "192.0.2.2/32")


def test_a_probe_agrees_with_a_path_that_takes_what_the_interface_does(gw):
    code, way = way_of(gw, "b", "--probe")
    assert code == 0 and way["probe"]["mtu"] == 1500, way
    assert way["probe"]["finding"] == "the gateway uses what the path takes"


def test_a_probe_finds_a_black_hole_in_the_middle(fresh_lab):
    gw = fresh_lab.gateway
    fresh_lab.underlay.namespace.ip("link", "set", "dev", "to-b", "mtu", "1368")
    code, way = way_of(gw, "b", "--probe")
    assert code == 0 and way["probe"]["mtu"] == 1368, way
    assert way["probe"]["told_mtu"] is None and "takes less" in way["probe"]["finding"]


def test_a_probe_finds_what_a_router_in_the_middle_takes(fresh_lab):
    gw = fresh_lab.gateway
    router = Namespace(fresh_lab.id, "router")
    fresh_lab.underlay.join(router, "eth0", "192.0.2.254")
    router.forward()
    router.sysctl(**{"net.ipv4.conf.all.send_redirects": 0, "net.ipv4.conf.eth0.send_redirects": 0})
    router.ip("route", "add", "192.0.2.2/32", "dev", "eth0", "mtu", "1404")
    gw.namespace.ip("route", "add", "192.0.2.2/32", "via", "192.0.2.254")
    code, way = way_of(gw, "b", "--probe")
    assert code == 0 and way["probe"]["mtu"] == 1404, way
    assert way["probe"]["told_mtu"] == 1404 and way["probe"]["probes"] < 10


def test_a_probe_that_nobody_answers_is_refused_with_the_reason_and_the_rest_is_told(fresh_lab):
    gw = fresh_lab.gateway
    fresh_lab.b.namespace.sysctl(**{"net.ipv4.icmp_echo_ignore_all": 1})
    code, way = way_of(gw, "b", "--probe")
    assert code == 1 and way["inner_mtu"] == 1450
    assert way["probe"]["mtu"] is None and "answers no echo request" in way["probe"]["problem"]


@pytest.mark.parametrize("peer", ["nobody", ""])
def test_mtu_to_nobody_is_refused(gw, peer):
    done = gw.cli("mtu", peer, check=False)
    assert done.returncode == 2 and "no peer or gateway" in done.stderr
