# SPDX-License-Identifier: Apache-2.0
"""One network namespace. Entered by nsenter: `ip netns exec` hides the bpf filesystem from what it runs.

A lab takes a hundred settings, and a process for each would be most of a short test's time: what can be written from
here is, and `ip` gets several commands at once.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import threading

from . import device
from .command import run

RUN = pathlib.Path("/run/netns")
CLONE_NEWNET = 0x40000000


def enter(name, work):
    """Returns work(), run in the namespace: by a thread of its own, for a thread changes its namespace alone."""
    result, failed = [], []

    def inside():
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            with open(RUN / name, "rb") as namespace:
                if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
            result.append(work())
        except Exception as error:  # raised where it can be caught
            failed.append(error)
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return result[0]


class Namespace:
    def __init__(self, lab_id, role):
        self.lab_id = lab_id
        self.role = role
        self.name = f"pt-{lab_id}-{role}"
        run("ip", "netns", "add", self.name)
        enter(self.name, lambda: device.set_up("lo"))
        # No duplicate address detection and no router solicitations: addresses serve at once, captures stay quiet.
        self.sysctl(**{"net.ipv6.conf.all.accept_dad": 0, "net.ipv6.conf.default.accept_dad": 0,
                       "net.ipv6.conf.default.router_solicitations": 0, "net.ipv4.conf.all.rp_filter": 0,
                       "net.ipv4.conf.default.rp_filter": 0})

    def __str__(self):
        return self.name

    def inside(self, *args):
        """The command line that runs `args` in here."""
        return ["nsenter", f"--net={RUN / self.name}", "--", *map(str, args)]

    def run(self, *args, **options):
        return run(*self.inside(*args), **options)

    def popen(self, *args, **options):
        return subprocess.Popen(self.inside(*args), **options)

    def ip(self, *args):
        run("ip", "-n", self.name, *args)

    def ips(self, *commands):
        """Several, each a line as for ip(); those behind one that fails are not run."""
        run("ip", "-n", self.name, "-batch", "-", stdin="".join(f"{command}\n" for command in commands))

    def sysctl(self, **values):
        def write():
            for key, value in values.items():
                pathlib.Path("/proc/sys", *key.split(".")).write_text(str(value), encoding="ascii")
        enter(self.name, write)

    def address(self, name, *addresses):
        self.ips(*[f"address add {address} dev {name}{' nodad' if ':' in address else ''}" for address in addresses])

    def forward(self):
        self.sysctl(**{"net.ipv4.ip_forward": 1, "net.ipv6.conf.all.forwarding": 1})

    def mac(self, name):
        return run("ip", "-n", self.name, "-br", "link", "show", "dev", name).stdout.split()[2]


def link(left, left_device, right, right_device):
    """A veth pair that behaves like hardware towards XDP: GRO makes the far end take redirected frames, and full
    checksums leave both ends, for XDP neither fills in nor understands partial ones."""
    # From inside: Linux 6.1 would ask whether the name is taken where the command runs.
    left.ip("link", "add", left_device, "type", "veth", "peer", "name", right_device, "netns", right.name)
    ends = ((left, left_device), (right, right_device))
    # Before either end is up: a veth learns when it opens whether its peer takes redirected frames.
    for namespace, name in ends:
        enter(namespace.name, lambda: (device.gro_on(name), device.tx_checksums_off(name)))
    for namespace, name in ends:
        enter(namespace.name, lambda: device.set_up(name))


def processes(names):
    """Ids of those that run in one of these namespaces."""
    inodes, found = set(), []
    for name in names:
        try:
            inodes.add(os.stat(RUN / name).st_ino)
        except FileNotFoundError:
            pass  # another run's sweep was faster
    for place in pathlib.Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if os.stat(place).st_ino in inodes:
                found.append(int(place.parts[2]))
        except OSError:
            pass  # it ended
    return found


def destroy(names, wait):
    """Ends every process inside, then deletes the namespaces."""
    if not names:
        return

    def gone():
        left = processes(names)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left
    wait(f"processes in {', '.join(names)} end", gone)
    run("ip", "-force", "-batch", "-", stdin="".join(f"netns delete {name}\n" for name in names), check=False)
