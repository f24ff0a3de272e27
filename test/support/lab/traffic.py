# SPDX-License-Identifier: Apache-2.0
"""Numbered flows between namespaces, and what became of them."""

import datetime
import json
import pathlib
import subprocess
import sys
import threading
import time

from . import counters
from .wait import PATIENCE, until

WORKER = pathlib.Path(__file__).with_name("worker.py")


def _worker(kind, options):
    return [sys.executable, "-B", "-I", WORKER, kind,
            *[word for key, value in options.items() for word in (f"--{key.replace('_', '-')}", value)]]


class Worker:
    """A running worker; `latest` is its newest report."""

    def __init__(self, namespace, kind, **options):
        self.latest = {}
        self.name = f"{kind} in {namespace}"
        self._process = namespace.popen(*_worker(kind, options), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.latest = json.loads(line)

    @property
    def running(self):
        return self._process.poll() is None

    def wait_for(self, what, condition, timeout=10.0):
        def look():
            if not self.running and not condition(self.latest):
                raise AssertionError(f"{self.name} ended early: {self._process.stderr.read().strip()}")
            return condition(self.latest)
        until(f"{what} ({self.name})", look, timeout)

    def finish(self):
        """Its closing report; idempotent."""
        if self._process.stdin and not self._process.stdin.closed:
            try:
                self._process.stdin.close()
            except BrokenPipeError:
                pass
        self._process.wait(timeout=20)
        self._reader.join(timeout=20)
        if not self.latest.get("final"):
            raise AssertionError(f"{self.name} gave no closing report: {self._process.stderr.read().strip()}")
        return self.latest


class FlowReport:
    """`gaps` are [first, last, when the one behind them came, or None]."""

    def __init__(self, way, sender, end):
        self.sent = sender["sent"]
        self.received = end["received"]
        self.lost = self.sent - self.received
        self.duplicates = end["duplicates"]
        self._way = way
        self._refused = sender["refused"]
        tail = end["highest"] + 1
        self._gaps = end["gaps"] + ([[tail, self.sent - 1, None]] if tail < self.sent else [])

    def __repr__(self):
        gaps = [f"{first} to {last} {self._noticed(when)}" for first, last, when in self._gaps[:5]]
        return (f"{self._way}: {self.sent} sent ({self._refused} tried again), {self.received} received, {self.lost} lost"
                f"{': numbers ' if gaps else ''}{', '.join(gaps)}")

    @staticmethod
    def _noticed(when):
        return "at the end" if when is None else f"missed at {datetime.datetime.fromtimestamp(when).time()}"


def lost_nothing(*flows):
    """Ends the flows of one lab. Where a datagram is lost the failure tells which, when, and what was counted since."""
    reports = [flow.stop() for flow in flows]
    if any(report.lost for report in reports):
        raise AssertionError("\n".join(["datagrams were lost", *map(repr, reports), *flows[0].counted()]))
    return reports


class UdpFlow:
    """Numbered datagrams at a steady rate from one namespace to an address of another. A context manager."""

    def __init__(self, source, destination, address, port=7000, rate=1000, size=64):
        self._way = f"{source} to {address} in {destination}"
        self._lab_id = source.lab_id
        self._receiver = Worker(destination, "udp_receive", address=address, port=port)
        self._before = counters.read(self._lab_id)  # while the receiver starts
        self._receiver.wait_for("listening", bool)
        self._sender = Worker(source, "udp_send", address=address, port=port, rate=rate, size=size)
        self._report = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def received(self):
        return self._receiver.latest.get("received", 0)

    @property
    def sent(self):
        return self._sender.latest.get("sent", 0)

    @property
    def last(self):
        """When the newest datagram came."""
        return self._receiver.latest.get("last")

    def wait_received(self, more=100, timeout=10.0):
        """Waits until `more` datagrams arrive from now on."""
        goal = self.received + more
        self._receiver.wait_for(f"{goal} datagrams", lambda r: r.get("received", 0) >= goal, timeout)

    def wait_sent(self, more=100, timeout=10.0):
        goal = self.sent + more
        self._sender.wait_for(f"{goal} datagrams sent", lambda r: r.get("sent", 0) >= goal, timeout)

    def stop(self):
        if self._report is None:
            sender = self._sender.finish()
            # What is still under way; nothing of a flow of which nothing came.
            deadline = time.monotonic() + (5 if self.received else 0.5) * PATIENCE
            while self.received < sender["sent"] and time.monotonic() < deadline:
                time.sleep(0.01)
            self._report = FlowReport(self._way, sender, self._receiver.finish())
        return self._report

    def counted(self):
        """What moved in the lab since the flow began, one line a place."""
        return (counters.rises(self._before, counters.read(self._lab_id)) +
                counters.kernel_losses(self._lab_id))


class TcpStream:
    """A paced TCP stream whose receiver notes when data came. A context manager."""

    def __init__(self, source, destination, address, port=5001, rate=200, size=1000):
        self._receiver = Worker(destination, "tcp_receive", address=address, port=port)
        self._receiver.wait_for("listening", bool)
        self._sender = Worker(source, "tcp_send", address=address, port=port, rate=rate, size=size)
        self._sender.wait_for("connected", bool)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._sender.finish()
        self._receiver.finish()

    @property
    def received(self):
        return self._receiver.latest.get("received", 0)

    @property
    def last(self):
        return self._receiver.latest.get("last")

    @property
    def longest_gap(self):
        return self._receiver.latest.get("longest_gap")

    def wait_received(self, more=10000, timeout=10.0):
        goal = self.received + more
        self._receiver.wait_for(f"{goal} bytes", lambda r: r.get("received", 0) >= goal, timeout)


def connects(source, destination, address, port, timeout=1.0):
    """Whether a TCP connection from `source` to a listener that runs there comes about."""
    listener = Worker(destination, "tcp_receive", address=address, port=port)
    listener.wait_for("listening", bool)
    done = source.run(*_worker("tcp_send", {"address": address, "port": port, "connect_timeout": timeout}),
                      check=False, stdin="")
    listener.finish()
    return '"ready": true' in done.stdout


def send_datagrams(namespace, address, port, payloads):
    namespace.run(*_worker("datagram", {"address": address, "port": port}),
                  stdin="".join(payload.hex() + "\n" for payload in payloads))


def send_frames(namespace, device, frames):
    namespace.run(*_worker("frame", {"device": device}), stdin="".join(frame.hex() + "\n" for frame in frames))


def ping_udp_and_tcp(here, there, family, *, pings=5, datagrams=300, rate=1000, stream_bytes=100_000, timeout=10.0):
    """From host to host: each ping is answered, no datagram is lost, a stream does not stall."""
    address = there.address4 if family == 4 else there.address6
    assert here.ping(address, pings) == pings
    with UdpFlow(here.namespace, there.namespace, address, rate=rate) as flow:
        flow.wait_received(datagrams, timeout=timeout)
        lost_nothing(flow)
    with TcpStream(here.namespace, there.namespace, address) as stream:
        stream.wait_received(stream_bytes, timeout=timeout)
