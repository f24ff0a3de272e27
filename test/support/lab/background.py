# SPDX-License-Identifier: Apache-2.0
"""A command that runs beside a test until the test ends it."""

import signal
import subprocess


class Background:
    """As a context: whatever happens, the process is gone behind it."""

    def __init__(self, command, stdout):
        self.process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE)

    def end(self, number=signal.SIGINT):
        """(exit status, output, standard error); no output when it went elsewhere."""
        self.process.send_signal(number)
        return self.finish()

    def finish(self, timeout=10):
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
