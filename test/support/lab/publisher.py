# SPDX-License-Identifier: Apache-2.0
"""Publishes snapshots over HTTPS inside a gateway's namespace, under a certificate authority made on the fly."""

import pathlib
import subprocess
import sys

from .command import run
from .wait import until

SERVER = pathlib.Path(__file__).resolve().parent / "https_server.py"
PORT = 8443


def make_ca(directory, name):
    """(certificate, key) of a new certificate authority."""
    key, certificate = directory / f"{name}.key", directory / f"{name}.pem"
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 2,
        "-subj", f"/CN={name}", "-keyout", key, "-out", certificate)
    return certificate, key


class Publisher:
    def __init__(self, namespace, directory, host="127.0.0.1"):
        self.directory = directory
        directory.mkdir()
        self.ca, ca_key = make_ca(directory, "test-ca")
        self.url = f"https://127.0.0.1:{PORT}/snapshot.json"
        self._certify(self.ca, ca_key, host)
        self.publish(b"", "missing")
        self._server = namespace.popen(sys.executable, "-B", SERVER, directory, PORT, stdin=subprocess.DEVNULL)
        until("the publisher listens", (directory / "listening").exists)

    def _certify(self, ca, ca_key, host):
        request, key, certificate, names = (self.directory / f"server.{end}" for end in ("csr", "key", "crt", "ext"))
        names.write_text(f"subjectAltName=IP:{host}\n", encoding="utf-8")
        run("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=server",
            "-keyout", key, "-out", request)
        run("openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", 2,
            "-extfile", names, "-out", certificate)
        (self.directory / "server.pem").write_bytes(certificate.read_bytes() + key.read_bytes())

    def publish(self, body, mode="good"):
        """From the next request on."""
        (self.directory / "body.new").write_bytes(body)
        (self.directory / "body.new").rename(self.directory / "body")
        (self.directory / "mode.new").write_text(mode, encoding="utf-8")
        (self.directory / "mode.new").rename(self.directory / "mode")

    def publish_timestamp(self, body):
        (self.directory / "timestamp.new").write_bytes(body)
        (self.directory / "timestamp.new").rename(self.directory / "timestamp")

    def requests(self, log="requests"):
        """[(mode, status, etag sent)]"""
        log = self.directory / log
        return [line.split() for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []

    def close(self):
        self._server.kill()
        self._server.wait()
