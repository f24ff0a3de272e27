# SPDX-License-Identifier: Apache-2.0
"""Gateways take turns to own an address, by claims of their own: who is first, who follows, and who is refused."""

import json
import re
import time

import pytest

from lab import until
from lab.claimants import RESOURCE, SILENCE_S, VIP, Claimants
from lab.command import run
from lab.contest import frozen


@pytest.fixture(scope="module")
def trio():
    with Claimants() as made:
        made.adopt(made.policy())
        yield made


@pytest.fixture
def lab(trio):
    return trio.begin()


def test_the_first_candidate_that_lives_holds_and_the_others_know(trio):
    epoch = trio.wait_for("gw1", timeout=30)
    assert epoch == 1
    until("its host may speak from the address", lambda: trio.serves(1))
    before = trio.gateways[1].drops()["not_holder"]
    assert not trio.serves(2)
    assert trio.gateways[1].drops()["not_holder"] > before
    trio.level()
    page = trio.gateways[1].cli("claims").stdout
    assert re.search(r"^vip +gw1 +1 +held +\d+\.\d s", page, re.M), page
    assert re.search(r"^gw3 +\d+ +\d+ +\d+\.\d s +done$", page, re.M), page
    assert "gw1 (this one)" in trio.gateways[0].cli("claims", "--resource", RESOURCE).stdout


def test_a_claim_of_what_another_one_holds_is_refused_as_a_conflict(lab):
    for command in ("claim", "release"):
        done = lab.gateways[2].cli(command, RESOURCE, check=False)
        assert done.returncode == 6, done
        assert "gw1" in done.stderr
    done = lab.gateways[2].cli("claim", "nothing", check=False)
    assert done.returncode == 2 and "there are vip" in done.stderr
    done = lab.gateways[0].cli("claim", RESOURCE)  # it holds it already
    assert "held" in done.stdout


