# SPDX-License-Identifier: Apache-2.0
"""What runs inside a namespace: sends and receives numbered traffic, and sends packets made by hand.

Reports are JSON, one object a line, on standard output. It ends when its standard input does, so it cannot outlive
the run that started it. Times are CLOCK_MONOTONIC, which all processes of a machine share.
"""

import argparse
import contextlib
import json
import os
import select
import socket
import struct
import sys
import time

HEADER = struct.Struct("!Q")
REPORT_EVERY_S = 0.02
SO_RCVBUFFORCE = 33  # linux/socket.h; not in Python 3.11


def report(**values):
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def stop_asked(extra=(), wait=0.0):
    """Waits for input; returns (stop, readable)."""
    readable, _, _ = select.select([sys.stdin, *extra], [], [], wait)
    if sys.stdin in readable and not sys.stdin.buffer.raw.read(1):
        return True, []
    return False, readable


def be_first():
    """Before all that is not of real time, where the machine lets it."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


class Pace:
    """Ticks at a steady rate; a worker that was not scheduled for long goes on rather than send a burst."""

    def __init__(self, rate):
        self.period = 1.0 / rate
        self.next = time.monotonic()

    def wait(self):
        self.next += self.period
        now = time.monotonic()
        if now - self.next > 0.02:
            self.next = now
        return max(0.0, self.next - now)


def udp_send(options):
    sock = socket.socket(family(options.address), socket.SOCK_DGRAM)
    sock.connect((options.address, options.port))
    pace, sent, refused, told = Pace(options.rate), 0, 0, 0.0
    payload = b"\0" * (options.size - HEADER.size)
    while True:
        stop, _ = stop_asked(wait=pace.wait())
        if stop:
            break
        try:
            sock.send(HEADER.pack(sent) + payload)
        except OSError:
            refused += 1  # an ICMP error that came back; this datagram was not sent
            continue
        sent += 1
        if pace.next - told > REPORT_EVERY_S:
            told = pace.next
            report(sent=sent)
    report(final=True, sent=sent, refused=refused)


def clock_send(options):
    """Datagrams whose numbers are ticks of the clock: what several send at one time has one number. Each number is
    sent, if late; before other work of the machine, so that few are."""
    be_first()
    sock = socket.socket(family(options.address), socket.SOCK_DGRAM)
    sock.bind((options.source, 0))
    number, sent, refused, told = int(time.monotonic() * options.rate), 0, 0, 0.0
    payload = b"\0" * (options.size - HEADER.size)
    while True:
        stop, _ = stop_asked(wait=max(0.0, (number + 1) / options.rate - time.monotonic()))
        if stop:
            break
        while number < int(time.monotonic() * options.rate):
            number += 1
            try:
                sock.sendto(HEADER.pack(number) + payload, (options.address, options.port))
                sent += 1
            except OSError:
                refused += 1
        if time.monotonic() - told > REPORT_EVERY_S:
            told = time.monotonic()
            report(sent=sent)
    report(final=True, sent=sent, refused=refused)


def note_receive(options):
    """Who sent which number, of what clock_send() sends, in the order in which it came. The number stands behind
    `skip` bytes."""
    sock = socket.socket(family(options.address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    sock.bind((options.address, options.port))
    sock.setblocking(False)
    report(ready=True)
    stop = False
    while not stop:
        stop, _ = stop_asked([sock], REPORT_EVERY_S)
        seen = []
        try:
            while True:
                packet, (source, _) = sock.recvfrom(2048)
                if len(packet) >= options.skip + HEADER.size:
                    seen.append((*HEADER.unpack_from(packet, options.skip), source))
        except BlockingIOError:
            pass
        if seen:
            report(seen=seen)
    report(final=True)


def udp_receive(options):
    sock = socket.socket(family(options.address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    sock.bind((options.address, options.port))
    sock.setblocking(False)
    report(ready=True)
    seen, duplicates, first, last, told = bytearray(), 0, None, None, 0.0
    received, missed_at = 0, {}
    while True:
        stop, _ = stop_asked([sock], REPORT_EVERY_S)
        try:
            while True:
                (number,) = HEADER.unpack_from(sock.recv(2048))
                if number >= len(seen):
                    if number > len(seen):
                        missed_at[len(seen)] = time.time()
                    seen.extend(bytes(number + 1 - len(seen)))
                duplicates += seen[number]
                received += 1 - seen[number]
                seen[number] = 1
                last = time.monotonic()
                first = first or last
        except BlockingIOError:
            pass
        if stop:
            break
        if time.monotonic() - told > REPORT_EVERY_S:
            told = time.monotonic()
            report(received=received, highest=len(seen) - 1, first=first, last=last)
    report(final=True, received=received, highest=len(seen) - 1, first=first, last=last, duplicates=duplicates,
           gaps=[[*gap, missed_at.get(gap[0])] for gap in gaps(seen)])


def gaps(seen):
    """Ranges [first, last] below the highest that never came; at most 50 of them."""
    found, at = [], seen.find(0)
    while at >= 0 and len(found) < 50:
        end = seen.find(1, at)
        end = len(seen) if end < 0 else end
        found.append([at, end - 1])
        at = seen.find(0, end)
    return found


def tcp_send(options):
    sock = socket.create_connection((options.address, options.port), timeout=options.connect_timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    report(ready=True)
    pace, sent, told = Pace(options.rate), 0, 0.0
    chunk = b"p" * options.size
    while True:
        stop, _ = stop_asked(wait=pace.wait())
        if stop:
            break
        try:
            sent += sock.send(chunk)
        except BlockingIOError:
            pass  # the window is full: nothing gets through at the moment
        except OSError as error:
            report(final=True, sent=sent, error=str(error))
            return
        if time.monotonic() - told > REPORT_EVERY_S:
            told = time.monotonic()
            report(sent=sent)
    report(final=True, sent=sent)


def tcp_receive(options):
    listener = socket.create_server((options.address, options.port), family=family(options.address))
    report(ready=True)
    stop, readable = False, []
    while not readable:
        stop, readable = stop_asked([listener], 1)
        if stop:
            report(final=True, received=0, last=None, longest_gap=None)
            return
    sock, _ = listener.accept()
    sock.setblocking(False)
    received, last, longest, told, closed = 0, None, 0.0, 0.0, False
    while not stop:
        stop, readable = stop_asked([] if closed else [sock], REPORT_EVERY_S)
        if readable:
            try:
                data = sock.recv(1 << 20)
            except OSError:
                data = b""
            now = time.monotonic()
            closed = not data
            if data:
                longest = max(longest, now - (last or now))
                received, last = received + len(data), now
        if time.monotonic() - told > REPORT_EVERY_S:
            told = time.monotonic()
            report(received=received, last=last, longest_gap=longest)
    report(final=True, received=received, last=last, longest_gap=longest)


def datagram(options):
    """Payloads, hex, one a line of input, as UDP datagrams of this host's own."""
    sock = socket.socket(family(options.address), socket.SOCK_DGRAM)
    for line in sys.stdin:
        sock.sendto(bytes.fromhex(line.strip()), (options.address, options.port))
        time.sleep(0.001)


def frame(options):
    """Whole Ethernet frames, hex, one a line of input."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((options.device, 0))
    for line in sys.stdin:
        sock.send(bytes.fromhex(line.strip()))
        time.sleep(0.001)


def main():
    parser = argparse.ArgumentParser()
    kinds = parser.add_subparsers(required=True)
    for work in (udp_send, clock_send, udp_receive, note_receive, tcp_send, tcp_receive, datagram, frame):
        kind = kinds.add_parser(work.__name__)
        kind.set_defaults(work=work)
        kind.add_argument("--address", default="")
        kind.add_argument("--source", default="")
        kind.add_argument("--skip", type=int, default=0)
        kind.add_argument("--port", type=int, default=0)
        kind.add_argument("--rate", type=float, default=1000.0)
        kind.add_argument("--size", type=int, default=64)
        kind.add_argument("--connect-timeout", type=float, default=5.0)
        kind.add_argument("--device", default="eth0")
    options = parser.parse_args()
    options.work(options)


if __name__ == "__main__":
    main()
