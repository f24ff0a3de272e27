# SPDX-License-Identifier: Apache-2.0
"""`postern journal`: looks without touching, backs up and brings back, mends only what it was told to lose."""

import json
import shutil
import subprocess

import pytest

from lab import MeshLab
from lab.directory_digest import digest
from lab.journal_files import events

A4 = "10.1.0.10"
BLOCK = 4096


class Place:
    """A state directory of its own, and the command-line tool pointed at it; no agent."""

    def __init__(self, lab, directory, image):
        self.gw = lab.gateway
        self.files = directory
        self.state = directory / "state"
        self.journal = self.state / "journal"
        shutil.copytree(image, self.state)
        self.config = directory / "postern.yaml"
        text = self.gw.config.read_text(encoding="utf-8")
        self.config.write_text(text.replace(f"state: {self.gw.files}/state", f"state: {self.state}")
                               .replace(f"socket: {self.gw.files}", f"socket: {directory}"), encoding="utf-8")

    def run(self, *args, before=()):
        return self.gw.namespace.run(*before, self.gw.postern, "--config", self.config, *args, check=False)

    def json(self, *args, code=0):
        done = self.run("--json", "journal", *args)
        assert done.returncode == code, done.stdout + done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return lines if args[0] == "show" else lines[0]

    def refused(self, code, *args, **options):
        done = self.run("journal", *args, **options)
        assert done.returncode != 0 and code in done.stderr, done.stdout + done.stderr
        return done.stderr

    def flip(self, name, offset):
        with open(self.journal / name, "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))


@pytest.fixture(scope="module")
def lab_with_image():
    """A lab that adopted three snapshots and was stopped; its state directory as an image."""
    with MeshLab() as lab:
        for _ in range(2):
            lab.adopt(lab.base_policy())
        lab.gateway.stop()
        image = lab.gateway.files / "image"
        shutil.copytree(lab.gateway.files / "state", image)
        yield lab, image


@pytest.fixture
def place(lab_with_image, request):
    lab, image = lab_with_image
    directory = lab.directory / "disk" / f"place-{abs(hash(request.node.name))}"
    directory.mkdir()
    yield Place(lab, directory, image)
    shutil.rmtree(directory)


@pytest.fixture
def archive(place):
    file = place.files / "archive"
    place.json("export", file)
    return file


def test_verify_tells_what_is_there_and_touches_nothing(place):
    before = digest(place.state)
    told = place.json("verify")
    assert told["schema"] == "postern/journal-verify/v1"
    assert told["condition"] == "clean" and told["clean_stop"] is True and told["conclusive"] is True
    assert int(told["events"]) == len(events(place.journal)) and told["forks"] == [] and told["gaps"] == []
    assert int(told["head"]) == int(told["records"]) and told["lock_holder"] is None and told["spare"] is True
    page = place.run("journal", "verify").stdout
    assert "clean" in page and "all signatures are good" in page
    assert digest(place.state) == before


def test_show_pages_through_every_event_once(place):
    wanted = events(place.journal)
    before, seen, start = digest(place.state), [], 1
    while True:
        *lines, page = place.json("show", "--limit", 2, "--from", start)
        assert page["schema"] == "postern/journal-page/v1" and page["source"] == "files"
        seen += lines
        start = int(page["next"])
        if page["at_end"]:
            break
    assert [(event["stream"], event["seq"], event["kind"]) for event in seen] == \
        [(event["stream"], event["seq"], event["kind"]) for event in wanted]
    assert "StreamOpened" in place.run("journal", "show").stdout
    assert digest(place.state) == before
    assert place.run("journal", "show", "--limit", 0).returncode == 2


def test_a_damaged_journal_is_named_and_only_what_was_accepted_is_given_up(place):
    place.flip("seg-1", 3 * BLOCK + 200)
    before = digest(place.state)
    told = place.json("verify", code=1)
    assert told["condition"] == "damage" and "seg-1" in told["finding"]
    assert f"postern journal repair --accept-loss-from {told['first_bad']}" in told["remedy"]
    place.refused("journal.damage", "export", place.files / "archive")
    assert not (place.files / "archive").exists() and not list(place.files.glob("*.unfinished"))
    checks = json.loads(place.run("--json", "doctor").stdout)["checks"]
    journal = next(check for check in checks if check["name"] == "journal")
    assert journal["status"] == "fail" and "--accept-loss-from" in journal["remedy"]
    lost = int(told["first_bad"])
    place.refused("journal.wrong_loss", "repair", "--accept-loss-from", lost + 1)
    assert digest(place.state) == before

    done = place.json("repair", "--accept-loss-from", lost)
    assert [(int(gap["first"]), int(gap["last"])) for gap in done["gaps"]] == [(lost, lost)]
    again = place.json("verify")
    assert again["condition"] == "clean"
    assert [(int(gap["first"]), gap["open"]) for gap in again["gaps"]] == [(lost, True)]
    place.refused("journal.nothing_to_repair", "repair", "--accept-loss-from", lost)


def test_a_repair_of_a_whole_journal_changes_nothing(place):
    before = digest(place.state)
    place.refused("journal.nothing_to_repair", "repair", "--accept-loss-from", 1)
    assert digest(place.state) == before


def test_an_archive_comes_back_as_another_journal_with_a_new_stream(place, archive):
    old_events, verified = events(place.journal), place.json("verify")
    snapshots = {path.name: path.read_bytes() for path in place.journal.glob("auth-*")}
    place.refused("journal.exists", "import", archive)  # beside a journal that is there
    place.journal.rename(place.files / "old")
    done = place.json("import", archive)
    assert done["from_journal"] == verified["journal"] != done["journal"]
    new_events = events(place.journal)
    assert new_events[:-1] == old_events
    opened = new_events[-1]
    assert opened["kind"] == "StreamOpened" and opened["stream"] == done["stream"]
    assert opened["body"]["predecessor"] == old_events[-1]["stream"]
    assert opened["body"]["last_seq"] == old_events[-1]["seq"]
    assert {path.name: path.read_bytes() for path in place.journal.glob("auth-*")} == snapshots
    told = place.json("verify")
    assert told["condition"] == "clean" and told["streams"] == 2
    assert sorted(path.name for path in place.state.iterdir()) == ["journal", "node.key", "starts"]


def test_an_archive_that_is_cut_off_or_changed_makes_no_journal(place, archive):
    whole = archive.read_bytes()
    shutil.rmtree(place.journal)
    lines = whole.splitlines(keepends=True)
    ends = [sum(len(line) for line in lines[:count]) for count in range(len(lines))]
    cuts = sorted({*ends, *(end - 1 for end in ends if end), len(whole) - 1})
    faults = [whole[:cut] for cut in cuts]
    faults += [whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:] for at in range(40, len(whole), len(whole) // 40)]
    faults.append(whole + b"\n")
    for fault in faults:
        archive.write_bytes(fault)
        assert archive.name in place.refused("", "import", archive)
        assert sorted(path.name for path in place.state.iterdir()) == ["node.key", "starts"]
    archive.write_bytes(whole)
    place.json("import", archive)


def test_an_archive_of_another_mesh_or_node_makes_no_journal(place, archive):
    shutil.rmtree(place.journal)
    text = place.config.read_text(encoding="utf-8")
    place.config.write_text(text.replace("mesh: lab", "mesh: other"), encoding="utf-8")
    place.refused("journal.foreign_archive", "import", archive)
    place.config.write_text(text, encoding="utf-8")
    (place.state / "node.key").unlink()
    said = place.refused("file.unreadable", "import", archive)
    assert "node.key" in said
    subprocess.run([place.gw.postern, "keygen", place.state / "node.key"], check=True, capture_output=True)
    assert "node.key" in place.refused("journal.archive_invalid", "import", archive)
    assert not place.journal.exists() and sorted(path.name for path in place.state.iterdir()) == ["node.key", "starts"]


def test_an_export_never_replaces_a_file_and_leaves_none_when_the_disk_is_full(place, tmp_path):
    file = place.files / "archive"
    file.write_text("precious", encoding="utf-8")
    place.refused("file.exists", "export", file)
    assert file.read_text(encoding="utf-8") == "precious"
    script = f"mount -t tmpfs -o size=8k none {tmp_path} && \"$@\"; code=$?; ls {tmp_path}; exit $code"
    done = place.run("journal", "export", tmp_path / "archive", before=("unshare", "--mount", "sh", "-c", script, "sh"))
    assert done.returncode == 1 and "file.unwritable" in done.stderr and "No space" in done.stderr, done.stderr
    assert done.stdout == ""  # nothing is left in the directory


def test_adopt_takes_another_machines_journal_over_once(place):
    place.refused("journal.nothing_to_adopt", "adopt")
    other = place.files / "machine-id"
    other.write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
    elsewhere = ("unshare", "--mount", "sh", "-c", f"mount --bind {other} /etc/machine-id && exec \"$@\"", "sh")
    before = digest(place.journal)
    told = json.loads(place.run("--json", "journal", "verify", before=elsewhere).stdout)
    assert told["foreign_machine"] is True and digest(place.journal) == before
    done = place.run("--json", "journal", "adopt", before=elsewhere)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["machine"] == "0123456789abcdef0123456789abcdef"
    assert json.loads(place.run("--json", "journal", "verify", before=elsewhere).stdout)["last_recovery"] == "adopted"
    place.refused("journal.nothing_to_adopt", "adopt", before=elsewhere)
    assert place.json("verify")["foreign_machine"] is True  # and is no longer this one's


def test_an_imported_journal_serves(lab_with_image, place, archive):
    """The restore of OPERATIONS, on the gateway itself."""
    lab, image = lab_with_image
    gw = lab.gateway
    shutil.rmtree(gw.files / "state" / "journal")
    assert gw.cli("journal", "import", archive).returncode == 0
    refused = gw.run_daemon()
    assert refused.returncode != 0 and "agent.foreign_pins" in refused.stderr
    assert gw.run_daemon("--detach").returncode == 0
    gw.start()
    try:
        assert gw.status()["snapshot"]["serial"] == 3
        lab.settle()
        lab.adopt(lab.base_policy())
        assert lab.host_b.ping(A4, 3) == 3
        online(gw)
    finally:
        gw.stop()
        assert gw.run_daemon("--detach").returncode == 0
        shutil.rmtree(gw.files / "state")
        shutil.copytree(image, gw.files / "state")


def online(gw):
    """With an agent: it shows its own events, and what needs the lock says who has it."""
    journal = gw.files / "state" / "journal"
    done = gw.cli("--json", "journal", "show", "--limit", 10000)
    *lines, page = [json.loads(line) for line in done.stdout.splitlines()]
    assert page["source"] == "agent" and page["at_end"] is True
    assert [event["hash"] for event in lines] and len(lines) == len(events(journal))
    told = json.loads(gw.cli("--json", "journal", "verify").stdout)
    assert told["condition"] == "clean" and str(gw.pid) in told["lock_holder"]
    live, later = gw.files / "live", gw.files / "later"
    gw.ask("journal", "export", live)
    assert int(gw.ask("journal", "compact")["base"]) >= 0
    gw.ask("journal", "export", later)
    for archive in (live, later):  # before the compaction all events are lines, after it the base has some
        parts = [json.loads(line) for line in archive.read_text(encoding="utf-8").splitlines()]
        assert int(parts[-1]["events"]) == sum("event" in part for part in parts)
        assert any(part.get("file", "").startswith("auth-") for part in parts)
    for args in (("repair", "--accept-loss-from", "1"), ("adopt",)):
        refused = gw.cli("journal", *args, check=False)
        assert refused.returncode == 1 and str(gw.pid) in refused.stderr, refused.stderr
