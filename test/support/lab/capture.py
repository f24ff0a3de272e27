# SPDX-License-Identifier: Apache-2.0
"""tcpdump in a namespace: what came over the wire, as tcpdump itself explains it. A context manager."""

import re
import signal
import subprocess
import tempfile

from .command import run
from .wait import until

STAMP = re.compile(r"^\d\d:\d\d:\d\d\.\d+ ")


class Capture:
    def __init__(self, namespace, device, expression):
        self._file = tempfile.NamedTemporaryFile(prefix="postern-capture-", suffix=".pcap")
        self._process = namespace.popen("tcpdump", "-i", device, "-U", "-n", "--immediate-mode", "-Z", "root",
                                        "-w", self._file.name, expression, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # tcpdump writes the file's header once it listens.
        until("tcpdump listens", lambda: len(self._bytes()) >= 24 or self._process.poll() is not None)
        if self._process.poll() is not None:
            raise AssertionError(f"tcpdump ended: {self._process.stderr.read()}")

    def _bytes(self):
        with open(self._file.name, "rb") as file:
            return file.read()

    @property
    def path(self):
        """The pcap file, for another decoder."""
        return self._file.name

    def text(self, *options):
        """One line a packet of `tcpdump OPTIONS`, what it says of inner packets joined to it."""
        lines = []
        for line in run("tcpdump", "-n", *options, "-r", self._file.name).stdout.splitlines():
            if STAMP.match(line):
                lines.append(line)
            else:
                lines[-1] += " " + line.strip()
        return lines

    def wait(self, packets=1, timeout=5.0):
        until(f"{packets} captured packets", lambda: len(self.text()) >= packets, timeout, 0.1)

    def stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=10)
        self._process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._file.close()
