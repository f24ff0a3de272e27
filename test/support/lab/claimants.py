# SPDX-License-Identifier: Apache-2.0
"""Three gateways that take turns to own an address, which a host behind each of them has."""

from .gateway_trio import GatewayTrio
from .mesh_lab import SEGMENT, UDP_PORT
from .wait import until

VIP = "10.90.0.1"
RESOURCE = "vip"
TTL_MS = 8000  # the least: a holder stops after 5.1 s without a beat, others take over after 10.9 s
SILENCE_S = 10.9


class Claimants(GatewayTrio):
    def _build(self):
        super()._build()
        for gateway, site in zip(self.gateways, self.sites):
            site.namespace.address("lo", f"{VIP}/32")
            gateway.namespace.ip("route", "add", f"{VIP}/32", "via", site.address4)

    def policy(self, gateways=(1, 2, 3), candidates=("gw1", "gw2", "gw3")):
        def add(tree):
            tree["resources"] = [{"id": RESOURCE, "number": 1, "candidates": list(candidates), "ttl_ms": TTL_MS, "floor": 0}]
            tree["prefixes"].append({"segment": SEGMENT, "prefix": f"{VIP}/32", "owner": {"resource": RESOURCE},
                                     "class": "vip"})
            for one, other in (("sites", "vip"), ("vip", "sites")):
                tree["rules"].append({"from": one, "to": other, "protocol": "icmp", "types": [8]})
            tree["rules"].append({"from": "sites", "to": "vip", "protocol": "udp", "ports": [UDP_PORT]})
        return super().policy(gateways).changed(add)

    def claim(self, gateway):
        """What this gateway says of the resource."""
        (row,) = gateway.ask("claims")["resources"]
        return row

    def holders(self, on=(1, 2, 3)):
        """{(holder, epoch, standing)} over what these gateways say."""
        rows = [self.claim(self.gateways[number - 1]) for number in on]
        return {(row["holder"], row["epoch"], row["standing"]) for row in rows}

    def wait_for(self, holder, on=(1, 2, 3), timeout=15):
        """Until all these say that it holds; returns the epoch."""
        def agreed():
            seen = self.holders(on)
            return len(seen) == 1 and next(iter(seen))[::2] == (holder, "held") and next(iter(seen))[1]
        return int(until(f"{holder} holds, as {on} say", lambda: agreed(), timeout, every=0.1))

    def wait_for_another(self, than, on, timeout=40):
        """Until all these say that somebody else than `than` holds: (its number, the epoch)."""
        def agreed():
            seen = self.holders(on)
            return len(seen) == 1 and next(iter(seen))[2] == "held" and next(iter(seen))[0] != than and next(iter(seen))
        holder, epoch, _ = until(f"another one than {than} holds, as {on} say", agreed, timeout, every=0.1)
        return int(holder[2:]), int(epoch)

    def serves(self, number, to=None):
        """Whether the host behind this gateway is let speak from the address, to gateway `to`, and is answered."""
        to = to or (1 if number != 1 else 2)
        return self.sites[number - 1].ping(f"10.{to}.0.1", 1, wait=0.3, source=VIP) == 1
