# SPDX-License-Identifier: Apache-2.0
"""A snapshot on the authority's desk: compiled, signed, verified, shown; and refused for any flaw, where it is."""

import json
import os
import re

import pytest

from lab.authority import public_key
from lab.command import run
from lab.command_line import (AUTHORITY, CAPACITY, CONFLICT, FAILURE, POSTERN, USAGE, Desk, accepted, accepted_json,
                              refused)
from lab.signer import canonical, payload_of


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_a_compiled_and_signed_snapshot_verifies_and_reads_as_sentences(desk):
    shown = accepted_json(*desk.verify(desk.snapshot))
    assert shown["serial"] == 1 and shown["mesh"] == "lab" and len(shown["signers"]) == 1
    page = accepted("authority", "show", desk.snapshot)
    assert "site-a may reach site-b by tcp to port 80, 8000-8100" in page
    assert "site-b may reach site-a by icmp type 0, 8" in page
    assert re.search(r"^site-c +REVOKED", page, re.M) and "1 gateway, 2 peers, 1 segment, 3 prefixes" in page
    payload = accepted("--json", "authority", "show", desk.snapshot)
    assert payload.rstrip("\n").encode() == payload_of(desk.snapshot)


def test_a_successor_counts_on_and_chains_to_the_hash_of_its_predecessor(desk):
    first = accepted_json(*desk.verify(desk.snapshot))
    second = json.loads(payload_of(desk.compile("two.json", "--after", desk.snapshot)))
    assert second["serial"] == 2 and second["prev"] == first["hash"]


def test_expiry_is_a_span_after_the_issue_or_an_instant(desk):
    issued = ("--issued", "2026-01-01T00:00:00Z")
    for given, expected in (("90d", "2026-04-01T00:00:00Z"), ("12h", "2026-01-01T12:00:00Z"),
                            ("90m", "2026-01-01T01:30:00Z"), ("2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z")):
        payload = json.loads(payload_of(desk.compile("x.json", *issued, "--expires", given)))
        assert (payload["issued"], payload["expires"]) == ("2026-01-01T00:00:00Z", expected)
    for bad in ("90", "0d", "-1d", "tomorrow", "2025-12-31T23:59:59Z", "2027-02-30T00:00:00Z"):
        refused(USAGE, "authority", "compile", desk.policy, "-o", desk.directory / "y.json", *issued, "--expires",
                bad)
    assert not (desk.directory / "y.json").exists()


def test_compile_never_writes_over_what_it_reads(desk):
    before = desk.snapshot.read_bytes()
    refused(USAGE, "authority", "compile", desk.policy, "--after", desk.snapshot, "-o", desk.snapshot)
    refused(USAGE, "authority", "compile", desk.policy, "-o", desk.policy)
    assert desk.snapshot.read_bytes() == before


def test_a_serial_and_a_predecessor_exclude_each_other(desk):
    refused(USAGE, "authority", "compile", desk.policy, "-o", desk.directory / "y.json", "--serial", 4, "--after",
            desk.snapshot)
    refused(USAGE, "authority", "compile", desk.policy, "-o", desk.directory / "y.json", "--serial", 0)


def test_a_policy_of_another_mesh_cannot_follow(desk):
    other = desk.edited_policy("mesh: lab", "mesh: other")
    assert '"other"' in refused(AUTHORITY, "authority", "compile", other, "--after", desk.snapshot, "-o",
                                desk.directory / "y.json")


def test_an_epoch_floor_that_falls_is_refused_before_anybody_signs_it(desk):
    resource = 'resources: [{id: vip, number: 1, candidates: [gw], floor: %d}]\nrules:'
    high = desk.sign(desk.compile("high.json", policy=desk.edited_policy("rules:", resource % 5)))
    low = desk.edited_policy("rules:", resource % 4)
    assert "vip" in refused(AUTHORITY, "authority", "compile", low, "--after", high, "-o", desk.directory / "y.json")


def test_two_owners_of_one_prefix_are_a_conflict_that_names_both_lines(desk):
    edited = desk.edited_policy("prefix: 10.3.0.0/24", "prefix: 10.2.0.0/24")
    first, second = (number for number, line in enumerate(edited.read_text().splitlines(), 1) if "10.2.0.0/24" in line)
    for args in (("authority", "compile", edited, "-o", desk.directory / "y.json"),
                 ("config", "check", "--policy", edited)):
        said = refused(CONFLICT, *args)
        assert f"{edited}:{first}" in said and f"{edited}:{second}" in said and "10.2.0.0/24" in said


