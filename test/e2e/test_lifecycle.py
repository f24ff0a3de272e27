# SPDX-License-Identifier: Apache-2.0
"""The data path outlives the agent, and without XDP the gateway is closed, not open."""

import re

import pytest

from lab import packets, run, until
from lab.kernel_tables import KernelTables
from lab.namespace import link
from lab.traffic import UdpFlow, Worker, lost_nothing, send_frames
from lab.wait import NotInTime

A4, B4, C4 = "10.1.0.10", "10.2.0.10", "10.3.0.10"


def both_ways(lab):
    return (UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4),
            UdpFlow(lab.host_a.namespace, lab.host_b.namespace, B4),
            UdpFlow(lab.host_b.namespace, lab.host_c.namespace, C4))


def bare_frames(lab):
    """Plain packets to host-a, addressed to the gateway: an open router would forward them."""
    gw = lab.gateway
    return [packets.ethernet(gw.namespace.mac("mesh0"), lab.b.namespace.mac("eth0"), packets.ETH_IPV4,
                             packets.ipv4(source, A4, packets.UDP, packets.udp(source, A4, 40000, 7000, bytes(8))))
            for source in (lab.b.underlay, B4)]


def bare_packets_that_arrive(lab, count=10):
    listener = Worker(lab.host_a.namespace, "udp_receive", address=A4, port=7000)
    listener.wait_for("listening", bool)
    send_frames(lab.b.namespace, "eth0", bare_frames(lab) * count)
    try:
        listener.wait_for("a bare packet", lambda r: r.get("received"), 0.5)
    except NotInTime:
        pass
    report = listener.finish()
    return report["received"] + report["duplicates"]


def test_killing_the_agent_loses_no_packet_and_its_restart_changes_nothing(lab, gw, kernel):
    selector, programs = kernel.selector(), [gw.xdp_program(device) for device in ("mesh0", "site0")]
    flows = both_ways(lab)
    for flow in flows:
        flow.wait_received(200)
    gw.kill()
    assert gw.cli("status", check=False).returncode == 3
    for flow in flows:
        flow.wait_received(500)
    marked = len(gw.log())
    gw.start()
    for flow in flows:
        flow.wait_received(300)
    lost_nothing(*flows)
    status = gw.status()
    assert status["adoption"] == {"changed": False, "tables_written": []}
    assert status["journal"]["clean_stop"] is False
    assert re.search(r"ready: serial \d+ generation \d+ zero_diff", gw.log()[marked:])
    assert kernel.selector() == selector
    assert [gw.xdp_program(device) for device in ("mesh0", "site0")] == programs


def test_a_clean_stop_leaves_forwarding_on(lab, gw, kernel):
    selector = kernel.selector()
    flows = both_ways(lab)
    for flow in flows:
        flow.wait_received(100)
    assert gw.stop() == 0
    for flow in flows:
        flow.wait_received(500)
    gw.start()
    lost_nothing(*flows)
    assert gw.status()["journal"]["clean_stop"] is True
    assert gw.status()["adoption"]["changed"] is False
    assert kernel.selector() == selector


def test_counters_survive_a_restart(lab, gw):
    lab.stranger.host.ping(A4, 3, wait=0.2)
    drops, rx = gw.drops()["peer_unknown"], int(gw.peers()["b"]["rx"]["packets"])
    assert drops >= 3 and rx > 0
    gw.stop()
    gw.start()
    assert gw.drops()["peer_unknown"] >= drops
    assert int(gw.peers()["b"]["rx"]["packets"]) >= rx


