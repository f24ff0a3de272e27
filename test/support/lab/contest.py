# SPDX-License-Identifier: Apache-2.0
"""Claimants under observation: hosts of all sites speak from the address all the time, and a stock peer sees whose
packets come. How each story must end, whatever befell the gateways, is said in one_serves()."""

import concurrent.futures
import contextlib
import os
import signal

from .announcements import said_once
from .claimants import RESOURCE, VIP, Claimants
from .gateway_trio import LINK_PORT
from .wall_clock import WallClock


def at_once(*works):
    """Their results."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        return [done.result() for done in [pool.submit(work) for work in works]]


@contextlib.contextmanager
def frozen(gateway):
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(gateway.pid, signal.SIGCONT)


@contextlib.contextmanager
def deaf(gateway, *to, rejects=False):
    """It hears nothing that these gateways send over links. They hear it, as far as TCP goes on without an answer; with
    `rejects` they are told at once."""
    verdict = "reject with tcp reset" if rejects else "drop"
    rules = [f"add rule inet lab input ip saddr {other.underlay} tcp {port} {LINK_PORT} {verdict}"
             for other in to for port in ("sport", "dport")]
    gateway.namespace.run("nft", "-f", "-", stdin="\n".join(
        ["add table inet lab", "add chain inet lab input { type filter hook input priority 0; }", *rules, ""]))
    try:
        yield
    finally:
        gateway.namespace.run("nft", "delete table inet lab")


class Contest(Claimants):
    """`clocks` are the gateways' wall clocks, which can be stepped."""

    def __init__(self, more=0):
        super().__init__(more, watched=True)

    def _build(self):
        super()._build()
        self.clocks = [WallClock(gateway) for gateway in self.gateways]
        self.floor = 0

    def __enter__(self):
        super().__enter__()
        self.witness.hears([site.namespace for site in self.sites], VIP)
        return self

    def one_serves(self, resources=(RESOURCE,), timeout=30):
        """One holder of each, whose packets alone pass, by the kernels' own counters; equal digests; conflicts said as
        they must be. Returns (holder's number, epoch) of the first resource."""
        held = [self.wait_for_any(timeout=timeout, resource=resource) for resource in resources]
        self.level()
        said_once(self.gateways)
        holder = held[0][0]
        self.witness.wait_for(holder)
        since, refused = self.witness.now(), [gateway.drops()["not_holder"] for gateway in self.gateways]
        self.witness.wait_for(holder, 20)
        assert self.witness.turns(since) == [holder]
        for number, gateway in enumerate(self.gateways, 1):
            more = gateway.drops()["not_holder"] - refused[number - 1]
            assert more == 0 if number == holder else more > 10, (gateway.id, more)
        return held[0]

    def only_turns(self, since, first, then):
        """Since then `first` has forwarded, and from some moment on `then` alone; and nothing twice."""
        turns = self.witness.spans(since)
        assert [gateway for gateway, *_ in turns] in ([first, then], [then]), (first, then, turns)
        self.nothing_twice(since)

    def nothing_twice(self, since):
        """Numbers of one tick are sent within it at several sites, so each change of hands may have one in common."""
        assert len(self.witness.twice(since)) < max(1, len(self.witness.turns(since))), self.witness.twice(since)
