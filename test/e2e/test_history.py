# SPDX-License-Identifier: Apache-2.0
"""Attacks on the history of snapshots, and the ways back out: each refused by name, none stops what is served."""

import json
import re
import shutil

import pytest

from lab import until
from lab.authority import bundle
from lab.kernel_tables import KernelTables

A4 = "10.1.0.10"


def metric(gw, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", gw.http("/metrics")[1], re.M).group(1))


def problems(gw, word):
    return [problem for problem in gw.status()["problems"] if word in problem]


def refused(gw, code, *command):
    done = gw.cli(*command, check=False)
    assert done.returncode == 5, (done.returncode, done.stdout, done.stderr)
    assert code in done.stderr, done.stderr


def equivocate(lab):
    """Serial 2 twice; the first one is adopted."""
    before = lab.snapshot
    lab.adopt(lab.base_policy().revoking("c"))
    return lab.authority.edition(lab.base_policy().revoking("b"), after=before)


def test_equivocation_stops_adoption_until_an_operator_recovers(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    assert "no conflict stands" in gw.cli("authority", "show", "--conflict").stdout
    other = equivocate(lab)
    refused(gw, "snapshot.equivocation", "apply", other)
    higher = lab.edition(lab.base_policy())
    for restarted in (False, True):
        if restarted:
            gw.kill()
            gw.start()
        refused(gw, "snapshot.conflict", "apply", higher)
        assert gw.status()["snapshot"]["serial"] == 2 and gw.status()["authority"]["conflict"] is True
        assert problems(gw, "vouched for two snapshots of serial 2")
        assert metric(gw, 'postern_authority{state="conflict"}') == 1
        code, body = gw.http("/healthz")
        assert code == 200 and body.startswith("degraded\n") and "vouched for two snapshots" in body
        assert lab.host_b.ping(A4, 1) == 1, "what was adopted stays in force"
        shown = gw.cli("authority", "show", "--conflict").stdout
        sides = gw.ask("authority", "show", "--conflict")["conflict"]["sides"]
        assert len(sides) == 2 and all(side["hash"] in shown for side in sides)
        for side, file in zip(sides, (lab.snapshot, other)):
            with open(side["file"], "rb") as kept:
                assert kept.read() == file.read_bytes()
    refused(gw, "snapshot.equivocation", "authority", "recover", "--bundle", other)
    path = gw.files / "bundle"
    path.write_bytes(bundle(higher))
    assert "serial 3 is active" in gw.cli("authority", "recover", "--bundle", path).stdout
    assert gw.status()["authority"]["conflict"] is False and not problems(gw, "vouched for")
    assert metric(gw, 'postern_authority{state="conflict"}') == 0
    lab.snapshot = higher
    lab.adopt(lab.base_policy().revoking("b"))


def test_a_timestamp_tells_a_gateway_that_it_is_behind_and_a_stale_one_that_its_feed_is_frozen(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    stamp = lab.authority.timestamp
    first = stamp(lab.snapshot)
    assert "vouches for serial 1, the adopted one" in gw.cli("apply", "--timestamp", first).stdout
    newer = lab.edition(lab.base_policy().revoking("c"))
    assert "newer than the adopted one" in gw.cli("apply", "--timestamp", stamp(newer, valid=4)).stdout
    assert gw.status()["authority"]["behind_serial"] == 2 and problems(gw, "behind:")
    assert metric(gw, 'postern_snapshot_serial{state="announced"}') == 2
    refused(gw, "timestamp.rollback", "apply", "--timestamp", first)
    gw.kill()
    gw.start()
    refused(gw, "timestamp.rollback", "apply", "--timestamp", first)
    gw.apply(newer)
    assert not problems(gw, "behind:")
    until("the timestamp is stale", lambda: gw.status()["authority"]["frozen"], 10)
    assert problems(gw, "frozen:") and metric(gw, 'postern_authority{state="frozen"}') == 1
    assert gw.status()["ready"] and lab.host_b.ping(A4, 1) == 1
    gw.cli("apply", "--timestamp", stamp(newer))
    assert gw.status()["authority"]["frozen"] is False and not problems(gw, "frozen:")


def test_a_gateway_whose_config_demands_timestamps_misses_them(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.config.write_text(gw.config.read_text(encoding="utf-8") + "authority:\n  timestamp_max_age_s: 1\n",
                         encoding="utf-8")
    gw.reload()
    until("the snapshot alone vouches no longer", lambda: gw.status()["authority"]["frozen"], 10)
    # As by a signer whose clock is a little ahead, so that it stays fresh for long enough to be seen.
    gw.cli("apply", "--timestamp", lab.authority.timestamp(lab.snapshot, issued=50))
    assert gw.status()["authority"]["frozen"] is False and not problems(gw, "frozen:")


def test_a_timestamp_of_another_snapshot_under_the_adopted_serial_is_proof_of_equivocation(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    other = equivocate(lab)
    refused(gw, "snapshot.equivocation", "apply", "--timestamp", lab.authority.timestamp(other))
    assert gw.status()["authority"]["conflict"] is True
    assert json.loads(gw.ask("authority", "show", "--conflict")["conflict"]["timestamp"])
    refused(gw, "snapshot.conflict", "apply", lab.edition(lab.base_policy()))


def test_a_gateway_that_slept_through_root_changes_catches_up_from_a_bundle(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    chain = []
    for keep_old in (False, True, False, True):
        if keep_old:
            lab.authority.rotate()
        lab.snapshot = lab.edition(lab.base_policy(), keep_old=keep_old)
        chain.append(lab.snapshot)
    refused(gw, "snapshot.threshold", "apply", chain[-1])
    path = gw.files / "bundle"
    path.write_bytes(bundle(*chain[:1], *chain[2:]))
    refused(gw, "snapshot.threshold", "apply", path)
    path.write_bytes(bundle(*chain))
    assert gw.ask("apply", path)["serial"] == 5
    files = [file.name for file in (gw.files / "state" / "journal").glob("auth-*")]
    assert len(files) == 2, "one adoption, not four"
    gw.kill()
    gw.start()
    lab.adopt(lab.base_policy().revoking("b"))


def test_a_snapshot_far_ahead_in_serials_is_refused(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    far = lab.authority.edition(lab.base_policy(), options=("--serial", str(2**53 - 1)))
    refused(gw, "snapshot.fast_forward", "apply", far)
    lab.adopt(lab.base_policy())


def test_a_clock_before_what_is_signed_is_reported_and_stops_nothing(fresh_lab):
    """As a gateway without a battery-backed clock starts: to it, what is signed comes from the future."""
    lab, gw = fresh_lab, fresh_lab.gateway

    def close(tree):
        tree["on_expiry"] = "close"
    later = lab.edition(lab.base_policy().changed(close), expires="2100-03-01T00:00:00Z",
                        options=("--issued", "2100-01-01T00:00:00Z"))
    gw.apply(later)
    for restarted in (False, True):
        if restarted:
            gw.kill()
            gw.start()
        assert gw.status()["authority"]["clock"] == "behind"
        assert problems(gw, "clock_suspect:") and metric(gw, "postern_clock_suspect") == 1
        assert gw.status()["ready"] and gw.status()["open"] and lab.host_b.ping(A4, 1) == 1
        assert KernelTables(gw).closes_ns() == 0, "nor does the kernel close by such a clock"


def test_a_disk_that_went_back_is_not_served_until_a_bundle_makes_up_for_it(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    state, backup = gw.files / "state", gw.files / "backup"
    lab.adopt(lab.base_policy())
    gw.stop()
    shutil.copytree(state, backup)
    gw.start()
    lab.adopt(lab.base_policy().revoking("b"))
    gw.stop()
    shutil.rmtree(state)
    shutil.copytree(backup, state)
    served = lab.snapshot

    done = gw.run_daemon()
    assert done.returncode == 5 and "agent.disk_went_back" in done.stderr, done.stderr
    assert "postern authority recover --bundle" in done.stderr
    assert lab.host_b.ping(A4, 2, wait=0.2) == 0 and lab.host_c.ping(A4, 2) == 2, "the kernel is left as it is"

    path = gw.files / "bundle"
    too_old = next(iter((state / "journal").glob("auth-2-*")))
    path.write_bytes(bundle(too_old))
    assert "laid down" in gw.cli("authority", "recover", "--bundle", path).stdout
    done = gw.run_daemon()
    assert done.returncode != 0 and "recovery" in done.stderr, done.stderr

    path.write_bytes(bundle(served))
    gw.cli("authority", "recover", "--bundle", path)
    gw.start()
    assert gw.status()["snapshot"]["serial"] == 3 and not (state / "recovery-bundle").exists()
    assert lab.host_b.ping(A4, 2, wait=0.2) == 0 and lab.host_c.ping(A4, 2) == 2
    gw.kill()
    gw.start()  # level again: nothing is laid down, nothing is needed
    lab.snapshot = served
    lab.adopt(lab.base_policy())
    assert lab.host_b.ping(A4, 2) == 2


@pytest.mark.parametrize("damage", ["empty", "half"])
def test_a_damaged_snapshot_file_beside_a_whole_unfinished_one_recovers(fresh_lab, damage):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.stop()
    file, = (gw.files / "state" / "journal").glob("auth-1-*")
    whole = file.read_bytes()
    unfinished = file.with_name(file.name + ".tmp")
    unfinished.write_bytes(whole)
    unfinished.chmod(0o600)
    file.write_bytes(b"" if damage == "empty" else whole[:len(whole) // 2])
    gw.start()
    assert gw.status()["snapshot"]["state"] == "active"
    assert file.read_bytes() == whole and not unfinished.exists()
    assert lab.host_b.ping(A4, 1) == 1


def test_a_resource_may_be_removed_but_its_floor_and_its_fence_stay(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    kernel = KernelTables(gw)
    lab.adopt(lab.base_policy().changed(lambda tree: tree.update(
        resources=[{"id": "vip", "number": 7, "candidates": ["gw"], "floor": 3}])))
    # Its only candidate claims it at once, above the floor.
    until("the claim's fence is up", lambda: kernel.fence(7) == 4)
    without = lab.authority.edited(lab.snapshot, lambda tree: tree["resources"].clear())
    forgetful = lab.authority.edited(lab.snapshot, lambda tree: (tree["resources"].clear(),
                                                                 tree["epoch_floors"].clear()))
    refused(gw, "snapshot.floor_fell", "apply", forgetful)
    gw.apply(without)
    for restarted in (False, True):
        if restarted:
            gw.kill()
            gw.start()
        assert gw.status()["snapshot"]["serial"] == 3 and kernel.fence(7) == 4
