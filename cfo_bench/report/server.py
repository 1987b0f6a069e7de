"""Serves the page of a watched report, and nothing else, on one address of this machine."""

from __future__ import annotations

import ipaddress
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson

from cfo_bench.errors import UserError
from cfo_bench.report.rendering import assets, layout
from cfo_bench.report.watching import WatchedReport

LOOPBACK = "127.0.0.1"

# The content types of all files that are served.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".tex": "text/plain; charset=utf-8",
    ".png": "image/png",
}
# The page loads nothing from other hosts, runs no inline script, and cannot be put into a frame.
_SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ASSETS = {str(layout.asset_file(name)): name for name in (*assets.SHIPPED, *assets.WATCHED)}


class PageServer(ThreadingHTTPServer):
    """A server that listens from its creation on; port 0 means any free port."""

    daemon_threads = True

    def __init__(self, report: WatchedReport, host: str = LOOPBACK, port: int = 0) -> None:
        self.report = report
        self.host = host
        try:
            self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), _Handler)
        except OverflowError:
            raise UserError(f"--port {port} is not a port: give one from 0 to 65535") from None
        except OSError as error:
            raise UserError(
                f"can't listen on {host}, port {port} ({error.strerror}): choose another --port or --host"
            ) from None

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.server_address[1]}/"

    def server_bind(self) -> None:
        """Binds without looking up the machine's name, which may take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.host, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores browsers that have closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    def is_addressed(self, header: str) -> bool:
        """Whether a request's Host names this machine; its port may be that of a tunnel.

        If the name of another site resolves to this address (DNS rebinding), its pages send that name.
        """
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        names = {"localhost", self.host.lower()}
        if self.host not in (LOOPBACK, "::1", "localhost"):
            names.add(socket.gethostname().lower())
        return name in names or _is_ip_address(name)


def _is_ip_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD for the page, its version, its runs, its assets and the files of the report."""

    server: PageServer
    timeout = 30.0  # seconds without a byte
    server_version, sys_version = "cfo-bench", ""

    def do_GET(self) -> None:
        if not self.server.is_addressed(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.FORBIDDEN, "Host is not this machine")
            return
        name = unquote(urlsplit(self.path).path).removeprefix("/")
        answer = self._answer(name)
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        suffix, content = answer
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _TYPES[suffix])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET

    def _answer(self, name: str) -> tuple[str, bytes] | None:
        """The suffix that determines the content type, and the content; None for a name that is not served.

        No name is looked up in the file system. Only files that the report wrote are served.
        """
        report = self.server.report
        if name in ("", "version", "runs"):
            report.look()
        if name == "":
            return ".html", report.page().encode()
        if name == "version":
            return ".json", orjson.dumps({"report": report.report.version, "runs": report.runs.version})
        if name == "runs":
            return ".json", orjson.dumps(report.runs)
        if name in _ASSETS:
            return PurePosixPath(name).suffix, assets.text(_ASSETS[name]).encode()
        return _file(report.report.files.get(name))

    def end_headers(self) -> None:
        for name, value in _SECURITY_HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing for a request."""


def _file(path: Path | None) -> tuple[str, bytes] | None:
    if path is None or path.suffix not in _TYPES:
        return None
    try:
        return path.suffix, path.read_bytes()
    except OSError:  # a newer report has no such file
        return None
