# SPDX-License-Identifier: Apache-2.0
"""A disk that went back in time is not served from, and what it may have forgotten is never promised a second time."""

import json
import re
import shutil

import pytest

from lab.directory_digest import digest
from lab.journal_files import events
from lab.kernel_tables import KernelTables

A4 = "10.1.0.10"


def put_back(gw, image):
    shutil.rmtree(gw.files / "state")
    shutil.copytree(image, gw.files / "state")


@pytest.fixture
def old_image(fresh_lab):
    """The lab after serial 2 with the disk as it was at serial 1; the agent is stopped."""
    gw = fresh_lab.gateway
    gw.stop()
    image = gw.files / "image"
    shutil.copytree(gw.files / "state", image)
    gw.start()
    fresh_lab.adopt(fresh_lab.base_policy())
    gw.stop()
    put_back(gw, image)
    return image


def test_a_whole_old_disk_image_is_recognised_and_nothing_is_touched(fresh_lab, old_image):
    lab, gw = fresh_lab, fresh_lab.gateway
    before, selector = digest(gw.files / "state"), KernelTables(gw).selector()
    for _ in range(2):
        done = gw.run_daemon()
        assert done.returncode == 5 and "agent.disk_went_back" in done.stderr, done.stderr
        assert "posternd --detach" in done.stderr
        assert digest(gw.files / "state") == before
    assert KernelTables(gw).selector() == selector
    assert lab.host_b.ping(A4, 3) == 3


def test_a_gateway_that_was_detached_from_an_old_disk_opens_a_new_stream(fresh_lab, old_image):
    lab, gw = fresh_lab, fresh_lab.gateway
    journal = gw.files / "state" / "journal"
    first = events(journal)[-1]
    done = gw.run_daemon("--detach")
    assert done.returncode == 0 and "went back" in done.stderr, done.stderr
    gw.start(ready=False)
    gw.apply(lab.snapshot)
    opened = events(journal, "StreamOpened")
    assert len(opened) == 2
    body = opened[1]["body"]
    assert (body["predecessor"], body["last_seq"]) == (first["stream"], first["seq"])
    assert opened[1]["stream"] != first["stream"] and events(journal)[-1]["stream"] == opened[1]["stream"]
    lab.settle()
    gw.stop()
    gw.start()  # it goes on with that one
    assert len(events(journal, "StreamOpened")) == 2


def test_an_operator_settles_a_doubtful_start_for_good_and_claims_wait_on(fresh_lab, old_image):
    gw = fresh_lab.gateway
    assert gw.run_daemon("--detach").returncode == 0
    gw.start(ready=False)

    def standing():
        journal = gw.status()["journal"]
        return journal["may_spend"], journal["may_claim"]

    def advice():
        checks = json.loads(gw.cli("--json", "doctor", check=False).stdout)["checks"]
        return [check for check in checks if check["name"] == "journal.continuity"]

    assert standing() == (False, False)
    assert advice()[0]["status"] == "warn" and "postern journal settle" in json.dumps(advice()[0])
    settled = gw.ask("journal", "settle")
    assert settled["schema"] == "postern/journal-settle/v1" and "went back" in settled["given_up"]
    for _ in range(2):
        assert standing() == (True, False)
        assert "as an operator allowed" in json.dumps(advice()[0])
        again = gw.cli("journal", "settle", check=False)
        assert again.returncode == 1 and "journal.nothing_to_settle" in again.stderr
        gw.stop()
        findings = gw.ask("journal", "verify")["findings"]
        assert [finding["given_up"] for finding in findings] == [True]
        gw.start(ready=False)


def test_the_same_disk_keeps_its_stream_through_kills_restarts_and_a_lost_pin(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.kill()
    gw.start()
    gw.stop()
    assert gw.run_daemon("--detach").returncode == 0  # as after a reboot: the kernel knows nothing
    gw.start(ready=False)
    lab.adopt(lab.base_policy())
    journal = gw.files / "state" / "journal"
    assert len({event["stream"] for event in events(journal)}) == 1
    assert [event["seq"] for event in events(journal)] == list(range(1, len(events(journal)) + 1))


def test_damage_names_how_far_the_kernel_was_served_and_a_repair_with_that_head_uses_no_number_twice(fresh_lab):
    gw = fresh_lab.gateway
    gw.stop()
    gw.start()
    gw.stop()
    journal = gw.files / "state" / "journal"
    segments = sorted(journal.glob("seg-*"), key=lambda path: int(path.name[4:]))
    assert len(segments) > 1
    segments[-1].unlink()  # what the kernel was served from is in it, and nothing else says how far it went
    with open(segments[0], "r+b") as file:
        file.seek(2 * 4096 + 200)  # in the payload of the first record, which opened the stream
        file.write(b"\x01")
    done = gw.run_daemon()
    assert done.returncode != 0 and "journal.damage" in done.stderr, done.stderr
    known = int(re.search(r"--known-head (\d+)", done.stderr).group(1))
    verified = json.loads(gw.cli("--json", "journal", "verify", check=False).stdout)
    assert int(verified["proven"]) < known
    repaired = gw.ask("journal", "repair", "--accept-loss-from", verified["first_bad"], "--known-head", str(known))
    assert int(repaired["gaps"][0]["first"]) == 1 and int(repaired["gaps"][-1]["last"]) == known
    gw.start(ready=False)
    shown = [json.loads(line) for line in gw.cli("--json", "journal", "show").stdout.splitlines()[:-1]]
    opened = [event for event in shown if event["kind"] == "StreamOpened"]
    assert len(opened) == 1 and int(opened[0]["lseq"]) > known and opened[0]["body"]["predecessor"]
    assert not gw.status()["journal"]["may_spend"]


def test_a_detached_old_image_is_not_forgotten_when_the_next_start_is_killed_early(fresh_lab, old_image):
    gw = fresh_lab.gateway
    journal = gw.files / "state" / "journal"
    assert gw.run_daemon("--detach").returncode == 0
    # Dies as it writes the first batch after the start, which is StreamOpened's.
    killed = gw.namespace.run("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64",
                              "-e", "inject=pwrite64:signal=KILL:when=2", gw.posternd, "--config", gw.config,
                              check=False, timeout=30)
    assert killed.returncode != 0
    gw.start(ready=False)
    assert len(events(journal, "StreamOpened")) == 2
