# SPDX-License-Identifier: Apache-2.0
"""Bad input is refused with place and remedy, the exit code that scripts rely on, and nothing changed."""

import json
import socket

import pytest

from lab import run
from lab.signer import Signer, canonical, payload_of
from lab.traffic import UdpFlow, lost_nothing

A4 = "10.1.0.10"


def place(gw):
    status = gw.status()
    return status["snapshot"], status["generation"], status["ready"]


@pytest.fixture
def signer(lab):
    return Signer(lab.authority.directory / "authority.key")


@pytest.fixture
def following(lab):
    """The payload of a snapshot that could follow the adopted one, as a tree."""
    return json.loads(payload_of(lab.edition(lab.base_policy())))


def nested(depth):
    return b'{"a":' * depth + b"1" + b"}" * depth


def change(tree, **values):
    return {**tree, **values}


SIGNED = {
    "an unknown field": lambda t: canonical(change(t, colour="red")),
    "an unknown field in a row": lambda t: canonical(change(t, peers=[change(t["peers"][0], colour=1)])),
    "a missing field": lambda t: canonical({k: v for k, v in t.items() if k != "rules"}),
    "a duplicate key": lambda t: canonical(t)[:-1] + b',"v":1}',
    "spaces": lambda t: json.dumps(t, sort_keys=True, separators=(", ", ": ")).encode(),
    "keys out of order": lambda t: json.dumps(dict(reversed(sorted(t.items()))), separators=(",", ":")).encode(),
    "a float": lambda t: canonical(t).replace(b'"v":1', b'"v":1.0'),
    "a number beyond 2^53": lambda t: canonical(change(t, serial=2**53 + 1)),
    "an escape where none is needed": lambda t: canonical(t).replace(b'"lab"', b'"l\\u0061b"'),
    "a lone surrogate": lambda t: canonical(t).replace(b'"lab"', b'"\\ud800"'),
    "bytes that are no UTF-8": lambda t: canonical(t).replace(b'"lab"', b'"\xff"'),
    "deep nesting": lambda t: nested(100_000),
    "no object": lambda t: b"[]",
    "nothing": lambda t: b"",
    "another version": lambda t: canonical(change(t, v=2)),
    "another mesh": lambda t: canonical(change(t, mesh="other")),
    "a negative serial": lambda t: canonical(change(t, serial=-1)),
    "a history that does not chain": lambda t: canonical(change(t, prev="00" * 32)),
    "an expiry in the past": lambda t: canonical(change(t, issued="2020-01-01T00:00:00Z",
                                                        expires="2020-02-01T00:00:00Z")),
    "a peer that does not exist": lambda t: canonical(change(t, prefixes=[change(t["prefixes"][0],
                                                                              owner={"peer": "nobody"})])),
    "a peer inside its own mesh": lambda t: canonical(change(t, peers=[
        change(t["peers"][0], addresses=["10.2.0.7"]), *t["peers"][1:]])),
}


@pytest.mark.parametrize("fault", SIGNED)
def test_a_properly_signed_snapshot_with_a_fault_is_refused(lab, gw, signer, following, tmp_path, fault):
    before = place(gw)
    file = tmp_path / "snapshot.json"
    file.write_bytes(signer.seal(SIGNED[fault](following)))
    done = gw.cli("apply", file, check=False)
    assert done.returncode == 5, done.stderr
    assert "[snapshot." in done.stderr or "[json." in done.stderr, done.stderr
    assert place(gw) == before
    assert lab.host_b.ping(A4, 1) == 1


def test_two_owners_of_one_prefix_are_an_ownership_conflict(lab, gw, signer, following, tmp_path):
    before = place(gw)
    rival = change(next(row for row in following["prefixes"] if row["owner"] == {"peer": "b"}), owner={"peer": "c"})
    file = tmp_path / "snapshot.json"
    file.write_bytes(signer.seal(canonical(change(following, prefixes=[*following["prefixes"], rival]))))
    done = gw.cli("apply", file, check=False)
    assert done.returncode == 6
    assert rival["prefix"] in done.stderr and "snapshot.ownership" in done.stderr
    assert place(gw) == before


def test_the_signer_of_these_tests_is_one_that_the_agent_accepts(lab, gw, signer, following, tmp_path):
    """Or the refusals above would prove nothing."""
    file = tmp_path / "snapshot.json"
    file.write_bytes(signer.seal(canonical(following)))
    assert gw.apply(file)["serial"] == following["serial"]
    lab.policy = None
    lab.snapshot = lab.authority.directory / f"applied-{following['serial']}.json"
    lab.snapshot.write_bytes(file.read_bytes())


def test_a_signature_of_another_domain_is_none(gw, signer, following, tmp_path):
    file = tmp_path / "snapshot.json"
    file.write_bytes(signer.seal(canonical(following), domain=b"postern/event/v1"))
    done = gw.cli("apply", file, check=False)
    assert done.returncode == 5
    assert "snapshot.signature" in done.stderr


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def first_signature(data):
    return data[len(b'{"signatures":['):data.index(b'],"signed":')]


