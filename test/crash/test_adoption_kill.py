# SPDX-License-Identifier: Apache-2.0
"""Kills posternd at system calls of an adoption, and looks at what the kernel and the next start make of it.

A first adoption under strace lists the calls; then SIGKILL strikes at them, one adoption each: at all that touch files,
and at a sample of those that touch the kernel's tables (at every one with NIGHTLY=1). Two policies take turns, which
differ in owners and in revoked peers. After each kill the kernel serves one of the two whole, before the restart and
after; the restart never serves less than what was announced as active; and what neither policy allows never arrives.
"""
import collections
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from lab import MeshLab, until  # noqa: E402  the path comes first
from lab.kernel_tables import KernelTables  # noqa: E402
from lab.trace import Trace  # noqa: E402
from lab.traffic import UdpFlow  # noqa: E402

FILE_CALLS = ["openat2", "pwrite64", "fdatasync", "fsync", "renameat", "renameat2", "unlinkat"]
KERNEL_CALLS = ["bpf"]
SAMPLED_KERNEL_CALLS = 14
A4, FORBIDDEN_PORT = "10.1.0.10", 7999


@pytest.fixture
def lab():
    with MeshLab() as made:
        yield made


def policies(lab):
    """Two that differ in their prefixes and in who is revoked, so that a mixture would show."""
    def more(tree):
        tree["prefixes"].append({"segment": "corp", "prefix": "10.2.0.128/25", "owner": {"peer": "b"},
                                 "class": "site-b"})
    return lab.base_policy().revoking("c"), lab.base_policy().changed(more)


class Whole:
    """What the kernel's tables look like under each policy."""

    def __init__(self, lab):
        self.gateway, self.kernel, self.known = lab.gateway, KernelTables(lab.gateway), {}

    def learn(self, name):
        self.known[name] = self._owners()

    def _owners(self):
        return frozenset((key, row[0]) for key, row in self.kernel.owners().items())

    def which(self):
        """The policy that the kernel serves, whole."""
        owners = self._owners()
        found = [name for name, rows in self.known.items() if rows == owners]
        assert len(found) == 1, f"a mixture: {owners}"
        return found[0]

    def peers(self):
        return {name: row["state"] for name, row in self.gateway.peers().items()}


def threads(gateway):
    """{role: thread id} of the two that an adoption runs on."""
    names = {int(task.name): (task / "comm").read_text().strip() for task in pathlib.Path(f"/proc/{gateway.pid}/task").iterdir()}
    (orders,) = [thread for thread, name in names.items() if name == "orders"]
    return {"loop": gateway.pid, "orders": orders}


def sample(points, count):
    if os.environ.get("NIGHTLY") or len(points) <= count:
        return points
    return [points[i * (len(points) - 1) // (count - 1)] for i in range(count)]


def test_a_kill_at_any_system_call_of_an_adoption_leaves_one_generation_whole(lab):
    gw, whole = lab.gateway, Whole(lab)
    turns = dict(zip("ab", policies(lab)))
    states = {"a": {"b": "active", "c": "revoked"}, "b": {"b": "active", "c": "active"}}
    for name, policy in turns.items():
        lab.adopt(policy)
        whole.learn(name)
        assert whole.peers() == states[name]

    with Trace(gw.pid, FILE_CALLS + KERNEL_CALLS) as trace:
        lab.adopt(turns["a"])
        trace.stop()
        roles = {tid: role for role, tid in threads(gw).items()}
        calls = collections.Counter((roles[call.thread], call.name) for call in trace.calls())
    of_all = collections.Counter(name for _, name in calls.elements())
    assert of_all["fdatasync"] >= 3 and of_all["renameat"] + of_all["renameat2"] >= 1 and of_all["bpf"] > 20, calls

    def points_of(name):
        return [(role, name, nth) for role in ("orders", "loop") for nth in range(1, calls[role, name] + 1)]
    points = [point for name in FILE_CALLS for point in points_of(name)]
    points += sample(points_of("bpf"), SAMPLED_KERNEL_CALLS)

    serving, announced = "a", 4
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4, port=FORBIDDEN_PORT) as forbidden, \
            UdpFlow(lab.stranger.host.namespace, lab.host_a.namespace, A4, port=FORBIDDEN_PORT + 1) as stranger:
        outcomes = collections.Counter()
        for role, name, nth in points:
            wanted = "b" if serving == "a" else "a"
            snapshot = lab.edition(turns[wanted])
            with Trace(gw.pid, [name], inject=f"{name}:signal=SIGKILL:when={nth}", thread=threads(gw)[role]):
                answered = gw.cli("apply", snapshot, check=False).returncode == 0
                until(f"the agent is killed at {name} {nth} of {role}", lambda: not gw.running, 15)
            if answered:
                announced, serving = announced + 1, wanted
            before = whole.which()
            assert before in (serving, wanted)
            gw.start()
            serial = gw.status()["snapshot"]["serial"]
            after = whole.which()
            assert whole.peers() == states[after], f"killed at {name} {nth} of {role}"
            assert serial >= announced and gw.status()["snapshot"]["state"] == "active"
            # On disk first: a kernel that had flipped stays flipped.
            assert after == wanted or before == serving, f"killed at {name} {nth} of {role}"
            outcomes[after == wanted] += 1
            if after == wanted or answered:
                lab.snapshot = snapshot
            serving, announced = after, serial
        assert forbidden.received == 0 and stranger.received == 0
    assert outcomes[True] > 0 and outcomes[False] > 0, f"kills struck on one side of the decision only: {outcomes}"
