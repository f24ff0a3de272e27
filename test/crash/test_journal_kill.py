# SPDX-License-Identifier: Apache-2.0
"""Kills a writing journal at each system call that touches its files, and looks at what the next start finds.

A first run under strace lists the calls; then each of them is where SIGKILL strikes once. After each kill: every event
that was acknowledged is there, once, in order; at most the one in flight is there besides; the journal opens, and opens
again to the same events. The second start also finishes what a killed recovery left.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

BUILD = pathlib.Path(os.environ.get("POSTERN_BUILD") or pathlib.Path(__file__).parents[2] / "build")
DRIVER = BUILD / "journal-driver"
PIECE = re.compile(r"pwrite64\((\d+), .*, (\d{6,}), \d+\) =")
CALLS = "openat2,pwrite64,fdatasync,fsync,renameat,renameat2,unlinkat,mkdir,flock"
# Whatever else a program can change files with. None is made: a kill there would be missed.
OTHER_CALLS = {"openat", "open", "creat", "pwritev", "pwritev2", "writev", "ftruncate", "truncate", "fallocate", "rename",
               "unlink", "link", "linkat", "symlink", "symlinkat", "sendfile", "copy_file_range", "splice", "msync",
               "sync_file_range", "syncfs", "sync", "mkdirat", "rmdir", "fchmod", "chmod", "fchmodat", "fchown", "setxattr",
               "fsetxattr", "io_uring_enter", "io_submit"}


def run(*arguments):
    return subprocess.run([DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=60)


def under_strace(options, *arguments):
    command = ["strace", "-qq", "-s", "40", "-e", f"trace={CALLS}", "-e", "signal=none", *options]
    return subprocess.run([*command, DRIVER, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def calls_of(scratch, *arguments):
    """The calls of an undisturbed run, in order: (name, how often it was called up to here, text)."""
    log = scratch / "strace.log"
    done = under_strace(["-o", str(log)], *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    seen, calls = collections.Counter(), []
    for line in log.read_text().splitlines():
        name = line.split("(")[0]
        seen[name] += 1
        calls.append((name, seen[name], line))
    return [call for at, call in enumerate(calls) if not is_between(calls, at)]


def is_between(calls, at):
    """Whether it writes a piece of a file between others of its size: of those the first and the last one are struck."""
    around = [PIECE.match(text) for _, _, text in calls[max(0, at - 1):at + 2]]
    return len(around) == 3 and all(around) and len({piece.groups() for piece in around}) == 1


def run_killed(call, *arguments):
    """The lines printed up to the kill, which strikes instead of `call`."""
    name, nth, _ = call
    done = under_strace(["-o", "/dev/null", "-e", f"inject={name}:signal=SIGKILL:when={nth}"], *arguments)
    assert done.returncode == -9 or done.returncode == 137, f"{call} killed nothing: {done}"
    return done.stdout.splitlines()


def tags(lines, word):
    return [int(line.split()[1]) for line in lines if line.startswith(word + " ")]


def read(directory):
    done = run("read", directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return tags(done.stdout.splitlines(), "event")


@pytest.fixture
def scratch():
    path = pathlib.Path(tempfile.mkdtemp(prefix="postern-crash-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


def copy(original, to):
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(original, to)
    return to


def kill_and_look(scratch, original, before, call, append):
    work = copy(original, scratch / "work")
    acked = tags(run_killed(call, "append", work, *append), "ack")
    assert acked == list(range(before, before + len(acked)))
    found = read(work)
    assert found == list(range(len(found))), f"killed at {call}"
    assert before + len(acked) <= len(found) <= before + len(acked) + 1, f"killed at {call}, acknowledged {acked}"
    assert read(work) == found, f"second start after a kill at {call}"


def test_a_kill_at_any_call_of_open_recovery_and_append_loses_nothing_acknowledged(scratch):
    original = scratch / "template"
    assert run("create", original).returncode == 0
    assert run("append", original, 3, 300).returncode == 0
    append = (2, 5000)
    calls = calls_of(scratch, "append", copy(original, scratch / "work"), *append)
    names = collections.Counter(name for name, _, _ in calls)
    # Recovery's segment, a new spare, two batches.
    assert names["renameat2"] == 1 and names["renameat"] == 1 and names["fdatasync"] == 4, names
    for call in calls:
        kill_and_look(scratch, original, 3, call, append)


def test_a_kill_at_any_call_of_a_roll_loses_nothing_acknowledged(scratch):
    original = scratch / "template"
    assert run("create", original).returncode == 0
    append = (175, 48_000)  # 170 fill a segment
    calls = calls_of(scratch, "append", copy(original, scratch / "work"), *append)
    roll = next(i for i, (name, _, text) in enumerate(calls) if name == "renameat2" and '"seg-2"' in text)
    # From the last append before it to the first one after it.
    window = calls[roll - 6:roll + 11]
    names = collections.Counter(name for name, _, _ in window)
    assert names["renameat2"] == 1 and names["renameat"] == 1 and names["fdatasync"] >= 4, window
    for call in window:
        kill_and_look(scratch, original, 0, call, append)


def test_a_kill_at_any_call_of_a_compaction_changes_nothing_that_is_read(scratch):
    original = scratch / "template"
    assert run("create", original).returncode == 0
    for _ in range(2):  # the second compaction removes what the first one stood on
        assert run("append", original, 3, 300).returncode == 0
        assert run("compact", original).stdout.splitlines()[-1] == "compacted"
    assert run("append", original, 3, 300).returncode == 0
    calls = calls_of(scratch, "compact", copy(original, scratch / "work"))
    texts = [text for _, _, text in calls]
    assert any("base-" in text and "rename" in text for text in texts) and any("unlink" in t and "seg-" in t for t in texts)
    for call in calls:
        work = copy(original, scratch / "work")
        run_killed(call, "compact", work)
        assert read(work) == list(range(9)), f"killed at {call}"
        assert run("compact", work).returncode == 0
        assert read(work) == list(range(9)), f"compacted after a kill at {call}"
        assert run("append", work, 1, 300).returncode == 0


def test_no_file_is_changed_by_a_call_that_no_kill_strikes(scratch):
    work = scratch / "work"
    log = scratch / "strace.log"
    for arguments in (["create", work], ["append", work, 175, 48_000], ["compact", work], ["append", work, 2, 300]):
        subprocess.run(["strace", "-qq", "-f", "-o", log, DRIVER, *map(str, arguments)], check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        lines = log.read_text().splitlines()
        main = lines[0].split()[0]
        for line in lines:
            thread, call = line.split(maxsplit=1)
            name = call.split("(")[0]
            assert name not in CALLS.split(",") or thread == main, f"no kill strikes this thread: {line}"
            reads = name in ("openat", "open") and "O_RDONLY" in call
            assert name not in OTHER_CALLS or reads, line
            assert name != "write" or call.startswith("write(1,"), line


def test_a_kill_at_any_call_of_creation_leaves_what_another_create_completes(scratch):
    work = scratch / "work"
    for call in calls_of(scratch, "create", work):
        shutil.rmtree(work, ignore_errors=True)
        run_killed(call, "create", work)
        again = run("create", work)
        assert again.returncode == 0 or "journal.exists" in again.stdout, again.stdout
        assert read(work) == []
        assert run("append", work, 1, 100).returncode == 0
