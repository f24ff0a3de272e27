# SPDX-License-Identifier: Apache-2.0
"""An ordinary host behind a gateway or a stock peer, with a default route to it."""

from .namespace import Namespace, link

# What fits into VXLAN over an IPv4 underlay of 1500.
INNER_MTU = 1450


class SiteHost:
    def __init__(self, lab_id, role, router, router_device, network4, network6):
        """`network4` like "10.1.0", `network6` like "fd00:1": the host is .10 in both, its router .1."""
        self.namespace = Namespace(lab_id, role)
        self.address4 = f"{network4}.10"
        self.address6 = f"{network6}::10"
        self.router4 = f"{network4}.1"
        self.router6 = f"{network6}::1"
        link(router, router_device, self.namespace, "eth0")
        router.address(router_device, f"{self.router4}/24", f"{self.router6}/64")
        self.namespace.address("eth0", f"{self.address4}/24", f"{self.address6}/64")
        self.namespace.ips(*[f"route add default via {router} mtu {INNER_MTU}" for router in (self.router4, self.router6)])

    def ping(self, address, count=1, wait=1, source=None):
        """How many of `count` echo requests were answered."""
        done = self.namespace.run("ping", "-n", "-q", "-c", count, "-i", "0.05", "-W", wait,
                                  *(["-I", source] if source else []), address, check=False, timeout=30 + count)
        for line in done.stdout.splitlines():
            if " received" in line:
                return int(line.split(" received")[0].split()[-1])
        return 0
