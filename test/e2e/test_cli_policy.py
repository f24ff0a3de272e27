# SPDX-License-Identifier: Apache-2.0
"""An authority's life with policies and keys: tests and warnings, what would change for whom, keys with passphrases,
several signers, other keys, timestamps."""

import json
import os
import pty
import subprocess

import pytest

from lab.authority import public_key
from lab.command import run
from lab.command_line import (AUTHORITY, CAPACITY, CONFIG, OK, POSTERN, USAGE, Desk, accepted, accepted_json, postern,
                              refused)
from lab.signer import payload_of

CHANGES = 7
TESTS = """\
tests:
  - {segment: blue, from: 10.1.0.5, to: 10.2.0.9, protocol: tcp, port: 8042, expect: allow}
  - {segment: blue, from: 10.1.0.5, to: 10.3.0.9, protocol: tcp, port: 80, expect: deny}
"""
SERVICES = """\
services:
  - {id: www, protocol: tcp, port: 443, backends: [{address: 10.2.0.5}, {address: 10.2.0.6, drain: true}]}
"""
MAX_POLICY_BYTES = 64 << 20


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def with_service(text):
    """The policy with a service of site-b that site-a may reach, and an ICMP rule for one code."""
    text = text.replace("rules:\n", "  - {segment: blue, prefix: 10.2.0.80/32, owner: {service: www}, class: site-b}\n" +
                        SERVICES + "rules:\n  - {from: site-a, to: site-b, protocol: any}\n"
                        "  - {from: site-b, to: site-a, protocol: icmp, types: [3], codes: [4]}\n")
    return text


def both_answers(*args):
    """(exit code, what people read, what programs read)"""
    people, programs = postern(*args), postern("--json", *args)
    assert people.returncode == programs.returncode and people.stderr == programs.stderr == ""
    return people.returncode, people.stdout, json.loads(programs.stdout)


def with_tests(desk, tests=TESTS):
    return desk.write("tested.yaml", desk.policy.read_text() + tests)


def with_passphrase(secret, *args):
    """Runs the tool with a pipe at its descriptor that holds the passphrase."""
    reading, writing = os.pipe()
    os.write(writing, secret.encode() + b"\n")
    os.close(writing)
    os.set_inheritable(reading, True)
    try:
        return subprocess.run([str(POSTERN), *map(str, args), "--passphrase-fd", str(reading)], capture_output=True,
                              text=True, close_fds=False, stdin=subprocess.DEVNULL, timeout=60)
    finally:
        os.close(reading)


# ---- tests and warnings

def test_a_policy_whose_tests_fail_does_not_compile_and_each_is_shown(desk):
    policy = with_tests(desk)
    assert accepted("authority", "test", policy).endswith("2 tests, 0 failed\n")
    desk.compile("good.json", policy=policy)
    broken = with_tests(desk, TESTS.replace("port: 8042", "port: 22"))
    out = desk.directory / "never.json"
    line = desk.line_of(broken, "port: 22")
    said = refused(CONFIG, "authority", "compile", broken, "-o", out)
    assert f"tested.yaml:{line}: 10.1.0.5 to 10.2.0.9 in blue, tcp port 22 must be allowed" in said
    assert not out.exists()
    done = postern("authority", "test", broken)
    assert done.returncode == CONFIG
    assert f"FAIL  {broken}:{line}: " in done.stdout and "pass  " in done.stdout
    assert json.loads(postern("--json", "authority", "test", broken).stdout)["failed"] == 1


def test_a_misspelled_name_is_named_with_line_and_column_and_what_was_meant(desk):
    edited = desk.edited_policy("owner: {peer: site-b}", "owner: {peer: siteb}")
    line = desk.line_of(edited, "siteb")
    column = edited.read_text().splitlines()[line - 1].index("siteb") + 1
    said = refused(CONFIG, "authority", "compile", edited, "-o", desk.directory / "x.json")
    assert f'edited.yaml:{line}:{column}: there is no peer "siteb"; did you mean "site-b"?' in said


def test_a_shadowed_rule_is_warned_about_and_compiles(desk):
    edited = desk.edited_policy("rules:\n", "rules:\n  - {from: site-a, to: site-b, protocol: tcp, ports: [8001]}\n")
    answer = accepted_json("authority", "compile", edited, "-o", desk.directory / "x.json")
    assert len(answer["warnings"]) == 1 and "is shadowed by the one on line" in answer["warnings"][0]


