"""Servers on the loopback interface that stand for a collector or a syslog server."""

from __future__ import annotations

import socket
import threading


class SilentReceiver:
    """A server that accepts connections and never reads from them."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        self._held: list[socket.socket] = []
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                self._held.append(self._server.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for connection in self._held:
            connection.close()


class LineReceiver:
    """A syslog server over TCP that keeps the bytes it receives; it can stop and start again."""

    def __init__(self) -> None:
        self.received = b""
        self.port = 0
        self._changed = threading.Condition()
        self._connections: list[socket.socket] = []
        self.start()

    def start(self) -> None:
        self._server = socket.create_server(("127.0.0.1", self.port), reuse_port=False)
        self.port = self._server.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, args=(self._server,), daemon=True)
        self._accepting.start()

    def stop(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._accepting.join()
        for connection in self._connections:
            connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._connections.clear()

    def has(self, text: bytes, seconds: float = 20) -> bool:
        """Wait until `text` has arrived; False after `seconds`."""
        with self._changed:
            return self._changed.wait_for(lambda: text in self.received, seconds)

    def _accept(self, server: socket.socket) -> None:
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(65536):
                with self._changed:
                    self.received += data
                    self._changed.notify_all()
        except OSError:
            return
