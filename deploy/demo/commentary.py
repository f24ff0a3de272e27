# SPDX-License-Identifier: Apache-2.0
"""What the demo says while it runs, and the table at its end."""

import sys
import time

SEEN_WIDTH = 46

class Commentary:
    def __init__(self, out=sys.stdout):
        self._out = out
        self._colour = out.isatty()
        self._began = time.monotonic()
        self._chapter = 0
        self.claims = []  # (claim, what was seen, whether it holds)

    def _paint(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    def _line(self, text=""):
        print(text, file=self._out, flush=True)

    def chapter(self, title):
        self._chapter += 1
        seconds = f"{time.monotonic() - self._began:4.1f} s"
        self._line()
        self._line(self._paint("1", f"{self._chapter}. {title}") + self._paint("2", f"   [{seconds}]"))

    def say(self, text):
        self._line(f"   {text}")

    def command(self, text):
        self._line(self._paint("2", f"   $ {text}"))

    def quote(self, text):
        for line in text.rstrip().splitlines():
            self._line(self._paint("36", f"     {line}"))

    def claim(self, claim, holds, seen):
        """What was promised, whether it holds, and what was seen of it."""
        holds = bool(holds)
        self.claims.append((claim, str(seen), holds))
        self._line(f"   {self._mark(holds)} {claim}: {seen}")

    def _mark(self, holds):
        return self._paint("32", "✔") if holds else self._paint("31", "✘")

    def closing_table(self):
        """Returns whether every claim holds."""
        self._line()
        width = max(len(claim) for claim, _, _ in self.claims)
        seen_width = min(SEEN_WIDTH, max(len(seen) for _, seen, _ in self.claims))
        rule = "─" * (width + seen_width + 6)
        self._line(rule)
        self._line(self._paint("1", f"   {'claim':<{width}}  seen"))
        self._line(rule)
        for claim, seen, holds in self.claims:
            short = seen if len(seen) <= SEEN_WIDTH else seen[:SEEN_WIDTH - 1] + "…"
            self._line(f" {self._mark(holds)} {claim:<{width}}  {short}")
        self._line(rule)
        broken = sum(not holds for _, _, holds in self.claims)
        seconds = time.monotonic() - self._began
        self._line(f"   {len(self.claims) - broken} of {len(self.claims)} claims hold, {seconds:.0f} s")
        return broken == 0
