# SPDX-License-Identifier: Apache-2.0
"""A generation is swapped whole: no packet is judged by a mix of two, and none is lost to the swap."""

from lab.kernel_tables import KernelTables
from lab.mesh_lab import FORBIDDEN_UDP_PORT, UDP_PORT
from lab.traffic import UdpFlow, lost_nothing

A4, C4 = "10.1.0.10", "10.3.0.10"
SWAPS = 200


def alternating(base, number):
    """Policies that all allow the one flow and forbid the other, each differing from its neighbours in every table:
    the forbidden flow's classes, peers, prefixes and rules change around it."""
    def change(tree):
        site_c = "site-c" if number % 2 else "site-x"
        for prefix in tree["prefixes"]:
            if prefix["class"] == "site-c":
                prefix["class"] = site_c
        for rule in tree["rules"]:
            for side in ("from", "to"):
                if rule[side] == "site-c":
                    rule[side] = site_c
        tree["prefixes"].append({"segment": "corp", "prefix": f"10.200.{number % 250}.0/24", "owner": {"peer": "b"},
                                 "class": "site-b"})
        # Allowed for one class in turn: a mix of two generations would let the forbidden flow through.
        tree["prefixes"].append({"segment": "corp", "prefix": f"10.201.{number % 250}.0/24", "owner": {"peer": "b"},
                                 "class": "other"})
        tree["rules"].append({"from": "other", "to": "site-a", "protocol": "udp",
                              "ports": [FORBIDDEN_UDP_PORT + number % 2]})
        tree["peers"].append({"id": f"extra-{number % 2}", "addresses": [f"192.0.2.{200 + number % 2}"],
                              "segments": ["corp"], "mac": "02:00:00:00:02:c8"})
    return base.changed(change)


def test_two_hundred_swaps_lose_no_allowed_packet_and_pass_no_forbidden_one(lab, gw):
    kernel = KernelTables(gw)
    base = lab.base_policy()
    editions, after = [], lab.snapshot
    for number in range(SWAPS):
        after = lab.authority.edition(alternating(base, number), after=after)
        editions.append(after)
    generation, serial = gw.status()["generation"], gw.status()["snapshot"]["serial"]
    denied = gw.drops()["policy_denied"]
    with UdpFlow(lab.host_c.namespace, lab.host_a.namespace, A4, UDP_PORT) as allowed, \
            UdpFlow(lab.host_a.namespace, lab.host_c.namespace, C4, UDP_PORT) as back, \
            UdpFlow(lab.host_c.namespace, lab.host_a.namespace, A4, FORBIDDEN_UDP_PORT) as forbidden:
        allowed.wait_received(100)
        forbidden.wait_sent(100)
        for edition in editions:
            assert gw.apply(edition)["changed"]
            lab.snapshot, lab.policy = edition, None
        allowed.wait_received(100)
        lost_nothing(allowed, back)
        refused = forbidden.stop()
    assert refused.received == 0 and refused.sent > 1000, refused
    assert gw.drops()["policy_denied"] - denied == refused.sent
    status = gw.status()
    assert status["generation"] - generation == SWAPS
    assert status["snapshot"]["serial"] - serial == SWAPS
    assert kernel.selector()[0] == status["generation"]


def test_applying_the_same_snapshot_again_writes_no_table(lab, gw, kernel):
    selector = kernel.selector()
    answer = gw.apply(lab.snapshot)
    assert answer["changed"] is False and answer["tables_written"] == []
    assert kernel.selector() == selector


def test_only_the_tables_that_differ_are_written(lab, gw):
    answer = lab.adopt(lab.policy.allowing("site-a", "site-b", "udp", ports=[9999]))
    assert answer["changed"] is True
    assert "policy" in answer["tables_written"]
    assert not {"owners4", "owners6", "peers", "endpoints", "segments", "ports"} & set(answer["tables_written"])
