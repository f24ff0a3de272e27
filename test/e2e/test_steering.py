# SPDX-License-Identifier: Apache-2.0
"""iperf3, over TCP and UDP and both families, by every way that a packet can be steered. What arrives is told, not how
fast: on veth pairs a figure would say nothing."""

import json
import subprocess
import time
from dataclasses import dataclass

import pytest

from lab import until
from lab.kernel_tables import KernelTables
from lab.mesh_lab import SEGMENT
from lab.traffic import UdpFlow, lost_nothing
from lab.two_gateways import TwoGatewayLab

PORT, DOOR_UDP_PORT = 5201, 7000
SECOND = "192.0.2.33"                   # of peer b, besides its own
VIP, NUMBER = ("10.90.0.1", "fd00:90::1"), 1   # a resource's; gw2 holds it
DOOR = {"tcp": ("10.80.0.1", "fd00:80::1"), "udp": ("10.80.0.2", "fd00:80::2")}
SITES = [f"site-{letter}" for letter in "abcd"]


def version(address):
    return 6 if ":" in address else 4


def everything(tree):
    """Peer b has two endpoints, peer c is reached by way of gw, a resource and services have addresses."""
    tree["peers"][0]["addresses"].append(SECOND)
    tree["peers"][1]["via"] = "gw"
    owned = [("vip", {"resource": "vip"}, VIP)]
    owned += [("www", {"service": f"{protocol}-{version(address)}"}, [address])
              for protocol, addresses in DOOR.items() for address in addresses]
    tree["prefixes"] += [{"segment": SEGMENT, "prefix": f"{address}/{128 if version(address) == 6 else 32}",
                          "owner": owner, "class": name} for name, owner, addresses in owned for address in addresses]
    tree["resources"] = [{"id": "vip", "number": NUMBER, "candidates": ["gw", "gw2"], "ttl_ms": 10000, "floor": 0}]
    tree["services"] = [
        {"id": f"{protocol}-{version(address)}", "protocol": protocol, "port": PORT if protocol == "tcp" else DOOR_UDP_PORT,
         "backends": [{"address": "fd00:2::10" if version(address) == 6 else "10.2.0.10"}]}
        for protocol, addresses in DOOR.items() for address in addresses]
    for source in SITES:
        for target in {*SITES, "vip", "www"} - {source}:
            tree["rules"] += [{"from": source, "to": target, "protocol": protocol, "ports": [port]}
                              for protocol, port in (("tcp", PORT), ("udp", PORT), ("udp", DOOR_UDP_PORT))]


def has(router, host, addresses):
    """The host answers at the addresses, and its router knows the way."""
    host.namespace.address("lo", *addresses)
    router.ips(*[f"route add {address} via {host.address6 if version(address) == 6 else host.address4}"
                 for address in addresses])


def by_tunnel(peer, addresses, via4, via6):
    peer.namespace.ips(*[f"route add {address} via {via6 if version(address) == 6 else via4} dev vx0 onlink"
                         for address in addresses])


@pytest.fixture(scope="module")
def lab():
    with TwoGatewayLab() as made:
        for gateway in (made.gateway, made.gateway2):
            gateway.edit_config("interfaces:", "claims: {automatic: false}\ninterfaces:")
            gateway.hang_up()
        made.b.namespace.address("eth0", f"{SECOND}/24")
        has(made.gateway2.namespace, made.host_d, VIP)
        has(made.b.namespace, made.host_b, [address for door in DOOR.values() for address in door])
        made.c.reach("10.4.0", "fd00:4", "10.1.0.1", "fd00:1::1")
        by_tunnel(made.b, VIP, "10.4.0.1", "fd00:4::1")
        for addresses in DOOR.values():
            by_tunnel(made.c, addresses, "10.1.0.1", "fd00:1::1")
        made.adopt(made.base_policy().changed(everything))
        for gateway in (made.gateway, made.gateway2):
            tables = KernelTables(gateway)
            tables.set_fence(NUMBER, 1, time.clock_gettime_ns(time.CLOCK_BOOTTIME) + int(3600e9))
            tables.set_holder(NUMBER, 1, None if gateway is made.gateway2 else tables.peer_id("gw2"))
        yield made


@dataclass
class Way:
    source: str
    target: str
    at: str        # the gateway whose verdict is asked for
    verdict: str
    addresses: tuple = None


WAYS = {
    "peer to site": Way("host_b", "host_a", "gateway", "decapsulated"),
    "site to peer of two endpoints": Way("host_a", "host_b", "gateway", "encapsulated"),
    "peer to peer": Way("host_b", "host_c", "gateway", "relayed"),
    "site to another gateway's": Way("host_a", "host_d", "gateway2", "decapsulated"),
    "by the gateway that a peer names": Way("host_d", "host_c", "gateway", "relayed"),
    "peer to a resource that is held here": Way("host_b", "host_d", "gateway2", "decapsulated", VIP),
    "site to a resource that is held elsewhere": Way("host_a", "host_d", "gateway", "encapsulated", VIP),
    "the gateway's own": Way("gateway", "host_b", "gateway", "encapsulated"),
    "site to a service": Way("host_a", "host_b", "gateway", "encapsulated", DOOR["tcp"]),
    "peer to a service": Way("host_c", "host_b", "gateway", "relayed", DOOR["tcp"]),
}
# A service has one protocol, and iperf3 over UDP needs both: for UDP a plain flow follows below.
RUNS = [(name, protocol, family) for name in WAYS for protocol in ("tcp", "udp") for family in (4, 6)
        if protocol == "tcp" or not name.endswith("service")]


def iperf3(source, target, address, *options):
    """Its report: the client's, with what the server counted."""
    server = target.namespace.popen("iperf3", "-s", "-1", "-B", address, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until("iperf3 listens", lambda: f":{PORT} " in target.namespace.run("ss", "-Hltn").stdout)
        done = source.namespace.run("iperf3", "-c", address, "-J", "--connect-timeout", 5000, *options, check=False,
                                    timeout=60)
    finally:
        server.kill()
        server.wait()
    report = json.loads(done.stdout)
    assert "error" not in report, report["error"]
    return report["end"]


@pytest.mark.parametrize("name, protocol, family", RUNS, ids=[f"{n}, {p}, v{f}" for n, p, f in RUNS])
def test_all_that_iperf3_sends_arrives(lab, name, protocol, family):
    way = WAYS[name]
    source, target, gateway = (getattr(lab, which) for which in (way.source, way.target, way.at))
    address = (way.addresses or (target.address4, target.address6))[family == 6]
    before = gateway.verdicts()[way.verdict]
    if protocol == "tcp":
        sent = 1_000_000
        end = iperf3(source, target, address, "-n", sent, "-w", "32K", "-l", "16K")
        # The server does not wait for what the sockets hold when the client has written all.
        assert end["sum_received"]["bytes"] >= sent - 300_000, end["sum_received"]
        least = end["sum_received"]["bytes"] // 1500
    else:
        end = iperf3(source, target, address, "-u", "-l", 1200, "-b", "4M", "-n", 120_000)
        assert end["sum"]["packets"] >= 100 and end["sum"]["lost_packets"] == 0, end["sum"]
        least = end["sum"]["packets"]
    assert gateway.verdicts()[way.verdict] - before >= least


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source", ["host_a", "host_c"])
def test_a_service_over_udp_gets_all_of_a_flow(lab, source, family):
    address = DOOR["udp"][family == 6]
    with UdpFlow(getattr(lab, source).namespace, lab.host_b.namespace, address, port=DOOR_UDP_PORT) as flow:
        flow.wait_received(200)
        lost_nothing(flow)
