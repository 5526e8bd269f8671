"""(8) The metrics as Prometheus reads them: `exposed` makes the page, `serving` offers it.

`serving` is for programs that have no server of their own, as the command line: a thread that
answers `GET /metrics`, on the loopback interface unless told otherwise. There is nothing secret in
the page and no way to change anything through it, but whoever reads it learns which capabilities
and policies there are; so the address is the operator's choice.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, cast

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from caps.protocol.errors import ConfigurationError

METRICS_PATH: Final = "/metrics"
LOOPBACK: Final = "127.0.0.1"

_SILENT_SECONDS = 5.0
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Exposed:
    """One page of metrics, ready to be sent."""

    content_type: str
    body: bytes


def exposed(registry: CollectorRegistry, accept: str | None = None) -> Exposed:
    """All samples of `registry`, in the format that the request's `Accept` header asks for.

    This is what an HTTP service of any kind answers at `/metrics`. Safe from any thread.
    """
    encode, content_type = choose_encoder(accept or "")
    return Exposed(content_type, encode(registry))


@contextmanager
def serving(registry: CollectorRegistry, port: int, address: str = LOOPBACK) -> Iterator[str]:
    """Answer `/metrics` within, whatever the program does meanwhile; gives the page's URL.

    Port 0 is any that is free. Raises ConfigurationError if the address cannot be had.
    """
    if not 0 <= port <= _LARGEST_PORT:
        raise ConfigurationError(f"metrics port `{port}` is none; set one from 0 to 65535")
    server = _listening(registry, port, address)
    thread = threading.Thread(target=server.serve_forever, name="caps-metrics", daemon=True)
    thread.start()
    try:
        shown = f"[{address}]" if ":" in address else address
        yield f"http://{shown}:{server.server_address[1]}{METRICS_PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _listening(registry: CollectorRegistry, port: int, address: str) -> _Server:
    try:
        version = ipaddress.ip_address(address).version
    except ValueError:
        raise ConfigurationError(
            f"metrics address `{address}` is no IP address; set one such as `{LOOPBACK}`"
        ) from None
    try:
        return _Server(registry, address, port, ipv6=version == 6)
    except OSError as error:
        raise ConfigurationError(
            f"metrics cannot be served at `{address}` port {port}: {error.strerror}; "
            "choose another with --metrics-port, or 0 for any"
        ) from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Two processes must not share a port by mistake; one that was just closed may be taken again.
    allow_reuse_port = False

    def __init__(self, registry: CollectorRegistry, address: str, port: int, *, ipv6: bool) -> None:
        self.registry = registry
        if ipv6:
            self.address_family = socket.AF_INET6
        super().__init__((address, port), _Handler)

    def server_bind(self) -> None:
        # Not that of HTTPServer, which asks the resolver for the machine's name.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _SILENT_SECONDS
    server_version = "caps"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != METRICS_PATH:
            self.send_error(HTTPStatus.NOT_FOUND, explain=f"metrics are at {METRICS_PATH}")
            return
        page = exposed(cast("_Server", self.server).registry, self.headers.get("Accept"))
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Nobody asked for a log of scrapes."""
