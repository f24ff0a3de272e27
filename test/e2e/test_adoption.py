# SPDX-License-Identifier: Apache-2.0
"""A snapshot's way into the kernel: on disk first, whole or not at all, at once, and never backwards."""

import os
import re
import time

import pytest

from lab import run, until
from lab.kernel_tables import KernelTables
from lab.trace import Trace
from lab.traffic import TcpStream, UdpFlow, connects, lost_nothing

A4, C4 = "10.1.0.10", "10.3.0.10"
RESOURCE = 7


def place(gw):
    status = gw.status()
    return status["snapshot"]["hash"], status["snapshot"]["serial"], status["generation"]


def with_resource(policy, floor):
    """A resource whose epoch floor the adoption has to raise in the kernel."""
    def add(tree):
        tree["resources"] = [{"id": "vip", "number": RESOURCE, "candidates": ["gw"], "floor": floor}]
    return policy.changed(add)


def map_names(pid):
    """{descriptor: map's name} of what the daemon has open."""
    names = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="utf-8") as info:
                found = re.search(r"^map_id:\s*(\d+)$", info.read(), re.M)
        except OSError:
            continue
        if found:
            shown = run("bpftool", "map", "show", "id", found.group(1), check=False).stdout
            name = re.search(r" name (\S+) ", shown)
            names[int(fd)] = name.group(1) if name else "?"
    return names


def first(calls, what, matches, after=-1):
    for at, call in enumerate(calls):
        if at > after and matches(call):
            return at
    raise AssertionError(f"no {what} after call {after} of: {calls}")


def is_flush(call, path):
    return call.name in ("fsync", "fdatasync") and re.search(path, call.arguments)


def is_map_update(call):
    return call.name == "bpf" and re.match(r"BPF_MAP_UPDATE_(ELEM|BATCH)", call.arguments)


def test_adoption_is_persisted_before_the_fence_rises(fresh_lab):
    """By the order of system calls, and by killing the agent when it flushes the record that decides."""
    lab, gw = fresh_lab, fresh_lab.gateway
    kernel = KernelTables(gw)
    # A claim would raise the fence as well.
    gw.edit_config("interfaces:", "claims: {automatic: false}\ninterfaces:")
    gw.reload()
    lab.adopt(with_resource(lab.base_policy(), 3))
    assert kernel.fence(RESOURCE) == 3

    names = map_names(gw.pid)
    with Trace(gw.pid, ["fsync", "fdatasync", "rename", "renameat", "renameat2", "bpf"]) as trace:
        lab.adopt(with_resource(lab.base_policy(), 5).allowing("site-a", "site-b", "udp", ports=[9999]))
        trace.stop()
        calls = trace.calls()
    assert kernel.fence(RESOURCE) == 5
    file = first(calls, "fsync of the snapshot's file", lambda c: is_flush(c, r"/journal/[^>]*(auth|tmp)"))
    rename = first(calls, "rename to auth-SERIAL-HASH",
                   lambda c: c.name.startswith("rename") and re.search(r"auth-\d+-[0-9a-f]+\"", c.arguments), file)
    folder = first(calls, "fsync of the directory", lambda c: is_flush(c, r"/journal>"), rename)
    record = first(calls, "fdatasync of AuthorityAdopted", lambda c: is_flush(c, r"/journal/seg-\d+>"), folder)
    # Fresh maps, which no packet reaches yet, may be filled before.
    update = first(calls, "update of a map that packets read", lambda c: is_map_update(c) and _map_fd(c) in names)
    assert record < update, calls[:update + 1]
    active = first(calls, "fdatasync of AuthorityActive", lambda c: is_flush(c, r"/journal/seg-\d+>"), record)
    placed = [c for c in calls[record:active] if is_map_update(c) and not _updates(c, names, "journal_head")]
    assert placed, "the tables were not put into their places between the two records"

    selector = kernel.selector()
    snapshot = lab.edition(with_resource(lab.base_policy(), 9))
    (segment,) = {c.arguments[c.arguments.index("<") + 1:c.arguments.rindex(">")] for c in (calls[record], calls[active])}
    with Trace(gw.pid, ["fdatasync"], inject="fdatasync:signal=SIGKILL:when=1", path=segment):
        assert gw.cli("apply", snapshot, check=False).returncode != 0
        until("the agent is killed at the flush", lambda: not gw.running)
    assert kernel.fence(RESOURCE) == 5
    assert kernel.selector() == selector

    gw.start()
    gw.apply(snapshot)  # whether the record survived or not, the outcome is the same
    assert kernel.fence(RESOURCE) == 9
    assert gw.status()["snapshot"]["serial"] == 4


