# SPDX-License-Identifier: Apache-2.0
"""The packet path on the oldest kernel that is supported."""

import os
import pathlib
import re
import subprocess

BUILD = pathlib.Path(os.environ.get("POSTERN_BUILD", "build"))
DOCTEST = re.compile(r"test cases: +(\d+) +\| +(\d+) passed +\| +(\d+) failed")


def test_this_is_the_stock_kernel():
    release = os.uname().release
    print("kernel", release)
    assert release.startswith("6.1."), release


def test_the_verifier_takes_the_programs_within_their_budget(capsys):
    done = subprocess.run([BUILD / "test-bpf", "-s", "-tc=the verifier is done*"], capture_output=True, text=True,
                          timeout=600, check=False)
    with capsys.disabled():
        for line in done.stdout.splitlines():
            if "instructions verified" in line:
                print("\n" + line.strip(), end="")
    assert done.returncode == 0, done.stdout[-3000:]
    assert "instructions verified" in done.stdout


def test_single_packets_end_as_they_should(capsys):
    """All of test/bpf but what sends packets by the hundred thousand, on planes that are kept from case to case: this verifier
    takes many seconds for each."""
    said = []
    with capsys.disabled(), subprocess.Popen(
            [BUILD / "test-bpf", "--no-path-filenames=true", "-d", "-tce=random*,a packet that is explained*"],
            stdout=subprocess.PIPE, text=True) as tests:
        print()
        for line in tests.stdout:
            said.append(line)
            print(line, end="")
    found = DOCTEST.search("".join(said))
    assert tests.returncode == 0 and found, "".join(said[-100:])
    assert int(found.group(2)) > 100
