"""(8) The metrics page for Prometheus: `render_metrics` makes it, `metrics_server` serves it.

`metrics_server` is for programs without an HTTP server, such as the command line: a thread that
answers `GET /metrics`, by default on the loopback interface. The page contains no secrets and
cannot change anything, but it shows which capabilities and policies exist; so the operator chooses
the address.
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
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class MetricsPage:
    """One page of metrics, ready to be sent."""

    content_type: str
    body: bytes


def render_metrics(registry: CollectorRegistry, accept: str | None = None) -> MetricsPage:
    """All samples of `registry`, in the format that the request's `Accept` header asks for.

    Any HTTP service can send it as the answer to `/metrics`. Safe to call from any thread.
    """
    encode, content_type = choose_encoder(accept or "")
    return MetricsPage(content_type, encode(registry))


@contextmanager
def metrics_server(
    registry: CollectorRegistry, port: int, address: str = LOOPBACK
) -> Iterator[str]:
    """Answer `/metrics` in a thread while the context is open; yields the page's URL.

    Port 0 means any free port. Raises ConfigurationError if the address cannot be used.
    """
    if not 0 <= port <= _MAX_PORT:
        raise ConfigurationError(f"metrics port `{port}` is not valid; use one from 0 to 65535")
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
            f"metrics address `{address}` is not an IP address; use for example `{LOOPBACK}`"
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
    # Two processes must not share a port by mistake; a port that was just closed may be reused.
    allow_reuse_port = False

    def __init__(self, registry: CollectorRegistry, address: str, port: int, *, ipv6: bool) -> None:
        self.registry = registry
        if ipv6:
            self.address_family = socket.AF_INET6
        super().__init__((address, port), _Handler)

    def server_bind(self) -> None:
        # Does not call HTTPServer.server_bind, which asks the resolver for the machine's name.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors such as a client that closes the connection."""


class _Handler(BaseHTTPRequestHandler):
    timeout = _SILENT_SECONDS
    server_version = "caps"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != METRICS_PATH:
            self.send_error(HTTPStatus.NOT_FOUND, explain=f"metrics are at {METRICS_PATH}")
            return
        page = render_metrics(cast("_Server", self.server).registry, self.headers.get("Accept"))
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        self.wfile.write(page.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Do not log scrapes."""
