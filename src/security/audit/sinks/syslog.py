"""(8) Syslog, RFC 5424: one message a record, over a unix socket, UDP, or TCP with octet counting.

    <110>1 2026-01-31T12:00:00.000000Z host caps 4242 decision_made [meta sequenceId="17"] {...}

The message is the record as it lies on disk. Facility 13 is "log audit"; severity is warning for
what was denied or went wrong, else informational. None of the three transports has an answer, so
what is known of a delivery differs: a datagram was handed to the kernel; on TCP the receiver's
kernel acknowledged every byte (RFC 6587 says why no more can be known). A record that is too long
for a datagram goes as its envelope, with its hash, and says so.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import termios
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from caps.protocol.errors import ConfigurationError
from caps.security.audit.model.records import ENVELOPE_FIELDS
from caps.security.audit.sinks.urls import SinkAddress, SinkKind
from caps.security.audit.sinks.interface import Delivery, SinkError

_LOG_AUDIT: Final = 13
_MOST_FACILITY: Final = 23
_WARNING: Final = 4
_INFORMATIONAL: Final = 6
_LONGEST_DATAGRAM: Final = 60_000
_MOST_SEQUENCE: Final = 2**31 - 1
_SEND_BUFFER: Final = 128 * 1024
_DEFAULT_PORT: Final = {SinkKind.SYSLOG_UDP: 514, SinkKind.SYSLOG_TCP: 601}
_TROUBLE: Final = frozenset(
    {"protocol_violated", "limit_reached", "log_recovered", "sink_failed", "grant_revoked"}
)
_decode: Final = msgspec.json.Decoder().decode


class SyslogSink:
    """One socket, made anew after a failure."""

    keeps = False

    def __init__(self, address: SinkAddress) -> None:
        """Raises `ConfigurationError`."""
        self._address = address
        self._deadline = address.terms.deadline
        self._stream = address.kind is SinkKind.SYSLOG_TCP
        self._priority = _facility(address) * 8
        self._app = _word(address.options.get("app", "caps"), 48)
        self._host = _word(socket.gethostname(), 255)
        self._socket: socket.socket | None = None

    def connect(self) -> int | None:
        kind = self._address.kind
        if kind is SinkKind.SYSLOG_UNIX:
            made = self._unix()
        else:
            port = self._address.port or _DEFAULT_PORT[kind]
            made = _connected(
                self._address.host,
                port,
                socket.SOCK_STREAM if self._stream else socket.SOCK_DGRAM,
                self._deadline,
            )
        self._socket = made
        return None

    def deliver(self, items: Sequence[Delivery]) -> None:
        assert self._socket is not None
        messages = [self._message(item) for item in items]
        if not self._stream:
            for message in messages:
                self._socket.send(message)
            return
        self._refuse_closed(self._socket)
        self._socket.sendall(b"".join(b"%d %s" % (len(m), m) for m in messages))
        self._wait_for_acknowledgement(self._socket)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _unix(self) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        made.settimeout(self._deadline)
        try:
            made.connect(self._address.parts.path)
        except OSError:
            made.close()
            raise
        return made

    def _refuse_closed(self, connection: socket.socket) -> None:
        """A first write to a connection whose peer is gone succeeds, so this looks before."""
        readable, _, _ = select.select([connection], [], [], 0)
        if readable and connection.recv(1, socket.MSG_PEEK) == b"":
            raise SinkError("the receiver closed the connection")

    def _wait_for_acknowledgement(self, connection: socket.socket) -> None:
        until = time.monotonic() + self._deadline
        pause = 0.0001
        while self._unacknowledged(connection):
            if time.monotonic() >= until:
                raise SinkError("the receiver does not read")
            time.sleep(pause)
            pause = min(2 * pause, 0.01)
        self._refuse_closed(connection)

    def _unacknowledged(self, connection: socket.socket) -> int:
        raw = fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4)
        return int(struct.unpack("i", raw)[0])

    def _message(self, item: Delivery) -> bytes:
        record: dict[str, Any] = _decode(item.line)
        kind = "checkpoint" if item.checkpoint else str(record["kind"])
        line = item.line
        if not self._stream and len(line) > _LONGEST_DATAGRAM:
            envelope = {name: record[name] for name in ENVELOPE_FIELDS}
            line = msgspec.json.encode({**envelope, "cut_from_bytes": len(line)}, order="sorted")
        bad = kind in _TROUBLE or record.get("decision") == "deny"
        priority = self._priority + (_WARNING if bad else _INFORMATIONAL)
        sequence = f'[meta sequenceId="{item.seq}"]' if item.seq <= _MOST_SEQUENCE else "-"
        head = (
            f"<{priority}>1 {record['ts']} {self._host} {self._app} {os.getpid()} "
            f"{_word(kind, 32)} {sequence} "
        )
        return head.encode() + line


def _connected(host: str, port: int, kind: socket.SocketKind, timeout: float) -> socket.socket:
    error: OSError | None = None
    for family, _, protocol, _, place in socket.getaddrinfo(host, port, type=kind):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(timeout)
            if kind is socket.SOCK_STREAM:
                # Small, so that a receiver that does not read is noticed soon.
                made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            made.connect(place)
        except OSError as failure:
            made.close()
            error = failure
        else:
            return made
    raise error or SinkError(f"`{host}` has no address")


def _facility(address: SinkAddress) -> int:
    text = address.options.get("facility", str(_LOG_AUDIT))
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else -1
    if not 0 <= value <= _MOST_FACILITY:
        raise ConfigurationError(
            f"audit sink `{address.terms.name}`: facility is no number from 0 to "
            f"{_MOST_FACILITY}; set one"
        )
    return value


def _word(text: str, limit: int) -> str:
    """A header field: printable ASCII without spaces, never empty."""
    kept = "".join(mark if "!" <= mark <= "~" else "_" for mark in text[:limit])
    return kept or "-"
