# SPDX-License-Identifier: Apache-2.0
"""Links between real gateways over TCP, in network namespaces of their own."""

import re
import time

import pytest

from lab import until
from lab.gateway_trio import LINK_PORT, GatewayTrio

# Says nothing, trickles, or sends what it is told, and holds its connections.
CLIENT = """
import socket, sys, time
address, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
held = []
for _ in range(count):
    s = socket.create_connection((address, 7946), 2)
    if kind == "garbage":
        s.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
    elif kind == "sealed":
        s.sendall(b"\\x03\\x20\\x00" + bytes(32))
    elif kind == "oversized":
        s.sendall(b"\\x01\\xff\\xff")
    elif kind == "foreign":
        mesh = b"other"
        hello = b"postern-link" + bytes([len(mesh)]) + mesh + bytes([1, 0, 1, 0]) + bytes(64)
        s.sendall(b"\\x01" + len(hello).to_bytes(2, "little") + hello)
    elif kind == "stranger":
        mesh = b"lab"
        hello = b"postern-link" + bytes([len(mesh)]) + mesh + bytes([1, 0, 1, 0]) + bytes(64)
        s.sendall(b"\\x01" + len(hello).to_bytes(2, "little") + hello)
    elif kind == "trickle":
        s.sendall(b"\\x01")
    held.append(s)
if kind in ("silent", "trickle"):
    time.sleep(float(sys.argv[4]))
else:
    for s in held:
        s.settimeout(3)
        print(s.recv(64).hex())
"""


def links(gateway):
    return {row["gateway"]: row for row in gateway.ask("links")["links"]}


def ups(gateway):
    return {name for name, row in links(gateway).items() if row["state"] == "up"}


def refusals(gateway):
    return {row["reason"]: int(row["count"]) for row in gateway.ask("links")["refusals"]}


def metric(gateway, name):
    _, body = gateway.http("/metrics")
    found = re.search(rf"^{re.escape(name)} (\S+)$", body, re.M)
    return float(found.group(1)) if found else None


@pytest.fixture(scope="module")
def _trio():
    with GatewayTrio() as trio:
        yield trio


@pytest.fixture
def trio(_trio):
    """All three are up, served and linked."""
    for gateway in _trio.gateways:
        if not gateway.running:
            gateway.start(ready=False)
    if _trio.snapshot is None or any(len(links(gateway)) != 2 for gateway in _trio.gateways):
        _trio.adopt(_trio.policy())
    all_linked(_trio)
    return _trio


def all_linked(trio, timeout=20):
    for gateway in trio.gateways:
        others = {other.id for other in trio.gateways} - {gateway.id}
        until(f"{gateway.id} is linked to the others", lambda: ups(gateway) == others, timeout)


def client(trio, kind, count=1, hold=0):
    return trio.stranger.popen("/usr/bin/python3", "-c", CLIENT, trio.gateways[0].underlay, kind, count, hold)


def asked(trio, kind):
    """What the gateway answers a stranger, in hex."""
    done = trio.stranger.run("/usr/bin/python3", "-c", CLIENT, trio.gateways[0].underlay, kind, 1)
    return done.stdout.strip()


def test_three_gateways_link_and_show_it(trio):
    first = trio.gateways[0]
    until("a round trip was measured", lambda: all(row["rtt_us"] for row in links(first).values()), 5)
    for row in links(first).values():
        assert row["rtt_us"] < 1_000_000
        assert row["protocol"] == 1
        other = trio.gateways[int(row["gateway"][-1]) - 1]
        assert links(other)["gw1"]["made_by"] != row["made_by"]
    assert first.status()["links"] == {"gateways": 2, "listening": 1, "on": True, "up": 2}
    page = first.cli("links").stdout
    assert "gw2" in page and "up" in page and f"192.0.2.1:{LINK_PORT}" in page
    until("the metric shows it", lambda: metric(first, 'postern_link_up{gateway="gw3"}') == 1, 5)
    assert "link to gateway gw2: up" in first.log()


@pytest.mark.parametrize("kind,reason,number", [("garbage", "malformed", 1), ("oversized", "oversized", 2),
                                                ("foreign", "mesh_mismatch", 7), ("stranger", "untrusted", 8),
                                                ("sealed", "unknown_link", 10)])
def test_a_stranger_is_refused_told_why_and_counted(trio, kind, reason, number):
    first = trio.gateways[0]
    before = refusals(first)[reason]
    assert asked(trio, kind) == "040100" + f"{number:02x}"
    assert refusals(first)[reason] == before + 1
    until("the metric counts it",
          lambda: metric(first, f'postern_link_refusals_total{{reason="{reason}"}}') == before + 1, 5)
    assert f"link refused: {reason}: from 192.0.2.66" in first.log()
    assert len(ups(first)) == 2


def test_connections_that_say_nothing_hold_nothing_up(trio):
    first = trio.gateways[0]
    before = refusals(first)["capacity"]
    holding = [client(trio, "silent", 100, 20), client(trio, "trickle", 100, 20)]
    try:
        until("some are refused", lambda: refusals(first)["capacity"] > before, 10)
        trio.gateways[1].kill()
        trio.gateways[1].start()
        all_linked(trio)
        assert first.ask("links")["half_open"] <= 64
        begun = time.monotonic()
        first.status()
        assert time.monotonic() - begun < 2
    finally:
        for process in holding:
            process.kill()
            process.wait()
    until("all are dropped", lambda: first.ask("links")["half_open"] == 0, 15)


def test_a_restarted_agent_is_linked_again_in_the_same_row(trio):
    first, second, _ = trio.gateways
    before = links(first)["gw2"]
    second.kill()
    until("the link is down", lambda: links(first)["gw2"]["state"] != "up", 10)
    second.start()
    all_linked(trio)
    after = links(first)["gw2"]
    assert after["incarnation"] != before["incarnation"]
    assert int(after["ups"]) > int(before["ups"])
    assert not after["twin"]


def test_a_removed_gateway_is_cut_off_when_the_snapshot_is_adopted(trio):
    first, second, third = trio.gateways
    trio.adopt(trio.policy(gateways=(1, 2)), on=(1, 2))
    # At the flip, not later: the very next question finds it gone.
    assert set(links(first)) == {"gw2"}
    assert links(first)["gw2"]["state"] == "up"
    until("it is refused", lambda: links(third)["gw1"]["refused_us"] == "untrusted", 20)
    assert refusals(first)["untrusted"] >= 1
    assert ups(third) == set()
    trio.adopt(trio.policy())
    all_linked(trio, 60)


def test_a_network_that_is_cut_is_noticed_and_links_come_back(trio):
    first, second, _ = trio.gateways
    trio.underlay.namespace.ip("link", "set", "dev", "to-gw2", "down")
    try:
        until("silence ends the link", lambda: links(first)["gw2"]["state"] != "up", 15)
        assert links(first)["gw3"]["state"] == "up"
    finally:
        trio.underlay.namespace.ip("link", "set", "dev", "to-gw2", "up")
    all_linked(trio, 60)


def test_a_stopping_gateway_says_so(trio):
    first, second, _ = trio.gateways
    assert second.stop() == 0
    until("the link is down at once", lambda: links(first)["gw2"]["state"] != "up", 3)
    assert "link to gateway gw2: down: the other side stops" in first.log()
