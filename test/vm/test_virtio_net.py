# SPDX-License-Identifier: Apache-2.0
"""A real driver: the gateway's underlay interface is a virtio card, in native mode."""

import pytest

from lab import MeshLab
from lab.command import run
from lab.traffic import ping_udp_and_tcp
from lab.underlay import Underlay


class WiredUnderlay(Underlay):
    """The gateway is plugged in by the guest's two cards, which are on one wire."""

    def join(self, site, device, address):
        if site.role != "gw":
            super().join(site, device, address)
            return
        run("ip", "link", "set", "eth0", "netns", site.name, "name", device)
        run("ip", "link", "set", "eth1", "netns", self.namespace.name, "name", "to-gw")
        self.namespace.ip("link", "set", "dev", "to-gw", "master", "switch", "promisc", "on", "up")
        site.ip("link", "set", device, "up")
        site.address(device, f"{address}/24")


class WiredLab(MeshLab):
    Underlay = WiredUnderlay


@pytest.fixture(scope="module")
def lab():
    with WiredLab() as made:
        yield made


def test_the_driver_runs_our_program_itself(lab):
    rows = {row["name"]: row for row in lab.gateway.status()["interfaces"]}
    assert rows["mesh0"]["mode"] == "native"
    driver = lab.gateway.namespace.run("ethtool", "-i", "mesh0").stdout
    assert "driver: virtio_net" in driver


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source, destination", [("a", "b"), ("b", "a"), ("b", "c")])
def test_packets_go_both_ways_and_between_peers(lab, source, destination, family):
    here, there = getattr(lab, f"host_{source}"), getattr(lab, f"host_{destination}")
    ping_udp_and_tcp(here, there, family, pings=3, datagrams=20, rate=50, stream_bytes=20_000, timeout=60)
