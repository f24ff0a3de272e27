# SPDX-License-Identifier: Apache-2.0
"""A newer build takes the data path over under traffic. The newer one here is this one with another outer TTL, its
packet path compiled again and put into a copy of the daemon."""

import os
import pathlib
import shutil
import subprocess

from lab.capture import Capture
from lab.gateway import BUILD
from lab.traffic import TcpStream, UdpFlow, lost_nothing

BPF = pathlib.Path(__file__).resolve().parents[2] / "bpf"
OLD_TTL, NEW_TTL = 64, 61


def newer_daemon(directory):
    shutil.copytree(BPF, directory / "bpf")
    header = directory / "bpf" / "envelope.h"
    text = header.read_text(encoding="utf-8")
    line = f"#define PT_ENVELOPE_TTL {OLD_TTL}\n"
    assert text.count(line) == 1
    header.write_text(text.replace(line, f"#define PT_ENVELOPE_TTL {NEW_TTL}\n"), encoding="utf-8")
    # The flags of the Makefile; no long path, which would make the object longer than the one that it replaces.
    subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Ibpf",
                    f"-I/usr/include/{os.uname().machine}-linux-gnu", "-fdebug-compilation-dir", ".", "-c",
                    "bpf/gateway.bpf.c", "-o", "newer.o"], check=True, timeout=300, cwd=directory)
    old, new = (BUILD / "bpf" / "gateway.bpf.o").read_bytes(), (directory / "newer.o").read_bytes()
    assert len(new) <= len(old)
    program = (BUILD / "posternd").read_bytes()
    assert program.count(old) == 1
    path = directory / "posternd"
    path.write_bytes(program.replace(old, new.ljust(len(old), b"\0")))
    path.chmod(0o755)
    return path


def outer_ttl(lab):
    with Capture(lab.b.namespace, "eth0", f"udp port 4789 and src {lab.gateway.underlay}") as capture:
        assert lab.host_b.ping(lab.host_a.address4, 1) == 1
        capture.wait(1)
        packet = capture.text("-v")[-1]
    return int(packet.split("ttl ")[1].split(",")[0])


def test_a_newer_packet_path_takes_over_without_losing_a_packet(fresh_lab, tmp_path):
    lab, gw = fresh_lab, fresh_lab.gateway
    newer, older = newer_daemon(tmp_path), gw.posternd
    assert outer_ttl(lab) == OLD_TTL
    generation = gw.status()["generation"]
    flows = [UdpFlow(lab.host_b.namespace, lab.host_a.namespace, lab.host_a.address4),
             UdpFlow(lab.host_a.namespace, lab.host_b.namespace, lab.host_b.address4),
             UdpFlow(lab.host_b.namespace, lab.host_c.namespace, lab.host_c.address4)]
    with TcpStream(lab.host_a.namespace, lab.host_c.namespace, lab.host_c.address4) as stream:
        for flow in flows:
            flow.wait_received(200)
        for daemon, ttl in ((newer, NEW_TTL), (older, OLD_TTL)):
            program = gw.xdp_program("mesh0")
            gw.stop()
            gw.posternd = daemon
            gw.start()
            assert gw.xdp_program("mesh0") != program
            assert outer_ttl(lab) == ttl
            for flow in flows:
                flow.wait_received(300)
        stream.wait_received(50_000)
    lost_nothing(*flows)
    assert gw.status()["generation"] == generation
