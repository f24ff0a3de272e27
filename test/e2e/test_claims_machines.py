# SPDX-License-Identifier: Apache-2.0
"""What befalls one machine of three that take turns: it sleeps, its clock steps, its disk goes back or fails."""

import shutil
import time

import pytest

from lab import until
from lab.claimants import RESOURCE, SILENCE_S, TENURE_S
from lab.contest import Contest, at_once, frozen
from lab.trace import Trace

TEN_YEARS_S = 10 * 365 * 86400


@pytest.fixture(scope="module")
def contest():
    with Contest(more=1) as made:
        made.adopt(made.policy())
        yield made


@pytest.fixture
def lab(contest):
    return contest.begin()


def history(gateway):
    """{epoch: (gateway, verdict)}"""
    return {int(row["epoch"]): (row["gateway"], row["verdict"])
            for row in gateway.ask("claims", "--history", RESOURCE)["owners"]}


def test_a_claim_that_waited_while_its_gateway_slept_is_never_armed(lab):
    first, second, third = lab.gateways
    epoch, since = lab.epoch(), lab.witness.now()
    with frozen(second):  # whose agreement the claim waits for
        first.cli("release", RESOURCE)
        waiting = {"gateway": "gw2", "why": "has not agreed yet"}
        until("gw3 has claimed it and waits", lambda: lab.claim(third)["own"] and lab.claim(third)["waits_for"] == [waiting])
        waited = int(lab.claim(third)["epoch"])
        assert waited == epoch + 1
        with frozen(third):
            time.sleep(1.5)  # more than a beat: it was away
        until("it has given the claim up", lambda: history(first)[waited] == ("gw3", "released"))
        assert lab.witness.turns(since) in ([1], [])
    holder, raised = lab.one_serves()
    assert raised > waited
    lab.only_turns(since, 1, holder)
    assert "slept or its loop was late" in third.log()


def test_wall_clocks_that_are_wrong_or_step_change_nothing(lab):
    epoch, since = lab.epoch(), lab.witness.now()
    try:
        lab.clocks[0].step(-int(time.time()) + 86400)  # in 1970
        lab.clocks[1].step(TEN_YEARS_S)
        ends = time.monotonic() + TENURE_S + 1
        while time.monotonic() < ends:  # and back and forth
            for seconds in (-TEN_YEARS_S, 3600):
                lab.clocks[2].step(seconds)
                time.sleep(0.3)
        assert lab.holders() == {("gw1", str(epoch), "held")}
        lab.gateways[0].cli("release", RESOURCE)
        holder, raised = lab.one_serves()
        assert holder != 1 and raised == epoch + 1
        lab.only_turns(since, 1, holder)
        # Claimed in 1970.
        at_ms = lab.gateways[1].ask("claims", "--history", RESOURCE)["owners"][-2]["until_ms"]
        assert at_ms < 2 * 86400 * 1000, at_ms
    finally:
        for clock in lab.clocks:
            clock.step(0)


def test_a_gateway_whose_disk_went_back_serves_nothing_that_it_gave_up(lab):
    first = lab.gateways[0]
    epoch = lab.epoch()
    first.stop()
    old = first.files / "old"
    shutil.copytree(first.files / "state", old)  # where it holds
    first.start()
    until("it holds on, or was too long away", lambda: lab.claim(first)["standing"] == "held")
    first.cli("release", RESOURCE, check=False)
    holder, raised = lab.wait_for_another("gw1", on=(1, 2, 3))
    assert raised > epoch
    (heard,) = [int(row["starts"]) for row in lab.gateways[1].ask("claims")["gateways"] if row["gateway"] == "gw1"]
    since = lab.witness.now()
    first.kill()
    assert first.run_daemon("--detach").returncode == 0  # the machine starts anew: its kernel knows nothing
    shutil.rmtree(first.files / "state")
    old.rename(first.files / "state")
    first.start(ready=False)
    assert lab.one_serves(timeout=60) == (holder, raised)
    lab.only_turns(since, holder, holder)
    # It counts its starts above those that the others had heard of, which its disk had forgotten.
    (outran,) = [int(row["starts"]) for row in lab.gateways[1].ask("claims")["gateways"] if row["gateway"] == "gw1"]
    assert outran > heard
    assert not lab.serves(1)


def test_a_holder_serves_on_while_it_adopts_for_longer_than_its_lease(lab):
    first = lab.gateways[0]
    epoch, since = lab.epoch(), lab.witness.now()
    lab.snapshot = lab.authority.edition(lab.policy(), after=lab.snapshot)
    # As a very large snapshot would have it, or a disk that takes its time with the file.
    with Trace(first.pid, ["fsync"], inject=f"fsync:delay_enter={int(1.5 * SILENCE_S * 1e6)}:when=1"):
        def seconds(work):
            begun = time.monotonic()
            work()
            return time.monotonic() - begun
        applied, answered = at_once(lambda: seconds(lambda: first.apply(lab.snapshot)),
                                    lambda: seconds(lambda: lab.claim(first)))
        assert applied > 1.4 * SILENCE_S > 5 * answered
    assert lab.one_serves() == (1, epoch)
    lab.only_turns(since, 1, 1)


def test_an_adoption_goes_by_who_holds_when_it_ends(lab):
    first = lab.gateways[0]
    epoch, since = lab.epoch(), lab.witness.now()
    lab.snapshot = lab.authority.edition(lab.policy(), after=lab.snapshot)
    with Trace(first.pid, ["fsync"], inject=f"fsync:delay_enter={int(SILENCE_S * 1e6)}:when=1"):
        def hand_over():
            time.sleep(2)
            first.cli("release", RESOURCE)
            return lab.wait_for_another("gw1", on=(1, 2, 3), timeout=6)
        _, heir = at_once(lambda: first.apply(lab.snapshot), hand_over)
    assert heir[1] == epoch + 1 and lab.one_serves() == heir
    lab.only_turns(since, 1, heir[0])


def test_a_holder_whose_journal_fails_stops_and_another_one_takes_over(lab):
    first, second, _ = lab.gateways
    epoch, since = lab.epoch(), lab.witness.now()
    with Trace(first.pid, ["fdatasync"], inject="fdatasync:error=EIO:when=1"):
        # Something that it must write down.
        other, _ = lab.wait_for_any(resource="vip2")
        lab.gateways[other - 1].cli("release", "vip2", check=False)
        until("its journal accepts nothing", lambda: first.status()["journal"]["poisoned"])
        until("it has stopped", lambda: lab.claim(first)["lease_left_ms"] == 0)
        assert lab.claim(first)["standing"] != "held"
    heir, raised = lab.wait_for_another("gw1", on=(2, 3))
    assert raised == epoch + 1
    lab.only_turns(since, 1, heir)
    first.stop()
    first.start()
    assert lab.one_serves() == (heir, raised)
    lab.only_turns(since, 1, heir)