def test_tests_of_services_and_icmp_codes_say_what_decided_to_people_and_programs(desk):
    def line(source, target, what, expect):
        return f"  - {{segment: blue, from: {source}, to: {target}, protocol: {what}, expect: {expect}}}\n"
    policy = desk.write("services.yaml", with_service(desk.policy.read_text()) + "tests:\n" +
                        line("10.1.0.5", "10.2.0.80", "tcp, port: 443", "allow") +
                        line("10.1.0.5", "10.2.0.80", "tcp, port: 22", "allow") +
                        line("10.2.0.80", "10.1.0.5", "tcp, port: 443", "deny") +
                        line("10.2.0.9", "10.1.0.5", "icmp, type: 3, code: 4", "allow") +
                        line("10.2.0.9", "10.1.0.5", "icmp, type: 3", "deny"))
    code, said, answer = both_answers("authority", "test", policy)
    assert code == CONFIG and said.endswith("5 tests, 2 failed\n")
    assert [test["passed"] for test in answer["tests"]] == [True, False, True, True, False] and answer["failed"] == 2
    assert [test["because"] for test in answer["tests"][1:3]] == [
        'service "www" takes tcp port 443 alone',
        'the address of service "www" answers from tcp port 443 and asks for nothing']
    assert "10.2.0.9 to 10.1.0.5 in blue, icmp type 3 code 4" in said
    for test, shown in zip(answer["tests"], said.splitlines()):
        assert shown.startswith("pass" if test["passed"] else "FAIL")
        assert f"{policy}:{test['line']}: {test['what']}" in shown and shown.endswith(test["because"])


def test_a_policy_that_is_too_large_is_refused_alike_by_every_command_that_reads_one(desk):
    huge = desk.directory / "huge.yaml"
    with open(huge, "wb") as file:
        file.truncate(MAX_POLICY_BYTES + 1)
    words = set()
    for command in (("config", "check", "--policy", huge), ("authority", "test", huge),
                    ("authority", "compile", huge, "-o", desk.directory / "x.json"),
                    ("authority", "diff", desk.snapshot, huge)):
        words.add(refused(CAPACITY, *command))
    assert len(words) == 1 and f"larger than {MAX_POLICY_BYTES} bytes [file.too_large]" in words.pop()


# ---- what would change

def test_diff_says_who_is_cut_and_ends_with_the_code_for_changes(desk):
    assert accepted("authority", "diff", desk.snapshot, desk.policy) == "nothing changes for anybody\n"
    edited = desk.edited_policy('mac: "02:00:00:00:02:01"}', 'mac: "02:00:00:00:02:01", state: revoked}')
    done = postern("authority", "diff", desk.snapshot, edited)
    assert done.returncode == CHANGES and "peer site-b is cut off: it is revoked\n" in done.stdout
    after = desk.compile("two.json", "--after", desk.snapshot, policy=edited)
    answer = postern("--json", "authority", "diff", desk.snapshot, after)
    assert answer.returncode == CHANGES
    assert [c["kind"] for c in json.loads(answer.stdout)["changes"]] == ["peer.cut"]


def test_diff_tells_people_and_programs_of_services_icmp_codes_and_packet_rates(desk):
    before = desk.sign(desk.compile("two.json", policy=desk.write("before.yaml", with_service(desk.policy.read_text()))))
    text = with_service(desk.policy.read_text())
    for old, new in (("port: 443", "port: 8443"), ("10.2.0.6, drain: true", "10.2.0.7, weight: 2"), ("[4]", "[13]"),
                     ('mac: "02:00:00:00:02:01"', 'mac: "02:00:00:00:02:01", packet_rate: 700')):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    code, said, answer = both_answers("authority", "diff", before, desk.write("after.yaml", text))
    assert code == CHANGES
    assert said == """\
peer site-b its packet rate changes from none to 700 packets a second
service www its port changes from tcp 443 to tcp 8443
service www who answers for it changes from 10.2.0.5 (weight 1), 10.2.0.6 (weight 1, draining) to 10.2.0.5 (weight 1), \
10.2.0.7 (weight 2)
site-b to site-a, icmp types 3 codes 4 is no longer allowed by this rule
site-b to site-a, icmp types 3 codes 13 is allowed from now on
5 changes
"""
    assert [change["kind"] for change in answer["changes"]] == ["peer.changed", "service.changed", "service.changed",
                                                                "rule.lost", "rule.added"]
    assert [f"{change['subject']} {change['text']}" for change in answer["changes"]] == said.splitlines()[:-1]


def test_a_removed_gateway_leaves_a_tombstone_in_the_snapshot_that_follows(desk):
    other = public_key(accepted("keygen", desk.directory / "other.key"))
    second = f'  - {{id: gw2, key: "{other}", underlay: [192.0.2.9], mac: "02:00:00:00:01:02"}}\n'
    two = desk.sign(desk.compile("two.json", policy=desk.edited_policy("peers:\n", second + "peers:\n")))
    payload = json.loads(payload_of(desk.compile("three.json", "--after", two)))
    assert payload["tombstones"] == [{"id": "gw2", "key": other}]


# ---- keys and signatures