def test_a_release_hands_over_at_once_and_no_conflict_is_announced(lab):
    before = lab.gateways[0].ask("conflicts")["conflicts"]
    epoch = lab.epoch()
    lab.gateways[0].cli("release", RESOURCE)
    begun = time.monotonic()
    seen = until("another one holds", lambda: {row[0] for row in lab.holders() if row[2] == "held"} - {"gw1"}, 5)
    assert time.monotonic() - begun < SILENCE_S
    (holder,) = seen
    assert lab.wait_for(holder) == epoch + 1
    assert not lab.serves(1)
    until("its host may speak", lambda: lab.serves(int(holder[2:])))
    assert lab.gateways[0].ask("conflicts")["conflicts"] == before
    history = lab.gateways[2].ask("claims", "--history", RESOURCE)["owners"]
    assert [(row["gateway"], row["verdict"]) for row in history[-2:]] == [("gw1", "released"), (holder, "live")]
    assert history[-2]["until_ms"] >= history[-2]["at_ms"] and history[-1]["until_ms"] is None
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(history[-1]["at_ms"] // 1000 + 5))
    then = lab.gateways[2].ask("claims", "--history", RESOURCE, "--at", at)["owners"]
    assert [row["gateway"] for row in then] == [holder]


def test_a_holder_whose_agent_is_killed_and_started_again_at_once_holds_on(lab):
    epoch = lab.claim(lab.gateways[1])["epoch"]
    lab.gateways[0].kill()
    assert lab.serves(1)
    lab.gateways[0].start()
    until("it says that it holds", lambda: lab.claim(lab.gateways[0])["standing"] == "held")
    time.sleep(SILENCE_S)  # longer than a lease: it was renewed
    assert lab.serves(1)
    assert lab.holders() == {("gw1", epoch, "held")}


def test_a_stop_by_the_supervisor_gives_nothing_up(lab):
    epoch = lab.claim(lab.gateways[1])["epoch"]
    assert lab.gateways[0].stop() == 0
    assert lab.serves(1)
    lab.gateways[0].start()
    assert lab.wait_for("gw1") == int(epoch)
    assert lab.serves(1)


def test_another_one_takes_over_from_a_holder_that_is_dead(lab):
    epoch = int(lab.claim(lab.gateways[1])["epoch"])
    lab.gateways[0].kill()
    until("the kernel stops serving", lambda: not lab.serves(1), 10)
    heir, raised = lab.wait_for_another("gw1", on=(2, 3))
    assert raised == epoch + 1
    until("its host may speak", lambda: lab.serves(heir, to=5 - heir))
    lab.gateways[0].start()
    assert lab.wait_for(f"gw{heir}", timeout=20) == raised
    assert not lab.serves(1)


def test_a_frozen_holder_stops_and_is_refused_when_it_comes_back(lab):
    first = lab.gateways[0]
    epoch = int(lab.claim(first)["epoch"])
    expired = first.drops()["lease_expired"]
    with frozen(first):
        until("its lease is over", lambda: not lab.serves(1), 10)
        heir, raised = lab.wait_for_another("gw1", on=(2, 3))
        assert raised == epoch + 1
        assert not lab.serves(1)
    assert lab.wait_for(f"gw{heir}", timeout=20) == raised
    assert first.drops()["lease_expired"] > expired
    before = first.drops()["not_holder"]
    assert not lab.serves(1)
    assert first.drops()["not_holder"] > before
    assert "slept or its loop was late" in first.log()


def test_the_authority_takes_a_resource_from_a_gateway_that_beats_on(lab):
    epoch = lab.epoch()
    stranger = lab.directory / "disk" / "stranger.key"
    run(lab.gateways[0].postern, "keygen", stranger)
    forged = lab.authority.revocation(lab.snapshot, RESOURCE, epoch, key=stranger)
    old = lab.authority.revocation(lab.snapshot, RESOURCE, epoch - 1) if epoch > 1 else forged
    for document in (forged, old):
        done = lab.gateways[1].cli("claims", "revoke", RESOURCE, "--document", document, check=False)
        assert done.returncode != 0 and "revocation" in done.stderr, done
    assert lab.serves(1)
    document = lab.authority.revocation(lab.snapshot, RESOURCE, epoch)
    lab.gateways[1].cli("claims", "revoke", RESOURCE, "--document", document)
    seen = until("it is held under a higher epoch", lambda: {row for row in lab.holders() if int(row[1]) > epoch}, 10)
    holder = next(iter(seen))[0]
    assert lab.wait_for(holder) == epoch + 1
    owners = lab.gateways[2].ask("claims", "--history", RESOURCE)["owners"]
    assert [(row["verdict"]) for row in owners[-2:]] == ["revoked", "live"]
    lab.level()


def test_what_a_partition_let_two_own_is_announced_once_by_each_when_it_heals(lab):
    def conflicts(gateway):
        return {(row["kind"], row["claim"]["gateway"], row["claim"]["epoch"], row["rival"]["gateway"], row["rival"]["epoch"])
                for row in gateway.ask("conflicts")["conflicts"] if row["announced"]}
    known = [conflicts(gateway) for gateway in lab.gateways]
    epoch = lab.epoch()
    lab.cut(3)
    try:
        lab.gateways[0].cli("release", RESOURCE)
        for number in (2, 3):
            ask = lab.gateways[number - 1]
            until("it may be claimed", lambda g=ask: g.cli("claim", RESOURCE, check=False).returncode == 0, 20, every=0.2)
        lab.wait_for("gw2", on=(1, 2), timeout=40)
        lab.wait_for("gw3", on=(3,), timeout=40)
    finally:
        lab.cut(3, off=False)
    until("all agree again", lambda: len(lab.holders()) == 1 and next(iter(lab.holders()))[2] == "held", 40, every=0.2)
    assert int(next(iter(lab.holders()))[1]) > epoch
    for gateway, before in zip(lab.gateways, known):
        (conflict,) = until("the conflict is known", lambda g=gateway, b=before: conflicts(g) - b, 20)
        assert conflict[0] == "collision" and {conflict[1], conflict[3]} == {"gw2", "gw3"}
        until("it is said", lambda g=gateway: "conflict over resource vip" in g.log())
        said = [line for line in gateway.log().splitlines() if "conflict over resource vip" in line]
        assert len([line for line in said if "collision" in line and "gw2" in line and "gw3" in line]) == 1, said
    lab.level()
    listed = lab.gateways[0].cli("--json", "events", "--kind", "ConflictAnnounced").stdout.splitlines()
    events = [event for event in map(json.loads, listed) if event["schema"] == "postern/event/v1"]
    assert len([event for event in events if event["body"]["kind"] == "collision"]) == 3


def test_a_hook_hears_what_its_gateway_holds_and_loses(lab):
    first = lab.gateways[0]
    told = first.files / "told"
    hook = first.files / "hook"
    hook.write_text(f'#!/bin/sh\necho "$*" >> {told}\n', encoding="utf-8")
    hook.chmod(0o700)
    epoch = int(lab.claim(first)["epoch"])
    first.edit_config("interfaces:", f"claims: {{hook: {hook}}}\ninterfaces:")
    first.stop()
    first.start()

    def lines():
        return told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    # A start says how it stands: the stop gave nothing up.
    until("the hook has heard of the start", lambda: lines()[-1:] == [f"held {RESOURCE} {epoch}"])
    first.cli("release", RESOURCE)
    until("the hook has heard of the release", lambda: lines()[-1:] == [f"lost {RESOURCE} {epoch}"])
    _, raised = lab.wait_for_another("gw1", on=(1, 2, 3))
    assert raised == epoch + 1
    assert f"claims hook: lost {RESOURCE} {epoch}: exit status 0" in first.log()
    first.edit_config(f"claims: {{hook: {hook}}}\n", "")
    first.reload()
