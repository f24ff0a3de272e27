# SPDX-License-Identifier: Apache-2.0
"""An HTTPS server that hands out a snapshot and a timestamp, and misbehaves with the snapshot when told to. Runs inside a
namespace as a program of its own:

    https_server.py DIRECTORY PORT

DIRECTORY holds server.pem (certificate and key), `body`, `mode`, and perhaps `timestamp`, all read anew for each request.
What was asked goes to `requests`, a line each: the mode, the answered status, and the If-None-Match header; what was asked
of timestamp.json to `timestamp-requests`.
"""

import hashlib
import http.server
import pathlib
import ssl
import sys
import time

DRIP_S = 0.2


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    directory = pathlib.Path()

    log = "requests"

    def do_GET(self):
        if self.path.endswith("/timestamp.json"):
            self.log = "timestamp-requests"
            timestamp = self.directory / "timestamp"
            known = timestamp.exists()
            getattr(self, "_good" if known else "_missing")("timestamp", timestamp.read_bytes() if known else b"")
            self.close_connection = True
            return
        mode = (self.directory / "mode").read_text(encoding="utf-8").strip()
        body = (self.directory / "body").read_bytes()
        getattr(self, f"_{mode}")(mode, body)
        self.close_connection = True

    def _note(self, mode, status):
        with open(self.directory / self.log, "a", encoding="utf-8") as log:
            log.write(f"{mode} {status} {self.headers.get('If-None-Match', '-')}\n")

    def _answer(self, mode, status, body, length=None, headers=()):
        self._note(mode, status)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def _good(self, mode, body):
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        known = self.headers.get("If-None-Match") == etag
        self._answer(mode, 304 if known else 200, b"" if known else body, headers=[("ETag", etag)])

    def _truncated(self, mode, body):
        self._answer(mode, 200, body[:len(body) // 2], length=len(body))

    def _oversize(self, mode, _body):
        """Says nothing of its length, and never ends."""
        self._note(mode, 200)
        self.send_response(200)
        self.end_headers()
        piece = b"x" * (1 << 20)
        while True:
            self.wfile.write(piece)

    def _announced(self, mode, _body):
        self._answer(mode, 200, b"", length=1 << 40)

    def _redirect(self, mode, _body):
        self._answer(mode, 302, b"", headers=[("Location", "/elsewhere")])

    def _missing(self, mode, _body):
        self._answer(mode, 404, b"")

    def _slow(self, mode, body):
        """A byte now and then, so that no single read is ever late."""
        self._note(mode, 200)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for byte in body:
            self.wfile.write(bytes([byte]))
            time.sleep(DRIP_S)

    def log_message(self, *_args):
        pass

    def handle(self):
        try:
            super().handle()
        except (ConnectionError, ssl.SSLError):
            pass  # the client hung up, which is the point


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_args):
        pass  # refused handshakes


def main():
    Handler.directory = pathlib.Path(sys.argv[1])
    server = Server(("127.0.0.1", int(sys.argv[2])), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Handler.directory / "server.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    (Handler.directory / "listening").touch()
    server.serve_forever()


if __name__ == "__main__":
    main()