def test_a_key_with_a_passphrase_signs_with_it_and_with_no_other(desk):
    key = desk.directory / "sealed.key"
    made = with_passphrase("correct horse", "keygen", key)
    assert made.returncode == OK and "correct horse" not in made.stdout + made.stderr
    assert key.stat().st_mode & 0o777 == 0o600 and key.read_text().startswith("postern-sealed-key-v1 ")
    public = public_key(made.stdout)
    wrong = with_passphrase("wrong", "authority", "sign", desk.snapshot, "--key", key)
    assert wrong.returncode == AUTHORITY and "the passphrase is wrong" in wrong.stderr
    right = with_passphrase("correct horse", "authority", "sign", desk.snapshot, "--key", key)
    assert right.returncode == OK and "2 signatures in all" in right.stdout
    assert public in with_passphrase("correct horse", "keygen", "--public", key).stdout


def test_a_passphrase_is_asked_for_on_the_terminal_without_echo(desk):
    key = desk.directory / "sealed.key"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(POSTERN, [str(POSTERN), "keygen", str(key), "--passphrase"])
    seen = b""
    for prompt in (b"New passphrase: ", b"The same again: "):
        while not seen.endswith(prompt):
            seen += os.read(terminal, 1024)
        os.write(terminal, b"hunter2 hunter2\n")
    while True:
        try:
            piece = os.read(terminal, 1024)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    assert os.waitpid(pid, 0)[1] == 0 and b"hunter2" not in seen
    assert with_passphrase("hunter2 hunter2", "keygen", "--public", key).returncode == OK


def test_without_a_terminal_a_passphrase_is_demanded_by_descriptor_only(desk):
    key = desk.directory / "sealed.key"
    with_passphrase("x", "keygen", key)
    done = run("setsid", "--wait", POSTERN, "authority", "sign", desk.snapshot, "--key", key, check=False)
    assert done.returncode == USAGE and "--passphrase-fd" in done.stderr


def test_several_people_sign_one_after_another_and_nobody_twice(desk):
    payload = payload_of(desk.snapshot)
    before = desk.snapshot.read_bytes()
    again = accepted_json("authority", "sign", desk.snapshot, "--key", desk.key_file)
    assert again["signed_before"] and again["signatures"] == 1 and desk.snapshot.read_bytes() == before
    for number in range(2, 5):
        key = desk.directory / f"{number}.key"
        accepted("keygen", key)
        assert accepted_json("authority", "sign", desk.snapshot, "--key", key)["signatures"] == number
    ids = [s["key"] for s in json.loads(desk.snapshot.read_bytes())["signatures"]]
    assert ids == sorted(set(ids)) and payload_of(desk.snapshot) == payload


def test_rotate_makes_the_next_snapshot_with_other_keys_for_both_sides_to_sign(desk):
    new = desk.directory / "new.key"
    public = public_key(accepted("keygen", new))
    out = desk.directory / "rotated.json"
    args = ("authority", "rotate", "--after", desk.snapshot, "-o", out)
    refused(USAGE, *args)
    assert "no key of the authority" in refused(USAGE, *args, "--remove", "0" * 64)
    assert "the root has 0 keys" in refused(USAGE, *args, "--remove", desk.key)
    assert "threshold is 2" in refused(USAGE, *args, "--threshold", 2)
    answer = accepted_json(*args, "--add", public, "--remove", desk.key)
    payload = json.loads(payload_of(out))
    before = json.loads(payload_of(desk.snapshot))
    assert payload["root"] == {"keys": [public], "threshold": 1}
    assert payload["serial"] == before["serial"] + 1 and answer["serial"] == payload["serial"]
    assert payload["prefixes"] == before["prefixes"] and payload["rules"] == before["rules"]
    assert postern(*desk.verify(desk.sign(out))).returncode == AUTHORITY  # the new key has not signed yet
    accepted("authority", "sign", out, "--key", new)
    assert len(json.loads(out.read_bytes())["signatures"]) == 2
    done = postern("authority", "diff", desk.snapshot, out)
    assert done.returncode == CHANGES and "counts from now on" in done.stdout and "no longer counts" in done.stdout


def test_a_timestamp_vouches_for_a_snapshot_and_takes_more_signatures(desk):
    out = desk.directory / "timestamp.json"
    answer = accepted_json("authority", "timestamp", desk.snapshot, "--key", desk.key_file, "-o", out, "--expires", "6h")
    signed = json.loads(out.read_bytes())
    assert signed["signed"]["serial"] == 1 and signed["signed"]["mesh"] == "lab"
    assert signed["signed"]["hash"] == accepted_json(*desk.verify(desk.snapshot))["hash"] == answer["hash"]
    other = desk.directory / "other.key"
    accepted("keygen", other)
    assert accepted_json("authority", "sign", out, "--key", other)["signatures"] == 2
    # A timestamp's signature is none of a snapshot's.
    assert "timestamp of mesh lab" in accepted("authority", "sign", out, "--key", other)
