# SPDX-License-Identifier: Apache-2.0
"""What befalls the links between three gateways that take turns: one way cut, slow, or by way of the third one only."""

import time

import pytest

from lab import until
from lab.claimants import RESOURCE, TENURE_S
from lab.contest import Contest, deaf
from lab.slow_wire import SlowWire

SLOW_S = 0.8  # each way


@pytest.fixture(scope="module")
def contest():
    with Contest() as made:
        made.adopt(made.policy())
        yield made


@pytest.fixture
def lab(contest):
    return contest.begin()


def linked(gateway):
    return {row["gateway"] for row in gateway.ask("links")["links"] if row["state"] == "up"}


def test_two_that_are_not_linked_agree_by_way_of_the_third(lab):
    first, second, third = lab.gateways
    epoch, since = lab.epoch(), lab.witness.now()
    with deaf(first, third, rejects=True), deaf(third, first, rejects=True):
        until("gw1 and gw3 are not linked", lambda: linked(first) == {"gw2"} == linked(third), 20)
        time.sleep(TENURE_S)  # and live by relayed beats alone
        assert lab.holders() == {("gw1", str(epoch), "held")}
        lab.gateways[0].cli("release", RESOURCE)
        holder, raised = lab.one_serves()
        assert holder != 1 and raised == epoch + 1 and linked(first) == {"gw2"}
        lab.only_turns(since, 1, holder)
    assert lab.one_serves() == (holder, raised)


def test_slow_wires_slow_a_takeover_down_and_no_more(lab):
    epoch, since = lab.epoch(), lab.witness.now()
    with SlowWire(lab.underlay, 1, SLOW_S):
        time.sleep(TENURE_S)
        assert lab.holders() == {("gw1", str(epoch), "held")}
        lab.gateways[0].cli("release", RESOURCE)
        holder, raised = lab.one_serves()
        assert holder != 1 and raised == epoch + 1
    lab.only_turns(since, 1, holder)
    assert lab.one_serves() == (holder, raised)


def test_a_holder_that_hears_and_is_not_heard_is_followed_and_gives_in_when_it_is_heard(lab):
    first, second, third = lab.gateways
    epoch, since = lab.epoch(), lab.witness.now()
    known = len(first.ask("conflicts")["conflicts"])
    with deaf(second, first), deaf(third, first):
        heir, raised = lab.wait_for_another("gw1", on=(2, 3))
        assert raised == epoch + 1
        lab.witness.wait_for(heir)
        lab.witness.wait_for(1)  # both serve: this is what a partition may do
        stale = third.drops()["stale_epoch"]
        assert not lab.serves(1, to=3)  # but not where the heir is known
        assert third.drops()["stale_epoch"] > stale
        healed = lab.witness.now()
    # gw1 beats and was taken for dead: that is said, once by each.
    until("the takeover is known", lambda: len(first.ask("conflicts")["conflicts"]) > known, 60)
    assert lab.one_serves(timeout=60) == (heir, raised)
    said = [(row["kind"], row["claim"]["gateway"], row["rival"]["gateway"])
            for row in first.ask("conflicts")["conflicts"] if int(row["claim"]["epoch"]) == epoch]
    assert said == [("takeover", "gw1", f"gw{heir}")], first.ask("conflicts")["conflicts"]
    ends = [number for number, by in lab.witness.rows(healed) if by == 1]
    print(f"gw1 served for {len(ends) / lab.witness.rate:.1f} s after the heal, links included")
    assert lab.witness.turns(since)[0] == 1 and lab.witness.turns(since)[-1] == heir


def test_packets_under_an_epoch_to_come_wait_for_the_news_of_it(lab):
    first, second, third = lab.gateways
    lab.adopt(lab.policy(candidates=("gw1", "gw2")))
    try:
        lab.give(1)
        epoch, since = lab.epoch(), lab.witness.now()
        with deaf(third, first, second):  # whom nobody asks, as it is no candidate
            first.cli("release", RESOURCE)
            lab.wait_for("gw2", on=(1, 2))
            future = third.drops()["future_epoch"]
            assert not lab.serves(2, to=3)
            assert third.drops()["future_epoch"] > future
            assert int(lab.claim(third)["fence"]) == epoch
        until("gw3 lets the heir's packets pass", lambda: lab.serves(2, to=3), 40)
        assert lab.one_serves() == (2, epoch + 1)
        lab.only_turns(since, 1, 2)
    finally:
        lab.adopt(lab.policy())
