# SPDX-License-Identifier: Apache-2.0
"""Interfaces that cannot serve are refused by name, with what to do instead; what is recommended instead serves; and
`postern doctor` sees settings of network cards that would lose packets."""

import json

import pytest

from lab import until
from lab.namespace import link

A4, A6, B4 = "10.1.0.10", "fd00:1::10", "10.2.0.10"
LOCAL = "  - {name: site0, role: local, segment: corp}\n"


def add(*command):
    return lambda gw: gw.namespace.ip("link", "add", *command)


def add_port_of_a_bridge(gw):
    gw.namespace.ip("link", "add", "br9", "type", "bridge")
    gw.namespace.ip("link", "add", "bad0", "type", "veth", "peer", "name", "bad0p")
    gw.namespace.ip("link", "set", "bad0", "master", "br9")


UNFIT = {
    "a bridge": (add("bad0", "type", "bridge"), "is a bridge", "put one end of a veth pair into it"),
    "a port of a bridge": (add_port_of_a_bridge, "is a port of the bridge br9", "ip link set bad0 nomaster"),
    "a macvlan": (add("bad0", "link", "site0", "type", "macvlan"), "is a macvlan", "configure the device below it"),
    "a tun": (lambda gw: gw.namespace.run("ip", "tuntap", "add", "mode", "tun", "name", "bad0"),
              "carries no Ethernet frames", "configure the interface below the tunnel"),
    "a vxlan": (add("bad0", "type", "vxlan", "id", "9", "dstport", "4790"), "is a vxlan",
                "configure the device that its packets leave by"),
    "loopback": (lambda gw: None, "carries no Ethernet frames", "configure the interface"),
}


def with_interface(gw, name, role="local, segment: spare"):
    gw.edit_config(LOCAL, LOCAL + f"  - {{name: {name}, role: {role}}}\n")


@pytest.fixture
def config(gw):
    """The gateway's config, put back at the end."""
    text = gw.config.read_text(encoding="utf-8")
    yield text
    gw.config.write_text(text, encoding="utf-8")
    gw.reload()
    for name in ("bad0", "br9", "tap9"):
        gw.namespace.run("ip", "link", "delete", name, check=False)


@pytest.mark.parametrize("kind", UNFIT)
@pytest.mark.parametrize("role", ["local, segment: spare", "underlay"], ids=["local", "underlay"])
def test_an_interface_that_cannot_serve_is_refused_and_the_old_config_stays(lab, gw, config, kind, role):
    make, why, instead = UNFIT[kind]
    make(gw)
    before = gw.status()
    with_interface(gw, "lo" if kind == "loopback" else "bad0", role)
    done = gw.cli("reload", check=False)
    assert done.returncode == 4, done.stderr
    assert why in done.stderr and instead in done.stderr, done.stderr
    assert f"{gw.config}:11" in done.stderr, done.stderr
    after = gw.status()
    assert after["interfaces"] == before["interfaces"] and after["generation"] == before["generation"]
    assert lab.host_b.ping(A4, 1) == 1


def test_a_daemon_does_not_start_with_an_interface_that_cannot_serve(fresh_lab):
    gw = fresh_lab.gateway
    add_port_of_a_bridge(gw)
    gw.stop()
    with_interface(gw, "bad0")
    done = gw.run_daemon()
    assert done.returncode != 0 and "is a port of the bridge br9" in done.stderr, done.stderr
    assert fresh_lab.host_b.ping(A4, 1) == 1  # the kernel goes on as it was


