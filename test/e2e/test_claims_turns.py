# SPDX-License-Identifier: Apache-2.0
"""Who may claim when: many at once, while a floor rises, and when the snapshot drops the holder."""

import time

import pytest

from lab import until
from lab.claimants import RESOURCE
from lab.contest import Contest, at_once
from lab.trace import Trace

STORM_S = 6
HAND_OVER_S = 3  # SPEC 10.5


@pytest.fixture(scope="module")
def contest():
    with Contest(more=5) as made:
        made.adopt(made.policy())
        yield made


@pytest.fixture
def lab(contest):
    return contest.begin()


def test_of_simultaneous_claims_one_is_left(lab):
    lab.set_automatic(False)
    try:
        lab.gateways[0].cli("release", RESOURCE)
        until("nobody serves any more", lambda: {row[2] for row in lab.holders()} == {"unheld"}, 10)
        lab.level()
        epoch, since = lab.epoch(), lab.witness.now()
        for gateway in lab.gateways:  # whose hosts speak on
            unheld = gateway.drops()["unheld"]
            until("what nobody holds is dropped", lambda g=gateway, u=unheld: g.drops()["unheld"] > u + 10)
        assert lab.witness.turns(since) == []
        at_once(*[lambda g=gateway: g.cli("claim", RESOURCE, check=False) for gateway in lab.gateways])
        holder, raised = lab.one_serves()
        assert raised > epoch
        lab.only_turns(since, holder, holder)  # nobody served before the others had given in
    finally:
        lab.set_automatic(True)


def test_who_releases_serves_while_the_next_ones_disk_takes_its_time(lab):
    delay_s = 0.6
    lab.set_automatic(False)
    try:
        with Trace(lab.gateways[1].pid, ["fdatasync"], inject=f"fdatasync:delay_enter={int(delay_s * 1e6)}:when=1"):
            epoch, since = lab.epoch(), lab.witness.now()
            lab.gateways[0].cli("release", RESOURCE)
            released = lab.witness.now()
            until("gw2 may claim", lambda: lab.gateways[1].cli("claim", RESOURCE, check=False).returncode == 0)
            assert lab.one_serves() == (2, epoch + 1)
        lab.only_turns(since, 1, 2)
        first, last = lab.witness.spans(since)[0], lab.witness.spans(since)[-1]
        assert first[0] == 1 and first[2] - released > delay_s * lab.witness.rate / 2
        print(f"nobody served for {(last[1] - first[2] - 1) / lab.witness.rate:.2f} s")
    finally:
        lab.set_automatic(True)


def test_a_release_that_hangs_in_the_disk_ends_by_the_kernel(lab):
    first = lab.gateways[0]
    epoch, since = lab.epoch(), lab.witness.now()
    lab.set_automatic(False)
    try:
        with Trace(first.pid, ["fdatasync"], inject=f"fdatasync:delay_enter={int(2 * HAND_OVER_S * 1e6)}:when=1"):
            first.cli("release", RESOURCE)
        answered = lab.witness.now()
        (turn,) = lab.witness.spans(since)
        assert turn[0] == 1 and turn[2] < answered - HAND_OVER_S * lab.witness.rate / 2
    finally:
        lab.set_automatic(True)
    _, raised = lab.one_serves()
    assert raised > epoch


def test_a_storm_of_claims_and_releases_ends_with_one_holder_each(lab):
    resources = list(lab.addresses)
    epoch, since = lab.epoch(), lab.witness.now()
    ends = time.monotonic() + STORM_S

    def storm(gateway, order):
        while time.monotonic() < ends:
            for resource in order:
                for command in ("release", "claim"):
                    gateway.cli(command, resource, check=False)
    at_once(*[lambda g=gateway, o=resources[2 * n:] + resources[:2 * n]: storm(g, o)
              for n, gateway in enumerate(lab.gateways)])
    _, raised = lab.one_serves(resources)
    assert raised > epoch + 3
    assert len(lab.witness.turns(since)) > 3
    lab.nothing_twice(since)
    for resource in resources[1:]:
        holder, _ = lab.wait_for_any(resource=resource)
        assert [n for n in (1, 2, 3) if lab.serves(n, resource=resource)] == [holder], resource


def test_a_claim_that_is_made_while_the_floor_rises_ends_above_it(lab):
    since, floor = lab.witness.now(), lab.epoch() + 3
    lab.snapshot = lab.authority.edition(lab.policy(floor=floor), after=lab.snapshot)
    lab.floor = floor

    def release_and_claim():
        lab.gateways[0].cli("release", RESOURCE, check=False)
        lab.gateways[1].cli("claim", RESOURCE, check=False)
    at_once(release_and_claim, *[lambda g=gateway: g.apply(lab.snapshot) for gateway in lab.gateways[1:]])
    lab.gateways[0].apply(lab.snapshot)
    _, raised = lab.one_serves()
    assert raised > floor
    for gateway in lab.gateways:
        row = lab.claim(gateway)
        assert (int(row["fence"]), int(row["floor"])) == (raised, floor)
    lab.nothing_twice(since)


def test_a_candidate_that_a_snapshot_drops_while_it_holds_stops(lab):
    epoch, since = lab.epoch(), lab.witness.now()
    lab.adopt(lab.policy(candidates=("gw2", "gw3"), floor=lab.floor), on=(2, 3, 1))
    try:
        holder, raised = lab.one_serves()
        assert holder != 1 and raised > epoch
        lab.only_turns(since, 1, holder)
        done = lab.gateways[0].cli("claim", RESOURCE, check=False)
        assert done.returncode == 6 and "no candidate" in done.stderr, done
    finally:
        lab.adopt(lab.policy(floor=lab.floor))
