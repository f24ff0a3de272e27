# SPDX-License-Identifier: Apache-2.0
"""Three gateways that take turns to own an address, or several, which a host behind each of them has."""

from .gateway_trio import STRANGER, GatewayTrio
from .mesh_lab import SEGMENT, UDP_PORT
from .turns import RESOURCE, Turns
from .wait import until
from .witness import MAC, PREFIX, Witness

VIP = "10.90.0.1"
TTL_MS = 8000  # the least: a holder stops after 5.1 s without a beat, others take over after 10.9 s
TENURE_S = 5.1
SILENCE_S = 10.9


class Claimants(Turns, GatewayTrio):
    """With `more` resources beside the first: vip2 is 10.90.0.2, and so on. With `watched` a stock peer sees which
    gateway lets hosts speak from the first address, once they do, at `rate` numbers a second."""

    def __init__(self, more=0, watched=False, ttl_ms=TTL_MS, rate=100):
        self.ttl_ms = ttl_ms
        self._rate = rate
        self.addresses = {RESOURCE: VIP, **{f"{RESOURCE}{n}": f"10.90.0.{n}" for n in range(2, more + 2)}}
        self._watched = watched
        self.witness = None
        super().__init__()

    def _build(self):
        super()._build()
        for gateway, site in zip(self.gateways, self.sites):
            for address in self.addresses.values():
                site.namespace.address("lo", f"{address}/32")
                gateway.namespace.ip("route", "add", f"{address}/32", "via", site.address4)

    def __enter__(self):
        super().__enter__()
        try:
            if self._watched:
                self.witness = Witness(self.stranger, STRANGER,
                                       {gateway.underlay: number for number, gateway in enumerate(self.gateways, 1)},
                                       self._rate)
        except BaseException:
            self.close()
            raise
        return self

    def policy(self, gateways=(1, 2, 3), candidates=("gw1", "gw2", "gw3"), floor=0):
        def add(tree):
            tree["resources"] = [{"id": name, "number": number, "candidates": list(candidates), "ttl_ms": self.ttl_ms,
                                  "floor": floor if name == RESOURCE else 0}
                                 for number, name in enumerate(self.addresses, 1)]
            tree["prefixes"] += [{"segment": SEGMENT, "prefix": f"{address}/32", "owner": {"resource": name}, "class": "vip"}
                                 for name, address in self.addresses.items()]
            tree["peers"] = [{"id": "witness", "addresses": [STRANGER], "segments": [SEGMENT], "mac": MAC}]
            tree["prefixes"].append({"segment": SEGMENT, "prefix": PREFIX, "owner": {"peer": "witness"}, "class": "witness"})
            for one, other in (("sites", "vip"), ("vip", "sites")):
                tree["rules"].append({"from": one, "to": other, "protocol": "icmp", "types": [8]})
            for one, other in (("sites", "vip"), ("vip", "sites"), ("vip", "witness")):
                tree["rules"].append({"from": one, "to": other, "protocol": "udp", "ports": [UDP_PORT]})
        return super().policy(gateways).changed(add)

    def begin(self):
        """All three are up, linked, agree, and gw1 holds."""
        for gateway in self.gateways:
            if not gateway.running:
                gateway.start()
        self.give(1)
        # Who was told to claim and lost still would, and sooner than whom a test has in mind.
        for gateway in self.gateways[1:]:
            gateway.cli("release", RESOURCE, check=False)
        return self

    def give(self, number):
        """Has this gateway hold, whoever does; returns the epoch."""
        wanted = f"gw{number}"
        for _ in range(4):
            holder, _ = self.wait_for_any(timeout=80)
            if holder == number:
                break
            self.gateways[holder - 1].cli("release", RESOURCE)
            asked = self.gateways[number - 1]
            # Refused until it has heard of the release, and when the third one was faster.
            until("it may claim, or another one has", lambda: asked.cli("claim", RESOURCE, check=False).returncode == 0
                  or self.holders() == {(f"gw{6 - number - holder}", self.claim(asked)["epoch"], "held")}, 20)
        # Who released it by hand would leave it to others for a minute; a restart forgets that.
        for gateway in self.gateways:
            if self.claim(gateway)["yields"]:
                gateway.stop()
                gateway.start()
        until("it is let speak", lambda: self.serves(number))
        return self.wait_for(wanted)

    def serves(self, number, to=None, resource=RESOURCE):
        """Whether the host behind this gateway is let speak from the address, to gateway `to`, and is answered."""
        to = to or (1 if number != 1 else 2)
        return self.sites[number - 1].ping(f"10.{to}.0.1", 1, wait=0.3, source=self.addresses[resource]) == 1
