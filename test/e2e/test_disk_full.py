# SPDX-License-Identifier: Apache-2.0
"""A full disk: nothing is accepted, everything in force goes on, a start works, and free space ends it."""

import json

import pytest

from lab import MeshLab, run

A4 = "10.1.0.10"


@pytest.fixture
def small_disk_lab():
    """A lab whose gateway keeps its state on an ext4 of its own, of 64 MiB."""
    with MeshLab(start=False) as lab:
        gw = lab.gateway
        small = gw.files / "small"
        small.mkdir()
        image = gw.files / "small.img"
        run("truncate", "-s", "64M", image)
        run("mkfs.ext4", "-q", "-m", "0", image)
        run("mount", "-o", "loop", image, small)
        text = gw.config.read_text(encoding="utf-8")
        gw.config.write_text(text.replace(f"state: {gw.files}/state", f"state: {small}/state"), encoding="utf-8")
        lab.serve()
        yield lab


def fill(directory):
    """Takes every block; returns the file that holds them."""
    ballast = directory / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1 << 9):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    run("sync", "-f", ballast)
    return ballast


def checks_of(gw):
    done = gw.namespace.run(gw.postern, "--config", gw.config, "--json", "doctor", check=False)
    return {check["name"]: check["status"] for check in json.loads(done.stdout)["checks"]}


def test_a_full_disk_accepts_nothing_and_stops_nothing(small_disk_lab):
    lab, gw = small_disk_lab, small_disk_lab.gateway
    following = lab.edition(lab.base_policy())
    ballast = fill(gw.files / "small")
    refused = gw.cli("apply", following, check=False)
    assert refused.returncode == 8 and "journal.disk_full" in refused.stderr, refused.stderr
    status = gw.status()
    assert status["snapshot"]["serial"] == 1 and status["journal"]["poisoned"] is False and status["ready"] is True
    assert checks_of(gw)["disk.space"] == "warn"  # the spare is there
    assert lab.host_b.ping(A4, 3) == 3

    for end in (gw.stop, gw.kill):  # a clean end and a dirty one: the next start recovers into the spare
        end()
        gw.start()
        assert gw.status()["snapshot"]["serial"] == 1
        assert lab.host_b.ping(A4, 3) == 3

    ballast.unlink()
    gw.apply(following)
    assert gw.status()["snapshot"]["serial"] == 2
    assert checks_of(gw)["journal"] == "ok"
    gw.stop()
    gw.start()
    assert gw.status()["snapshot"]["serial"] == 2
