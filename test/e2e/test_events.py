# SPDX-License-Identifier: Apache-2.0
"""`postern events`: each event once, whatever happens to the agent, the journal and the reader in between."""

import json
import os
import random
import signal
import subprocess
import threading

import pytest

from lab import until
from lab.background import Background
from lab.journal_files import events as events_in

ZERO_HASH = "0" * 64


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def told(lines):
    return [line for line in lines if line["schema"] == "postern/event/v1"]


def ids(lines):
    return [(line["stream"], line["seq"], line["kind"]) for line in lines]


def written(gw):
    """What stands in the journal's files."""
    return ids(events_in(gw.files / "state" / "journal"))


def page(gw, *args, code=0):
    """(events, last line)"""
    done = gw.cli("--json", "events", *args, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    *lines, last = lines_of(done.stdout)
    assert last["schema"] == "postern/events-end/v1"
    return told(lines), last


def read_all(gw, cursor=None, limit=lambda: 1000):
    """Page by page, each by a process of its own, to the end."""
    seen = []
    while True:
        events, last = page(gw, "--limit", limit(), *(("--cursor", cursor) if cursor else ()))
        seen += events
        cursor = last["cursor"]
        if last["at_end"]:
            return seen, cursor


class Follower(Background):
    """`postern events --follow`, into a file."""

    def __init__(self, gw, *args):
        self.file = gw.files / f"followed-{random.getrandbits(32):08x}"
        with open(self.file, "wb") as out:
            super().__init__([gw.postern, "--config", gw.config, "--json", "events", "--follow", *args], out)

    def lines(self):
        text = self.file.read_text(encoding="utf-8")
        return lines_of(text[:text.rfind("\n") + 1])

    def ids(self):
        return ids(told(self.lines()))


def same_as_written(gw, follower):
    until("the follower has all", lambda: len(follower.ids()) >= len(written(gw)), 20)
    assert follower.ids() == written(gw)


def test_pages_of_random_sizes_give_each_event_once_while_the_agent_writes(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    stop = threading.Event()

    def adopt():
        while not stop.is_set():
            lab.adopt(lab.base_policy())
    writer = threading.Thread(target=adopt)
    writer.start()
    try:
        dice, seen, cursor = random.Random(7), [], None
        while len(seen) < 40:
            more, cursor = read_all(gw, cursor, lambda: dice.choice((1, 2, 3, 7, 1000)))
            seen += more
    finally:
        stop.set()
        writer.join()
    more, cursor = read_all(gw, cursor, lambda: dice.choice((1, 2, 3)))
    seen += more
    assert ids(seen) == written(gw)
    assert [int(event["lseq"]) for event in seen] == sorted({int(event["lseq"]) for event in seen})
    assert {(event["author"], event["standing"], event["counts"]) for event in seen} == {(gw.id, "counts", True)}
    assert page(gw, "--cursor", cursor)[0] == []
    # The cursor of each event is as good as a page's.
    for at in dice.sample(range(len(seen)), 5):
        assert ids(read_all(gw, seen[at]["cursor"])[0]) == ids(seen[at + 1:])


def test_a_follower_sees_each_event_once_over_kills_restarts_and_compactions(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway

    def adopt_and_be_told():
        before = follower.ids()
        lab.adopt(lab.base_policy())
        until("the follower is told without asking again", lambda: len(follower.ids()) > len(before), 10)
        assert follower.ids()[:len(before)] == before
    with Follower(gw) as follower:
        for end in (gw.kill, gw.stop, gw.kill):
            adopt_and_be_told()
            lab.adopt(lab.base_policy())  # and perhaps not told any more
            end()
            gw.start()
            adopt_and_be_told()
            gw.ask("journal", "compact")
            adopt_and_be_told()
        newest = page(gw)[0][-1]
        until("it has the newest", lambda: told(follower.lines())[-1]["hash"] == newest["hash"])
        code, _, err = follower.end()
        assert (code, err) == (0, "")
        streams = {}
        for stream, seq, _ in follower.ids():
            streams.setdefault(stream, []).append(seq)
        assert all(seqs == list(range(1, len(seqs) + 1)) for seqs in streams.values()), streams
        assert follower.lines()[-1]["cursor"] == newest["cursor"]
        assert {line["schema"] for line in follower.lines()} == {"postern/event/v1", "postern/events-end/v1"}


def compact_twice(lab):
    """Adoptions that nobody needs any more and that their author has summed up (SPEC 5.7), in segments that are gone.
    Returns all events that ever were."""
    gw, every, cursor = lab.gateway, [], None
    for adoptions in (34, 2):
        for _ in range(adoptions):
            lab.adopt(lab.base_policy())
        gw.kill()
        gw.start()  # which begins a segment
        lab.adopt(lab.base_policy())
        more, cursor = read_all(gw, cursor)
        every += more
        assert gw.ask("journal", "compact")["compacted"]
    return every


def test_what_was_compacted_away_is_said_and_what_is_kept_comes_once(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    opened, later = page(gw, "--limit", 1)[1]["cursor"], page(gw, "--limit", 3)[1]["cursor"]
    every = {int(event["lseq"]): event["hash"] for event in compact_twice(lab)}
    for args in ((), ("--cursor", opened)):  # a base keeps StreamOpened, so that cursor can be compared
        lines = lines_of(gw.cli("--json", "events", *args).stdout)
        (gap,) = [line for line in lines if line["schema"] == "postern/events-missing/v1"]
        first, last = int(gap["first"]), int(gap["last"])
        shown = [(int(event["lseq"]), event["hash"]) for event in told(lines)]
        assert first == (int(opened.split(":")[1]) if args else 1) and last > first
        assert shown == sorted(set(shown)) and all(every[lseq] == of for lseq, of in shown)
        within = [lseq for lseq, _ in shown if first <= lseq <= last]
        assert [lseq for lseq, _ in shown if lseq > last] == [lseq for lseq in every if lseq > last]
        assert len(within) < sum(first <= lseq <= last for lseq in every)
        by_two = read_all(gw, *args[1:], limit=lambda: 2)[0]
        assert [event["hash"] for event in by_two] == [of for _, of in shown]
    assert "(records 1.." in gw.cli("events").stdout
    # Where nothing is left to compare a cursor with, nobody can tell what its reader has.
    refused = gw.cli("--json", "events", "--cursor", later, check=False)
    assert refused.returncode == 9 and json.loads(refused.stdout)["error"]["code"] == "events.history_changed"


def test_a_cursor_that_leads_nowhere_is_a_reset_with_an_exit_code_of_its_own(lab, gw):
    cursor = page(gw, "--limit", 2)[1]["cursor"]
    journal, number, digest = cursor.split(":")
    for bad, code in ((f"{'7' * 32}:{number}:{digest}", "events.unknown_journal"),
                      (f"{journal}:{number}:{'7' * 64}", "events.history_changed"),
                      (f"{journal}:1000000:{digest}", "events.history_changed")):
        for args in ((), ("--follow",)):
            done = gw.cli("--json", "events", "--cursor", bad, *args, check=False)
            error = json.loads(done.stdout)["error"]
            assert (done.returncode, error["exit"], error["code"]) == (9, 9, code)
        done = gw.cli("events", "--cursor", bad, check=False)
        assert done.returncode == 9 and done.stdout == "" and code in done.stderr and "without a cursor" in done.stderr


@pytest.mark.parametrize("args, words", {
    "no cursor": (("--cursor", "abc"), "three parts"),
    "cut cursor": (("--cursor", f"{'a' * 32}:3:{'b' * 63}"), "64 lower-case hex digits"),
    "uncompared cursor": (("--cursor", f"{'a' * 32}:3:{ZERO_HASH}"), "zero for record 1"),
    "kind": (("--kind", "AuthorityAdoptd"), "AuthorityAdopted"),
    "author": (("--author", "nobody"), "gw"),
    "stream": (("--stream", "12"), "32 lower-case hex digits"),
    "since": (("--since", "yesterday"), "2026-11-29T13:50:48Z"),
    "until": (("--until", "3.5"), "a whole number"),
    "limit": (("--limit", "0"), "1"),
}.values())
def test_a_question_that_makes_no_sense_is_refused_with_what_was_expected(gw, args, words):
    for more in ((), ("--follow",)):
        done = gw.cli("events", *args, *more, check=False)
        assert done.returncode == 2 and done.stdout == "" and words in done.stderr, done.stderr


def test_filters_show_what_they_name_and_what_matches_nothing_is_no_error(lab, gw):
    every, _ = page(gw)
    stream, opened = every[0]["stream"], every[0]
    lamports = sorted(event["lamport"] for event in every)
    middle = lamports[len(lamports) // 2]
    for args, wanted in {
            ("--kind", "AuthorityAdopted"): lambda e: e["kind"] == "AuthorityAdopted",
            ("--kind", "StreamOpened", "--kind", "AuthorityActive"):
                lambda e: e["kind"] in ("StreamOpened", "AuthorityActive"),
            ("--author", gw.id): lambda e: True,
            ("--author", opened["key"], "--stream", stream): lambda e: e["stream"] == stream,
            ("--since", str(middle)): lambda e: e["lamport"] >= middle,
            ("--until", str(middle)): lambda e: e["lamport"] <= middle,
            ("--since", "2020-01-01T00:00:00Z", "--until", "2020-01-02T00:00:00Z"): lambda e: False,
            ("--kind", "StreamForked"): lambda e: False}.items():
        events, last = page(gw, *args)
        assert ids(events) == ids(filter(wanted, every)), args
        assert last["at_end"] and last["shown"] == str(len(events))
    assert "no such events" in gw.cli("events", "--kind", "StreamForked").stdout
    people = gw.cli("events", "--kind", "StreamOpened").stdout
    assert "LAMPORT" in people and gw.id in people and "--cursor " in people


def test_a_reader_that_is_gone_ends_it_quietly(lab, gw):
    for follow in ("", "--follow"):
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; \"$0\" --config \"$1\" events {follow} | head -1", gw.postern, gw.config],
            capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0 and done.stderr == "" and done.stdout.startswith("RECORD"), done


def test_a_slow_follower_loses_nothing_and_the_agent_keeps_nothing_for_it(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    with Follower(gw) as follower:
        same_as_written(gw, follower)
        os.kill(follower.process.pid, signal.SIGSTOP)
        for _ in range(5):
            lab.adopt(lab.base_policy())
        assert follower.ids() != written(gw)
        os.kill(follower.process.pid, signal.SIGCONT)
        same_as_written(gw, follower)


def test_a_follower_ends_after_as_many_as_it_was_asked_for(lab, gw):
    done = gw.cli("--json", "events", "--follow", "--limit", 2, timeout=20)
    assert ids(told(lines_of(done.stdout))) == ids(page(gw, "--limit", 2)[0])


def test_without_an_agent_it_is_said_where_else_to_look(fresh_lab):
    gw = fresh_lab.gateway
    gw.stop()
    for more in ((), ("--follow",)):
        done = gw.cli("events", *more, check=False, timeout=20)
        assert done.returncode == 3 and "postern journal show" in done.stderr
