# SPDX-License-Identifier: Apache-2.0
"""Runs in the guest that `test/vm/run` boots, as root, on Debian's own kernel."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from lab import MeshLab, leftovers  # noqa: E402  the path comes first


def pytest_collection_modifyitems(items):
    if not os.environ.get("POSTERN_IN_VM"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="runs in the VM: make test-vm"))


@pytest.fixture(scope="module")
def lab():
    with MeshLab() as made:
        yield made


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    made = item.funcargs.get("lab") if hasattr(item, "funcargs") else None
    if report.failed and made is not None:
        report.sections.append(("posternd", made.gateway.log()[-3000:]))


def pytest_unconfigure():
    leftovers.sweep()
