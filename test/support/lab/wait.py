# SPDX-License-Identifier: Apache-2.0
"""Polling in place of fixed sleeps."""

import os
import time

# Waits are this many times as long where the machine is slow.
PATIENCE = float(os.environ.get("POSTERN_PATIENCE", "1"))


class NotInTime(AssertionError):
    pass


def until(what, condition, timeout=10.0, every=0.02):
    """Waits until condition() is true and returns its value; NotInTime names `what` and the last value seen."""
    timeout *= PATIENCE
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise NotInTime(f"not within {timeout:g} s: {what} (last seen: {value!r})")
        time.sleep(every)
