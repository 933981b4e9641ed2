"""The report on 127.0.0.1: three paths, read only, for pages that this server itself has sent."""

import contextlib
import io
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from coexplore.report.html import page, plain
from coexplore.report.live import Follower
from coexplore.settings import FieldError, reason, refusal
from coexplore.store import StoreError

HOST = "127.0.0.1"
MOST = 32  # connections at a time
LONGEST = 16_384  # bytes of what is asked
END = b"\r\n\r\n"
PATIENCE = 10.0  # seconds to ask in, and to take the answer in, however slowly


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, follower: Follower, port: int) -> None:
        self.follower, self.open = follower, set[Any]()
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise refusal("port", port, f"one that is free ({error.strerror}), or 0 for any") from None

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def verify_request(self, request: Any, client_address: Any) -> bool:
        if len(self.open) < MOST:
            self.open.add(request)
        return request in self.open

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: what a stranger sends is not worth a word."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "coexplore", ""
    default_request_version = "HTTP/1.0"  # in which answers have headers, also to what names no version
    connection: socket.socket

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
            why = str(error) if isinstance(error, StoreError | FieldError) else reason(error)
            self._send(500, "text/plain", f"the report cannot be made now ({why})\n")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a page asks every other second."""

    def _is_for_us(self) -> bool:
        """A name that somebody else has pointed at this machine must not open the store to their page."""
        port = self.server.server_port
        return self.headers.get_all("Host") in ([f"{HOST}:{port}"], [f"localhost:{port}"])

    def _page(self) -> None:
        answer = page(self.server.follower.report(), served=True)
        self._send(200, "text/html", answer.html, answer.policy + "; frame-ancestors 'none'")

    def _data(self) -> None:
        self._send(200, "application/json", plain(self.server.follower.report()))

    def _live(self) -> None:
        self._send(200, "application/json", plain(self.server.follower.live()))

    def _send(self, status: int, kind: str, body: str, policy: str = "default-src 'none'") -> None:
        data = body.encode(errors="backslashreplace")
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Allow": "GET, HEAD",
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Of what cannot be understood, or asks for more than an answer: with the headers of every answer."""
        if code == 501:  # what is not do_GET or do_HEAD
            code, message = 405, "ask with GET or HEAD"
        self._send(code, "text/plain", f"{message}\n")

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # the page may be closed meanwhile
            head = self._head()
            self.rfile = io.BytesIO(head)
            if END in head:
                super().handle()
            elif len(head) >= LONGEST:
                self.requestline, self.command, self.request_version = "", "", self.default_request_version
                self.send_error(431, f"ask in less than {LONGEST} bytes")

    def _head(self) -> bytes:
        """What is asked, up to the empty line; what comes after it is not read. A drop now and then gains no time."""
        head, end = b"", time.monotonic() + PATIENCE
        while END not in head and len(head) < LONGEST:
            self.connection.settimeout(max(end - time.monotonic(), 1e-3))
            more = self.connection.recv(4096)
            if not more:
                break
            head += more
        self.connection.settimeout(PATIENCE)
        return head
