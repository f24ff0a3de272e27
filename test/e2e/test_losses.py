# SPDX-License-Identifier: Apache-2.0
"""Frames that are lost after the packet path let them go are counted."""

from lab import until

A4 = "10.1.0.10"


def lost(gw, interface, stage):
    for line in gw.http("/metrics")[1].splitlines():
        if line.startswith("postern_lost_packets_total{") and f'iface="{interface}"' in line and stage in line:
            return float(line.split()[-1])
    raise AssertionError(f"no metric of {interface}")


def test_a_veth_that_takes_no_redirected_frames_shows_in_the_metrics(lab, gw):
    assert lab.host_b.ping(A4, 1) == 1
    before = lost(gw, "mesh0", "redirect")
    lab.host_a.namespace.run("ethtool", "-K", "eth0", "gro", "off")
    try:
        lab.host_b.ping(A4, 5)
        until("the losses are counted", lambda: lost(gw, "mesh0", "redirect") - before >= 5, 10, 0.5)
    finally:
        lab.host_a.namespace.run("ethtool", "-K", "eth0", "gro", "on")
