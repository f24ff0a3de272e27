# SPDX-License-Identifier: Apache-2.0
"""The journal on real file systems whose disk loses what was not flushed, and fails flushes (SPEC 4.11).

A journal on ext4 or xfs on a loop device on a FUSE file that forgets. The driver appends and prints what was
acknowledged; at a random moment the disk crashes; the file system is mounted again and replays its own journal, and
the driver reads: every acknowledged event is there, once, in order, and at most the one in flight besides.
"""
import os
import pathlib
import random
import subprocess

import pytest

from lossy_mount import LossyMount

BUILD = pathlib.Path(os.environ.get("POSTERN_BUILD") or pathlib.Path(__file__).parents[2] / "build")
DRIVER = BUILD / "journal-driver"
ROUNDS = 60 if os.environ.get("NIGHTLY") else 6


def run(*arguments):
    return subprocess.run([DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def tags(lines, word):
    return [int(line.split()[1]) for line in lines if line.startswith(word + " ")]


def read(directory):
    done = run("read", directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return tags(done.stdout.splitlines(), "event")


@pytest.fixture(params=["ext4", "xfs"])
def disk(request):
    mount = LossyMount(request.param)
    yield mount
    mount.remove()


@pytest.fixture
def journal(disk):
    disk.mount()
    directory = disk.path / "journal"
    assert run("create", directory).returncode == 0
    return directory


def append(directory, count, size):
    """The lines printed, and the exit status."""
    done = run("append", directory, count, size)
    return done.stdout.splitlines(), done.returncode


def look(directory, before, lines):
    """What a start finds after `lines`; `before` is what the last one had found."""
    acked = tags(lines, "ack")
    found = read(directory)
    assert found == list(range(len(found)))
    assert before + len(acked) <= len(found) <= before + len(acked) + 1, f"{before} before, acknowledged {acked}"
    assert read(directory) == found
    return len(found)


def test_a_power_cut_that_drops_unflushed_writes_loses_nothing_acknowledged(disk, journal):
    choice = random.Random(1)
    known = 0
    for number in range(ROUNDS):
        # The first flushes are recovery's and the spare's: every other crash strikes there.
        disk.command(f"crash-at {choice.randint(1, 6 if number % 2 else 30)} {number}")
        lines, status = append(journal, 400, choice.choice([200, 3000, 40_000]))
        assert status != 0, "the driver did not notice that its disk is gone"
        disk.unmount()
        disk.command("restart")
        disk.mount()
        known = look(journal, known, lines)
    lost, at_stake = disk.lost()
    print(f"{disk.kind}: {ROUNDS} power cuts lost {lost} of {at_stake} unflushed sectors; {known} events")
    assert lost > 0 and known > 0, "no crash lost anything: this proves nothing"


def test_a_flush_that_fails_is_not_acknowledged_and_nothing_before_it_is_lost(disk, journal):
    choice = random.Random(2)
    known = 0
    for number in range(max(ROUNDS // 2, 2)):
        disk.command(f"fail-flush {choice.randint(1, 20)} {number}")
        lines, status = append(journal, 60, 5000)
        assert status != 0 and "refused journal." in lines[-1], lines[-1]
        disk.unmount()
        disk.mount()
        known = look(journal, known, lines)


def test_what_the_page_cache_shows_and_the_disk_refused_is_not_taken_for_stored(disk, journal):
    lines, status = append(journal, 3, 3000)
    assert status == 0, lines
    known = look(journal, 0, lines)
    disk.command("fail-records")
    lines, status = append(journal, 20, 3000)
    assert status != 0 and "journal.poisoned" in lines[-1] and not tags(lines, "ack"), lines
    # On the same mount, with the page cache as the failure left it; then from the disk alone.
    assert look(journal, known, lines) == known, "a record that the disk refused was taken for stored"
    lines, status = append(journal, 5, 3000)
    assert status == 0 and len(tags(lines, "ack")) == 5
    disk.unmount()
    disk.mount()
    assert len(read(journal)) == known + 5
