# SPDX-License-Identifier: Apache-2.0
"""A peer of two underlay addresses gets its flows spread over them, and each flow keeps its way."""

import re

from lab.capture import Capture
from lab.traffic import UdpFlow, lost_nothing

SECOND = "192.0.2.33"
WAY = re.compile(r"> (192\.0\.2\.\d+)\.4789: .*? (\d+\.\d+\.\d+\.\d+\.\d+) > ")


def test_flows_are_spread_over_equal_endpoints(lab, gw):
    def add(tree):
        next(peer for peer in tree["peers"] if peer["id"] == "c")["addresses"].append(SECOND)
    lab.c.namespace.address("eth0", f"{SECOND}/24")
    lab.adopt(lab.base_policy().changed(add))
    flows = 16
    with Capture(lab.c.namespace, "eth0", f"udp port 4789 and src {gw.underlay}") as capture:
        for _ in range(flows):
            with UdpFlow(lab.host_a.namespace, lab.host_c.namespace, lab.host_c.address4) as flow:
                flow.wait_received(5)
                lost_nothing(flow)
        packets = capture.text()
    ways = {}
    for packet in packets:
        found = WAY.search(packet)
        if found and found.group(2).startswith(lab.host_a.address4):
            ways.setdefault(found.group(2), set()).add(found.group(1))
    assert len(ways) >= flows, ways
    assert all(len(taken) == 1 for taken in ways.values()), ways
    taken = [next(iter(way)) for way in ways.values()]
    # A fair coin gives fewer than two of sixteen in one of two thousand runs; the hash has no reason to be unfair.
    assert set(taken) == {lab.c.underlay, SECOND} and min(map(taken.count, set(taken))) >= 2, taken
    # What the peer sends from either address is its own.
    assert lab.host_c.ping(lab.host_a.address4, 3) == 3
