"""Real HTTP servers on loopback whose answers a test writes byte by byte, with TLS if it wants."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Self

import trustme


class Exchange:
    """One request that arrived, and the connection to answer it on."""

    def __init__(self, connection: socket.socket, head: bytes, ended: threading.Event) -> None:
        lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        self._connection = connection
        self._ended = ended

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def respond(self, body: bytes = b"", status: str = "200 OK", **headers: str) -> None:
        """A whole response; `content_type="text/html"` becomes a header, None leaves one out."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        given.setdefault("content-length", str(len(body)))
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
        self.send(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1"))
        if self.method != "HEAD":
            self.send(body)

    def redirect(self, location: str, status: int = 302) -> None:
        self.respond(status=f"{status} Found", location=location)

    def hang(self) -> None:
        """Until the server is closed."""
        self._ended.wait()


Route = Callable[[Exchange], None]


class WebServer:
    """A server on one port of loopback; each path has a route."""

    def __init__(self, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, 0), family=family)
        self.port: int = self._socket.getsockname()[1]
        self.routes: dict[str, Route] = {}
        self.seen: list[Exchange] = []
        self.connections = 0
        self.greeting = b""
        """What is sent before a request is read."""
        self._tls = tls
        self._address = address
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def url(self, path: str = "/", host: str | None = None) -> str:
        scheme = "http" if self._tls is None else "https"
        name = host or (f"[{self._address}]" if ":" in self._address else self._address)
        return f"{scheme}://{name}:{self.port}{path}"

    def page(
        self, path: str, body: bytes | str, content_type: str = "text/html", **more: str
    ) -> str:
        """Serve `body` at `path`; its URL."""
        data = body.encode() if isinstance(body, str) else body
        self.routes[path] = lambda exchange: exchange.respond(
            data, content_type=content_type, **more
        )
        return self.url(path)

    def route(self, path: str, route: Route) -> str:
        """Answer requests of `path` by `route`; its URL."""
        self.routes[path] = route
        return self.url(path)

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(timeout=10)
            assert not thread.is_alive()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        # A client that goes away is what many tests are about.
        with connection, contextlib.suppress(OSError, ValueError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                self._answer(connection)
        self._open.discard(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.sendall(self.greeting)
        head = b""
        while b"\r\n\r\n" not in head:
            data = connection.recv(65536)
            if not data:
                return
            head += data
        exchange = Exchange(connection, head.partition(b"\r\n\r\n")[0], self._ended)
        self.seen.append(exchange)
        route = self.routes.get(exchange.target.partition("?")[0])
        if route is None:
            exchange.respond(b"not found", status="404 Not Found", content_type="text/plain")
        else:
            route(exchange)


class Authority:
    """A certificate authority of a test, its servers and its clients."""

    def __init__(self) -> None:
        self._authority = trustme.CA()

    def server(self, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert(*names).configure_cert(context)
        return context

    def client(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self._authority.configure_trust(context)
        return context
