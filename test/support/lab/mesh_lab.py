# SPDX-License-Identifier: Apache-2.0
"""The mesh that demo and tests run on.

                     host-a (10.1.0.10)
                        |
        gw (posternd, 192.0.2.1)      b (stock, 192.0.2.2) -- host-b (10.2.0.10)
                        |               |
                       sw (underlay 192.0.2.0/24)
                        |               |
   stranger (192.0.2.66)              c (stock, 192.0.2.3) -- host-c (10.3.0.10)

Sites b and c reach each other by way of the gateway. The stranger has a tunnel device too but is in no snapshot.
"""

from . import leftovers
from .authority import Authority
from .gateway import Gateway
from .policy import Policy
from .site_host import SiteHost
from .stock_peer import StockPeer
from .underlay import Underlay
from .wait import until

MESH = "lab"
SEGMENT = "corp"
VNI = 100
SPARE_SEGMENT, SPARE_VNI = "spare", 200  # exists, but only peer c may use it

TCP_PORTS = [5001, 5201]
UDP_PORT, FORBIDDEN_UDP_PORT = 7000, 7999


class MeshLab:
    """A context manager: all is gone at its end, unless keep() was called."""

    Underlay = Underlay

    def __init__(self, start=True):
        leftovers.sweep()
        self.id, self.directory = leftovers.claim()
        self._kept = False
        self.snapshot = None  # the signed file that was adopted last
        self.policy = None    # and what it says
        try:
            self._build()
            if start:
                self.serve()
        except BaseException:
            self.close()
            raise

    def _build(self):
        self.underlay = self.Underlay(self.id)
        self.gateway = Gateway(self.id, "gw", 1, MESH, SEGMENT, self.underlay, self.directory)
        self.host_a = SiteHost(self.id, "host-a", self.gateway.namespace, "site0", "10.1.0", "fd00:1")
        self.b = StockPeer(self.id, "b", 2, self.underlay, self.gateway.underlay, VNI)
        self.c = StockPeer(self.id, "c", 3, self.underlay, self.gateway.underlay, VNI)
        self.stranger = StockPeer(self.id, "stranger", 66, self.underlay, self.gateway.underlay, VNI)
        for peer, other in ((self.b, self.c), (self.c, self.b), (self.stranger, self.b)):
            peer.reach("10.1.0", "fd00:1", "10.1.0.1", "fd00:1::1")
            peer.reach(other.network4, other.network6, "10.1.0.1", "fd00:1::1")
        # Nobody answers the stranger's ARP: it has to know the gateway's MAC already.
        self.stranger.namespace.ip("neighbour", "add", "10.1.0.1", "lladdr", self.gateway.mac, "dev", "vx0")
        self.host_b, self.host_c = self.b.host, self.c.host

    def serve(self):
        """Authority, gateway and first snapshot, as an operator would make them."""
        self.found()
        self.gateway.start(ready=False)
        self.adopt(self.base_policy())
        self.settle()

    def settle(self):
        """Waits until all hosts reach each other: the first packets of a way only have its neighbours resolved."""
        hosts = (self.host_a, self.host_b, self.host_c)
        for host in hosts:
            for other in set(hosts) - {host}:
                for address in (other.address4, other.address6):
                    until(f"{host.namespace} reaches {address}", lambda: host.ping(address, 1, wait=0.3) == 1, 15)

    def found(self):
        """Makes the authority and the gateway's state; starts nothing."""
        self.authority = Authority(self.gateway.postern, self.directory / "disk" / "authority", MESH)
        self.gateway_key = self.gateway.init(self.authority.root)

    def edition(self, policy, **options):
        """The next signed snapshot, not yet applied."""
        return self.authority.edition(policy, after=self.snapshot, **options)

    def adopt(self, policy):
        """Signs and applies; returns what `postern apply` answered."""
        snapshot = self.edition(policy)
        answer = self.gateway.apply(snapshot)
        self.snapshot, self.policy = snapshot, policy
        return answer

    def base_policy(self):
        allowed = [{"from": "site-a", "to": "site-b"}, {"from": "site-b", "to": "site-a"},
                   {"from": "site-a", "to": "site-c"}, {"from": "site-c", "to": "site-a"},
                   {"from": "site-b", "to": "site-c"}, {"from": "site-c", "to": "site-b"}]
        rules = [{**pair, "protocol": "icmp", "types": [0, 8]} for pair in allowed]
        rules += [{**pair, "protocol": "icmpv6", "types": [128, 129]} for pair in allowed]
        rules += [{**pair, "protocol": "udp", "ports": [UDP_PORT]} for pair in allowed]
        rules += [{**pair, "protocol": "tcp", "ports": TCP_PORTS} for pair in allowed]
        sites = (("site-a", 1, {"gateway": "gw"}), ("site-b", 2, {"peer": "b"}), ("site-c", 3, {"peer": "c"}))
        prefixes = [{"segment": SEGMENT, "prefix": prefix, "owner": owner, "class": site}
                    for site, number, owner in sites
                    for prefix in (f"10.{number}.0.0/24", f"fd00:{number}::/64")]
        return Policy({
            "mesh": MESH,
            "on_expiry": "hold",
            "authority": {"threshold": 1, "keys": [self.authority.key]},
            "segments": [{"id": SEGMENT, "vni": VNI}, {"id": SPARE_SEGMENT, "vni": SPARE_VNI}],
            "gateways": [{"id": "gw", "key": self.gateway_key, "underlay": [self.gateway.underlay], "links": [],
                          "mac": self.gateway.mac,
                          "addresses": [{"segment": SEGMENT, "address": "10.1.0.1"},
                                        {"segment": SEGMENT, "address": "fd00:1::1"}]}],
            "peers": [{"id": "b", "addresses": [self.b.underlay], "segments": [SEGMENT], "mac": self.b.mac},
                      {"id": "c", "addresses": [self.c.underlay], "segments": [SEGMENT, SPARE_SEGMENT],
                       "mac": self.c.mac}],
            "prefixes": prefixes,
            "rules": rules,
        })

    def keep(self):
        self._kept = True
        leftovers.keep(self.id)

    def close(self):
        if not self._kept:
            leftovers.remove(self.id)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
