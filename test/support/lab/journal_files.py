# SPDX-License-Identifier: Apache-2.0
"""A look into a journal's segments from outside, without the code that wrote them."""

import json
import re

# An event in canonical JSON begins with its first key.
EVENT = re.compile(rb'\{"at_ms":[^\x00]*?"v":1\}')


def events(journal, kind=None):
    """The events in the segments, in their order. A recovery copies what it keeps of a segment's end into the next one,
    so an event may stand there twice."""
    found = []
    for segment in sorted(journal.glob("seg-*"), key=lambda path: int(path.name[4:])):
        for match in EVENT.finditer(segment.read_bytes()):
            event = json.loads(match.group())
            if event not in found and (kind is None or event["kind"] == kind):
                found.append(event)
    return found
