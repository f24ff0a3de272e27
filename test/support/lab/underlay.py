# SPDX-License-Identifier: Apache-2.0
"""The network between the sites, 192.0.2.0/24: one switch in a namespace of its own. A site may have one, too."""

from .namespace import Namespace, link


class Underlay:
    def __init__(self, lab_id, role="sw"):
        self.namespace = Namespace(lab_id, role)
        # A switch and no more: without addresses of its own it neither answers nor sends.
        self.namespace.sysctl(**{"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1})
        self.namespace.ips("link add switch type bridge mcast_snooping 0", "link set switch up")

    def join(self, site, device, address):
        """Plugs `site` in: its end is `device` with `address`."""
        port = f"to-{site.role}"
        link(site, device, self.namespace, port)
        self.namespace.ip("link", "set", "dev", port, "master", "switch")
        site.address(device, f"{address}/24")
