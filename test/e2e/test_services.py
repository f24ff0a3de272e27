# SPDX-License-Identifier: Apache-2.0
"""A service is served by hosts of two stock sites, and loses one of them while its connections run."""

import re
import struct
import subprocess

import pytest

from lab import MeshLab, packets, until
from lab.capture import Capture
from lab.mesh_lab import SEGMENT
from lab.traffic import send_frames

SERVICE, PORT = "10.80.0.1", 5201

ECHO = f"""
import socket, threading
def serve(connection):
    with connection:
        while data := connection.recv(4096):
            connection.sendall(data)
listener = socket.create_server(("{SERVICE}", {PORT}), backlog=256)
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# Opens connections one by one, says who served each, and tries each again whenever it is told to.
CLIENT = f"""
import socket, sys
open_ = []
while line := sys.stdin.readline():
    word = line.strip()
    if word == "open":
        connection = socket.create_connection(("{SERVICE}", {PORT}), timeout=5)
        connection.settimeout(1)
        open_.append(connection)
    answered = []
    for connection in open_:
        try:
            connection.sendall(b"x")
            answered.append(connection.recv(1) == b"x")
        except OSError:
            answered.append(False)
    print("".join("1" if one else "0" for one in answered), flush=True)
"""


def served_by(*backends):
    def change(tree):
        tree["services"] = [{"id": "www", "protocol": "tcp", "port": PORT,
                             "backends": [{"address": address} for address in backends]}]
        tree["prefixes"] = [row for row in tree["prefixes"] if row["owner"] != {"service": "www"}] + [
            {"segment": SEGMENT, "prefix": f"{SERVICE}/32", "owner": {"service": "www"}, "class": "www"}]
        tree["rules"] = [row for row in tree["rules"] if row["to"] != "www"] + [
            {"from": "site-a", "to": "www", "protocol": "tcp", "ports": [PORT]}]
    return change


@pytest.fixture(scope="module")
def lab():
    with MeshLab() as made:
        yield made


@pytest.fixture(scope="module")
def servers(lab):
    started = []
    for peer in (lab.b, lab.c):
        peer.host.namespace.address("lo", f"{SERVICE}/32")
        peer.namespace.ip("route", "add", f"{SERVICE}/32", "via", peer.host.address4)
        server = peer.host.namespace.popen("/usr/bin/python3", "-c", ECHO, stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline().strip() == "ready"
        started.append(server)
    yield
    for server in started:
        server.kill()


class Client:
    def __init__(self, namespace):
        self.process = namespace.popen("/usr/bin/python3", "-u", "-c", CLIENT, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def connections_at(host):
    shown = host.namespace.run("ss", "-Htn", "state", "established", "src", SERVICE).stdout
    return len(shown.splitlines())


def test_connections_are_shared_out_and_survive_the_loss_of_the_other_backend(lab, servers):
    both = lab.base_policy().changed(served_by(lab.host_b.address4, lab.host_c.address4))
    lab.adopt(both)
    client = Client(lab.host_a.namespace)
    count = 24
    for _ in range(count):
        answered = client.say("open")
    assert answered == "1" * count
    at_b, at_c = connections_at(lab.host_b), connections_at(lab.host_c)
    assert at_b + at_c == count
    assert at_b >= 4 and at_c >= 4, (at_b, at_c)

    lab.adopt(lab.base_policy().changed(served_by(lab.host_b.address4)))
    alive = client.say("again").count("1")
    # Those of b go on but for a small share; those of c are gone.
    assert at_b - 2 <= alive <= at_b
    for _ in range(4):
        answered = client.say("open")
    assert answered.endswith("1111")
    client.process.kill()


def client_ports(host):
    """Of the connections that a backend has."""
    shown = host.namespace.run("ss", "-Htn", "state", "established", "src", SERVICE).stdout
    return {int(line.split()[3].rpartition(":")[2]) for line in shown.splitlines()}


def too_big_for(lab, client_port):
    """What a router tells the service about its packets to a client, as it comes from the site (RFC 1191)."""
    answer = packets.ipv4(SERVICE, lab.host_a.address4, packets.TCP, struct.pack("!HHI", PORT, client_port, 0), whole=True)
    body = struct.pack("!BBHHH", 3, 4, 0, 0, 1300) + answer
    error = body[:2] + struct.pack("!H", packets.checksum(body)) + body[4:]
    return packets.ethernet(lab.gateway.namespace.mac("site0"), lab.host_a.namespace.mac("eth0"), packets.ETH_IPV4,
                            packets.ipv4(lab.host_a.address4, SERVICE, packets.ICMP, error))


def test_an_icmp_error_reaches_the_backend_whose_packet_it_is_about(lab, servers):
    lab.adopt(lab.base_policy().changed(served_by(lab.host_b.address4, lab.host_c.address4)))
    client = Client(lab.host_a.namespace)
    for _ in range(12):
        client.say("open")
    ports = {host: client_ports(host) for host in (lab.host_b, lab.host_c)}
    assert all(ports.values()), ports
    told = f"icmp and dst {SERVICE}"
    with Capture(lab.host_b.namespace, "eth0", told) as at_b, Capture(lab.host_c.namespace, "eth0", told) as at_c:
        send_frames(lab.host_a.namespace, "eth0",
                    [too_big_for(lab, port) for port in sorted(ports[lab.host_b] | ports[lab.host_c])])
        for capture, host in ((at_b, lab.host_b), (at_c, lab.host_c)):
            capture.wait(len(ports[host]))
            quoted = {int(found) for line in capture.text("-v")
                      for found in re.findall(rf"{re.escape(lab.host_a.address4)}\.(\d+)", line)}
            assert quoted == ports[host]
    client.process.kill()


def test_nobody_else_speaks_for_the_service(lab, servers):
    lab.adopt(lab.base_policy().changed(served_by(lab.host_b.address4)))
    before = lab.gateway.drops()["source_denied"]
    lab.host_c.namespace.run("/usr/bin/python3", "-c", f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{SERVICE}", {PORT}))
for _ in range(5):
    s.sendto(b"x", ("{lab.host_a.address4}", 5001))
""")
    until("the packets are refused", lambda: lab.gateway.drops()["source_denied"] >= before + 5, 5)