def test_an_interface_that_joins_a_bridge_is_an_alarm_until_it_leaves(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.namespace.ip("link", "add", "br9", "type", "bridge")
    gw.namespace.ip("link", "set", "site0", "master", "br9")
    until("it is told", lambda: any("is a port of the bridge br9" in text for text in gw.status()["problems"]))
    assert lab.host_b.ping(A4, 2, wait=0.2) == 0
    gw.namespace.ip("link", "set", "site0", "nomaster")
    until("it serves again", lambda: gw.status()["ready"])
    until("host-b reaches host-a", lambda: lab.host_b.ping(A4, 1) == 1)


def test_one_interface_cannot_have_both_roles(gw, config):
    gw.config.write_text(config.replace("name: site0", "name: mesh0"), encoding="utf-8")
    done = gw.cli("config", "check", gw.config, check=False)
    assert done.returncode == 4 and "put it into a bridge together with one end of each" in done.stderr, done.stderr


def test_a_tap_serves(gw, config):
    gw.namespace.run("ip", "tuntap", "add", "mode", "tap", "name", "tap9")
    gw.namespace.ip("link", "set", "tap9", "up")
    with_interface(gw, "tap9")
    gw.reload()
    rows = {row["name"]: row for row in gw.status()["interfaces"]}
    assert rows["tap9"]["mode"] == "native"


def rewire_site(gw, host):
    """host-a hangs on a port of a bridge, and site0 on another: what is recommended instead of the bridge itself."""
    gw.namespace.ip("link", "delete", "site0")
    link(gw.namespace, "site0", gw.namespace, "in-br")
    link(gw.namespace, "to-host", host.namespace, "eth0")
    gw.namespace.ip("link", "add", "br9", "type", "bridge", "mcast_snooping", "0")
    for port in ("in-br", "to-host"):
        gw.namespace.ip("link", "set", port, "master", "br9")
    gw.namespace.ip("link", "set", "br9", "up")
    gw.namespace.address("site0", f"{host.router4}/24", f"{host.router6}/64")
    host.namespace.address("eth0", f"{host.address4}/24", f"{host.address6}/64")
    host.namespace.ip("route", "add", "default", "via", host.router4)
    host.namespace.ip("route", "add", "default", "via", host.router6)


def test_a_veth_pair_into_a_bridge_serves_in_its_place(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    rewire_site(gw, lab.host_a)
    until("it serves again", lambda: gw.status()["ready"])
    until("host-b reaches host-a", lambda: lab.host_b.ping(A4, 1) == 1)
    assert lab.host_b.ping(A4, 5) == 5 and lab.host_b.ping(A6, 5) == 5 and lab.host_a.ping(B4, 5) == 5
    far_end = doctor(gw)["nic.site0.far_end"]
    assert far_end["status"] == "ok" and "in-br sends whole packets" in far_end["found"], far_end
    gw.namespace.run("ethtool", "-K", "in-br", "tx", "on")
    far_end = doctor(gw)["nic.site0.far_end"]
    assert far_end["status"] == "warn" and "ethtool -K in-br tx off" in far_end["remedy"], far_end


def test_one_arm_serves_by_a_bridge_with_two_veth_pairs(fresh_lab):
    """The only wire leads to the underlay's switch, where host-a is as well."""
    lab, gw, host = fresh_lab, fresh_lab.gateway, fresh_lab.host_a
    for device in ("mesh0", "site0"):
        gw.namespace.ip("link", "delete", device)
    gw.namespace.ip("link", "add", "br9", "type", "bridge", "mcast_snooping", "0")
    for inner, port in (("mesh0", "in-mesh"), ("site0", "in-site")):
        link(gw.namespace, inner, gw.namespace, port)
        gw.namespace.ip("link", "set", port, "master", "br9")
    link(gw.namespace, "arm", lab.underlay.namespace, "to-arm")
    link(host.namespace, "eth0", lab.underlay.namespace, "to-host")
    gw.namespace.ip("link", "set", "arm", "master", "br9")
    gw.namespace.ip("link", "set", "br9", "up")
    for port in ("to-arm", "to-host"):
        lab.underlay.namespace.ip("link", "set", port, "master", "switch")
    gw.namespace.address("mesh0", f"{gw.underlay}/24")
    gw.namespace.address("site0", f"{host.router4}/24", f"{host.router6}/64")
    # Both interfaces are on one wire: each answers for its own addresses.
    gw.namespace.sysctl(**{"net.ipv4.conf.all.arp_ignore": 1, "net.ipv4.conf.all.arp_announce": 2})
    host.namespace.address("eth0", f"{host.address4}/24", f"{host.address6}/64")
    host.namespace.ip("route", "add", "default", "via", host.router4)
    host.namespace.ip("route", "add", "default", "via", host.router6)
    until("it serves again", lambda: gw.status()["ready"])
    until("host-b reaches host-a", lambda: lab.host_b.ping(A4, 1) == 1)
    assert lab.host_b.ping(A4, 5) == 5 and lab.host_b.ping(A6, 5) == 5 and lab.host_a.ping(B4, 5) == 5


# ---- doctor

def doctor(gw):
    done = gw.namespace.run(gw.postern, "--config", gw.config, "--json", "doctor", check=False)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_doctor_has_nothing_against_the_lab_s_own_wires(gw):
    rows = {name: row for name, row in doctor(gw).items() if name.startswith("nic.")}
    assert {"nic.mesh0.redirect", "nic.mesh0.lro", "nic.mesh0.far_end", "nic.site0.redirect",
            "nic.site0.vlan_stripping", "nic.site0.lro", "nic.site0.far_end"} <= set(rows)
    assert all(row["status"] == "ok" for row in rows.values()), rows
    assert "another network namespace" in rows["nic.site0.far_end"]["found"]


def test_tags_are_shown_to_xdp_by_the_agent_and_doctor_tells_when_somebody_hides_them(gw):
    def stripping():
        return "rx-vlan-offload: on" in gw.namespace.run("ethtool", "-k", "site0").stdout
    assert not stripping()
    gw.namespace.run("ethtool", "-K", "site0", "rxvlan", "on")
    row = doctor(gw)["nic.site0.vlan_stripping"]
    assert row["status"] == "fail" and "ethtool -K site0 rxvlan off" in row["remedy"], row
    gw.reload()
    assert not stripping() and doctor(gw)["nic.site0.vlan_stripping"]["status"] == "ok"


def test_doctor_sees_that_redirected_frames_vanish(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    lab.host_a.namespace.run("ethtool", "-K", "eth0", "gro", "off")
    row = doctor(gw)["nic.site0.redirect"]
    if "does not tell" in row["found"]:
        pytest.skip("Linux before 6.3 does not say")
    assert row["status"] == "fail" and "gro on" in row["remedy"], row
    assert lab.host_b.ping(A4, 2, wait=0.2) == 0
    lab.host_a.namespace.run("ethtool", "-K", "eth0", "gro", "on")
    assert doctor(gw)["nic.site0.redirect"]["status"] == "ok"
