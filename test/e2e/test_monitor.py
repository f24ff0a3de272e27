# SPDX-License-Identifier: Apache-2.0
"""`postern monitor` and `postern capture`: what the packet path does, while it does it."""

import json
import os
import signal
import struct
import subprocess

import pytest

from lab.background import Background
from lab.command import run
from lab.kernel_tables import KernelTables
from lab.mesh_lab import FORBIDDEN_UDP_PORT, UDP_PORT
from lab.packets import inner_udp, vxlan
from lab.traffic import send_datagrams
from lab.wait import until

A4, B4, C4 = "10.1.0.10", "10.2.0.10", "10.3.0.10"


class Listening(Background):
    """The tool, once the kernel has its wish."""

    def __init__(self, gw, *args, json_lines=True, stdout=subprocess.PIPE):
        self.kernel = KernelTables(gw)
        before = self.watched()
        options = ("--json",) if json_lines else ()
        super().__init__([gw.postern, "--config", gw.config, *options, *map(str, args)], stdout)
        if before == 0:
            until("the kernel is told what to watch", lambda: self.watched() or self.process.poll() is not None)

    def watched(self):
        """Until when the kernel is to tell, 0: not at all."""
        ((_, value),) = self.kernel.rows("pinned", self.kernel.pin("watch"))
        return int.from_bytes(value[:8], "little")


def send(lab, port, count=1, source=B4):
    send_datagrams(lab.b.namespace, lab.gateway.underlay, 4789,
                   [vxlan(100, inner_udp(source, A4, port, lab.gateway.mac))] * count)


def samples(out):
    lines = [json.loads(line) for line in out.splitlines()]
    return [line for line in lines if line["schema"] == "postern/sample/v1"]


def test_monitor_tells_of_each_drop_with_its_reason_peer_and_addresses(lab, gw):
    with Listening(gw, "monitor", "--count", 2) as tool:
        send(lab, UDP_PORT)
        send(lab, FORBIDDEN_UDP_PORT)
        send(lab, UDP_PORT, source=C4)
        code, out, _ = tool.finish()
    assert code == 0
    first, second = samples(out)
    assert first["reason"] == "policy_denied" and second["reason"] == "source_denied"
    assert first["sender"] == "b" and first["segment"] == "corp" and first["interface"] == "mesh0"
    assert first["packet"]["source"] == B4 and first["packet"]["destination_port"] == FORBIDDEN_UDP_PORT
    assert first["tunnel"]["source"] == lab.b.underlay


@pytest.mark.parametrize("filters, seen", {
    "reason": (("--reason", "source_denied"), ["source_denied"]),
    "source": (("--src", "10.3.0.0/16"), ["source_denied"]),
    "peer that is not there": (("--peer", "c"), []),
    "interface": (("--iface", "site0"), []),
    "verdict": (("--verdict", "decapsulated"), [None]),
    "all": (("--all", "--dst", A4), [None, "policy_denied", "source_denied"]),
}.values())
def test_monitor_shows_what_the_filters_let_through_and_nothing_else(lab, gw, filters, seen):
    with Listening(gw, "monitor", *filters) as tool:
        send(lab, UDP_PORT)
        send(lab, FORBIDDEN_UDP_PORT)
        send(lab, UDP_PORT, source=C4)
        until("the agent read its ring", lambda: gw.status() is not None)
        run("sleep", "0.3")
        code, out, err = tool.end()
    assert code == 0 and err == ""
    assert [sample["reason"] for sample in samples(out)] == seen


def test_monitor_ends_cleanly_when_its_reader_or_the_agent_ends(fresh_lab):
    gw = fresh_lab.gateway
    read, write = os.pipe()
    with Listening(gw, "monitor", json_lines=False, stdout=write) as tool:
        os.close(write)
        os.close(read)
        send(fresh_lab, FORBIDDEN_UDP_PORT, 3)
        code, _, err = tool.finish()
        assert (code, err) == (0, "")
    with Listening(gw, "monitor") as tool:
        gw.stop()
        code, _, err = tool.finish()
        assert code == 3, err