def test_an_unsigned_snapshot_does_not_verify(desk):
    assert "postern authority sign" in refused(AUTHORITY, *desk.verify(desk.compile("raw.json")))


def test_a_signature_by_a_stranger_does_not_count(desk):
    stranger = desk.directory / "stranger.key"
    accepted("keygen", stranger)
    raw = desk.compile("raw.json")
    accepted("authority", "sign", raw, "--key", stranger)
    refused(AUTHORITY, *desk.verify(raw))


def test_a_threshold_of_two_needs_two_distinct_keys(desk):
    second = desk.directory / "second.key"
    key = public_key(accepted("keygen", second))
    root = desk.directory / "root2.json"
    accepted("authority", "root", "--mesh", "lab", "--threshold", 2, "--key", desk.key, "--key", key, "-o", root)
    policy = desk.edited_policy(f'threshold: 1\n  keys: ["{desk.key}"]',
                                f'threshold: 2\n  keys: ["{desk.key}", "{key}"]')
    raw = desk.compile("two-keys.json", policy=policy)
    for _ in range(2):
        desk.sign(raw)
    refused(AUTHORITY, "authority", "verify", raw, "--root", root)
    accepted("authority", "sign", raw, "--key", second)
    assert len(accepted_json("authority", "verify", raw, "--root", root)["signers"]) == 2


def test_a_snapshot_that_was_changed_after_signing_is_refused(desk):
    data = desk.snapshot.read_bytes()
    assert data.count(b'"10.2.0.0/24"') == 1
    desk.snapshot.write_bytes(data.replace(b'"10.2.0.0/24"', b'"10.2.1.0/24"'))
    assert "changed" in refused(AUTHORITY, *desk.verify(desk.snapshot))


def test_a_snapshot_of_another_mesh_is_refused(desk):
    other = desk.sign(desk.compile("other.json", policy=desk.edited_policy("mesh: lab", "mesh: other")))
    said = refused(AUTHORITY, *desk.verify(other))
    assert '"other"' in said and '"lab"' in said


def test_an_expired_snapshot_is_refused_and_can_be_judged_at_another_time(desk):
    old = desk.sign(desk.compile("old.json", "--issued", "2020-01-01T00:00:00Z", "--expires", "30d"))
    assert "2020-01-31T00:00:00Z" in refused(AUTHORITY, *desk.verify(old))
    accepted(*desk.verify(old, "--at", "2020-01-30T00:00:00Z"))
    refused(USAGE, *desk.verify(old, "--at", "yesterday"))


def damaged(payload):
    """(what is wrong, payload, words that the refusal has to say)"""
    tree = json.loads(payload)
    deep = b"[" * 40 + b"]" * 40
    yield "unknown field", canonical({**tree, "colour": "red"}), "colour"
    nested = json.loads(payload)
    nested["peers"][1]["colour"] = "red"
    yield "unknown field of a peer", canonical(nested), "peers[1].colour"
    yield "duplicate key", payload.replace(b'"mesh":"lab"', b'"mesh":"lab","mesh":"lab"'), '"mesh"'
    yield "white space", payload.replace(b'"mesh":"lab"', b'"mesh": "lab"'), str(payload.index(b'"mesh":') + 7)
    yield "order of keys", b'{"zzz":1,' + payload[1:], "byte"
    yield "a second spelling", payload.replace(b'"lab"', b'"l\\u0061b"'), "byte"
    yield "a float", payload.replace(b'"serial":1', b'"serial":1.0'), "integer"
    yield "deep nesting", payload.replace(b'"serial":1', b'"serial":' + deep), "nested"
    missing = json.loads(payload)
    del missing["rules"]
    yield "missing field", canonical(missing), "rules"
    unowned = json.loads(payload)
    unowned["prefixes"][1]["owner"] = {"peer": "nobody"}
    yield "owner that does not exist", canonical(unowned), "prefixes[1]"
    yield "text after it", payload + b"}", ""


def test_a_well_signed_document_with_any_flaw_is_refused_where_the_flaw_is(desk):
    payload = payload_of(desk.snapshot)
    accepted(*desk.verify(desk.sealed(payload)))
    for flaw, bytes_, words in damaged(payload):
        assert bytes_ != payload, flaw
        path = desk.sealed(bytes_)
        said = refused(AUTHORITY, *desk.verify(path))
        assert str(path) in said and words in said, (flaw, said)
        before = path.read_bytes()
        assert words in refused(AUTHORITY, "authority", "sign", path, "--key", desk.key_file), flaw
        assert path.read_bytes() == before, flaw


