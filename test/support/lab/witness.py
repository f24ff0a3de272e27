# SPDX-License-Identifier: Apache-2.0
"""A stock VXLAN peer that notes which gateway sent it what: the hosts of all sites speak to it from one address, and
whoever's packets come was let by its gateway. Numbers are ticks of the clock that all of a machine share, so equal
numbers of two sites were sent at the same time.
"""

import itertools
import json
import time

from .traffic import Worker
from .wait import until

MAC = "02:00:00:00:02:42"
PREFIX, INSIDE = "10.66.0.0/24", "10.66.0.10"
VXLAN_PORT, PORT = 4789, 7000
VXLAN_HEADERS = 8 + 14 + 20 + 8  # VXLAN, and inside of it Ethernet, IPv4 without options, UDP


class NumberLog(Worker):
    """`seen` is all that came: [number, sender's address], in the order in which it came."""

    def __init__(self, *args, **options):
        self.seen = []
        super().__init__(*args, **options)

    def _read(self):
        for line in self._process.stdout:
            report = json.loads(line)
            self.seen += report.get("seen", [])
            self.latest = report


class Witness:
    def __init__(self, namespace, address, gateways, rate=100):
        """`gateways`: underlay address -> name of a gateway in what is said here. `rate` a second, of each site."""
        self.rate = rate
        self._gateways = gateways
        self._log = NumberLog(namespace, "note_receive", address=address, port=VXLAN_PORT, skip=VXLAN_HEADERS)
        self._log.wait_for("listening", bool)
        self._senders = []

    def hears(self, sites, source):
        """A host in each of these namespaces speaks from this address from now on."""
        self._senders = [Worker(site, "clock_send", address=INSIDE, port=PORT, source=source, rate=self.rate)
                         for site in sites]

    def finish(self):
        for worker in (*self._senders, self._log):
            worker.finish()

    def now(self):
        """The number of this instant."""
        return int(time.monotonic() * self.rate)

    def rows(self, since, until_=None):
        """[(number, gateway)] in the order in which they came, of the numbers from `since` on."""
        return [(number, self._gateways.get(gateway, gateway)) for number, gateway in list(self._log.seen)
                if number >= since and (until_ is None or number < until_)]

    def turns(self, since, until_=None):
        """Who forwarded, in the order of the numbers: [1, 2] is a hand-over, [1, 2, 1] an overlap."""
        return [gateway for gateway, *_ in self.spans(since, until_)]

    def spans(self, since, until_=None):
        """[(gateway, first number, last number)] of these turns. Numbers, for how long a packet lies in a queue behind
        its verdict says nothing of when that was; a number that came by two gateways is first of the turn that it ends."""
        spans = []
        rows = sorted(set(self.rows(since, until_)))
        for _, at_once in itertools.groupby(rows, lambda row: row[0]):
            for number, gateway in sorted(at_once, key=lambda row: not spans or row[1] != spans[-1][0]):
                if spans and spans[-1][0] == gateway:
                    spans[-1] = (gateway, spans[-1][1], number)
                else:
                    spans.append((gateway, number, number))
        return spans

    def twice(self, since, until_=None):
        """The numbers that came by more than one gateway."""
        by = {}
        for number, gateway in self.rows(since, until_):
            by.setdefault(number, set()).add(gateway)
        return [number for number, gateways in by.items() if len(gateways) > 1]

    def wait_for(self, gateway, more=10, timeout=10):
        """Until it has forwarded `more` numbers from now on."""
        since = self.now()
        until(f"gateway {gateway} forwards", lambda: [by for _, by in self.rows(since)].count(gateway) >= more, timeout)
