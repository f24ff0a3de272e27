# SPDX-License-Identifier: Apache-2.0
"""Two agents never write one journal, whatever makes it look like two; who is refused has not changed one byte."""

import os
import shutil
import subprocess

import pytest

from lab import run, until
from lab.directory_digest import digest
from lab.gateway import BUILD
from lab.kernel_tables import KernelTables

A4 = "10.1.0.10"
DRIVER = BUILD / "journal-driver"


def second_config(gw, name, state, pins=None):
    """A config of a second agent in the same namespace, its state elsewhere."""
    text = gw.config.read_text(encoding="utf-8")
    text = text.replace(f"state: {gw.files}/state", f"state: {state}")
    text = text.replace(f"socket: {gw.files}/postern.sock", f"socket: {gw.files}/{name}.sock")
    text = text.replace("http: 127.0.0.1:9479", "http: off")
    if pins is not None:
        text = text.replace(f"pins: {gw.pins}", f"pins: {pins}")
    config = gw.files / f"{name}.yaml"
    config.write_text(text, encoding="utf-8")
    return config


def refused(gw, config, code, *before):
    """The second agent's refusal; `before` is a command line that it is put behind."""
    done = gw.namespace.run(*before, gw.posternd, "--config", config, check=False, timeout=20)
    assert done.returncode != 0, done.stdout + done.stderr
    assert code in done.stderr, done.stderr
    return done.stderr


@pytest.fixture
def serving(lab, gw):
    """Checked before and after: the first agent has noticed nothing."""
    state = gw.files / "state"
    before, selector, attached = digest(state), KernelTables(gw).selector(), gw.xdp_program("mesh0")
    yield gw
    assert digest(state) == before
    assert KernelTables(gw).selector() == selector and gw.xdp_program("mesh0") == attached
    assert gw.status()["ready"] and lab.host_b.ping(A4, 1) == 1


def test_the_state_by_another_way_to_it_is_the_same_state(serving):
    gw = serving
    other = gw.files / "bind"
    other.mkdir()
    config = second_config(gw, "bind", other)
    script = f"mount --bind {gw.files}/state {other} && exec \"$@\""
    said = refused(gw, config, "journal.contended", "unshare", "--mount", "sh", "-c", script, "sh")
    assert f"pid, boot and host {gw.pid} " in said
    other.rmdir()


def test_a_copy_of_the_state_that_is_served_is_refused(serving, tmp_path_factory):
    gw = serving
    copy = gw.files / "copy"
    shutil.copytree(gw.files / "state", copy)
    before = digest(copy)
    # Even with pins of its own, so that only the network namespace is shared.
    said = refused(gw, second_config(gw, "copy", copy, gw.pins / "second"), "journal.contended")
    assert f"pid {gw.pid}" in said and str(copy) in said
    assert digest(copy) == before
    shutil.rmtree(copy)


def test_a_network_namespace_of_its_own_does_not_make_a_second_writer(serving):
    gw = serving
    config = second_config(gw, "same", gw.files / "state")
    assert str(gw.pid) in refused(gw, config, "journal.contended", "unshare", "--net")


@pytest.mark.parametrize("kind", ["tmpfs", "overlay"])
def test_a_state_directory_on_a_file_system_that_forgets_is_refused(serving, kind):
    gw = serving
    below, copy = gw.files / "below", gw.files / "forgetful"
    shutil.copytree(gw.files / "state", below)
    copy.mkdir()
    if kind == "tmpfs":
        mount = f"mount -t tmpfs -o mode=0700 none {copy} && cp -a {below}/. {copy}"
    else:
        work = gw.files / "work"
        (work / "upper").mkdir(parents=True, mode=0o700)
        (work / "work").mkdir()
        mount = f"mount -t overlay -o lowerdir={below},upperdir={work}/upper,workdir={work}/work none {copy}"
    before = digest(below)
    said = refused(gw, second_config(gw, "forgetful", copy), "journal.file_system", "unshare", "--mount", "sh", "-c",
                   mount + " && exec \"$@\"", "sh")
    assert "ext4, xfs, btrfs or f2fs" in said
    assert digest(below) == before
    for directory in (below, copy, gw.files / "work"):
        shutil.rmtree(directory, ignore_errors=True)


