# SPDX-License-Identifier: Apache-2.0
"""Where snapshots come from by themselves: what a source brings goes through the door of `apply`, and what goes wrong
with it touches nothing that was adopted (SPEC 6.3)."""

import os
import re

import pytest

from lab import until
from lab.publisher import Publisher, make_ca

QUICK = "poll_s: 1, timeout_s: 2"


@pytest.fixture
def publisher(lab):
    made = Publisher(lab.gateway.namespace, lab.directory / "disk" / f"https-{os.urandom(4).hex()}")
    yield made
    made.close()


@pytest.fixture
def follow(gw):
    """Makes the gateway follow a source; afterwards it follows none."""
    before = gw.config.read_text(encoding="utf-8")

    def change(source):
        gw.config.write_text(f"{before}authority: {{source: {{{source}}}}}\n", encoding="utf-8")
        gw.reload()
    yield change
    gw.config.write_text(before, encoding="utf-8")
    gw.reload()


@pytest.fixture
def inbox(lab):
    directory = lab.directory / "disk" / f"inbox-{os.urandom(4).hex()}"
    directory.mkdir()
    return directory


def serial(gw):
    return gw.status()["snapshot"]["serial"]


def problem(gw):
    return next((p for p in gw.status()["problems"] if "source of snapshots" in p), None)


