# SPDX-License-Identifier: Apache-2.0
"""The machine sleeps and its real-time clock wakes it: the packet path goes by a clock that counts sleep, before any agent
has run. All three gateways are on it, and know that they were away."""

import subprocess
import time

import pytest

from lab import until
from lab.claimants import VIP, Claimants

TTL_MS = 20_000  # a holder stops 15.8 s after its last beat
SLEEP_S = 30


@pytest.fixture(scope="module")
def lab():
    with Claimants(watched=True, ttl_ms=TTL_MS, rate=20) as made:
        made.adopt(made.policy())
        made.witness.hears([site.namespace for site in made.sites], VIP)
        yield made


def slept_s():
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def discontinuities(gateway):
    return int(gateway.ask("claims")["discontinuities"])


def test_a_holder_that_slept_past_its_deadline_does_not_serve_under_its_old_epoch(lab):
    holder, epoch = lab.wait_for_any(timeout=300)
    lab.witness.wait_for(holder, 20, 60)
    before = [discontinuities(gateway) for gateway in lab.gateways]
    refused = lab.gateways[holder - 1].drops().get("lease_expired", 0)
    awake_s = slept_s()
    subprocess.run(["rtcwake", "-m", "mem", "-s", str(SLEEP_S)], check=True, timeout=300)
    assert slept_s() - awake_s > SLEEP_S - 5
    for gateway, known in zip(lab.gateways, before):
        until("it knows that it was away", lambda: discontinuities(gateway) > known, 60)
        assert "slept or its loop was late" in gateway.log()
    assert lab.gateways[holder - 1].drops().get("lease_expired", 0) > refused
    until("somebody holds it under a higher epoch", lambda: lab.epoch() > epoch and lab.wait_for_any(timeout=30), 300)
