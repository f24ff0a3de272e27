# SPDX-License-Identifier: Apache-2.0
"""The lab with a second gateway, gw2 at 192.0.2.4, and host-d (10.4.0.10) behind it. Each stock peer has one tunnel
device that leads to both gateways."""

from .gateway import Gateway
from .mesh_lab import MESH, SEGMENT, TCP_PORTS, UDP_PORT, MeshLab
from .site_host import SiteHost
from .wait import until

UNDERLAY6 = "2001:db8::{}"
MTU6 = 1430  # 1500 less the headers of a tunnel over IPv6


class TwoGatewayLab(MeshLab):
    """`family` of all tunnels."""

    def __init__(self, family=4, start=True):
        self.family = family
        super().__init__(start)

    def _build(self):
        super()._build()
        self.gateway2 = Gateway(self.id, "gw2", 4, MESH, SEGMENT, self.underlay, self.directory)
        self.host_d = SiteHost(self.id, "host-d", self.gateway2.namespace, "site0", "10.4.0", "fd00:4")
        if self.family == 6:
            self._move_to_ipv6()
        for peer in (self.b, self.c):
            peer.namespace.run("bridge", "fdb", "append", "00:00:00:00:00:00", "dev", "vx0", "dst", self.outer(4))
            peer.reach("10.4.0", "fd00:4", "10.4.0.1", "fd00:4::1")

    def outer(self, number):
        """The underlay address of node `number`: 1 and 4 are the gateways, 2 and 3 peers b and c."""
        return f"192.0.2.{number}" if self.family == 4 else UNDERLAY6.format(number)

    def _move_to_ipv6(self):
        for namespace, device, number in ((self.gateway.namespace, "mesh0", 1), (self.gateway2.namespace, "mesh0", 4),
                                          (self.b.namespace, "eth0", 2), (self.c.namespace, "eth0", 3)):
            namespace.address(device, f"{self.outer(number)}/64")
        for peer, number, other in ((self.b, 2, self.c), (self.c, 3, self.b)):
            peer.tunnel(self.outer(number), self.outer(1), mtu=MTU6)
            peer.reach("10.1.0", "fd00:1", "10.1.0.1", "fd00:1::1")
            peer.reach(other.network4, other.network6, "10.1.0.1", "fd00:1::1")

    def found(self):
        super().found()
        self.gateway2_key = self.gateway2.init(self.authority.root)

    def serve(self):
        self.found()
        self.gateway.start(ready=False)
        self.gateway2.start(ready=False)
        self.adopt(self.base_policy())
        self.settle()
        for address in (self.host_d.address4, self.host_d.address6):
            until(f"host-a reaches {address}", lambda: self.host_a.ping(address, 1, wait=0.3) == 1, 15)

    def adopt(self, policy):
        """By both gateways, one after the other."""
        answer = super().adopt(policy)
        self.gateway2.apply(self.snapshot)
        return answer

    def base_policy(self):
        def add(tree):
            tree["gateways"].append({
                "id": "gw2", "key": self.gateway2_key, "underlay": [], "links": [],
                "mac": self.gateway2.mac, "addresses": [{"segment": SEGMENT, "address": "10.4.0.1"},
                                                        {"segment": SEGMENT, "address": "fd00:4::1"}]})
            for node, number in ((tree["gateways"][0], 1), (tree["gateways"][1], 4)):
                node["underlay"] = [self.outer(number)]
            for peer, number in zip(tree["peers"], (2, 3)):
                peer["addresses"] = [self.outer(number)]
            tree["prefixes"] += [{"segment": SEGMENT, "prefix": prefix, "owner": {"gateway": "gw2"}, "class": "site-d"}
                                 for prefix in ("10.4.0.0/24", "fd00:4::/64")]
            for site in ("site-a", "site-b", "site-c"):
                for pair in ({"from": site, "to": "site-d"}, {"from": "site-d", "to": site}):
                    tree["rules"] += [{**pair, "protocol": "icmp", "types": [0, 8]},
                                      {**pair, "protocol": "icmpv6", "types": [128, 129]},
                                      {**pair, "protocol": "udp", "ports": [UDP_PORT]},
                                      {**pair, "protocol": "tcp", "ports": TCP_PORTS}]
        return super().base_policy().changed(add)
