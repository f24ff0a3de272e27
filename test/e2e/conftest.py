# SPDX-License-Identifier: Apache-2.0
"""One lab serves the whole run; each test gets it back as the base policy has it. A test that destroys more asks for
`fresh_lab`, which is its own."""

import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.dont_write_bytecode = True

from lab import MeshLab, leftovers, until  # noqa: E402  the path comes first
from lab.kernel_tables import KernelTables  # noqa: E402

LABS = pytest.StashKey[list]()


def pytest_configure(config):
    config.stash[LABS] = []
    # The default handler would leave without running any fixture's end.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 143))


def pytest_unconfigure():
    leftovers.sweep()


def _open(config, **options):
    lab = MeshLab(**options)
    config.stash[LABS].append(lab)
    return lab


def _close(config, lab):
    config.stash[LABS].remove(lab)
    lab.close()


class _Shared:
    """The shared lab, made when first asked for, and again when a test broke it."""

    def __init__(self, config):
        self._config = config
        self._lab = None

    def get(self):
        if self._lab is not None:
            try:
                _restore(self._lab)
                return self._lab
            except Exception as error:  # an earlier test's failure must not become this one's
                print(f"the shared lab is beyond repair ({error}); a new one is made")
                self.close()
        self._lab = _open(self._config)
        return self._lab

    def close(self):
        if self._lab is not None:
            _close(self._config, self._lab)
            self._lab = None


def _restore(lab):
    """Daemon up, XDP attached, the base policy adopted."""
    if not lab.gateway.running:
        lab.gateway.start(ready=False)
    status = lab.gateway.status()
    if lab.policy != lab.base_policy() or not status["snapshot"]:
        lab.adopt(lab.base_policy())
        status = lab.gateway.status()
    if not status["ready"]:
        lab.gateway.reload()
        until("the gateway is ready", lambda: lab.gateway.status()["ready"], 5)
    assert lab.host_b.ping(lab.host_a.address4, 1) == 1


@pytest.fixture(scope="session")
def _shared(request):
    shared = _Shared(request.config)
    yield shared
    shared.close()


@pytest.fixture
def lab(_shared):
    return _shared.get()


@pytest.fixture
def fresh_lab(request):
    """A lab of the test's own, serving the base policy."""
    lab = _open(request.config)
    yield lab
    _close(request.config, lab)


@pytest.fixture
def gw(lab):
    return lab.gateway


@pytest.fixture
def kernel(gw):
    return KernelTables(gw)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for lab in item.config.stash[LABS]:
            report.sections.append((f"posternd of lab {lab.id}", lab.gateway.log()[-3000:]))
