# SPDX-License-Identifier: Apache-2.0
"""The command-line tool itself: usage, exit codes, and what it does when the agent is absent or odd."""

import json
import re
import socket
import subprocess
import threading

import pytest

from lab.command_line import (AUTHORITY, FAILURE, OK, POSTERN, UNREACHABLE, USAGE, Desk, Site, accepted, postern,
                              refused)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


# ---- the command line itself


def test_help_lists_every_command_under_a_heading_and_the_exit_codes():
    out = accepted("--help")
    for command in ("init", "keygen", "config", "authority", "status", "peers", "links", "owners", "drops", "apply", "reload"):
        assert re.search(rf"^  {command} ", out, re.M), command
    assert "Look at the running gateway" in out and "5 signature, rollback" in out


@pytest.mark.parametrize("args", [
    [], ["sttaus"], ["status", "extra"], ["status", "--chekc", "live"], ["status", "--check", "well"], ["apply"],
    ["authority"], ["authority", "compile", "x.yaml"], ["keygen"], ["keygen", "a", "--public", "b"],
    ["--timeout", "0", "status"], ["--timeout", "soon", "status"], ["owners", "--address", "10.0.0.0/8"],
])
def test_a_command_line_that_makes_no_sense_is_usage(args):
    refused(USAGE, *args)


def test_an_unknown_command_is_named_with_the_nearest_one():
    assert "did you mean status?" in refused(USAGE, "sttaus")


def test_output_that_cannot_be_written_is_a_failure(site):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([POSTERN, "config", "check", site.config], stdout=full, stderr=subprocess.PIPE,
                              check=False)
    assert done.returncode == FAILURE and b"cannot write" in done.stderr


# ---- the agent's absence


def test_without_an_agent_the_socket_and_the_way_to_start_one_are_named(site, desk):
    for command in (["status"], ["status", "--check", "live"], ["peers"], ["links"], ["owners"], ["drops"], ["reload"],
                    ["apply", desk.snapshot]):
        said = refused(UNREACHABLE, "--config", site.config, *command)
        assert str(site.socket) in said and "posternd" in said
    other = desk.directory / "other.sock"
    assert str(other) in refused(UNREACHABLE, "--config", site.config, "--socket", other, "status")


def test_a_file_that_cannot_be_read_is_no_agents_fault(site):
    refused(FAILURE, "--config", site.config, "apply", site.config.parent / "absent.json")
    refused(FAILURE, "--config", site.config.parent / "absent.yaml", "status")


class Listener:
    """A socket that takes one request after another and answers each with the same bytes: to its first piece, or to
    the whole of it."""

    def __init__(self, path, answer, whole):
        self.requests = []
        self._whole = whole
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                self.requests.append(self._request(connection))
                if self._answer is None:
                    connection.recv(1)
                else:
                    connection.sendall(self._answer)

    def _request(self, connection):
        with connection.makefile("rb") as stream:
            line = stream.readline()
            return line + stream.read(json.loads(line)["body_bytes"] if self._whole else 0)

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def listener(site):
    opened = []

    def listen(answer, whole=False):
        opened.append(Listener(site.socket, answer, whole))
        return opened[-1]
    yield listen
    for each in opened:
        each.close()


def test_an_agent_that_does_not_answer_is_given_up_at_the_timeout(site, listener):
    listener(None)
    assert "--timeout" in refused(UNREACHABLE, "--config", site.config, "--timeout", 1, "status")


def test_an_agent_that_hangs_up_leaves_the_outcome_unknown(site, listener):
    listener(b"")
    assert "unknown" in refused(UNREACHABLE, "--config", site.config, "status")


def test_an_answer_that_is_none_is_a_failure(site, listener):
    listener(b"HTTP/1.1 400 Bad Request\n")
    assert str(site.socket) in refused(FAILURE, "--config", site.config, "status")


def test_a_refusal_by_the_agent_keeps_its_code_and_its_exit(site, listener):
    listener(b'{"error":{"code":"snapshot.rollback","exit":5,"message":"serial 1 is older than 2"}}\n')
    said = refused(AUTHORITY, "--config", site.config, "peers")
    assert said == "postern: serial 1 is older than 2 [snapshot.rollback]\n"


def test_a_large_snapshot_that_is_refused_unread_still_gives_the_reason(site, listener, tmp_path):
    big = tmp_path / "big.json"
    big.write_bytes(b"x" * (8 << 20))
    listener(b'{"error":{"code":"control.forbidden","exit":1,"message":"not you"}}\n')
    assert "not you" in refused(FAILURE, "--config", site.config, "apply", big)


def test_the_question_is_one_line_and_the_body_follows(site, listener, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(b"BODY")
    asked = listener(b'{"result":{"changed":false,"generation":3,"schema":"postern/apply/v1","serial":7,'
                     b'"tables_written":[]}}\n', whole=True)
    assert "serial 7" in accepted("--config", site.config, "apply", body)
    head, rest = asked.requests[0].split(b"\n", 1)
    assert json.loads(head) == {"arguments": {}, "body_bytes": 4, "command": "apply"} and rest == b"BODY"


def test_a_check_is_one_line_and_an_exit_code(site, listener):
    listener(b'{"result":{"live":true,"problems":["no snapshot is adopted"],"ready":false,'
             b'"schema":"postern/status/v1"}}\n')
    done = postern("--config", site.config, "status", "--check", "ready")
    assert (done.returncode, done.stdout) == (FAILURE, "not ready: no snapshot is adopted\n")
    done = postern("--config", site.config, "status", "--check", "live")
    assert (done.returncode, done.stdout) == (OK, "live\n")
    done = postern("--config", site.config, "--json", "status", "--check", "ready")
    assert done.returncode == FAILURE and json.loads(done.stdout)["ok"] is False


def test_drops_show_what_struck_first_and_the_rest_on_request(site, listener):
    rows = [{"number": n, "reason": r, "packets": p, "bytes": "60", "help": f"help for {r}"}
            for n, r, p in ((1, "malformed", "0"), (2, "source_denied", "3"), (3, "policy_denied", "12"))]
    answer = {"result": {"drops": rows, "schema": "postern/drops/v1", "verdicts": []}}
    listener(json.dumps(answer, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    shown = accepted("--config", site.config, "drops").splitlines()
    assert shown[0].split() == ["PACKETS", "BYTES", "REASON", "MEANING"]
    assert [line.split()[2] for line in shown[1:]] == ["policy_denied", "source_denied"]
    everything = accepted("--config", site.config, "drops", "--all")
    assert "help for malformed" in everything
