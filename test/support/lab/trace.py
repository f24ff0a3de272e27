# SPDX-License-Identifier: Apache-2.0
"""strace on a running daemon: which system calls it made, in order, and with which file or map. A context manager."""

import re
import signal
import subprocess
import tempfile

from .wait import until

CALL = re.compile(r"^(?P<thread>\d+) +(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\w+)")


class Call:
    def __init__(self, thread, name, arguments, result):
        self.thread = int(thread)
        self.name = name
        self.arguments = arguments
        self.result = result

    def __repr__(self):
        return f"{self.name}({self.arguments[:120]}) = {self.result}"


class Trace:
    def __init__(self, pid, calls, inject=None, path=None, thread=None):
        """`inject` is strace's: for instance "fdatasync:signal=SIGKILL:when=1", which it counts for each thread. Of calls on
        `path` alone, if given; of this thread alone, if given."""
        self._file = tempfile.NamedTemporaryFile(prefix="postern-trace-", suffix=".txt")
        self._process = subprocess.Popen(
            ["strace", *([] if thread else ["-f"]), "-y", "-s", "64", "-e", f"trace={','.join(calls)}",
             *(["-e", f"inject={inject}"] if inject else []), *(["-P", str(path)] if path else []), "-o", self._file.name, "-p", str(thread or pid)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until("strace attaches", lambda: self._attached(pid, thread or pid))

    def _attached(self, pid, thread):
        if self._process.poll() is not None:
            raise AssertionError(f"strace ended with {self._process.returncode}")
        with open(f"/proc/{pid}/task/{thread}/status", encoding="utf-8") as status:
            return f"TracerPid:\t{self._process.pid}\n" in status.read()

    def stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._process.wait(timeout=10)

    def calls(self):
        with open(self._file.name, encoding="utf-8", errors="replace") as file:
            found = [CALL.match(line) for line in _joined(file)]
        return [Call(**match.groupdict()) for match in found if match]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._file.close()


def _joined(lines):
    """Puts calls together that strace split because another thread ran meanwhile; each stands where it ended."""
    begun = {}
    for line in lines:
        pid = line.split(None, 1)[0]
        if line.rstrip().endswith("<unfinished ...>"):
            begun[pid] = line.rstrip().removesuffix("<unfinished ...>")
        elif " resumed>" in line:
            yield begun.pop(pid, f"{pid} ") + line.split(" resumed>", 1)[1]
        else:
            yield line
