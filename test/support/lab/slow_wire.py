# SPDX-License-Identifier: Apache-2.0
"""A wire of the underlay that takes its time: every frame of a gateway, both ways, is carried by hand and held back for
a while. A context manager; behind it the wire is a plain one again."""

import subprocess
import sys

from .namespace import link

CARRIER = """
import collections, select, socket, sys, time

delay, devices = float(sys.argv[1]), sys.argv[2:]
socks = []
for device in devices:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind((device, 0))
    socks.append(sock)
held = collections.deque()  # (when it goes on, by which socket, frame): in order, for all are held back alike
print("carries", flush=True)
while True:
    wait = max(0.0, held[0][0] - time.monotonic()) if held else None
    readable, _, _ = select.select([*socks, sys.stdin], [], [], wait)
    if sys.stdin in readable and not sys.stdin.buffer.raw.read(1):
        break
    for place, sock in enumerate(socks):
        if sock in readable:
            frame, (_, _, kind, _, _) = sock.recvfrom(65536)
            if kind != socket.PACKET_OUTGOING:
                held.append((time.monotonic() + delay, socks[1 - place], frame))
    while held and held[0][0] <= time.monotonic():
        _, sock, frame = held.popleft()
        sock.send(frame)
"""


class SlowWire:
    """Of gateway `number`; each way takes so many seconds."""

    def __init__(self, underlay, number, seconds):
        self._switch = underlay.namespace
        self._port = f"to-gw{number}"
        self._seconds = seconds

    def __enter__(self):
        switch = self._switch
        link(switch, "slow0", switch, "slow1")
        switch.ips(f"link set dev {self._port} nomaster", "link set dev slow1 master switch")
        self._carrier = switch.popen(sys.executable, "-B", "-I", "-c", CARRIER, self._seconds, self._port, "slow0",
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._carrier.stdout.readline() == b"carries\n"
        return self

    def __exit__(self, *_):
        self._carrier.stdin.close()
        self._carrier.wait(timeout=10)
        self._carrier.stdout.close()
        self._switch.ips("link delete slow0", f"link set dev {self._port} master switch")
