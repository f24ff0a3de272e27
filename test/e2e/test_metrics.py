# SPDX-License-Identifier: Apache-2.0
"""What an operator's tools see: metrics, health, status."""

import json
import re

from lab import run
from lab.traffic import UdpFlow

A4 = "10.1.0.10"


def value(text, series):
    found = re.search(rf"^{re.escape(series)} (\S+)$", text, re.M)
    assert found, f"no series {series}"
    return float(found.group(1))


def test_metrics_are_clean_under_promtool(gw):
    code, text = gw.http("/metrics")
    assert code == 200
    done = run("promtool", "check", "metrics", stdin=text, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_drop_reason_has_a_series_from_the_start(fresh_lab):
    gw = fresh_lab.gateway
    text = gw.http("/metrics")[1]
    reasons = set(re.findall(r'^postern_drops_total\{reason="([a-z0-9_]+)"\} ', text, re.M))
    assert reasons == set(gw.drops())
    assert len(reasons) >= 31
    assert value(text, 'postern_drops_total{reason="relay_refused"}') == 0


def test_metrics_say_what_was_dropped_and_forwarded(lab, gw):
    before = gw.http("/metrics")[1]
    lab.stranger.host.ping(A4, 3, wait=0.2)
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4) as flow:
        flow.wait_received(200)
    sent = flow.stop().sent
    after = gw.http("/metrics")[1]

    def rise(series):
        return value(after, series) - value(before, series)
    assert rise('postern_drops_total{reason="peer_unknown"}') >= 3
    assert rise('postern_packets_total{iface="mesh0",verdict="decapsulated"}') == sent
    assert rise('postern_bytes_total{iface="mesh0",verdict="decapsulated"}') >= sent * 64
    assert value(after, 'postern_drops_total{reason="peer_unknown"}') == gw.drops()["peer_unknown"]


def test_metrics_name_snapshot_and_mode(gw):
    text = gw.http("/metrics")[1]
    status = gw.status()
    assert value(text, 'postern_snapshot_serial{state="active"}') == status["snapshot"]["serial"]
    assert value(text, 'postern_xdp_mode{iface="mesh0",mode="native"}') == 1
    assert value(text, "postern_journal_poisoned") == 0
    assert re.search(r'^postern_build_info\{.*version="[^"]+".*\} 1$', text, re.M)
    assert value(text, "postern_snapshot_expiry_timestamp_seconds") > 1.7e9


def test_health_and_status_over_http(gw):
    assert gw.http("/healthz") == (200, "ok\n")
    assert gw.http("/healthz?check=live")[0] == 200
    code, body = gw.http("/status")
    assert code == 200
    served, asked = json.loads(body), gw.status()
    for key in ("schema", "mesh", "gateway", "ready", "snapshot", "generation", "interfaces", "peers"):
        assert served[key] == asked[key], key
    assert gw.http("/nonsense")[0] == 404


def test_an_agent_that_is_not_ready_is_unhealthy_and_says_why(lab, gw):
    gw.detach_xdp("mesh0")
    try:
        code, body = gw.http("/healthz")
        assert code == 503
        assert any("mesh0" in line for line in body.splitlines()), body
        assert gw.http("/healthz?check=live")[0] == 200
        assert value(gw.http("/metrics")[1], 'postern_xdp_mode{iface="mesh0",mode="none"}') == 1
    finally:
        gw.reload()
    assert gw.http("/healthz")[0] == 200


def test_every_answer_in_json_names_its_schema(gw):
    for command in ("status", "peers", "links", "owners", "drops"):
        assert gw.ask(command)["schema"] == f"postern/{command}/v1"
        assert gw.cli(command).stdout.strip()


def test_drops_lists_every_reason_with_help(gw):
    rows = gw.ask("drops")["drops"]
    assert len({row["number"] for row in rows}) == len(rows) >= 31
    assert all(row["help"] for row in rows)
