# SPDX-License-Identifier: Apache-2.0
"""A snapshot on trial: kept when confirmed, gone by itself when not, and never a way to let anybody back in."""

import time

import pytest

from lab import until
from lab.traffic import UdpFlow, connects, lost_nothing

A4 = "10.1.0.10"
PORT = 5999


def opened(lab):
    """The base policy, and one more port for site b."""
    return lab.base_policy().allowing("site-b", "site-a", "tcp", ports=[PORT])


def is_open(lab):
    return connects(lab.host_b.namespace, lab.host_a.namespace, A4, PORT, timeout=0.5)


def try_out(lab, policy, within="60s"):
    snapshot = lab.edition(policy)
    answer = lab.gateway.ask("apply", snapshot, "--confirm", within)
    lab.snapshot, lab.policy = snapshot, policy
    return answer


def test_a_confirmed_snapshot_stays_through_a_restart(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    answer = try_out(lab, opened(lab))
    assert answer["serial"] == 2 and answer["unconfirmed_until"]
    status = gw.status()
    assert status["authority"]["unconfirmed_until"] == answer["unconfirmed_until"]
    assert status["authority"]["rollback_to"] == 1
    assert any("on trial" in problem for problem in status["problems"])
    assert 'postern_authority{state="on_trial"} 1' in gw.http("/metrics")[1]
    assert gw.ask("confirm")["serial"] == 2
    assert gw.cli("confirm", check=False).returncode == 5
    gw.kill()
    gw.start()
    assert gw.status()["snapshot"]["serial"] == 2
    assert gw.status()["authority"]["unconfirmed_until"] is None
    assert is_open(lab)


def test_an_unconfirmed_snapshot_is_rolled_back_in_time_and_refused_from_then_on(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4) as flow:
        flow.wait_received(50)
        try_out(lab, opened(lab), within="2s")
        refused = lab.snapshot
        until("it is rolled back", lambda: gw.status()["snapshot"]["serial"] == 1, 10)
        flow.wait_received(50)
    lost_nothing(flow)
    assert not is_open(lab)
    status = gw.status()
    assert status["authority"]["refused_serial"] == 2 and status["authority"]["highest_serial"] == 2
    assert 'postern_authority{state="reverted"} 1' in gw.http("/metrics")[1]
    done = gw.cli("apply", refused, check=False)
    assert done.returncode == 5 and "snapshot.refused" in done.stderr
    gw.stop()
    gw.start()
    assert gw.status()["snapshot"]["serial"] == 1 and not is_open(lab)
    # The next serial chains to the highest that was seen, not to the one that is served.
    lab.adopt(opened(lab))
    assert gw.status()["snapshot"]["serial"] == 3 and is_open(lab)
    assert gw.status()["authority"]["refused_serial"] is None


def test_a_restart_while_unconfirmed_rolls_back(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    try_out(lab, opened(lab), within="1h")
    assert is_open(lab)
    gw.kill()
    gw.start()
    assert gw.status()["snapshot"]["serial"] == 1
    assert gw.status()["authority"]["refused_serial"] == 2
    assert not is_open(lab)


def test_a_rollback_lets_no_revoked_or_removed_peer_back_in(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway

    def remove_c(tree):
        tree["peers"] = [peer for peer in tree["peers"] if peer["id"] != "c"]
        tree["prefixes"] = [prefix for prefix in tree["prefixes"] if prefix["owner"] != {"peer": "c"}]
        tree["rules"] = [rule for rule in tree["rules"] if "site-c" not in (rule["from"], rule["to"])]
    lab.adopt(lab.base_policy().revoking("b").changed(remove_c))
    assert gw.ask("rollback")["serial"] == 1
    for again in (False, True):
        if again:
            gw.kill()
            gw.start()
        assert {name: row["state"] for name, row in gw.peers().items()} == {"b": "revoked", "c": "revoked"}
        assert lab.host_b.ping(A4, 2, wait=0.2) == 0
        assert lab.host_c.ping(A4, 2, wait=0.2) == 0
    done = gw.cli("rollback", check=False)
    assert done.returncode == 5 and "only one step" in done.stderr


def test_a_newer_snapshot_while_unconfirmed_keeps_the_way_back_to_the_confirmed_one(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    try_out(lab, opened(lab), within="1h")
    try_out(lab, lab.base_policy().revoking("b"), within="1h")
    assert gw.status()["authority"]["rollback_to"] == 1
    assert gw.ask("rollback")["serial"] == 1
    assert gw.peers()["b"]["state"] == "revoked"


def test_there_is_no_way_back_across_a_root_change(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    lab.authority.rotate()
    snapshot = lab.edition(lab.base_policy(), keep_old=True)
    done = gw.cli("apply", snapshot, "--confirm", "60s", check=False)
    assert done.returncode == 5 and "rollback.refused" in done.stderr and "root" in done.stderr
    gw.apply(snapshot)
    done = gw.cli("rollback", check=False)
    assert done.returncode == 5 and "rollback.refused" in done.stderr
    assert gw.status()["snapshot"]["serial"] == 2


def test_there_is_no_way_back_to_an_expired_snapshot_nor_to_none(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    done = gw.cli("rollback", check=False)
    assert done.returncode == 5 and "rollback.refused" in done.stderr
    short = lab.edition(lab.base_policy(), expires="3s")
    gw.apply(short)
    lab.snapshot = short
    done = gw.cli("apply", lab.edition(opened(lab)), "--confirm", "60s", check=False)
    assert done.returncode == 5 and "expired" in done.stderr
    lab.adopt(opened(lab))
    expiry = time.monotonic() + 4
    until("the one before expires", lambda: time.monotonic() > expiry)
    refusal = gw.cli("rollback", check=False)
    assert refusal.returncode == 5 and "expired" in refusal.stderr
    assert gw.status()["snapshot"]["serial"] == 3


@pytest.mark.parametrize("text", ["0s", "25h", "soon", "-5s", "5d"])
def test_a_trial_of_no_sensible_length_is_a_usage_error(gw, lab, text):
    done = gw.cli("apply", lab.snapshot, f"--confirm={text}", check=False)
    assert done.returncode == 2, done.stderr
