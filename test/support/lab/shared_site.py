# SPDX-License-Identifier: Apache-2.0
"""Two gateways on one site's network, where a host has its default route by an address that they take turns to own:

    gw1 (10.5.0.11) --- lan (10.5.0.0/24, fd00:5::/64) --- gw2 (10.5.0.12)      gw3 --- host3 (10.3.0.10)
                         |
                        host (10.5.0.10), default by 10.5.0.1

The whole network is the resource. Neither kernel answers for the shared addresses: hosts know them by announcements.
"""

import json

from .claimants import TTL_MS
from .command import run
from .gateway_trio import GatewayTrio
from .mesh_lab import SEGMENT
from .namespace import Namespace
from .site_host import INNER_MTU, SiteHost
from .turns import RESOURCE, Turns
from .underlay import Underlay

ROUTER4, ROUTER6 = "10.5.0.1", "fd00:5::1"


class SharedSite(Turns, GatewayTrio):
    def _build_sites(self):
        lan = Underlay(self.id, "lan")
        for number, gateway in enumerate(self.gateways[:2], 1):
            lan.join(gateway.namespace, "site0", f"10.5.0.1{number}")
            gateway.namespace.address("site0", f"fd00:5::1{number}/64")
            gateway.namespace.address("lo", f"{ROUTER4}/32", f"{ROUTER6}/128")
            gateway.namespace.sysctl(**{"net.ipv4.conf.all.arp_ignore": 1, "net.ipv4.conf.all.arp_announce": 2})
        self.host = Namespace(self.id, "host")
        lan.join(self.host, "eth0", "10.5.0.10")
        self.host.address("eth0", "fd00:5::10/64")
        self.host.ips(*[f"route add default via {router} mtu {INNER_MTU}" for router in (ROUTER4, ROUTER6)])
        third = SiteHost(self.id, "host3", self.gateways[2].namespace, "site0", "10.3.0", "fd00:3")
        self.far = third.address4, third.address6

    def policy(self):
        def add(tree):
            tree["resources"] = [{"id": RESOURCE, "number": 1, "candidates": ["gw1", "gw2"], "ttl_ms": TTL_MS, "floor": 0}]
            tree["prefixes"] += [{"segment": SEGMENT, "prefix": prefix, "owner": {"resource": RESOURCE}, "class": "sites"}
                                 for prefix in ("10.5.0.0/24", "fd00:5::/64", f"{ROUTER4}/32", f"{ROUTER6}/128")]
            tree["prefixes"].append({"segment": SEGMENT, "prefix": "fd00:3::/64", "owner": {"gateway": "gw3"},
                                     "class": "sites"})
            tree["rules"].append({"from": "sites", "to": "sites", "protocol": "icmpv6", "types": [128, 129]})
        return super().policy().changed(add)

    # ---- whom the host takes for its router

    def mac(self, number):
        return self.gateways[number - 1].namespace.mac("site0")

    def routers(self):
        """The MACs that the host has for them."""
        rows = json.loads(run("ip", "-n", self.host.name, "-j", "neighbour", "show", "dev", "eth0").stdout)
        return {row.get("lladdr") for row in rows if row["dst"] in (ROUTER4, ROUTER6)}

    def believe(self, number):
        """The host has learnt that gateway's MAC, some time ago."""
        self.host.ips(*[f"neighbour replace {router} lladdr {self.mac(number)} nud stale dev eth0"
                        for router in (ROUTER4, ROUTER6)])

    def reaches(self):
        """Whether both families' pings to the far host are answered."""
        return all(self.host.run("ping", "-n", "-q", "-c", 1, "-W", 1, address, check=False).returncode == 0
                   for address in self.far)
