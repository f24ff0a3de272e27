# SPDX-License-Identifier: Apache-2.0
"""Where snapshots come from by themselves: what a source brings goes through the door of `apply`, and what goes wrong
with it touches nothing that was adopted (SPEC 6.3)."""

import os
import re
import time

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


def name_source(gw, source):
    """From the next start or reload on."""
    text = gw.config.read_text(encoding="utf-8")
    gw.config.write_text(f"{text}authority: {{source: {{{source}}}}}\n", encoding="utf-8")


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


@pytest.mark.parametrize("asleep", [True, False])
def test_a_directory_leads_a_gateway_over_changes_of_the_root(fresh_lab, asleep):
    """One that slept through several of them, or that follows each as it comes."""
    lab, gw = fresh_lab, fresh_lab.gateway
    inbox = lab.directory / "disk" / "inbox"
    inbox.mkdir()
    name_source(gw, f"directory: {inbox}")
    gw.reload()
    if asleep:
        gw.kill()
    for number, keep_old in enumerate((True, False, True, True), 2):
        if keep_old:
            lab.authority.rotate()
        # Those in between may be out of date by the time that it wakes.
        expires = "3s" if asleep and number < 5 else "90d"
        lab.snapshot = lab.edition(lab.base_policy(), keep_old=keep_old, expires=expires)
        put(lab.snapshot, inbox / f"{number}.json")
        if not asleep:
            until("it is followed", lambda: serial(gw) == number, 15)
    if asleep:
        until("those in between have expired", lambda: time.time_ns() > lab.snapshot.stat().st_mtime_ns + 4 * 10**9, 10)
        gw.start()
    until("the last one is adopted", lambda: serial(gw) == 5, 15)
    assert problem(gw) is None
    put(successor(lab, 6701), inbox / "6.json")
    until("the newest root's next one too", lambda: serial(gw) == 6, 15)


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


@pytest.mark.parametrize("mode, words", [("truncated", "bytes remaining"), ("oversize", "larger than what was asked for"),
                                         ("announced", "larger than what was asked for"),
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


# ---- timestamps

def frozen(gw):
    return next((p for p in gw.status()["problems"] if p.startswith("frozen:")), None)


def vouched(lab, valid):
    """A timestamp for the adopted snapshot, issued now. They are issued in whole seconds, and never go back."""
    return lab.authority.timestamp(lab.snapshot, valid=valid).read_bytes()


def rename_over(path, content):
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.rename(path)


@pytest.mark.parametrize("kind", ["file", "directory", "url"])
def test_a_source_that_delivers_no_fresh_timestamp_is_an_alarm_until_it_does(fresh_lab, kind, request):
    lab, gw = fresh_lab, fresh_lab.gateway
    inbox = lab.directory / "disk" / "inbox"
    inbox.mkdir()
    source, publish = f"{kind}: {inbox}", lambda content: rename_over(inbox / "timestamp.json", content)
    if kind == "file":
        put(lab.snapshot, inbox / "snapshot.json")
        source += "/snapshot.json"
    if kind == "url":
        publisher = Publisher(gw.namespace, lab.directory / "disk" / "https")
        request.addfinalizer(publisher.close)
        publisher.publish(lab.snapshot.read_bytes())
        source, publish = f"url: '{publisher.url}', ca: {publisher.ca}, {QUICK}", publisher.publish_timestamp
    name_source(gw, source)
    gw.reload()
    until("the source is looked at", lambda: metric(gw, "postern_source_ok") == 1)
    assert gw.status()["problems"] == [], "a source without timestamps is none to complain of"
    publish(vouched(lab, valid=4))
    until("the gateway is vouched for", lambda: gw.status()["authority"].get("timestamp"), 15)
    assert not frozen(gw) and problem(gw) is None
    until("the timestamp expires, and nobody brings another", lambda: frozen(gw), 15)
    assert metric(gw, 'postern_authority{state="frozen"}') == 1 and gw.status()["ready"]
    publish(vouched(lab, valid=600))
    until("the source brings one", lambda: not frozen(gw), 15)
    assert gw.status()["problems"] == [] and lab.host_b.ping(lab.host_a.address4, 1) == 1
    if kind == "url":
        until("it is not sent again", lambda: any(r[1] == "304" for r in publisher.requests("timestamp-requests")), 15)


def test_a_timestamp_from_a_source_goes_through_the_same_door(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    inbox = lab.directory / "disk" / "inbox"
    inbox.mkdir()
    put(lab.snapshot, inbox / "snapshot.json")
    name_source(gw, f"file: {inbox}/snapshot.json")
    gw.reload()
    good = vouched(lab, valid=600)
    rename_over(inbox / "timestamp.json", good.replace(b'"v":1', b'"v":2'))
    until("a changed one is refused", lambda: (p := timestamp_problem(gw)) and "snapshot.signature" in p)
    assert gw.status()["authority"]["timestamp"] is None
    rename_over(inbox / "timestamp.json", good)
    until("the true one is taken", lambda: timestamp_problem(gw) is None)
    put(successor(lab, 6601), inbox / "snapshot.json")
    until("snapshots go on beside it", lambda: serial(gw) == 2)
    rename_over(inbox / "timestamp.json", vouched(lab, valid=600))
    until("its successor vouches for the next one", lambda: gw.status()["authority"]["timestamp"]["serial"] == 2)
    rename_over(inbox / "timestamp.json", good)
    until("an old one is refused", lambda: (p := timestamp_problem(gw)) and "timestamp.rollback" in p)
    assert gw.status()["ready"] and problem(gw) is None


def timestamp_problem(gw):
    return next((p for p in gw.status()["problems"] if "source of timestamps" in p), None)
