# SPDX-License-Identifier: Apache-2.0
"""libxdp's dispatcher: Postern runs beside programs that others attached, and leaves them alone."""

import pytest

from lab.traffic import UdpFlow, lost_nothing


def programs(lab, device="mesh0"):
    """Names of the XDP programs of an interface, in the order in which they run."""
    shown = lab.gateway.namespace.run("xdp-loader", "status", device).stdout
    return [line.split()[2] for line in shown.splitlines() if line.strip().startswith("=>")]


def filtered(lab, *arguments):
    return lab.gateway.namespace.run("xdp-filter", *arguments, timeout=120)


@pytest.fixture
def xdp_filter(lab):
    """Lets everything in but UDP to port 7999, whoever it is for."""
    filtered(lab, "load", "mesh0", "--mode", "native", "--policy", "allow", "--features", "udp")
    yield
    if "xdpfilt_alw_udp" in programs(lab):
        filtered(lab, "unload", "mesh0")


def test_our_program_runs_in_a_dispatcher(lab):
    assert programs(lab) == ["pt_underlay"]
    assert programs(lab, "site0") == ["pt_local"]
    rows = {row["name"]: row["mode"] for row in lab.gateway.status()["interfaces"]}
    assert rows["mesh0"] == rows["site0"] == "native"


def test_another_program_joins_and_leaves_while_packets_flow(lab):
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, lab.host_a.address4, rate=50) as flow:
        flow.wait_received(20, timeout=60)
        filtered(lab, "load", "mesh0", "--mode", "native", "--policy", "allow", "--features", "udp")
        assert programs(lab) == ["xdpfilt_alw_udp", "pt_underlay"]
        assert lab.gateway.status()["ready"]
        flow.wait_received(20, timeout=60)
        filtered(lab, "unload", "mesh0")
        assert programs(lab) == ["pt_underlay"]
        flow.wait_received(20, timeout=60)
        lost_nothing(flow)


def test_the_filter_that_runs_before_us_is_obeyed(lab, xdp_filter):
    assert lab.host_b.ping(lab.host_a.address4, 3) == 3
    filtered(lab, "port", "4789", "--proto", "udp", "--mode", "dst")
    assert lab.host_b.ping(lab.host_a.address4, 2) == 0
    filtered(lab, "port", "4789", "--proto", "udp", "--mode", "dst", "--remove")
    assert lab.host_b.ping(lab.host_a.address4, 3) == 3


def test_a_program_that_was_there_first_stays_when_ours_comes_and_goes(lab, xdp_filter):
    lab.gateway.stop()
    done = lab.gateway.run_daemon("--detach", timeout=120)
    assert done.returncode == 0, done.stderr
    assert programs(lab) == ["xdpfilt_alw_udp"]
    lab.gateway.start(ready=True)
    assert programs(lab) == ["xdpfilt_alw_udp", "pt_underlay"]
    assert lab.host_b.ping(lab.host_a.address4, 3) == 3


def test_a_restart_changes_nothing(lab):
    before = lab.gateway.xdp_program("mesh0")
    lab.gateway.kill()
    lab.gateway.start()
    assert lab.gateway.xdp_program("mesh0") == before