def _map_fd(call):
    found = re.search(r"map_fd=(\d+)", call.arguments)
    return found and int(found.group(1))


def _updates(call, names, wanted):
    return names.get(_map_fd(call), "").startswith(wanted)


def test_bpftool_agrees_with_owners(gw, lab, kernel):
    said = {(100, row["prefix"]): row for row in gw.ask("owners")["owners"]}
    seen = kernel.owners()
    assert set(seen) == set(said)
    assert len(seen) == 6
    kinds = {"local": 1, "peer": 2, "resource": 3}
    for key, (kind, _, _) in seen.items():
        assert kind == kinds[said[key]["kind"]], key
    # The numbers are the kernel's own; one owner is one number, one class one id.
    for column, value in ((1, "class"), (2, "owner")):
        pairs = {(seen[key][column], said[key][value]) for key in seen}
        assert len(pairs) == len({number for number, _ in pairs}) == len({text for _, text in pairs}), pairs
    assert {row["owner"] for row in said.values()} == {"gw", "b", "c"}


def test_owners_of_an_address_is_its_longest_match(gw, lab):
    lab.adopt(lab.base_policy().changed(lambda tree: tree["prefixes"].append(
        {"segment": "corp", "prefix": "10.2.0.128/25", "owner": {"peer": "c"}, "class": "site-c"})))
    assert [(row["prefix"], row["owner"]) for row in gw.ask("owners", "--address", "10.2.0.200")["owners"]] == \
        [("10.2.0.128/25", "c")]
    assert [row["owner"] for row in gw.ask("owners", "--address", "10.2.0.10")["owners"]] == ["b"]
    assert gw.ask("owners", "--address", "198.51.100.1")["owners"] == []


def test_a_revoked_peers_running_tcp_stops_at_once_while_the_other_loses_nothing(gw, lab):
    with TcpStream(lab.host_b.namespace, lab.host_a.namespace, A4) as revoked, \
            UdpFlow(lab.host_c.namespace, lab.host_a.namespace, A4) as other, \
            UdpFlow(lab.host_a.namespace, lab.host_c.namespace, C4) as back:
        revoked.wait_received()
        other.wait_received()
        snapshot = lab.edition(lab.policy.revoking("b"))
        revoked.wait_received(1000)
        gw.apply(snapshot)
        applied = time.monotonic()
        lab.snapshot, lab.policy = snapshot, None
        before = gw.drops()["peer_revoked"]
        other.wait_received(1000)
        assert revoked.last - applied < 0.03, "data arrived after apply had returned"
        lost_nothing(other, back)
        until("its retries are dropped by name", lambda: gw.drops()["peer_revoked"] > before)
    assert gw.peers()["b"]["state"] == "revoked"
    assert not connects(lab.host_b.namespace, lab.host_a.namespace, A4, 5001)


def test_a_peer_that_is_let_in_again_is_served_again(gw, lab):
    lab.adopt(lab.base_policy().revoking("b"))
    assert lab.host_b.ping(A4, 2, wait=0.2) == 0
    lab.adopt(lab.base_policy())
    assert lab.host_b.ping(A4, 3) == 3


