# SPDX-License-Identifier: Apache-2.0
"""Linux's own VLAN devices: host-a is in VLAN 30 of the gateway's site interface, and a bond is refused."""

import pytest

from lab import MeshLab, until
from lab.traffic import ping_udp_and_tcp

A4, B4 = "10.1.0.10", "10.2.0.10"
SITE0 = "name: site0,"


def tag(namespace, device, vlan, *addresses):
    """The VLAN's device takes over the addresses. Tags are put into the frame, as a wire carries them."""
    namespace.run("ethtool", "-K", device, "txvlan", "off")
    namespace.ip("link", "add", "link", device, "name", f"{device}.{vlan}", "type", "vlan", "id", vlan)
    namespace.ip("address", "flush", "dev", device)
    namespace.ip("link", "set", f"{device}.{vlan}", "up")
    namespace.address(f"{device}.{vlan}", *addresses)


@pytest.fixture(scope="module")
def lab():
    with MeshLab() as made:
        host, gw = made.host_a, made.gateway
        tag(gw.namespace, "site0", 30, f"{host.router4}/24", f"{host.router6}/64")
        tag(host.namespace, "eth0", 30, f"{host.address4}/24", f"{host.address6}/64")
        host.namespace.ip("route", "replace", "default", "via", host.router4, "mtu", "1450")
        host.namespace.ip("route", "replace", "default", "via", host.router6, "mtu", "1450")
        gw.edit_config(SITE0, "name: site0.30,")
        gw.reload()
        until("host-b reaches host-a", lambda: made.host_b.ping(A4, 1) == 1)
        yield made


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source, destination", [("a", "b"), ("b", "a")])
def test_a_host_in_a_vlan_has_the_mesh(lab, source, destination, family):
    here, there = getattr(lab, f"host_{source}"), getattr(lab, f"host_{destination}")
    ping_udp_and_tcp(here, there, family, pings=3, datagrams=20, rate=50, stream_bytes=20_000, timeout=60)


def test_the_program_runs_on_the_device_below(lab):
    rows = {row["name"]: row for row in lab.gateway.status()["interfaces"]}
    assert rows["site0.30"]["mode"] == "native" and "site0" not in rows
    assert lab.gateway.xdp_program("site0") is not None


def test_without_the_tag_and_in_another_vlan_nothing_passes(lab):
    gw, host = lab.gateway, lab.host_a
    before = gw.drops()
    tag(host.namespace, "eth0", 31)
    host.namespace.ip("route", "add", B4, "dev", "eth0.31")
    host.namespace.ip("neighbour", "add", B4, "lladdr", gw.namespace.mac("site0"), "dev", "eth0.31")
    assert host.ping(B4, 3, wait=0.2, source=A4) == 0
    host.namespace.ip("route", "delete", B4)
    assert gw.drops()["vlan_tag"] >= before["vlan_tag"] + 3
    host.namespace.ip("address", "add", "10.1.0.11/32", "dev", "eth0")
    host.namespace.ip("route", "add", B4, "dev", "eth0")
    host.namespace.ip("neighbour", "add", B4, "lladdr", gw.namespace.mac("site0"), "dev", "eth0")
    assert host.ping(B4, 3, wait=0.2, source="10.1.0.11") == 0
    host.namespace.ip("route", "delete", B4)
    assert gw.drops()["vlan_missing"] >= before["vlan_missing"] + 3
    assert lab.host_b.ping(A4, 3) == 3


def test_the_gateway_itself_reaches_a_vlan_s_host(lab):
    done = lab.gateway.namespace.run("ping", "-n", "-c", "3", "-i", "0.2", A4)
    assert " 3 received" in done.stdout


REFUSED = {
    "a bond": (["link", "add", "bad0", "type", "bond"], "is a bond"),
    "a VLAN in a VLAN": (["link", "add", "link", "site0.30", "name", "bad0", "type", "vlan", "id", "7"],
                         "is a VLAN inside of the VLAN site0.30"),
    "a provider's VLAN": (["link", "add", "link", "site0", "name", "bad0", "type", "vlan", "proto", "802.1ad",
                           "id", "7"], "802.1ad"),
    "a VLAN of the underlay interface": (["link", "add", "link", "mesh0", "name", "bad0", "type", "vlan", "id", "7"],
                                         "which is an underlay interface"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_devices_that_cannot_serve_are_refused(lab, what):
    gw = lab.gateway
    command, why = REFUSED[what]
    gw.namespace.ip(*command)
    text = gw.config.read_text(encoding="utf-8")
    gw.edit_config("name: site0.30, role: local, segment: corp}",
                   "name: site0.30, role: local, segment: corp}\n  - {name: bad0, role: local, segment: spare}")
    done = gw.cli("reload", check=False)
    gw.config.write_text(text, encoding="utf-8")
    gw.namespace.ip("link", "delete", "bad0")
    assert done.returncode == 4 and why in done.stderr, done.stderr
    assert lab.host_b.ping(A4, 1) == 1


def test_a_bond_s_member_is_refused(lab):
    gw = lab.gateway
    gw.namespace.ip("link", "add", "bond9", "type", "bond")
    gw.namespace.ip("link", "add", "bad0", "type", "veth", "peer", "name", "bad0p")
    gw.namespace.ip("link", "set", "bad0", "master", "bond9")
    text = gw.config.read_text(encoding="utf-8")
    gw.edit_config("name: site0.30, role: local, segment: corp}",
                   "name: site0.30, role: local, segment: corp}\n  - {name: bad0, role: local, segment: spare}")
    done = gw.cli("reload", check=False)
    gw.config.write_text(text, encoding="utf-8")
    assert done.returncode == 4 and "is a member of the bond bond9" in done.stderr, done.stderr
