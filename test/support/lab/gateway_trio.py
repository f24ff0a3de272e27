# SPDX-License-Identifier: Apache-2.0
"""Three gateways of one mesh on one underlay, each with a site behind it, and a stranger beside them:

    gw1 (192.0.2.1, site 10.1.0.0/24)   gw2 (192.0.2.2, 10.2.0.0/24)   gw3 (192.0.2.3, 10.3.0.0/24)
                 |                               |                             |
                 +------------- sw (underlay 192.0.2.0/24) --------------------+-------- stranger (192.0.2.66)
"""

from . import leftovers
from .authority import Authority
from .gateway import Gateway
from .mesh_lab import MESH, SEGMENT, VNI
from .namespace import Namespace
from .policy import Policy
from .site_host import SiteHost
from .underlay import Underlay

LINK_PORT = 7946
STRANGER = "192.0.2.66"


class GatewayTrio:
    def __init__(self):
        leftovers.sweep()
        self.id, self.directory = leftovers.claim()
        self.snapshot = None
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        self.underlay = Underlay(self.id)
        self.gateways = [Gateway(self.id, f"gw{number}", number, MESH, SEGMENT, self.underlay, self.directory)
                         for number in (1, 2, 3)]
        self._build_sites()
        self.stranger = Namespace(self.id, "stranger")
        self.underlay.join(self.stranger, "mesh0", STRANGER)
        self.authority = Authority(Gateway.postern, self.directory / "disk" / "authority", MESH)
        self.keys = [gateway.init(self.authority.root) for gateway in self.gateways]

    def _build_sites(self):
        self.sites = [SiteHost(self.id, f"host{number}", gateway.namespace, "site0", f"10.{number}.0", f"fd00:{number}")
                      for number, gateway in enumerate(self.gateways, 1)]

    def policy(self, gateways=(1, 2, 3)):
        """Of the gateways with these numbers; all have link addresses."""
        return Policy({
            "mesh": MESH,
            "on_expiry": "hold",
            "authority": {"threshold": 1, "keys": [self.authority.key]},
            "segments": [{"id": SEGMENT, "vni": VNI}],
            "gateways": [{"id": f"gw{n}", "key": self.keys[n - 1], "underlay": [f"192.0.2.{n}"],
                          "links": [f"192.0.2.{n}:{LINK_PORT}"], "mac": f"02:00:00:00:01:0{n}",
                          "addresses": [{"segment": SEGMENT, "address": f"10.{n}.0.1"}]} for n in gateways],
            "prefixes": [{"segment": SEGMENT, "prefix": f"10.{n}.0.0/24", "owner": {"gateway": f"gw{n}"},
                          "class": "sites"} for n in gateways],
            "rules": [{"from": "sites", "to": "sites", "protocol": "icmp", "types": [0, 8]}],
        })

    def adopt(self, policy, on=(1, 2, 3)):
        """Signs the next snapshot and applies it on these gateways."""
        self.snapshot = self.authority.edition(policy, after=self.snapshot)
        for number in on:
            self.gateways[number - 1].apply(self.snapshot)

    def cut(self, number, off=True):
        """Takes this gateway's underlay away, or gives it back."""
        self.underlay.namespace.ip("link", "set", "dev", f"to-gw{number}", "down" if off else "up")

    def __enter__(self):
        """All three run; nothing is adopted yet."""
        try:
            for gateway in self.gateways:
                gateway.start(ready=False)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        leftovers.remove(self.id)
