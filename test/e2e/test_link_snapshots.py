# SPDX-License-Identifier: Apache-2.0
"""Snapshots over the links of real gateways: one that has a newer one is enough, and a forged one goes nowhere."""

import re
import time

import pytest

from lab import until
from lab.authority import Authority
from lab.gateway import Gateway
from lab.gateway_trio import MESH, GatewayTrio


@pytest.fixture(scope="module")
def trio():
    with GatewayTrio() as trio:
        trio.adopt(trio.policy())
        yield trio


def serial(gateway):
    return gateway.status()["snapshot"]["serial"]


def fetched(gateway, result):
    _, body = gateway.http("/metrics")
    return float(re.search(r'^postern_link_snapshots_total\{result="%s"\} (\S+)$' % result, body, re.M).group(1))


def linked(gateway, others):
    return all(row["sync"]["on"] for row in gateway.ask("links")["links"] if row["gateway"] in others)


def all_linked(trio):
    until("all are linked", lambda: all(linked(gateway, {"gw1", "gw2", "gw3"} - {gateway.id})
                                        for gateway in trio.gateways), 30)


def test_a_newer_snapshot_travels_over_the_links(trio):
    first, second, third = trio.gateways
    all_linked(trio)
    before = serial(first)
    trio.adopt(trio.policy(), on=(1,))
    for gateway in (second, third):
        until(f"{gateway.id} serves it", lambda gateway=gateway: serial(gateway) == serial(first) != before, 30)
        assert re.search(r"snapshot \d+: came from gateway gw", gateway.log())
    until("counted", lambda: fetched(second, "adopted") >= 1 and fetched(third, "adopted") >= 1)
    until("sent", lambda: fetched(first, "sent") >= 1)
    # What came is applied by hand once more, as if by an operator who does not know.
    second.apply(trio.snapshot)
    assert not (second.files / "state" / "incoming-snapshot").exists()


def test_it_goes_by_a_third_gateway_and_over_a_restart(trio):
    first, _, third = trio.gateways
    all_linked(trio)
    third.stop()
    trio.adopt(trio.policy(), on=(1,))
    until("the second one has it", lambda: serial(trio.gateways[1]) == serial(first), 30)
    first.stop()
    third.start()
    until("the third one has it from the second", lambda: serial(third) == serial(trio.gateways[1]), 40)
    first.start()
    all_linked(trio)


def test_a_snapshot_on_trial_stays_where_it_is_until_it_is_confirmed(trio):
    first, second, _ = trio.gateways
    all_linked(trio)
    before = serial(second)
    trio.snapshot = trio.authority.edition(trio.policy(), after=trio.snapshot)
    first.cli("apply", "--confirm", "60s", trio.snapshot)
    # The events of the adoption are there, the snapshot is not.
    until("its events came", lambda: first.status()["events"]["digest"] == second.status()["events"]["digest"], 20)
    # Events are faster than files: one that was offered would be there long before.
    time.sleep(4)
    assert serial(second) == before
    first.cli("confirm")
    until("confirmed, it goes on", lambda: all(serial(gateway) == serial(first) for gateway in trio.gateways), 30)


def test_a_gateway_that_is_told_so_fetches_none(trio):
    first, second, third = trio.gateways
    all_linked(trio)
    before = serial(third)
    third.config.write_text(third.config.read_text(encoding="utf-8") + "links: {snapshots: false}\n", encoding="utf-8")
    third.reload()
    trio.adopt(trio.policy(), on=(1,))
    until("the second one has it", lambda: serial(second) == serial(first), 30)
    assert serial(third) == before
    third.edit_config("links: {snapshots: false}\n", "")
    third.reload()
    until("now it does", lambda: serial(third) == serial(first), 30)


def test_a_snapshot_of_another_authority_is_refused_and_counted():
    """gw1 serves what a forger signed, under the same mesh, with the same gateways and a higher serial."""
    with GatewayTrio() as trio:
        first, second, third = trio.gateways
        real = trio.authority
        trio.authority = Authority(Gateway.postern, trio.directory / "disk" / "forger", MESH)
        (first.files / "root.json").write_bytes(trio.authority.root.read_bytes())
        for _ in range(3):
            trio.adopt(trio.policy(), on=(1,))
        forged = serial(first)
        trio.authority, trio.snapshot = real, None
        trio.adopt(trio.policy(), on=(2, 3))
        mine = serial(second)
        assert mine != forged
        for gateway in (second, third):
            until("it is refused", lambda gateway=gateway: fetched(gateway, "refused") >= 1, 40)
            assert serial(gateway) == mine
            assert fetched(gateway, "adopted") == 0
            problem = gateway.ask("links")["snapshots"]["problem"]
            assert "gateway gw1 gave" in problem
        # The real one goes on past it.
        trio.adopt(trio.policy(), on=(2,))
        until("the next real one comes over", lambda: serial(third) == serial(second) != mine, 40)
        assert serial(first) == forged
