"""A relay on loopback that cuts the first connections after some bytes of the answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class CuttingRelay:
    """One request for each connection."""

    def __init__(self, port: int, after_bytes: int, cuts: int) -> None:
        self.connections = 0
        self._port = port
        self._after_bytes = after_bytes
        self._cuts = cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                with near, socket.create_connection(("127.0.0.1", self._port)) as far:
                    self._pass_on(near, far)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        far.sendall(near.recv(65536))
        left = self._after_bytes if self.connections <= self._cuts else 1 << 30
        with contextlib.suppress(OSError):  # the client left
            while left > 0:
                part = far.recv(min(left, 4096))
                if not part:
                    return
                near.sendall(part)
                left -= len(part)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@contextmanager
def cutting_relay(port: int, after_bytes: int, cuts: int) -> Iterator[CuttingRelay]:
    relay = CuttingRelay(port, after_bytes, cuts)
    try:
        yield relay
    finally:
        relay.close()