def test_two_overlays_over_one_state_both_lock_and_still_only_one_writes(lab):
    """On a file system that the agent refuses; so the journal alone, which can be told to take it."""
    base = lab.directory / "disk" / "overlays"
    base.mkdir()
    assert run(DRIVER, "create", base / "lower").returncode == 0
    mounts = []
    for name in ("one", "two"):
        parts = {part: base / name / part for part in ("upper", "work", "merged")}
        for part in parts.values():
            part.mkdir(parents=True, mode=0o700)
        mounts.append(f"mount -t overlay -o lowerdir={base}/lower,upperdir={parts['upper']},workdir={parts['work']} "
                      f"none {parts['merged']}")
    script = f"""set -e
        {mounts[0]}
        {mounts[1]}
        mkfifo {base}/input
        {DRIVER} hold {base}/one/merged lab < {base}/input > {base}/first &
        exec 3> {base}/input
        while ! grep -q opened {base}/first; do kill -0 $!; done
        flock --nonblock {base}/two/merged/LOCK true && echo second lock is free
        find {base}/two/merged -printf '%p %m %s %T@\\n' -type f -exec sha256sum {{}} + | sort > {base}/before
        {DRIVER} hold {base}/two/merged lab < /dev/null || true
        find {base}/two/merged -printf '%p %m %s %T@\\n' -type f -exec sha256sum {{}} + | sort > {base}/after
        cmp {base}/before {base}/after && echo not one byte
        exec 3>&-
        wait
        {DRIVER} hold {base}/two/merged lab < /dev/null"""
    done = run("unshare", "--net", "--mount", "sh", "-c", script)
    lines = done.stdout.splitlines()
    assert lines[0] == "second lock is free"
    assert "refused journal.contended" in lines[1] and "pid " in lines[1]
    assert lines[2:] == ["not one byte", "opened clean"], done.stdout
    shutil.rmtree(base)


def test_a_writer_that_was_killed_leaves_nothing_locked(fresh_lab):
    gw = fresh_lab.gateway
    first = gw.pid
    gw.kill()
    gw.start()
    assert gw.pid != first and fresh_lab.host_b.ping(A4, 1) == 1


def test_a_state_directory_that_is_replaced_under_the_agent_is_noticed_while_idle(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    journal = gw.files / "state" / "journal"
    journal.rename(gw.files / "state" / "moved")
    shutil.copytree(gw.files / "state" / "moved", journal)
    until("the agent notices", lambda: gw.status()["journal"]["poisoned"], 15)
    status = gw.status()
    assert status["ready"] is False and "no longer the file that is locked" in status["journal"]["poison_reason"]
    assert "postern_journal_poisoned 1" in gw.http("/metrics")[1]
    assert lab.host_b.ping(A4, 3) == 3


def test_pins_of_another_journal_are_refused_and_left_alone(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.stop()
    state = gw.files / "state"
    state.rename(gw.files / "away")
    state.mkdir(mode=0o700)
    shutil.copy2(gw.files / "away" / "node.key", state)
    assert run(DRIVER, "create", state / "journal").returncode == 0
    before, selector = digest(state), KernelTables(gw).selector()
    done = gw.run_daemon()
    assert done.returncode != 0 and "agent.foreign_pins" in done.stderr, done.stderr
    assert KernelTables(gw).selector() == selector and lab.host_b.ping(A4, 3) == 3
    assert {name: facts for name, facts in digest(state).items() if name != "journal/LOCK"} == \
        {name: facts for name, facts in before.items() if name != "journal/LOCK"}


def test_snapshots_without_a_journal_are_refused_by_agent_and_init(fresh_lab):
    gw = fresh_lab.gateway
    gw.stop()
    assert gw.run_daemon("--detach").returncode == 0
    journal = gw.files / "state" / "journal"
    for segment in journal.glob("seg-*"):
        segment.unlink()
    assert list(journal.glob("auth-*"))
    before = digest(journal)
    for done in (gw.run_daemon(), gw.cli("init", check=False)):
        assert done.returncode != 0
        assert "journal." in done.stderr
        assert digest(journal) == before


def test_the_agents_descriptors_are_closed_in_what_it_starts(gw):
    directory = f"/proc/{gw.pid}/fdinfo"
    checked = 0
    for number in os.listdir(directory):
        try:
            target = os.readlink(f"/proc/{gw.pid}/fd/{number}")
            with open(f"{directory}/{number}", encoding="ascii") as file:
                flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
        except FileNotFoundError:
            continue
        if str(gw.files) in target or "socket" in target:
            checked += 1
            if int(number) > 2:
                assert flags & os.O_CLOEXEC, target
    assert checked >= 3


def test_another_machine_is_refused_until_told(fresh_lab):
    """A bind mount gives the agent another machine id."""
    lab, gw = fresh_lab, fresh_lab.gateway
    gw.stop()
    other = gw.files / "machine-id"
    other.write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
    if not os.path.exists("/etc/machine-id"):
        pytest.skip("this system has no machine id")
    before = digest(gw.files / "state")
    script = f"mount --bind {other} /etc/machine-id && exec \"$@\""
    said = refused(gw, gw.config, "journal.foreign_machine", "unshare", "--mount", "sh", "-c", script, "sh")
    assert "postern journal adopt" in said
    assert digest(gw.files / "state") == before
    assert lab.host_b.ping(A4, 3) == 3
    assert subprocess.run(["cat", "/etc/machine-id"], capture_output=True, text=True,
                          check=True).stdout.strip() != "0123456789abcdef0123456789abcdef"