UNSIGNED = {
    "one bit of the payload flipped": lambda data: flip(data, len(data) // 2),
    "the last byte cut off": lambda data: data.rstrip(b"\n")[:-1],
    "cut in half": lambda data: data[:len(data) // 2],
    "something behind it": lambda data: data.rstrip(b"\n") + b'{"x":1}',
    "empty": lambda data: b"",
    "random": lambda data: bytes(range(256)) * 40,
    "signatures alone": lambda data: data[:data.index(b',"signed"')] + b"}",
    "no signature": lambda data: b'{"signatures":[],"signed":' + data[data.index(b',"signed":') + 10:],
    "more signatures than fit": lambda data: b'{"signatures":[' + (first_signature(data) + b",") * 400 + data[15:],
    "deep nesting unsigned": lambda data: b'{"signatures":' + b"[" * 30_000,
}


@pytest.mark.parametrize("fault", UNSIGNED)
def test_a_snapshot_that_nobody_signed_is_refused(lab, gw, following, tmp_path, fault):
    before = place(gw)
    data = lab.edition(lab.base_policy().revoking("b")).read_bytes()
    file = tmp_path / "snapshot.json"
    file.write_bytes(UNSIGNED[fault](data))
    done = gw.cli("apply", file, check=False)
    assert done.returncode in (5, 8), done.stderr
    assert place(gw) == before


def test_a_refused_snapshot_disturbs_no_flow(lab, gw, tmp_path):
    data = lab.edition(lab.base_policy().revoking("b")).read_bytes()
    file = tmp_path / "snapshot.json"
    file.write_bytes(flip(data, len(data) // 2))
    with UdpFlow(lab.host_b.namespace, lab.host_a.namespace, A4) as flow:
        for _ in range(20):
            assert gw.cli("apply", file, check=False).returncode == 5
        flow.wait_received(100)
    lost_nothing(flow)


def test_a_refusal_in_json_carries_code_and_exit(gw, tmp_path):
    file = tmp_path / "snapshot.json"
    file.write_bytes(b"{}")
    done = gw.cli("--json", "apply", file, check=False)
    assert done.returncode == 5
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "snapshot.envelope" and error["exit"] == 5 and error["message"]


# ---- configuration

CONFIGS = {
    "an unknown key": (lambda c: c + "colour: red\n", ["colour"]),
    "a misspelt key": (lambda c: c.replace("socket:", "sokcet:"), ["sokcet", "socket"]),
    "a duplicate key": (lambda c: c + "mesh: lab\n", ["mesh"]),
    "a bad address": (lambda c: c.replace("127.0.0.1:9479", "127.0.0.300:9479"), ["127.0.0.300"]),
    "no interfaces": (lambda c: c[:c.index("interfaces:")], ["interfaces"]),
    "a role that does not exist": (lambda c: c.replace("role: local", "role: lokal"), ["lokal", "local"]),
    "text that is no YAML": (lambda c: c + "\t: [\n", []),
}


@pytest.mark.parametrize("fault", CONFIGS)
def test_a_bad_config_is_refused_with_line_and_column_by_check_reload_and_start(lab, gw, fault, tmp_path):
    spoil, words = CONFIGS[fault]
    good = gw.config.read_text(encoding="utf-8")
    bad = tmp_path / "bad.yaml"
    bad.write_text(spoil(good), encoding="utf-8")
    checked = run(gw.postern, "config", "check", bad, check=False)
    started = gw.namespace.run(gw.posternd, "--config", bad, check=False, timeout=20)
    before = place(gw)
    gw.config.write_text(spoil(good), encoding="utf-8")
    try:
        reloaded = run(gw.postern, "--socket", gw.files / "postern.sock", "reload", check=False)
    finally:
        gw.config.write_text(good, encoding="utf-8")
    for done in (checked, started, reloaded):
        assert done.returncode == 4, done.stderr
        for word in words:
            assert word in done.stderr, done.stderr
    assert f"{bad}:" in checked.stderr
    assert checked.stderr.split(f"{bad}:", 1)[1].split(":")[0].isdigit(), checked.stderr
    assert place(gw) == before


def test_a_missing_interface_is_named_with_those_that_exist(lab, gw, tmp_path):
    config = tmp_path / "missing.yaml"
    config.write_text(gw.config.read_text(encoding="utf-8").replace("name: site0", "name: site7"), encoding="utf-8")
    gw.stop()
    try:
        done = gw.namespace.run(gw.posternd, "--config", config, check=False, timeout=20)
    finally:
        gw.start()
    assert done.returncode == 4
    assert "site7" in done.stderr and "site0" in done.stderr and "netdev.interface_missing" in done.stderr


def test_an_absent_config_is_named_and_an_absent_agent_is_exit_3(gw, tmp_path):
    done = run(gw.posternd, "--config", tmp_path / "none.yaml", check=False)
    assert done.returncode == 1
    assert "none.yaml" in done.stderr
    done = run(gw.postern, "--socket", tmp_path / "none.sock", "status", check=False)
    assert done.returncode == 3
    assert "none.sock" in done.stderr


def test_a_usage_error_is_exit_2(gw):
    assert gw.cli("aply", check=False).returncode == 2
    assert gw.cli("owners", "--address", "10.1.0.300", check=False).returncode == 2


def test_the_control_socket_survives_garbage(gw, lab):
    for garbage in (b"", b"\n", b"GET / HTTP/1.1\r\n\r\n", b"{" * 100_000 + b"\n", bytes(range(256)),
                    b'{"arguments":{},"body_bytes":9007199254740993,"command":"apply"}\n',
                    b'{"arguments":{},"body_bytes":0,"command":"explode"}\n'):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(str(gw.files / "postern.sock"))
            try:
                sock.sendall(garbage)
                sock.shutdown(socket.SHUT_WR)
                answer = sock.recv(65536)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
        assert answer == b"" or "error" in json.loads(answer)
    assert gw.status()["ready"]
    assert lab.host_b.ping(A4, 1) == 1
