# SPDX-License-Identifier: Apache-2.0
"""Events between real gateways: what each of them wrote comes to all, over cut links, crashes and third gateways."""

import re

import pytest

from lab import until
from lab.gateway_trio import GatewayTrio


@pytest.fixture(scope="module")
def trio():
    with GatewayTrio() as trio:
        trio.adopt(trio.policy())
        yield trio


def digest(gateway):
    return gateway.status()["events"]["digest"]


def sync(gateway):
    return {row["gateway"]: row["sync"] for row in gateway.ask("links")["links"]}


def level(trio, timeout=30):
    until("all show the same digest", lambda: len({digest(gateway) for gateway in trio.gateways}) == 1, timeout)
    return digest(trio.gateways[0])


def test_events_of_all_three_reach_all_three(trio):
    before = level(trio)
    for gateway in trio.gateways:
        assert gateway.status()["events"]["streams"] == 3
    trio.adopt(trio.policy())
    assert level(trio) != before
    first = trio.gateways[0]
    # What a peer says to have runs ahead of what it has sent.
    until("nothing is missing", lambda: all(row["on"] and int(row["missing"]) == 0 for row in sync(first).values()), 10)
    for name, row in sync(first).items():
        assert int(row["events_in"]) > 0 and int(row["events_out"]) > 0, (name, row)
    page = first.cli("links").stdout
    assert "EVENTS IN/OUT" in page and "MISSING" in page
    until("the metrics say so", lambda: re.search(r'^postern_replica_lag_events\{gateway="gw2"\} 0$',
                                                  first.http("/metrics")[1], re.M), 10)
    _, body = first.http("/metrics")
    assert float(re.search(r'^postern_sync_results_total\{result="taken"\} (\S+)$', body, re.M).group(1)) > 0


def test_a_gateway_that_was_cut_off_catches_up(trio):
    first = trio.gateways[0]
    level(trio)
    trio.cut(3)
    try:
        until("the link is down", lambda: not sync(first)["gw3"]["on"], 20)
        trio.adopt(trio.policy(), on=(1, 2))
        until("the two that are linked agree", lambda: digest(first) == digest(trio.gateways[1]), 20)
        assert digest(trio.gateways[2]) != digest(first)
    finally:
        trio.cut(3, off=False)
    level(trio, 60)


def test_a_killed_gateway_comes_back_with_what_it_had_and_gets_the_rest(trio):
    third = trio.gateways[2]
    level(trio)
    third.kill()
    trio.adopt(trio.policy(), on=(1, 2))
    third.start()
    level(trio, 60)
    # Nothing of it was lost, so its own stream goes on.
    assert third.status()["events"]["streams"] == 3


def test_a_third_gateway_passes_on_what_two_others_wrote(trio):
    """gw1 and gw3 cannot reach each other; gw2 reaches both."""
    first, _, third = trio.gateways
    level(trio)
    block = [(first, "192.0.2.3"), (third, "192.0.2.1")]
    for gateway, other in block:
        gateway.namespace.ip("route", "add", "blackhole", f"{other}/32")
    try:
        until("they are not linked", lambda: not sync(first)["gw3"]["on"] and not sync(third)["gw1"]["on"], 30)
        before = digest(first)
        trio.adopt(trio.policy())
        assert level(trio) != before
        assert not sync(first)["gw3"]["on"]
    finally:
        for gateway, other in block:
            gateway.namespace.ip("route", "del", "blackhole", f"{other}/32")


def test_events_of_a_removed_gateway_stay_part_of_what_all_hold(trio):
    first, second, third = trio.gateways
    level(trio)
    trio.adopt(trio.policy(gateways=(1, 2)), on=(1, 2))
    until("the two that stay agree", lambda: digest(first) == digest(second), 20)
    assert first.status()["events"]["streams"] == 3
    trio.adopt(trio.policy())
    level(trio, 60)
