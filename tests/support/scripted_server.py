"""A server on loopback that answers each request with the next bytes of a script."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

CLOSES = "Connection: close"  # else a client may send its next request while this is closed
HANG = b"(nothing more comes, and the connection stays open)"


def http(status: int, body: bytes = b"", *headers: str) -> bytes:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", CLOSES, *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def problem(status: int, code: str, *headers: str) -> bytes:
    body = f'{{"status": {status}, "code": "{code}", "detail": "no"}}'.encode()
    return http(status, body, "Content-Type: application/problem+json", *headers)


def stream(*events: bytes) -> bytes:
    """The beginning of a stream that is cut after these events."""
    lines = ["HTTP/1.1 200 X", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"]
    head = "\r\n".join([*lines, CLOSES, "", ""]).encode()
    return head + b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in events)


class ScriptedServer:
    """One connection for each request; `requests` has what was received."""

    def __init__(self, script: Sequence[bytes]) -> None:
        self.requests: list[bytes] = []
        self._script = list(script)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def headers(self, number: int) -> dict[str, str]:
        lines = self.requests[number].split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
        return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed
            while self._script:
                connection, _ = self._listener.accept()
                self.requests.append(_request(connection))
                self._answer(connection, self._script.pop(0))

    def _answer(self, connection: socket.socket, answer: bytes) -> None:
        hangs = answer.endswith(HANG)
        with contextlib.suppress(OSError):  # the client left
            connection.sendall(answer.removesuffix(HANG))
        if hangs:
            self._open.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)
        for each in self._open:
            each.close()


def _request(connection: socket.socket) -> bytes:
    """Head and body of one request."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return data
        data += part
    head = data.split(b"\r\n\r\n")[0]
    sizes = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    wanted = len(head) + 4 + (int(sizes[0].split(b":")[1]) if sizes else 0)
    while len(data) < wanted:
        data += connection.recv(65536)
    return data


@contextmanager
def scripted_server(*script: bytes) -> Iterator[ScriptedServer]:
    server = ScriptedServer(script)
    try:
        yield server
    finally:
        server.close()
