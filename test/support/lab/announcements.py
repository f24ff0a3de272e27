# SPDX-License-Identifier: Apache-2.0
"""Conflicts over resources, and who said what of them."""

import collections
import json

from .wait import until


def announced(gateway):
    """{(resource, kind, epoch and gateway that lost): how many events of which authors}, by this gateway's journal."""
    lines = gateway.cli("--json", "events", "--kind", "ConflictAnnounced").stdout.splitlines()
    found = collections.defaultdict(collections.Counter)
    for event in map(json.loads, lines):
        if event["schema"] == "postern/event/v1":
            body = event["body"]
            found[(body["resource"], body["kind"], json.dumps(body["claim"], sort_keys=True))][event["author"]] += 1
    return found


def said_once(gateways):
    """Each gateway knows the same conflicts, each was announced by each of them, and by none of them twice."""
    names = {gateway.id for gateway in gateways}

    def missing():
        """What is not as it must be in the end."""
        found = []
        for gateway in gateways:
            known = announced(gateway)
            twice = {conflict: authors for conflict, authors in known.items() if set(authors.values()) != {1}}
            assert not twice, (gateway.id, twice)
            rows = gateway.ask("conflicts")["conflicts"]
            found += [(gateway.id, conflict, authors) for conflict, authors in known.items() if set(authors) != names]
            found += [(gateway.id, row) for row in rows if not row["announced"]]
            if len(rows) != len(known):
                found.append((gateway.id, rows, known))
        return found
    left = [missing()]

    def settled():
        left[0] = left[0] and missing()
        return not left[0]
    try:
        until("each conflict is announced by each", settled, 10, every=0.2)
    except AssertionError as error:
        raise AssertionError(f"{error}: {left[0]}") from error