def test_a_monitor_that_does_not_read_delays_nobody_and_is_counted(lab, gw):
    with Listening(gw, "monitor", "--all") as tool:
        os.kill(tool.process.pid, signal.SIGSTOP)
        def lost():
            send(lab, FORBIDDEN_UDP_PORT, 500)
            assert gw.status()["ready"]
            counted = 'postern_events_lost_total{stage="reader"} 0' not in gw.http("/metrics")[1]
            cut_off = tool.watched() == 0
            return counted or cut_off
        until("the reader's losses are counted, or it is cut off", lost, 60)
        os.kill(tool.process.pid, signal.SIGCONT)


def test_nothing_is_watched_once_nobody_listens(gw):
    with Listening(gw, "monitor") as tool:
        assert tool.watched() != 0
        tool.end()
        until("the kernel is told that nobody watches", lambda: tool.watched() == 0, 5)


def test_capture_writes_forwarded_frames_with_their_verdicts_for_other_readers(lab, gw, tmp_path):
    file = tmp_path / "forwarded.pcapng"
    with Listening(gw, "capture", "-w", file, "--count", 2, "--dst", A4) as tool:
        send(lab, UDP_PORT)
        send(lab, FORBIDDEN_UDP_PORT)
        code, out, err = tool.finish()
    assert code == 0, err
    assert json.loads(out)["frames"] == "2"
    text = run("tcpdump", "-n", "-r", file).stdout
    assert text.count("VXLAN") == 2
    frames = pcapng_frames(file)
    assert [comment for _, comment in frames] == [
        "decapsulated, segment corp, from peer b, leaves by site0", "drop policy_denied, segment corp, from peer b"]
    assert all(len(frame) > 80 for frame, _ in frames)
    # and the capture explains itself
    verdicts = [packet["verdict"] for packet in gw.ask("explain", "--in", "mesh0", "--pcap", file)["packets"]]
    assert verdicts == ["decapsulated", "drop"]


def pcapng_frames(file):
    """[(frame, comment)] of the enhanced packet blocks. By hand: scapy wants a comment to end in a newline, against the
    format's own text."""
    blocks, frames = memoryview(file.read_bytes()), []
    while blocks:
        kind, length = struct.unpack_from("<II", blocks)
        assert length % 4 == 0 and struct.unpack_from("<I", blocks, length - 4) == (length,)
        if kind == 6:
            (captured,) = struct.unpack_from("<I", blocks, 20)
            options, comment = 28 + (captured + 3) // 4 * 4, None
            while options < length - 4:
                code, size = struct.unpack_from("<HH", blocks, options)
                if code == 1:
                    comment = bytes(blocks[options + 4:options + 4 + size]).decode()
                options += 4 + (size + 3) // 4 * 4
            frames.append((bytes(blocks[28:28 + captured]), comment))
        blocks = blocks[length:]
    return frames


def test_capture_to_a_pipe_is_a_whole_file_when_it_is_interrupted(lab, gw, tmp_path):
    with Listening(gw, "capture", "-w", "-", "--snap", 64, json_lines=False) as tool:
        send(lab, FORBIDDEN_UDP_PORT, 3)
        run("sleep", "0.3")
        code, out, err = tool.end(signal.SIGTERM)
    assert code == 0, err
    file = tmp_path / "piped.pcapng"
    file.write_bytes(out)
    frames = [frame for frame, comment in pcapng_frames(file) if "policy_denied" in comment]
    assert len(frames) == 3 and all(len(frame) == 64 for frame in frames)
    assert out[-4:] == len(out[-int.from_bytes(out[-4:], "little"):]).to_bytes(4, "little")  # statistics block


@pytest.mark.parametrize("args, words", {
    "no such reason": (("monitor", "--reason", "nope"), "policy_denied"),
    "no such peer": (("monitor", "--peer", "nope"), "nope"),
    "no file": (("capture", "-w", "/nonexistent/x"), "/nonexistent/x"),
}.values())
def test_what_cannot_be_watched_is_refused_with_the_reason(gw, args, words):
    done = gw.cli(*args, check=False)
    assert done.returncode != 0 and words in done.stderr
