# SPDX-License-Identifier: Apache-2.0
"""Ten thousand lives of whole meshes, by seed (SPEC 10.8); `make nightly` makes it a million.

A failure prints its seed; `build/mesh-simulation --seed N --verbose` lives it again.
"""
import os
import pathlib
import re
import subprocess

BUILD = pathlib.Path(os.environ.get("POSTERN_BUILD") or pathlib.Path(__file__).parents[2] / "build")


def simulate(*arguments):
    return subprocess.run([BUILD / "mesh-simulation", *map(str, arguments)], capture_output=True, text=True, timeout=1200)


def test_claim_fencing_tests_in_ten_thousand_lives_no_stale_owner_wins():
    done = simulate("--seeds", 10_000, "--jobs", os.cpu_count())
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("steps over", "ends of links", "meddlings", "met a link", "recordings", "twins"):
        met = re.findall(rf"(\d+) {what}", done.stdout)
        assert len(met) == os.cpu_count() and "0" not in met, f"{what}: {done.stdout}"


def test_a_seed_is_the_whole_life():
    for seed in range(16):  # all kinds of lives
        first, second = (simulate("--seed", seed, "--verbose") for _ in range(2))
        assert first.returncode == 0 and first.stdout == second.stdout
        assert "ClaimAcquired" in first.stdout


def test_a_life_without_a_violation_is_not_shrunk():
    done = simulate("--seed", 1, "--shrink")
    assert done.returncode == 0 and "no violation" in done.stdout


def test_a_run_that_is_asked_for_nonsense_says_how_it_is_used():
    assert simulate("--seeds", "many").returncode == 2
    assert simulate().returncode == 2
