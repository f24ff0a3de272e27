# SPDX-License-Identifier: Apache-2.0
"""`postern doctor` names what is wrong and what to do, with an agent and without one, and changes nothing."""

import json
import os
import re

import pytest

from lab import run, until
from lab.directory_digest import digest

A4 = "10.1.0.10"


def doctor(gw):
    """({name: check}, exit code)"""
    done = gw.namespace.run(gw.postern, "--config", gw.config, "--json", "doctor", check=False)
    answer = json.loads(done.stdout)
    assert answer["schema"] == "postern/doctor/v1"
    failed = [check for check in answer["checks"] if check["status"] == "fail"]
    assert answer["ok"] is (not failed) and done.returncode == (1 if failed else 0)
    for check in answer["checks"]:
        assert check["found"] and (check["status"] == "ok") is (check["remedy"] == ""), check
    return {check["name"]: check for check in answer["checks"]}, done.returncode


def test_a_gateway_that_serves_has_nothing_to_mend(gw):
    before = digest(gw.files / "state")
    checks, code = doctor(gw)
    assert code == 0, checks
    assert {"config", "files", "disk.space", "agent", "journal", "authority", "authority.expiry", "clock", "xdp.mesh0",
            "xdp.site0", "backstop", "kernel.forwarding", "kernel.bpffs", "kernel.memlock"} <= set(checks)
    page = gw.namespace.run(gw.postern, "--config", gw.config, "doctor").stdout
    assert page.endswith("nothing that must be mended\n")
    assert digest(gw.files / "state") == before


def test_without_an_agent_the_files_are_looked_at_and_the_rest_is_said_to_be_unseen(fresh_lab):
    gw = fresh_lab.gateway
    gw.stop()
    before = digest(gw.files / "state")
    checks, code = doctor(gw)
    assert code == 0, checks
    assert checks["agent"]["status"] == "warn" and "XDP" in checks["agent"]["remedy"]
    assert checks["journal"]["status"] == "ok" and "clean" in checks["journal"]["found"]
    assert "backstop" not in checks
    assert digest(gw.files / "state") == before


def test_a_config_that_is_wrong_is_named_with_its_line(gw, tmp_path):
    config = tmp_path / "postern.yaml"
    config.write_text("mesh: lab\ngatway: gw\n", encoding="utf-8")
    done = run(gw.postern, "--config", config, "doctor", check=False)
    assert done.returncode == 1
    assert re.search(r"^fail +config .*postern\.yaml:2:1", done.stdout, re.M), done.stdout


def test_each_thing_that_is_taken_away_is_named(fresh_lab):
    gw = fresh_lab.gateway
    gw.detach_xdp("mesh0")
    gw.namespace.run("nft", "flush", "ruleset")
    gw.namespace.sysctl(**{"net.ipv4.ip_forward": 0})
    os.chmod(gw.files / "state" / "node.key", 0o644)
    checks, code = doctor(gw)
    assert code == 1
    failed = {name for name, check in checks.items() if check["status"] == "fail"}
    assert failed == {"xdp.mesh0", "backstop", "kernel.forwarding", "files"}
    assert "node.key has mode 0644, expected 0600" in checks["files"]["found"]


@pytest.mark.parametrize("fault, name, words", [
    (lambda state: os.chmod(state, 0o755), "files", "mode 0755"),
    (lambda state: os.chmod(state / "journal" / "seg-1", 0o640), "files", "seg-1 has mode 0640"),
    (lambda state: os.link(state / "journal" / "seg-1", state / "copy"), "files", "2 names"),
    (lambda state: (state / "journal" / "link").symlink_to("/etc/passwd"), "files", "no plain file"),
    (lambda state: (state / "node.key").unlink(), "files", "node.key"),
], ids=["open directory", "open segment", "hard link", "symbolic link", "no key"])
def test_state_that_others_could_reach_is_named(fresh_lab, fault, name, words):
    gw = fresh_lab.gateway
    gw.stop()
    fault(gw.files / "state")
    checks, code = doctor(gw)
    assert code == 1 and checks[name]["status"] == "fail" and words in checks[name]["found"], checks[name]


def break_disk(gw, call):
    """From now on this system call of the running agent fails on the segment that is written."""
    segments = sorted((gw.files / "state" / "journal").glob("seg-*"), key=lambda path: int(path.name[4:]))
    tracer = gw.namespace.popen("strace", "-f", "-qq", "-o", gw.files / "trace", "-P", segments[-1],
                                "-e", f"trace={call}", "-e", f"inject={call}:error=EIO", "-p", gw.pid)

    def attached():
        with open(f"/proc/{gw.pid}/status", encoding="ascii") as file:
            return "TracerPid:\t0" not in file.read()
    until("strace is attached", attached)
    return tracer


def test_a_poisoned_journal_shows_everywhere_and_forwarding_goes_on(fresh_lab):
    lab, gw = fresh_lab, fresh_lab.gateway
    following = lab.edition(lab.base_policy())
    tracer = break_disk(gw, "fdatasync")
    refused = gw.cli("apply", following, check=False)
    tracer.terminate()
    tracer.wait(timeout=10)
    assert refused.returncode != 0
    again = gw.cli("apply", following, check=False)  # the disk is well again, this process is not
    assert again.returncode != 0 and "journal.poisoned" in again.stderr, again.stderr

    checks, code = doctor(gw)
    assert code == 1 and checks["journal"]["status"] == "fail"
    assert "fdatasync" in checks["journal"]["found"] and "restart posternd" in checks["journal"]["remedy"]
    status = gw.status()
    assert status["ready"] is False and status["journal"]["poisoned"] is True
    assert gw.http("/healthz")[0] == 503
    assert "postern_journal_poisoned 1" in gw.http("/metrics")[1]
    until("the log says it", lambda: "the journal is poisoned" in gw.log())
    assert status["snapshot"]["serial"] == 1 and lab.host_b.ping(A4, 3) == 3

    gw.stop()
    gw.start()  # recovers; whether serial 2 was stored is now known, and nothing acknowledged is lost
    assert gw.status()["snapshot"]["serial"] in (1, 2)
    gw.cli("apply", following, check=gw.status()["snapshot"]["serial"] == 1)
    assert gw.status()["snapshot"]["serial"] == 2 and doctor(gw)[1] == 0
