# SPDX-License-Identifier: Apache-2.0
"""A WireGuard server and its clients: the kernel's, or wireguard-go where the kernel has none."""

import os
import signal

from .command import run
from .wait import until

PORT = 51820
SERVER = "172.16.0.1"


class _End:
    """One end: an interface in a namespace. Its name is unique on this machine, as wireguard-go's sockets lie in one
    directory."""

    def __init__(self, namespace, address, number):
        self.namespace = namespace
        self.address = address
        self.device = f"w{namespace.name.split('-')[1]}{number}"
        self._private = run("wg", "genkey").stdout
        self.public = run("wg", "pubkey", stdin=self._private).stdout.strip()
        self._program = None
        if namespace.run("ip", "link", "add", self.device, "type", "wireguard", check=False).returncode != 0:
            self._program = namespace.popen("wireguard-go", "--foreground", self.device, start_new_session=True)
        until(f"{self.device} can be configured", lambda: self.wg("show", self.device, check=False).returncode == 0, 20)
        self.wg("set", self.device, "private-key", "/dev/stdin", stdin=self._private)
        namespace.address(self.device, f"{address}/24")
        namespace.ip("link", "set", self.device, "up")

    def wg(self, *args, **options):
        return self.namespace.run("wg", *args, **options)

    def close(self):
        if self._program:
            os.kill(self._program.pid, signal.SIGTERM)
            self._program.wait(timeout=20)
        else:
            self.namespace.run("ip", "link", "del", self.device, check=False)


class Tunnel:
    """A context manager: a server in one namespace, with a client in each that add() names."""

    def __init__(self, server, endpoint):
        self._endpoint = endpoint
        self._server = _End(server, SERVER, 0)
        self._server.wg("set", self._server.device, "listen-port", PORT)
        self._clients = {}

    def add(self, namespace, address):
        """Both ends know each other's key."""
        client = _End(namespace, address, len(self._clients) + 1)
        self._clients[namespace.name] = client
        self._server.wg("set", self._server.device, "peer", client.public, "allowed-ips", f"{address}/32")
        client.wg("set", client.device, "peer", self._server.public, "allowed-ips", f"{SERVER}/32",
                  "endpoint", f"{self._endpoint}:{PORT}")

    def ping(self, namespace, wait=3):
        """Through the tunnel, to the server."""
        return namespace.run("ping", "-n", "-q", "-c", 1, "-W", wait, SERVER, check=False).returncode == 0

    def has_shaken_hands(self, namespace):
        """Whether the server knows the client by a handshake."""
        shown = self._server.wg("show", self._server.device, "latest-handshakes").stdout
        return any(line.split()[0] == self._clients[namespace.name].public and int(line.split()[1]) > 0
                   for line in shown.splitlines())

    def close(self):
        for end in [self._server, *self._clients.values()]:
            end.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
