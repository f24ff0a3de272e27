# SPDX-License-Identifier: Apache-2.0
"""Running programs, with errors that say what was run and what it answered."""

import shlex
import subprocess

from .wait import PATIENCE


class CommandFailed(Exception):
    def __init__(self, args, code, output):
        self.code = code
        self.output = output
        super().__init__(f"`{shlex.join(map(str, args))}` ended with {code}: {output.strip() or '(no output)'}")


def run(*args, check=True, timeout=60, stdin=None):
    """Runs to the end; stdout and stderr are text of the result."""
    args = [str(a) for a in args]
    done = subprocess.run(args, capture_output=True, text=True, timeout=timeout * PATIENCE, input=stdin,
                          stdin=None if stdin is not None else subprocess.DEVNULL, errors="replace")
    if check and done.returncode != 0:
        raise CommandFailed(args, done.returncode, done.stderr or done.stdout)
    return done
