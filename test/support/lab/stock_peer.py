# SPDX-License-Identifier: Apache-2.0
"""A plain Linux machine with a kernel VXLAN device and a host behind it. Nothing of Postern runs here."""

from .namespace import Namespace
from .site_host import INNER_MTU, SiteHost


class StockPeer:
    def __init__(self, lab_id, role, number, underlay, gateway, vni=100):
        """Site `number` owns 10.NUMBER.0.0/24 and fd00:NUMBER::/64, and tunnels to the underlay address `gateway`."""
        self.id = role
        self.underlay = f"192.0.2.{number}"
        self.mac = f"02:00:00:00:02:{number:02x}"
        self.network4 = f"10.{number}.0"
        self.network6 = f"fd00:{number}"
        self.vxlan4 = f"{self.network4}.254"
        self.vxlan6 = f"{self.network6}::254"
        self.namespace = Namespace(lab_id, role)
        self.namespace.forward()
        underlay.join(self.namespace, "eth0", self.underlay)
        self.tunnel(self.underlay, gateway, vni)
        self.host = SiteHost(lab_id, f"host-{role}", self.namespace, "site0", self.network4, self.network6)

    def tunnel(self, local, remote, vni=100, mtu=INNER_MTU):
        """The tunnel device, anew; the routes through the former one are gone with it."""
        self.namespace.run("ip", "link", "del", "vx0", check=False)
        self.namespace.ip("link", "add", "vx0", "address", self.mac, "mtu", mtu, "type", "vxlan", "id", vni,
                          "local", local, "remote", remote, "dstport", 4789)
        self.namespace.address("vx0", f"{self.vxlan4}/32", f"{self.vxlan6}/128")
        self.namespace.ip("link", "set", "vx0", "up")

    def reach(self, network4, network6, via4, via6):
        """A route through the tunnel; `via` is the far side's address in the segment, found by ARP and ND."""
        self.namespace.ips(f"route replace {network4}.0/24 via {via4} dev vx0 onlink",
                           f"route replace {network6}::/64 via {via6} dev vx0 onlink")
