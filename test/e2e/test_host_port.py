# SPDX-License-Identifier: Apache-2.0
"""The gateway's own traffic, and what its kernel finishes for the packet path."""

import os
import signal

from lab import until
from lab.capture import Capture

A4, B4, C4, GW4 = "10.1.0.10", "10.2.0.10", "10.3.0.10", "10.1.0.1"


def listens(namespace, port):
    return f":{port} " in namespace.run("ss", "-Hltn").stdout


def test_the_gateway_itself_reaches_mesh_hosts(lab, gw):
    for address in (B4, C4, lab.host_b.address6):
        done = gw.namespace.run("ping", "-n", "-c", 3, "-i", 0.05, "-W", 1, address, check=False)
        assert done.returncode == 0, done.stdout
    assert "10.1.0.1" in gw.namespace.run("ip", "route", "get", B4).stdout


def test_mesh_hosts_reach_the_gateway_and_nothing_leaves_in_the_clear(lab, gw):
    server = gw.namespace.popen("python3", "-c", "import socket; s = socket.create_server(('10.1.0.1', 5001)); "
                                "c, _ = s.accept(); c.sendall(b'postern'); c.close()")
    try:
        until("the gateway listens", lambda: listens(gw.namespace, 5001))
        with Capture(gw.namespace, "mesh0", "host 10.1.0.1 or host 10.2.0.10") as clear:
            answer = lab.host_b.namespace.run("python3", "-c", "import socket; s = socket.create_connection("
                                              "('10.1.0.1', 5001), 5); print(s.recv(9))").stdout
            assert clear.text() == []
    finally:
        server.kill()
        server.wait()
    assert "postern" in answer


def test_the_first_packet_to_an_unresolved_neighbour_arrives_even_with_the_agent_frozen(lab, gw):
    before = gw.verdicts()["handed"]
    os.kill(gw.pid, signal.SIGSTOP)
    try:
        for device in ("site0", "mesh0"):
            gw.namespace.ip("neighbour", "flush", "dev", device)
        assert lab.host_b.namespace.run("ping", "-n", "-c", 1, "-W", 2, A4, check=False).returncode == 0
    finally:
        os.kill(gw.pid, signal.SIGCONT)
    assert gw.verdicts()["handed"] > before


def test_a_packet_that_may_be_cut_and_does_not_fit_the_tunnel_arrives_in_pieces(lab, gw):
    handed = gw.verdicts()["handed"]
    lab.host_a.namespace.ip("route", "replace", "10.2.0.0/24", "via", GW4)  # without the tunnel's MTU
    with Capture(lab.host_b.namespace, "eth0", "icmp and src 10.1.0.10") as capture:
        lab.host_a.namespace.run("ping", "-n", "-c", 1, "-W", 1, "-M", "dont", "-s", 1440, B4, check=False)
        capture.wait(2)
        pieces = capture.text("-v")
    lab.host_a.namespace.ip("route", "del", "10.2.0.0/24")
    assert gw.verdicts()["handed"] > handed
    assert "flags [+]" in pieces[0] and "offset 0" in pieces[0], pieces
    assert "offset 0" not in pieces[1], pieces