def test_detach_takes_forwarding_down_and_leaves_the_backstop(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    kernel = KernelTables(gw)
    gw.stop()
    done = gw.run_daemon("--detach")
    assert done.returncode == 0, done.stderr
    assert [gw.xdp_program(device) for device in ("mesh0", "site0")] == [None, None]
    assert not kernel.any_pins()
    assert "table inet postern-lab-gw" in gw.backstop()
    assert lab.host_b.ping(A4, 2, wait=0.2) == 0
    assert bare_packets_that_arrive(lab) == 0

    gw.start()  # nothing in the kernel any more: as after a reboot, the journal knows what to serve
    assert gw.status()["snapshot"]["serial"] == 1
    assert gw.status()["adoption"]["changed"] is True
    assert lab.host_b.ping(A4, 3) == 3


@pytest.mark.parametrize("devices", [("mesh0",), ("site0",), ("mesh0", "site0")], ids="+".join)
def test_xdp_detached_by_hand_leaves_the_gateway_closed_and_alarmed(lab, gw, devices):
    for device in devices:
        gw.detach_xdp(device)
    assert lab.host_b.ping(A4, 3, wait=0.2) == 0
    assert lab.host_a.ping(B4, 3, wait=0.2) == 0
    assert bare_packets_that_arrive(lab) == 0
    status = gw.status()
    assert status["ready"] is False
    for device in devices:
        assert any(device in problem for problem in status["problems"]), status["problems"]
    assert {row["name"]: row["mode"] for row in status["interfaces"] if row["name"] in devices} == \
        dict.fromkeys(devices, "none")
    assert gw.cli("status", "--check", "ready", check=False).returncode != 0
    assert gw.http("/healthz")[0] == 503

    gw.hang_up()
    until("a reload reattaches", lambda: gw.status()["ready"])
    assert lab.host_b.ping(A4, 3) == 3
    assert gw.http("/healthz")[0] == 200


def test_it_is_the_backstop_that_keeps_a_gateway_without_xdp_closed(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    for device in ("mesh0", "site0"):
        gw.detach_xdp(device)
    assert bare_packets_that_arrive(lab) == 0
    gw.namespace.run("nft", "flush", "ruleset")
    assert bare_packets_that_arrive(lab) > 0, "nothing was there to hold back"
    status = gw.status()
    assert status["backstop"] is False
    gw.reload()
    assert gw.status()["backstop"] is True
    for device in ("mesh0", "site0"):
        gw.detach_xdp(device)
    assert bare_packets_that_arrive(lab) == 0


def test_a_gateway_without_a_snapshot_is_closed_until_the_first_apply(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.stop()
    assert gw.run_daemon("--detach").returncode == 0
    for path in (gw.files / "state").rglob("*"):
        if path.is_file():
            path.unlink()
    run("rm", "-r", gw.files / "state")
    lab.gateway_key = gw.init(lab.authority.root)
    gw.start(ready=False)
    status = gw.status()
    assert status["snapshot"] is None and status["generation"] == 0 and status["ready"] is False
    assert status["open"] is False
    before = gw.drops()["closed"]
    assert lab.host_b.ping(A4, 3, wait=0.2) == 0
    assert gw.drops()["closed"] - before >= 3
    lab.snapshot = None
    lab.adopt(lab.base_policy())
    assert lab.host_b.ping(A4, 3) == 3


def test_a_second_agent_on_the_same_state_is_refused_and_told_the_holder(lab, gw):
    done = gw.run_daemon()
    assert done.returncode != 0
    assert "journal.contended" in done.stderr
    assert str(gw.pid) in done.stderr
    assert gw.status()["ready"]
    assert lab.host_b.ping(A4, 1) == 1


def test_an_absent_journal_beside_pins_is_refused(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.stop()
    (gw.files / "state" / "journal").rename(gw.files / "elsewhere")
    done = gw.run_daemon()
    assert done.returncode != 0
    assert "journal.absent" in done.stderr
    assert lab.host_b.ping(A4, 3) == 3  # the kernel is left as it is
    again = gw.cli("init", check=False)
    assert again.returncode != 0 and "init.tables_remain" in again.stderr


def test_an_interface_that_goes_and_comes_back_serves_again_by_itself(fresh_lab):
    lab, gw, host = fresh_lab, fresh_lab.gateway, fresh_lab.host_a
    with UdpFlow(lab.host_b.namespace, lab.host_c.namespace, C4) as flow:
        flow.wait_received(100)
        gw.namespace.ip("link", "delete", "site0")
        until("its loss is told", lambda: any("site0" in problem for problem in gw.status()["problems"]))
        assert gw.status()["ready"] is False
        flow.wait_received(200)
        lost_nothing(flow)
    link(gw.namespace, "site0", host.namespace, "eth0")
    gw.namespace.address("site0", f"{host.router4}/24", f"{host.router6}/64")
    host.namespace.address("eth0", f"{host.address4}/24", f"{host.address6}/64")
    host.namespace.ip("route", "add", "default", "via", host.router4)
    until("it serves again", lambda: gw.status()["ready"])
    assert gw.xdp_program("site0") is not None
    until("host-b reaches host-a", lambda: lab.host_b.ping(A4, 1) == 1)
    assert lab.host_b.ping(A4, 5) == 5
