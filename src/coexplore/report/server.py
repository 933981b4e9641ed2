"""The report on 127.0.0.1: three paths, read only, for pages that this server itself has sent."""

import contextlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from coexplore.report.html import page
from coexplore.report.live import Follower
from coexplore.settings import refusal

HOST = "127.0.0.1"


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, follower: Follower, port: int) -> None:
        self.follower = follower
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise refusal("port", port, f"one that is free ({error.strerror}), or 0 for any") from None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "coexplore", ""
    timeout = 10  # seconds that a silent connection may keep a thread

    def do_GET(self) -> None:
        if not self._is_for_us():
            return self._send(421, "text/plain", "this server answers to 127.0.0.1 and localhost only\n")
        answers = {"/": self._page, "/data.json": self._data, "/live.json": self._live}
        answer = answers.get(self.path.partition("?")[0])
        if answer is None:
            return self._send(404, "text/plain", "there is nothing here\n")
        try:
            answer()
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # one answer fails, not the server; the next one may find the store mended
            self._send(500, "text/plain", f"the report cannot be made now ({type(error).__name__}: {error})\n")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a page asks every other second."""

    def _is_for_us(self) -> bool:
        """A name that somebody else has pointed at this machine must not open the store to their page."""
        port = self.server.server_port
        return self.headers.get("Host", "") in (f"{HOST}:{port}", f"localhost:{port}")

    def _page(self) -> None:
        answer = page(self.server.follower.report(), served=True)
        self._send(200, "text/html", answer.html, answer.policy + "; frame-ancestors 'none'")

    def _data(self) -> None:
        self._send(200, "application/json", json.dumps(self.server.follower.report(), allow_nan=False))

    def _live(self) -> None:
        self._send(200, "application/json", json.dumps(self.server.follower.live(), allow_nan=False))

    def _send(self, status: int, kind: str, body: str, policy: str = "default-src 'none'") -> None:
        data = body.encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # the page may be closed meanwhile
            super().handle()