def test_an_older_serial_is_refused_and_nothing_changes(gw, lab):
    lab.adopt(lab.base_policy().revoking("c"))
    before = place(gw)
    older = lab.authority.edition(lab.base_policy())  # serial 1 once more
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4) as flow:
        flow.wait_received(50)
        done = gw.cli("apply", older, check=False)
        flow.wait_received(50)
    assert done.returncode == 5
    assert "snapshot.rollback" in done.stderr
    assert place(gw) == before
    lost_nothing(flow)


def test_another_snapshot_under_the_adopted_serial_is_refused_as_equivocation(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    previous = lab.snapshot
    lab.adopt(lab.base_policy().revoking("c"))
    before = place(gw)
    other = lab.authority.edition(lab.base_policy().revoking("b"), after=previous)
    done = gw.cli("apply", other, check=False)
    assert done.returncode == 5
    assert "snapshot.equivocation" in done.stderr
    assert place(gw) == before


def test_a_snapshot_of_a_stranger_is_refused(gw, lab, tmp_path):
    before = place(gw)
    key = tmp_path / "stranger.key"
    run(gw.postern, "keygen", key)
    done = gw.cli("apply", lab.edition(lab.base_policy().revoking("b"), key=key), check=False)
    assert done.returncode == 5
    assert "snapshot.threshold" in done.stderr
    assert place(gw) == before


def test_a_prefix_that_two_owners_claim_is_refused_when_the_policy_is_compiled(gw, lab, tmp_path):
    def claim(tree):
        tree["prefixes"].append({"segment": "corp", "prefix": "10.2.0.0/24", "owner": {"peer": "c"},
                                 "class": "site-c"})
    source = tmp_path / "policy.yaml"
    source.write_text(lab.base_policy().changed(claim).yaml(), encoding="utf-8")
    done = run(gw.postern, "authority", "compile", source, "-o", tmp_path / "out.json", check=False)
    assert done.returncode == 6
    assert "10.2.0.0/24" in done.stderr
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("on_expiry, served", [("hold", True), ("close", False)])
def test_an_expired_snapshot_follows_its_own_on_expiry(fresh_lab, on_expiry, served):
    lab, gw = fresh_lab, fresh_lab.gateway

    def expire(tree):
        tree["on_expiry"] = on_expiry
    soon = lab.authority.edition(lab.base_policy().changed(expire), after=lab.snapshot,
                                 expires="3s")
    gw.apply(soon)
    assert lab.host_b.ping(A4, 1) == 1
    until("it expires", lambda: gw.status()["snapshot"]["expired"], 10)
    until("what on_expiry says comes true", lambda: (lab.host_b.ping(A4, 1, wait=0.2) == 1) is served, 5)
    assert gw.status()["open"] is served
    gw.kill()
    gw.start(ready=False)
    assert gw.status()["open"] is served, "a restart changes nothing about it"
    assert (lab.host_b.ping(A4, 1, wait=0.2) == 1) is served


@pytest.mark.parametrize("on_expiry, served", [("hold", True), ("close", False)])
def test_a_snapshot_expires_in_the_kernel_though_the_agent_is_dead(fresh_lab, on_expiry, served):
    lab, gw = fresh_lab, fresh_lab.gateway

    def expire(tree):
        tree["on_expiry"] = on_expiry
    lab.snapshot = lab.edition(lab.base_policy().changed(expire), expires="8s")
    gw.apply(lab.snapshot)
    before = gw.drops()["closed"]
    gw.kill()
    assert (KernelTables(gw).closes_ns() > time.monotonic_ns()) is not served, "it is dead before it is due"
    assert lab.host_b.ping(A4, 1) == 1
    time.sleep(8)
    assert (lab.host_b.ping(A4, 2, wait=0.3) > 0) is served
    gw.start(ready=False)
    assert (gw.drops()["closed"] > before) is not served
    lab.adopt(lab.base_policy())
    assert KernelTables(gw).closes_ns() == 0 and lab.host_b.ping(A4, 1) == 1
