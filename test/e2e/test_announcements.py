# SPDX-License-Identifier: Apache-2.0
"""A site's hosts follow an address to the gateway that serves it: by what the gateway says on the wire, and by nothing
else, for neither gateway's kernel answers for it."""

import pytest

from lab import until
from lab.capture import Capture
from lab.claimants import RESOURCE
from lab.contest import deaf
from lab.shared_site import ROUTER4, ROUTER6, SharedSite

ANNOUNCEMENTS = f"(arp and arp src {ROUTER4}) or (ip6 dst ff02::1 and icmp6 and ip6[40] = 136)"


@pytest.fixture(scope="module")
def site():
    with SharedSite() as made:
        made.adopt(made.policy())
        yield made


def heard(capture):
    """{(what, MAC): how often} of the announcements on the wire."""
    found = {}
    for line in capture.text("-e", "-vv"):
        mac = line.split()[1]
        if f"who-has {ROUTER4}" in line and f"tell {ROUTER4}" in line and "ff:ff:ff:ff:ff:ff" in line:
            what = "arp"
        elif f"tgt is {ROUTER6}" in line and "router, override" in line and "ff02::1" in line and mac in line.split("option")[1]:
            what = "advertisement"
        else:
            what = line
        found[(what, mac)] = found.get((what, mac), 0) + 1
    return found


def both_twice(mac):
    return {("arp", mac): 2, ("advertisement", mac): 2}


def test_a_move_is_announced_twice_on_the_site_and_the_host_follows(site):
    holder, _ = site.wait_for_any()
    heir = 3 - holder
    site.believe(holder)
    until("the host reaches the other site", site.reaches)
    assert site.routers() == {site.mac(holder)}
    with Capture(site.host, "eth0", ANNOUNCEMENTS) as capture:
        site.gateways[holder - 1].cli("release", RESOURCE)
        until("the host takes the heir for its router", lambda: site.routers() == {site.mac(heir)})
        site.wait_for(f"gw{heir}")
        until("the host reaches the other site", site.reaches)
        assert site.routers() == {site.mac(heir)}
        capture.wait(4)
        assert heard(capture) == both_twice(site.mac(heir))
    before = site.gateways[holder - 1].drops()["not_holder"]
    site.believe(holder)  # a host that missed both gets nowhere, and nobody speaks twice for it
    assert not site.reaches()
    assert site.gateways[holder - 1].drops()["not_holder"] > before


def test_who_keeps_an_address_after_a_heal_announces_it_again(site):
    holder, epoch = site.wait_for_any()
    heir = 3 - holder
    first, second, third = site.gateways
    with deaf(first, second, third), deaf(second, first, third), deaf(third, first, second):
        until("the other one has taken it over", lambda: site.holders(on=(heir,)) == {(f"gw{heir}", str(epoch + 1), "held")}, 40)
        site.believe(holder)  # which says that it serves, too
        capture = Capture(site.host, "eth0", ANNOUNCEMENTS)
    with capture:
        until("the host takes the one that keeps it for its router", lambda: site.routers() == {site.mac(heir)}, 40)
        site.wait_for(f"gw{heir}", timeout=60)
        until("the host reaches the other site", site.reaches)
        capture.wait(4)
        assert heard(capture) == both_twice(site.mac(heir))
    site.level()
