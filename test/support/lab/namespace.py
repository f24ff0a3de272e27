# SPDX-License-Identifier: Apache-2.0
"""One network namespace. Entered by nsenter: `ip netns exec` hides the bpf filesystem from what it runs."""

import os
import signal
import subprocess

from .command import run


class Namespace:
    def __init__(self, lab_id, role):
        self.lab_id = lab_id
        self.role = role
        self.name = f"pt-{lab_id}-{role}"
        run("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")
        # No duplicate address detection and no router solicitations: addresses serve at once, captures stay quiet.
        self.sysctl(**{"net.ipv6.conf.all.accept_dad": 0, "net.ipv6.conf.default.accept_dad": 0,
                       "net.ipv6.conf.default.router_solicitations": 0, "net.ipv4.conf.all.rp_filter": 0,
                       "net.ipv4.conf.default.rp_filter": 0})

    def __str__(self):
        return self.name

    def inside(self, *args):
        """The command line that runs `args` in here."""
        return ["nsenter", f"--net=/run/netns/{self.name}", "--", *map(str, args)]

    def run(self, *args, **options):
        return run(*self.inside(*args), **options)

    def popen(self, *args, **options):
        return subprocess.Popen(self.inside(*args), **options)

    def ip(self, *args):
        run("ip", "-n", self.name, *args)

    def sysctl(self, **values):
        self.run("sysctl", "-qw", *[f"{key}={value}" for key, value in values.items()])

    def address(self, device, *addresses):
        for address in addresses:
            self.ip("address", "add", address, "dev", device, *(["nodad"] if ":" in address else []))

    def forward(self):
        self.sysctl(**{"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})

    def mac(self, device):
        return run("ip", "-n", self.name, "-br", "link", "show", "dev", device).stdout.split()[2]


def link(left, left_device, right, right_device):
    """A veth pair that behaves like hardware towards XDP: GRO makes the far end take redirected frames, and full
    checksums leave both ends, for XDP neither fills in nor understands partial ones."""
    run("ip", "link", "add", left_device, "netns", left.name, "type", "veth",
        "peer", "name", right_device, "netns", right.name)
    ends = ((left, left_device), (right, right_device))
    # Before either end is up: a veth learns when it opens whether its peer takes redirected frames.
    for namespace, device in ends:
        namespace.run("ethtool", "-K", device, "gro", "on", "tx", "off")
    for namespace, device in ends:
        namespace.ip("link", "set", "dev", device, "up")


def processes(name):
    done = run("ip", "netns", "pids", name, check=False)
    return [int(pid) for pid in done.stdout.split()]


def destroy(name, wait):
    """Ends every process inside, then deletes the namespace."""
    def gone():
        left = processes(name)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left
    wait(f"processes in {name} end", gone)
    run("ip", "netns", "delete", name, check=False)