def test_two_owners_in_a_signed_document_are_a_conflict(desk):
    tree = json.loads(payload_of(desk.snapshot))
    tree["prefixes"][2]["prefix"] = tree["prefixes"][1]["prefix"]
    said = refused(CONFLICT, *desk.verify(desk.sealed(canonical(tree))))
    assert "prefixes[1]" in said and "prefixes[2]" in said


def test_what_is_no_signed_file_is_refused(desk):
    for text in ("", "{}", "[1,2]", "x" * 200_000, '{"signatures":[],"signed":{}}'):
        refused(AUTHORITY, *desk.verify(desk.write("odd.json", text)))
    refused(FAILURE, *desk.verify(desk.directory / "absent.json"))


def test_a_file_beyond_the_limit_is_refused_unread(desk):
    huge = desk.directory / "huge.json"
    with open(huge, "wb") as file:
        file.truncate(300 << 20)
    for args in (desk.verify(huge), ("authority", "show", huge), ("apply", huge)):
        assert str(huge) in refused(CAPACITY, *args)


def test_a_trust_anchor_is_judged_when_it_is_written(desk):
    out = desk.directory / "bad-root.json"
    for options in (("--key", "abc"), ("--key", desk.key, "--threshold", 2), ("--key", desk.key, "--threshold", 0),
                    ("--key", desk.key, "--key", desk.key)):
        refused(USAGE, "authority", "root", "--mesh", "lab", *options, "-o", out)
    refused(USAGE, "authority", "root", "--mesh", "No Mesh", "--key", desk.key, "-o", out)
    assert not out.exists()
    before = desk.root.read_bytes()
    refused(FAILURE, "authority", "root", "--mesh", "lab", "--key", desk.node, "-o", desk.root)
    assert desk.root.read_bytes() == before


LIMIT = 256 << 20


def test_a_document_of_the_largest_size_is_judged_in_bounded_memory_and_one_byte_more_is_not_looked_at(desk):
    text = b'{"classes":[],"epoch_floors":[],"expires":"' + b"x" * LIMIT
    deep = b'{"classes":' + b"[" * LIMIT
    many = b'{"classes":[' + b'{"id":"a"},' * (LIMIT // 11)
    path = desk.directory / "huge.json"
    cases = [(text, LIMIT, AUTHORITY, "expires is"), (text, LIMIT + 1, CAPACITY, "the limit is 268435456")]
    if os.environ.get("NIGHTLY"):
        cases += [(many, LIMIT, CAPACITY, "more than 65535 entries"), (deep, LIMIT, AUTHORITY, "nested deeper than")]
    for payload, size, code, said in cases:
        path.write_bytes(b'{"signatures":[],"signed":' + payload[:size - 2] + b'"}}')
        done = run("prlimit", f"--as={3 << 30}", POSTERN, "authority", "show", path, check=False, timeout=300)
        assert done.returncode == code and said in done.stderr, (done.returncode, done.stderr[-300:])


def test_a_revocation_is_made_for_a_resource_of_the_snapshot_and_signed_by_one_after_another(desk):
    text = desk.policy.read_text(encoding="utf-8")
    assert "resources:" not in text
    policy = desk.write("with-vip.yaml", text + "resources: [{id: vip, number: 7, candidates: [gw], ttl_ms: 8000}]\n")
    snapshot = desk.compile("vip.json", policy=policy)
    document = desk.directory / "revocation.json"
    order = ("authority", "revoke", snapshot, "vip", "--epoch", 3, "-o", document)
    made = accepted_json(*order)
    assert (made["resource"], made["number"], made["epoch"], made["signatures"]) == ("vip", 7, "3", 0)
    assert json.loads(payload_of(document))["resource"] == 7
    told = accepted("authority", "sign", document, "--key", desk.key_file)
    assert told.startswith("revocation in mesh lab: all claims of resource number 7 up to epoch 3, made ")
    assert "exists" in refused(FAILURE, *order)
    again = ("authority", "revoke", snapshot, "vop", "--epoch", 3, "-o", desk.directory / "other.json")
    assert 'no resource "vop"; did you mean "vip"?' in refused(USAGE, *again)
    refused(USAGE, *again[:3], "vip", "--epoch", 0, "-o", desk.directory / "other.json")
    assert not (desk.directory / "other.json").exists()
