# SPDX-License-Identifier: Apache-2.0
"""Replies pass by the questions that were asked, rates hold, and guarded ports are for peers."""

import json
import subprocess

import pytest

from lab import until

NTP = 7123

ANSWER = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", {NTP}))
print("ready", flush=True)
while True:
    data, sender = s.recvfrom(100)
    s.sendto(data, sender)
"""

ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
s.sendto(b"x", (sys.argv[1], int(sys.argv[2])))
try:
    print(s.recv(100) == b"x")
except OSError:
    print(False)
"""

SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", int(sys.argv[1])))
for _ in range(int(sys.argv[4])):
    s.sendto(b"x" * 64, (sys.argv[2], int(sys.argv[3])))
"""


def ask(host, address, port):
    return host.namespace.run("/usr/bin/python3", "-c", ASK, address, port).stdout.strip() == "True"


def send(namespace, source_port, address, port, count):
    namespace.run("/usr/bin/python3", "-c", SEND, source_port, address, port, count)


@pytest.fixture
def server(lab):
    process = lab.host_b.namespace.popen("/usr/bin/python3", "-c", ANSWER, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "ready"
    yield lab.host_b
    process.kill()


def test_a_udp_answer_passes_by_its_question_and_nothing_else_from_that_port(lab, gw, server):
    lab.adopt(lab.base_policy().allowing("site-a", "site-b", "udp", ports=[NTP]))
    assert ask(lab.host_a, server.address4, NTP)
    before = gw.drops()["policy_denied"]
    # The bypass of a port rule: from a port that may be asked, to whatever port of the one who may ask.
    lab.adopt(lab.base_policy().allowing("site-a", "site-b", "udp", ports=[f"{NTP}-{NTP + 1}"]))
    send(server.namespace, NTP + 1, lab.host_a.address4, 22, 5)
    until("the unasked packets are denied", lambda: gw.drops()["policy_denied"] >= before + 5, 5)
    assert ask(lab.host_a, server.address4, NTP)


def test_rules_say_what_they_let_pass(lab, gw, server):
    lab.adopt(lab.base_policy().allowing("site-a", "site-b", "udp", ports=[NTP]))
    for _ in range(3):
        assert ask(lab.host_a, server.address4, NTP)
    rules = json.loads(gw.cli("--json", "rules").stdout)["rules"]
    mine = next(rule for rule in rules if rule["rule"] == f"site-a to site-b: udp {NTP}")
    assert mine["packets"] == "6"  # three questions, three answers
    assert f"site-a to site-b: udp {NTP}" in gw.cli("rules").stdout


def test_a_rate_is_kept(lab, gw):
    def limit(tree):
        next(row for row in tree["peers"] if row["id"] == "b")["packet_rate"] = 50
    lab.adopt(lab.base_policy().changed(limit))
    before, rx = gw.drops()["rate_exceeded"], int(gw.peers()["b"]["rx"]["packets"])
    send(lab.host_b.namespace, 0, lab.host_a.address4, 7000, 2000)
    until("all are counted", lambda: gw.drops()["rate_exceeded"] - before +
          int(gw.peers()["b"]["rx"]["packets"]) - rx >= 2000, 5)
    passed = int(gw.peers()["b"]["rx"]["packets"]) - rx
    # A tenth of a second's burst, and what the time of sending allows: far from 2000.
    assert 1 <= passed <= 500, passed
    until("and refills", lambda: lab.host_b.ping(lab.host_a.address4, 1) == 1, 10)


def test_a_guarded_port_is_for_peers(lab, gw):
    port = 51820
    config = gw.config.read_text(encoding="utf-8")
    gw.config.write_text(config + f"guarded: {{ports: [{port}], packet_rate: 1000}}\n", encoding="utf-8")
    listener = gw.namespace.popen("/usr/bin/python3", "-c", ANSWER.replace(str(NTP), str(port)),
                                  stdout=subprocess.PIPE, text=True)
    try:
        assert listener.stdout.readline().strip() == "ready"
        assert ask(lab.stranger, gw.underlay, port)
        gw.cli("reload")
        before = gw.drops()["guarded"]
        assert not ask(lab.stranger, gw.underlay, port)
        assert gw.drops()["guarded"] > before
        assert ask(lab.b, gw.underlay, port)
        assert ask(lab.stranger, gw.underlay, port) is False
    finally:
        listener.kill()
        gw.config.write_text(config, encoding="utf-8")
        gw.cli("reload")
