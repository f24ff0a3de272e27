# SPDX-License-Identifier: Apache-2.0
"""The chapter of the demo in which three gateways take turns to own an address, under a running flow."""

import time

from lab import until
from lab.claimants import RESOURCE, SILENCE_S, VIP, Claimants
from lab.contest import frozen
from lab.mesh_lab import UDP_PORT
from lab.traffic import Worker

RATE = 500


class Takeover:
    def __init__(self, say):
        self.say = say

    def tell(self):
        self.say.chapter("A stale owner cannot win")
        with Claimants() as lab:
            self._tell(lab)

    def _tell(self, lab):
        say = self.say
        say.say(f"Three gateways, a site behind each. The hosts of sites 1 and 2 have {VIP}, and gw1 and gw2 are the")
        say.say("candidates for it. A host of site 3 sends to it all the time.")
        lab.sites[2].namespace.ip("address", "del", f"{VIP}/32", "dev", "lo")
        lab.adopt(lab.policy(candidates=("gw1", "gw2")))
        epoch = lab.wait_for("gw1", timeout=30)
        say.claim("the first candidate holds the address, and all agree", epoch >= 1, f"gw1 under epoch {epoch}")
        receivers = {n: Worker(lab.sites[n - 1].namespace, "udp_receive", address=VIP, port=UDP_PORT) for n in (1, 2)}
        for receiver in receivers.values():
            receiver.wait_for("listening", bool)
        sender = Worker(lab.sites[2].namespace, "udp_send", address=VIP, port=UDP_PORT, rate=RATE, size=64)
        self._wait(receivers[1], 100)
        before = receivers[1].latest.get("received", 0)

        say.command(f"postern release {RESOURCE}        # on gw1: gw2 follows")
        released = self._release(lab, 1)
        raised = lab.wait_for("gw2", timeout=20)
        self._wait(receivers[2], 100)
        say.claim("a release hands over, under a higher epoch", raised > epoch,
                  f"gw2 under epoch {raised}, first datagram after {self._first(receivers[2]) - released:.2f} s")

        say.command("kill -STOP posternd of gw2         # frozen, as a machine that hangs")
        stopped = time.monotonic()
        with frozen(lab.gateways[1]):
            until("gw2's own kernel stops", lambda: not lab.serves(2, to=1), 12)
            frozen_s = time.monotonic() - stopped
            heir, taken = lab.wait_for_another("gw2", on=(1, 3), timeout=40)
            say.claim("another one takes over", taken > raised,
                      f"gw{heir} under epoch {taken}, {time.monotonic() - stopped:.1f} s after (W is {SILENCE_S} s)")
        say.claim("the frozen one had stopped by its own kernel", lab.gateways[1].drops()["lease_expired"] > 0,
                  f"after {frozen_s:.1f} s, dropped as lease_expired")
        lab.wait_for(f"gw{heir}", timeout=30)
        refused = lab.gateways[1].drops()["not_holder"]
        speaks = lab.serves(2, to=1)
        say.claim("the one that comes back is refused, in its own kernel too",
                  not speaks and lab.gateways[1].drops()["not_holder"] > refused, "dropped as not_holder")
        sender.finish()
        received = [receivers[n].finish()["received"] for n in (1, 2)]
        say.claim("each datagram went to one of the two at most", before > 0 and min(received) > 0,
                  f"site 1 got {received[0]}, site 2 {received[1]} of {sender.latest['sent']}")
        say.quote(lab.gateways[2].cli("claims").stdout)
        agree = until("equal digests", lambda: len({g.status()["events"]["digest"] for g in lab.gateways}) == 1, 15)
        say.claim("all three hold the same events", agree, "equal digests")

    @staticmethod
    def _release(lab, number):
        lab.gateways[number - 1].cli("release", RESOURCE)
        return time.monotonic()

    @staticmethod
    def _wait(receiver, more):
        goal = receiver.latest.get("received", 0) + more
        receiver.wait_for(f"{goal} datagrams", lambda report: report.get("received", 0) >= goal, 15)

    @staticmethod
    def _first(receiver):
        return receiver.latest.get("first", time.monotonic())
