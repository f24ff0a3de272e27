# SPDX-License-Identifier: Apache-2.0
"""A WireGuard port of the gateway's host, guarded: the mesh's peers connect, strangers are dropped before WireGuard
sees them, though they have a key that it would take."""

import pytest

from lab import MeshLab, until
from lab.wireguard import PORT, Tunnel


@pytest.fixture(scope="module")
def lab():
    with MeshLab() as made:
        yield made


@pytest.fixture(scope="module")
def tunnel(lab):
    with Tunnel(lab.gateway.namespace, lab.gateway.underlay) as made:
        made.add(lab.b.namespace, "172.16.0.2")
        made.add(lab.stranger.namespace, "172.16.0.66")
        yield made


def test_wireguard_behind_a_guarded_port_is_for_the_meshs_peers(lab, tunnel):
    gw, peer, stranger = lab.gateway, lab.b.namespace, lab.stranger.namespace
    lab.gateway.edit_config("interfaces:", f"guarded: {{ports: [{PORT}]}}\ninterfaces:")
    gw.reload()
    until("a peer of the mesh connects", lambda: tunnel.ping(peer))
    assert tunnel.has_shaken_hands(peer)
    before = gw.drops()["guarded"]
    assert not tunnel.ping(stranger)
    assert gw.drops()["guarded"] > before
    assert not tunnel.has_shaken_hands(stranger)
    # It was the guard that kept the stranger out.
    lab.gateway.edit_config(f"guarded: {{ports: [{PORT}]}}\n", "")
    gw.reload()
    until("without it the stranger connects", lambda: tunnel.ping(stranger), 20)