def metric(gw, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", gw.http("/metrics")[1], re.M)
    return float(found.group(1)) if found else None


def alarmed(gw, words, timeout=30):
    """The source's problem, once it says this; and that nothing else changed."""
    return until(f"a problem that says {words!r}", lambda: (p := problem(gw)) and words in p and p, timeout)


def successor(lab, allowed_port):
    """The next signed snapshot, which the lab takes for adopted."""
    policy = lab.base_policy().allowing("site-a", "site-b", "tcp", ports=[allowed_port])
    lab.snapshot, lab.policy = lab.edition(policy), policy
    return lab.snapshot


def put(source, target):
    """Renamed over, as a careful publisher does."""
    fresh = target.with_suffix(".new")
    fresh.write_bytes(source.read_bytes())
    fresh.rename(target)


# ---- file

def test_a_file_is_taken_when_it_appears_and_each_time_it_is_renamed_over(lab, gw, inbox, follow):
    follow(f"file: {inbox}/snapshot.json")
    alarmed(gw, "cannot open")
    before = serial(gw)
    put(successor(lab, 6001), inbox / "snapshot.json")
    until("the file is adopted", lambda: serial(gw) == before + 1)
    assert problem(gw) is None
    put(successor(lab, 6002), inbox / "snapshot.json")
    until("its successor is adopted", lambda: serial(gw) == before + 2)
    assert lab.host_b.ping(lab.host_a.address4, 1) == 1


def test_a_tampered_file_is_an_alarm_and_changes_nothing(lab, gw, inbox, follow):
    put(lab.snapshot, inbox / "snapshot.json")
    follow(f"file: {inbox}/snapshot.json")
    before = gw.status()["snapshot"]["hash"]
    good = lab.edition(lab.base_policy().allowing("site-a", "site-b", "tcp", ports=[6003]))
    bad = inbox / "bad"
    bad.write_bytes(good.read_bytes().replace(b"6003", b"6004"))
    put(bad, inbox / "snapshot.json")
    assert "snapshot.signature" in alarmed(gw, "was refused")
    assert gw.status()["snapshot"]["hash"] == before and gw.status()["ready"]
    until("the metric tells", lambda: metric(gw, "postern_source_ok") == 0)
    assert metric(gw, 'postern_source_looks_total{result="failed"}') >= 1
    put(lab.snapshot, inbox / "snapshot.json")
    until("the alarm is over", lambda: problem(gw) is None, 15)


# ---- directory

def test_a_directory_of_serials_is_followed_up_to_the_highest(lab, gw, inbox, follow):
    before = serial(gw)
    for number in range(1, 4):
        put(successor(lab, 6100 + number), inbox / f"{before + number}.json")
    (inbox / "README").write_text("not a snapshot")
    follow(f"directory: {inbox}")
    until("the last one is adopted", lambda: serial(gw) == before + 3)
    put(successor(lab, 6110), inbox / f"{before + 4}.json")
    until("one that comes later too", lambda: serial(gw) == before + 4)


# ---- url

def test_a_url_is_polled_and_an_unchanged_document_is_not_sent_again(lab, gw, publisher, follow):
    before = serial(gw)
    publisher.publish(successor(lab, 6201).read_bytes())
    follow(f"url: '{publisher.url}', ca: {publisher.ca}, {QUICK}")
    until("it is adopted", lambda: serial(gw) == before + 1, 15)
    until("the second answer is 304", lambda: any(r[1] == "304" for r in publisher.requests()), 15)
    assert publisher.requests()[0][2] == "-"
    assert [r for r in publisher.requests() if r[1] == "304"][0][2].startswith('"')
    publisher.publish(successor(lab, 6202).read_bytes())
    until("the next one is adopted", lambda: serial(gw) == before + 2, 15)
    assert problem(gw) is None and metric(gw, "postern_source_ok") == 1


@pytest.mark.parametrize("mode, words", [("truncated", "bytes remaining"), ("oversize", "larger than a snapshot can be"),
                                         ("announced", "larger than a snapshot can be"),
                                         ("redirect", "which is not followed"), ("missing", "status 404"),
                                         ("slow", "timed out")])
def test_a_misbehaving_server_is_an_alarm_and_changes_nothing(lab, gw, publisher, follow, mode, words):
    before = gw.status()["snapshot"]["hash"]
    publisher.publish(lab.edition(lab.base_policy().allowing("site-a", "site-b", "tcp", ports=[6301])).read_bytes(),
                      mode)
    # Only the endless answer needs its time: it is cut off by its size.
    timeout = 60 if mode == "oversize" else 2
    follow(f"url: '{publisher.url}', ca: {publisher.ca}, poll_s: 1, timeout_s: {timeout}")
    alarmed(gw, words, 30 + timeout)
    assert gw.status()["snapshot"]["hash"] == before and gw.status()["ready"]
    assert lab.host_b.ping(lab.host_a.address4, 1) == 1


def test_a_server_that_the_ca_does_not_vouch_for_is_not_believed(lab, gw, publisher, follow):
    before = gw.status()["snapshot"]["hash"]
    other, _key = make_ca(publisher.directory, "other-ca")
    publisher.publish(lab.edition(lab.base_policy().allowing("site-a", "site-b", "tcp", ports=[6401])).read_bytes())
    follow(f"url: '{publisher.url}', ca: {other}, {QUICK}")
    alarmed(gw, "certificate")
    assert gw.status()["snapshot"]["hash"] == before and publisher.requests() == []


def test_a_certificate_of_another_host_is_not_believed(lab, gw, follow):
    publisher = Publisher(lab.gateway.namespace, lab.directory / "disk" / "https-elsewhere", host="192.0.2.77")
    try:
        publisher.publish(lab.snapshot.read_bytes())
        follow(f"url: '{publisher.url}', ca: {publisher.ca}, {QUICK}")
        alarmed(gw, "127.0.0.1")
        assert publisher.requests() == []
    finally:
        publisher.close()


def test_a_tampered_snapshot_and_an_older_one_are_refused_from_a_url_too(lab, gw, publisher, follow):
    older = lab.snapshot
    gw.apply(successor(lab, 6501))
    before = gw.status()["snapshot"]["hash"]
    publisher.publish(older.read_bytes())
    follow(f"url: '{publisher.url}', ca: {publisher.ca}, {QUICK}")
    alarmed(gw, "snapshot.rollback")
    good = lab.edition(lab.base_policy().allowing("site-a", "site-b", "tcp", ports=[6502])).read_bytes()
    publisher.publish(good.replace(b"6502", b"6503"))
    alarmed(gw, "snapshot.signature")
    # What was refused is not remembered by its ETag: a mended document is asked for anew.
    assert all(r[2] == "-" for r in publisher.requests())
    assert gw.status()["snapshot"]["hash"] == before


def test_an_agent_that_stops_does_not_wait_for_a_slow_server(lab, gw, publisher, follow):
    publisher.publish(b"x" * 10_000, "slow")
    follow(f"url: '{publisher.url}', ca: {publisher.ca}, poll_s: 1, timeout_s: 600")
    until("the request is under way", publisher.requests)
    assert gw.stop() == 0
    gw.start()
