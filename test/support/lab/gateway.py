# SPDX-License-Identifier: Apache-2.0
"""A Postern gateway: its namespace, its files, its daemon, and the command-line tool pointed at it."""

import json
import os
import pathlib
import signal
import socket
import subprocess

from .authority import public_key
from .command import CommandFailed, run
from .namespace import Namespace
from .wait import until

BUILD = pathlib.Path(os.environ.get("POSTERN_BUILD") or pathlib.Path(__file__).resolve().parents[3] / "build")

CONFIG = """\
mesh: {mesh}
gateway: {id}
state: {files}/state
pins: {pins}
socket: {files}/postern.sock
http: 127.0.0.1:9479
root: {files}/root.json
interfaces:
  - {{name: mesh0, role: underlay}}
  - {{name: site0, role: local, segment: {segment}}}
"""


class Gateway:
    postern = BUILD / "postern"
    posternd = BUILD / "posternd"

    def __init__(self, lab_id, gateway_id, number, mesh, segment, underlay, directory):
        """Files in disk/ID below the lab's `directory`, pins in its bpf/."""
        self.id = gateway_id
        self.mesh = mesh
        self.underlay = f"192.0.2.{number}"
        self.mac = f"02:00:00:00:01:{number:02x}"
        self.pins = directory / "bpf"
        self.files = directory / "disk" / gateway_id
        self.files.mkdir()
        self.config = self.files / "postern.yaml"
        self.log_file = self.files / "posternd.log"
        self.config.write_text(CONFIG.format(mesh=mesh, id=gateway_id, files=self.files, pins=self.pins,
                                             segment=segment), encoding="utf-8")
        self.namespace = Namespace(lab_id, gateway_id)
        underlay.join(self.namespace, "mesh0", self.underlay)
        self.environment = {}  # of the daemon, beside the own one
        self._daemon = None

    def edit_config(self, old, new):
        """Replaces a part of the config file, for the next start or reload."""
        text = self.config.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the config"
        self.config.write_text(text.replace(old, new), encoding="utf-8")

    def init(self, root):
        """Makes the node key and the journal; returns the public key."""
        return public_key(self.cli("init", "--root", root).stdout)

    # ---- the daemon

    def start(self, ready=True, options=()):
        """Returns when it answers on its socket; with `ready`, when it serves an adopted snapshot."""
        log = open(self.log_file, "ab")
        with log:
            self._daemon = self.namespace.popen(self.posternd, "--config", self.config, *options,
                                                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                env={**os.environ, **self.environment},
                                                start_new_session=True)

        def answers():
            if self._daemon.poll() is not None:
                raise AssertionError(f"posternd ended with {self._daemon.returncode}:\n{self.log()[-2000:]}")
            if not self._listens():
                return False
            done = self.cli("--json", "status", check=False)
            return done.returncode == 0 and (not ready or json.loads(done.stdout)["ready"])
        until("posternd serves", answers)

    def _listens(self):
        """Asked before the tool is: while the agent loads its programs, each run of the tool would only delay it."""
        with socket.socket(socket.AF_UNIX) as end:
            return end.connect_ex(str(self.files / "postern.sock")) == 0

    def run_daemon(self, *options, timeout=20):
        """A daemon that is expected to end by itself."""
        return self.namespace.run(self.posternd, "--config", self.config, *options, check=False, timeout=timeout)

    @property
    def pid(self):
        return self._daemon.pid

    @property
    def running(self):
        return self._daemon is not None and self._daemon.poll() is None

    def kill(self):
        self._end(signal.SIGKILL)

    def stop(self):
        """Returns the exit status."""
        return self._end(signal.SIGTERM)

    def hang_up(self):
        """The signal that means reload."""
        os.kill(self.pid, signal.SIGHUP)

    def _end(self, number):
        os.kill(self.pid, number)
        return self._daemon.wait(timeout=20)

    def log(self):
        return self.log_file.read_text(encoding="utf-8", errors="replace") if self.log_file.exists() else ""

    # ---- the command-line tool

    def cli(self, *args, **options):
        return run(self.postern, "--config", self.config, *args, **options)

    def ask(self, *args):
        """The JSON that a command answers."""
        return json.loads(run(self.postern, "--config", self.config, "--json", *args).stdout)

    def status(self):
        return self.ask("status")

    def drops(self):
        """{reason: packets}"""
        return {row["reason"]: int(row["packets"]) for row in self.ask("drops")["drops"]}

    def verdicts(self):
        """{verdict: packets}, all interfaces together."""
        total = {}
        for row in self.ask("drops")["verdicts"]:
            total[row["verdict"]] = total.get(row["verdict"], 0) + int(row["packets"])
        return total

    def peers(self):
        return {row["id"]: row for row in self.ask("peers")["peers"]}

    def apply(self, snapshot):
        return self.ask("apply", snapshot)

    def reload(self):
        return self.ask("reload")

    def http(self, path):
        """(status, body)"""
        done = self.namespace.run("curl", "-s", "--max-time", 5, "-w", "\n%{http_code}",
                                  f"http://127.0.0.1:9479{path}")
        body, _, code = done.stdout.rpartition("\n")
        return int(code), body

    # ---- by hand

    def detach_xdp(self, device):
        self.namespace.ip("link", "set", "dev", device, "xdp", "off")

    def xdp_program(self, device):
        """Id of the program that is attached, or None."""
        link = json.loads(run("ip", "-n", self.namespace.name, "-j", "link", "show", "dev", device).stdout)[0]
        return (link.get("xdp") or {}).get("prog", {}).get("id")

    def backstop(self):
        try:
            return self.namespace.run("nft", "list", "ruleset").stdout
        except CommandFailed:
            return ""
