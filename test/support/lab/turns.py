# SPDX-License-Identifier: Apache-2.0
"""What the gateways of a lab say of who holds what."""

from .wait import until

RESOURCE = "vip"


class Turns:
    """For labs with `gateways`."""

    def claim(self, gateway, resource=RESOURCE):
        """What this gateway says of the resource."""
        (row,) = [row for row in gateway.ask("claims")["resources"] if row["resource"] == resource]
        return row

    def epoch(self):
        """As gw1 has it."""
        return int(self.claim(self.gateways[0])["epoch"])

    def set_automatic(self, on, gateways=(1, 2, 3)):
        line = "claims: {automatic: false}\ninterfaces:"
        for gateway in [self.gateways[number - 1] for number in gateways]:
            gateway.edit_config(*((line, "interfaces:") if on else ("interfaces:", line)))
            gateway.reload()

    def holders(self, on=(1, 2, 3), resource=RESOURCE):
        """{(holder, epoch, standing)} over what these gateways say."""
        rows = [self.claim(self.gateways[number - 1], resource) for number in on]
        return {(row["holder"], row["epoch"], row["standing"]) for row in rows}

    def _agreed(self, on=(1, 2, 3), resource=RESOURCE):
        """(holder, epoch) when all these say that it holds."""
        seen = self.holders(on, resource)
        (holder, epoch, standing) = next(iter(seen))
        return len(seen) == 1 and standing == "held" and (holder, int(epoch))

    def wait_for(self, holder, on=(1, 2, 3), timeout=15):
        """Until all these say that it holds; returns the epoch."""
        def agreed():
            found = self._agreed(on)
            return found and found[0] == holder and found[1]
        return until(f"{holder} holds, as {on} say", agreed, timeout, every=0.1)

    def wait_for_another(self, than, on, timeout=40):
        """Until all these say that somebody else than `than` holds: (its number, the epoch)."""
        def agreed():
            found = self._agreed(on)
            return found and found[0] != than and found
        holder, epoch = until(f"another one than {than} holds, as {on} say", agreed, timeout, every=0.1)
        return int(holder[2:]), epoch

    def wait_for_any(self, on=(1, 2, 3), timeout=40, resource=RESOURCE):
        """Until all these agree on a holder: (its number, the epoch)."""
        holder, epoch = until(f"all agree on who holds {resource}", lambda: self._agreed(on, resource), timeout, every=0.1)
        return int(holder[2:]), epoch

    def digests(self):
        return {gateway.status()["events"]["digest"] for gateway in self.gateways}

    def level(self, timeout=30):
        until("all hold the same events", lambda: len(self.digests()) == 1, timeout, every=0.1)
