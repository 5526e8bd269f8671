"""A runtime with a real provider that leaves a trace, and a fault that strikes between two calls.

The code writes a file, meets the fault (a capability of the host, whose own outcome can then not be
recorded either), and tries to write another file. What counts is whether that other file is there.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from caps import Runtime, builtin_registry
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import (
    AuditLog,
    AuditSettings,
    DecisionMade,
    VerifyStatus,
    read_records,
    verify_log,
)

PROGRAM = """
await caps.files.write(path="before.txt", content="x")
try:
    await caps.host.fault()
except Exception:
    pass
try:
    await caps.files.write(path="after.txt", content="x")
except Exception as error:
    print("refused", end="")
"""
WRITE = "await caps.files.write(path={name!r}, content='x')"


@dataclass
class EvidenceHost:
    """Where it writes its files and its log, and the fault."""

    place: Path
    fault: Callable[[], None] = lambda: None

    @property
    def log(self) -> Path:
        return self.place / "log"

    @property
    def files(self) -> set[str]:
        """The traces that the provider left."""
        return {path.name for path in (self.place / "files").iterdir()}

    @contextmanager
    def opened(self, *sinks: str, **settings: object) -> Iterator[Runtime]:
        (self.place / "files").mkdir(exist_ok=True)
        registry = builtin_registry()

        @registry.capability("host.fault")
        async def fault() -> None:
            self.fault()

        policy = {
            "allow": ["files.write", "host.fault"],
            "scopes": {"files": {"allowlist": [str(self.place / "files")], "read_only": False}},
        }
        kept = AuditSettings(directory=self.log, **settings).with_sinks(sinks)  # type: ignore[arg-type]
        with Runtime(policy, registry=registry, audit=kept) as runtime:
            yield runtime

    def strike(self, runtime: Runtime) -> ExecutionResult:
        """Runs the program: one write, the fault, another write."""
        return runtime.run_sync(PROGRAM)

    def decided(self) -> set[str]:
        """The files that recorded decisions allowed to write."""
        return decided(self.log)


def decided(directory: Path) -> set[str]:
    """The paths of the allowed writes in a log."""
    events = (record.event for record in read_records(directory))
    return {
        str(event.shown["path"])
        for event in events
        if isinstance(event, DecisionMade) and event.capability == "files.write"
    }


def reopened(directory: Path) -> VerifyStatus:
    """What a verification finds after the log was opened again, as after a restart."""
    AuditLog.open(directory).close()
    return verify_log(directory).status


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
    """A syslog server over TCP that keeps what it gets; it can go away and come back."""

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
        """Waits until `text` has arrived."""
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
