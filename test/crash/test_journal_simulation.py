# SPDX-License-Identifier: Apache-2.0
"""Ten thousand crashes of journals on simulated disks (SPEC 4.11); `make nightly` makes it a million.

A failure prints its seed and the command that runs that seed again.
"""
import os
import pathlib
import subprocess

BUILD = pathlib.Path(os.environ.get("POSTERN_BUILD") or pathlib.Path(__file__).parents[2] / "build")


def simulate(program, *arguments):
    return subprocess.run([BUILD / program, *map(str, arguments)], capture_output=True, text=True, timeout=1200)


def test_ten_thousand_crashes_lose_nothing_acknowledged_and_every_phase_is_struck():
    done = simulate("journal-simulation", "--crashes", 10_000, "--jobs", os.cpu_count())
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_crashes_with_segments_as_they_ship_lose_nothing_acknowledged():
    done = simulate("journal-simulation-8m", "--crashes", 240, "--jobs", os.cpu_count())
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_seed_is_the_whole_run():
    first, second = (simulate("journal-simulation", "--seed", 7, "--verbose") for _ in range(2))
    assert first.returncode == 0 and first.stdout == second.stdout
    assert first.stdout.count("== power cut") + first.stdout.count("== killed") > 0


def test_a_run_that_is_asked_for_nonsense_says_how_it_is_used():
    assert simulate("journal-simulation", "--crashes", "many").returncode == 2
    assert simulate("journal-simulation").returncode == 2


def test_no_flipped_bit_of_the_last_acknowledged_batch_is_taken_for_another_content():
    done = simulate("journal-simulation", "--flips")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "record: " in done.stdout and "elsewhere: " in done.stdout
