# SPDX-License-Identifier: Apache-2.0
"""Keys, init and config check: nothing is ever replaced, and every error names its place."""

import pathlib
import re

import pytest

from lab.authority import public_key
from lab.command_line import AUTHORITY, CONFIG, FAILURE, Desk, Site, accepted, accepted_json, refused


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


# ---- keys


def test_a_new_key_is_its_owners_alone_and_never_replaces_another(tmp_path):
    path = tmp_path / "a.key"
    made = accepted_json("keygen", path)
    assert made["created"] and path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    assert str(path) in refused(FAILURE, "keygen", path)
    assert path.read_bytes() == before
    shown = accepted_json("keygen", "--public", path)
    assert (shown["public"], shown["id"]) == (made["public"], made["id"]) and not shown["created"]


def test_a_key_that_others_may_read_is_refused(tmp_path):
    path = tmp_path / "a.key"
    accepted("keygen", path)
    path.chmod(0o640)
    assert "chmod 600" in refused(AUTHORITY, "keygen", "--public", path)


# ---- init


def test_init_makes_state_and_a_second_one_changes_nothing_and_says_what_is_there(site, desk):
    made = accepted_json("--config", site.config, "init", "--root", desk.root)
    assert made["key_created"] and made["root_present"]
    assert site.state.stat().st_mode & 0o777 == 0o700
    assert (site.state / "node.key").stat().st_mode & 0o777 == 0o600
    assert site.root.read_bytes() == desk.root.read_bytes()

    def content():
        return {path: path.read_bytes() for path in site.state.rglob("*") if path.is_file()}
    before = content()
    said = refused(FAILURE, "--config", site.config, "init", "--root", desk.root)
    assert "journal.exists" in said and made["public"] in said and str(site.state / "node.key") in said
    assert content() == before


def test_init_goes_on_with_a_key_that_is_there(site):
    site.state.mkdir(mode=0o700)
    key = public_key(accepted("keygen", site.state / "node.key"))
    made = accepted_json("--config", site.config, "init")
    assert made["public"] == key and not made["key_created"] and not made["root_present"]


def test_init_refuses_a_journal_whose_key_is_gone(site):
    accepted("--config", site.config, "init")
    (site.state / "node.key").unlink()
    assert "backup" in refused(FAILURE, "--config", site.config, "init")
    assert not (site.state / "node.key").exists()


def test_init_refuses_while_the_kernel_serves_tables_of_a_lost_journal(site):
    (site.pins / "lab" / "gw" / "selector").mkdir(parents=True)
    assert "--detach" in refused(FAILURE, "--config", site.config, "init")
    assert not site.state.exists()


def test_init_refuses_a_trust_anchor_of_another_mesh_before_it_makes_anything(site, desk):
    other = desk.directory / "other.json"
    accepted("authority", "root", "--mesh", "other", "--key", desk.key, "-o", other)
    assert '"other"' in refused(AUTHORITY, "--config", site.config, "init", "--root", other)
    assert not site.state.exists() and not site.root.exists()


def test_init_never_replaces_a_different_trust_anchor(site, desk):
    site.root.parent.mkdir()
    site.root.write_text("something else\n")
    assert str(site.root) in refused(FAILURE, "--config", site.config, "init", "--root", desk.root)
    assert site.root.read_text() == "something else\n" and not site.state.exists()


def test_init_does_not_take_over_a_directory_that_others_use(site):
    site.state.mkdir(mode=0o755)
    (site.state / "theirs").write_text("x")
    assert "chmod 700" in refused(FAILURE, "--config", site.config, "init")
    assert site.state.stat().st_mode & 0o777 == 0o755


# ---- config check


def test_a_valid_config_is_ok_though_its_interfaces_do_not_exist(site):
    assert accepted("config", "check", site.config) == f"{site.config}: ok\n"
    assert accepted_json("--config", site.config, "config", "check")["ok"] is True


def test_the_example_files_are_valid():
    examples = pathlib.Path(__file__).resolve().parents[2] / "config"
    accepted("config", "check", examples / "postern.yaml")
    accepted("config", "check", "--policy", examples / "policy.yaml")


@pytest.mark.parametrize("old, new, place, words", [
    ("gateway: gw", "gatway: gw", "2:1", "gateway"),
    ("mesh: lab\n", "mesh: lab\nmesh: lab2\n", "2:1", "mesh"),
    ("role: local", "rolle: local", "9:19", "role"),
    ("role: underlay", "role: upstream", "8:25", "underlay"),
    ("gateway: gw\n", "gateway: gw\nhttp: 127.0.0.300:9479\n", "3:7", "127.0.0.300"),
    ("gateway: gw\n", "gateway: [gw\n", "", ""),
])
def test_an_invalid_config_is_refused_with_its_place(site, old, new, place, words):
    text = site.config.read_text()
    assert text.count(old) == 1
    site.config.write_text(text.replace(old, new))
    said = refused(CONFIG, "config", "check", site.config)
    assert f"{site.config}:{place}" in said and words in said
    assert said == refused(CONFIG, "--config", site.config, "init")
    assert said == refused(CONFIG, "--config", site.config, "status")


def test_an_invalid_policy_is_refused_with_its_place(desk):
    for old, new, words in (("vni: 100", "vnii: 100", "vni"), ("protocol: tcp", "protocol: sctp", "tcp"),
                            ("10.2.0.0/24", "10.2.0.1/24", "10.2.0.1/24"), ("owner: {peer: site-c}",
                                                                           "owner: {peer: site-x}", "site-x")):
        edited = desk.edited_policy(old, new)
        line = desk.line_of(edited, new)
        said = refused(CONFIG, "config", "check", "--policy", edited)
        assert re.search(rf"{re.escape(str(edited))}:{line}\b", said) and words in said, said
