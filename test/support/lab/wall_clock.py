# SPDX-License-Identifier: Apache-2.0
"""A gateway's own wall clock, which the test may step while its daemon runs."""

import os
import struct

from .gateway import BUILD

LIBRARY = BUILD / "stepped-clock.so"


class WallClock:
    """Of a gateway that is started after this."""

    def __init__(self, gateway):
        self._file = gateway.files / "wall-clock"
        self.step(0)
        gateway.environment = {"LD_PRELOAD": str(LIBRARY), "POSTERN_WALL_CLOCK": str(self._file)}

    def step(self, seconds):
        """It is so far from the machine's from now on."""
        with open(self._file, "r+b" if self._file.exists() else "wb") as file:
            os.pwrite(file.fileno(), struct.pack("<q", int(seconds)), 0)
