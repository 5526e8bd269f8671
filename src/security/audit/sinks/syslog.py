"""(8) Syslog, RFC 5424: one message per record, over a unix socket, UDP, or TCP (octet counting).

    <110>1 2026-01-31T12:00:00.000000Z host caps 4242 decision_made [meta sequenceId="17"] {...}

The message is the record as it is on disk. Facility 13 is "log audit"; severity is warning for a
denial or a failure, otherwise informational. None of the three transports has a response, so
"delivered" has a weaker meaning: a datagram was passed to the kernel; on TCP the receiver's kernel
acknowledged every byte (RFC 6587 says why no more can be known). Of a record that is too long for a
datagram only the short form is sent, with its hash and a note of the cut. A receiver may take less
than that, and say so only by closing the connection: then the limit is lowered, until it takes all.

A receiver that closes the connection may not have read what its kernel acknowledged, and the close
may arrive after later records were sent. So when a TCP connection is found closed, its last records
are *in doubt*: those of the last delivery, and of the deliveries less than a deadline before it.
They are sent again on the next connection.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import struct
import termios
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from caps.protocol.errors import ConfigurationError
from caps.security.audit.model.records import MAX_LINE_BYTES
from caps.security.audit.sinks.forms import short_form
from caps.security.audit.sinks.interface import Delivery, RecordRefusedError, SinkError
from caps.security.audit.sinks.urls import SinkAddress, SinkKind

_LOG_AUDIT: Final = 13
_MAX_FACILITY: Final = 23
_WARNING: Final = 4
_INFORMATIONAL: Final = 6
_MAX_DATAGRAM: Final = 60_000
# How long a line may be. Receivers have such limits as 64 KiB (syslog-ng) and 8 KiB (rsyslog).
_LIMITS: Final = (MAX_LINE_BYTES, _MAX_DATAGRAM, 8_000, 4_000)
_MAX_SEQUENCE: Final = 2**31 - 1
_SEND_BUFFER: Final = 128 * 1024
_DEFAULT_PORT: Final = {SinkKind.SYSLOG_UDP: 514, SinkKind.SYSLOG_TCP: 601}
_TROUBLE: Final = frozenset(
    {"protocol_violated", "limit_reached", "log_recovered", "sink_failed", "grant_revoked"}
)
_decode: Final = msgspec.json.Decoder().decode


class ConnectionClosedError(SinkError):
    """The receiver closed the connection, perhaps because of what it got."""


class _Sent(msgspec.Struct, frozen=True):
    """A delivery that the receiver's kernel acknowledged."""

    at: float
    first: int
    """The number of its first record."""
    longest: int
    """The size of its longest line that was sent in full."""


class SyslogSink:
    """One socket, created again after a failure."""

    keeps = False

    def __init__(self, address: SinkAddress) -> None:
        """Raises `ConfigurationError`."""
        self._address = address
        self._deadline = address.terms.deadline
        self._stream = address.kind is SinkKind.SYSLOG_TCP
        self._limit = MAX_LINE_BYTES if self._stream else _MAX_DATAGRAM
        self._priority = _facility(address) * 8
        self._app = _word(address.options.get("app", "caps"), 48)
        self._host = _word(socket.gethostname(), 255)
        self._socket: socket.socket | None = None
        # The deliveries of this TCP connection that are in doubt if it is found closed.
        self._recent: deque[_Sent] = deque()
        self._in_doubt_from: int | None = None

    def connect(self) -> int | None:
        """Return the last record that is not in doubt, if some are."""
        self._recent.clear()
        kind = self._address.kind
        if kind is SinkKind.SYSLOG_UNIX:
            self._socket = self._connect_unix()
        else:
            port = self._address.port or _DEFAULT_PORT[kind]
            socket_kind = socket.SOCK_STREAM if self._stream else socket.SOCK_DGRAM
            self._socket = _connect(self._address.host, port, socket_kind, self._deadline)
        return None if self._in_doubt_from is None else self._in_doubt_from - 1

    def deliver(self, items: Sequence[Delivery]) -> None:
        assert self._socket is not None
        messages = [self._message(item) for item in items]
        sizes = [len(item.line) for item in items]
        longest = max((size for size in sizes if size <= self._limit), default=0)
        try:
            if self._stream:
                self._send_stream(self._socket, messages)
                self._note_sent(items, longest)
            else:
                for message in messages:
                    self._socket.send(message)
        except TimeoutError:
            raise
        except ConnectionClosedError:
            self._doubt(longest)
            raise
        except OSError as error:
            if error.errno == errno.EMSGSIZE and self._lower_limit(longest):
                raise RecordRefusedError("a record is too long for a datagram") from error
            if self._stream:
                self._doubt(longest)
            raise

    def _send_stream(self, connection: socket.socket, messages: Sequence[bytes]) -> None:
        self._refuse_closed(connection)
        connection.sendall(b"".join(b"%d %s" % (len(m), m) for m in messages))
        self._wait_for_acknowledgement(connection)

    def _note_sent(self, items: Sequence[Delivery], longest: int) -> None:
        first, now = min(item.seq for item in items), time.monotonic()
        while self._recent and self._recent[0].at < now - self._deadline:
            self._recent.popleft()
        self._recent.append(_Sent(now, first, longest))
        if self._in_doubt_from is not None and first <= self._in_doubt_from:
            self._in_doubt_from = None  # sent again, and part of `_recent` now

    def _doubt(self, longest: int) -> None:
        """The connection was closed: what was sent last may not have been read."""
        firsts = [sent.first for sent in self._recent]
        if self._in_doubt_from is not None:
            firsts.append(self._in_doubt_from)
        self._in_doubt_from = min(firsts, default=None)
        self._lower_limit(max([longest, *(sent.longest for sent in self._recent)]))

    def _lower_limit(self, longest: int) -> bool:
        """Send shorter messages from now on, if a long one may be why the last were not taken."""
        lower = next((limit for limit in _LIMITS if limit < longest), None)
        if lower is None:
            return False
        self._limit = lower
        return True

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect_unix(self) -> socket.socket:
        created = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        created.settimeout(self._deadline)
        try:
            created.connect(self._address.parts.path)
        except OSError:
            created.close()
            raise
        return created

    def _refuse_closed(self, connection: socket.socket) -> None:
        """Check before writing: the first write to a connection without a peer succeeds.

        Unlike an end of file that is read, this is also noticed behind data that nobody reads.
        """
        poll = select.poll()
        poll.register(connection, select.POLLRDHUP)  # errors and resets are always reported
        if poll.poll(0):
            raise ConnectionClosedError("the receiver closed the connection")

    def _wait_for_acknowledgement(self, connection: socket.socket) -> None:
        deadline = time.monotonic() + self._deadline
        pause = 0.0001
        while self._unacknowledged(connection):
            self._refuse_closed(connection)  # after a reset nothing is acknowledged any more
            if time.monotonic() >= deadline:
                raise SinkError("the receiver does not read")
            time.sleep(pause)
            pause = min(2 * pause, 0.01)
        self._refuse_closed(connection)

    def _unacknowledged(self, connection: socket.socket) -> int:
        raw = fcntl.ioctl(connection, termios.TIOCOUTQ, b"\0" * 4)
        return int(struct.unpack("i", raw)[0])

    def _message(self, item: Delivery) -> bytes:
        record: dict[str, Any] = _decode(item.line)
        kind = "checkpoint" if item.checkpoint else str(record.get("kind", ""))
        line = item.line if len(item.line) <= self._limit else short_form(item).line
        bad = kind in _TROUBLE or record.get("decision") == "deny"
        priority = self._priority + (_WARNING if bad else _INFORMATIONAL)
        sequence = f'[meta sequenceId="{item.seq}"]' if item.seq <= _MAX_SEQUENCE else "-"
        ts = _word(str(record.get("ts", "")), 32)
        head = (
            f"<{priority}>1 {ts} {self._host} {self._app} {os.getpid()} "
            f"{_word(kind, 32)} {sequence} "
        )
        return head.encode() + line


def _connect(host: str, port: int, kind: socket.SocketKind, timeout: float) -> socket.socket:
    error: OSError | None = None
    for family, _, protocol, _, place in socket.getaddrinfo(host, port, type=kind):
        created = socket.socket(family, kind, protocol)
        try:
            created.settimeout(timeout)
            if kind is socket.SOCK_STREAM:
                # Small, so that a receiver that does not read is noticed soon.
                created.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            created.connect(place)
        except OSError as failure:
            created.close()
            error = failure
        else:
            return created
    raise error or SinkError(f"`{host}` has no address")


def _facility(address: SinkAddress) -> int:
    text = address.options.get("facility", str(_LOG_AUDIT))
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else -1
    if not 0 <= value <= _MAX_FACILITY:
        raise ConfigurationError(
            f"audit sink `{address.terms.name}`: facility is not an integer from 0 to "
            f"{_MAX_FACILITY}; set one"
        )
    return value


def _word(text: str, limit: int) -> str:
    """Return a header field: printable ASCII without spaces, never empty."""
    kept = "".join(mark if "!" <= mark <= "~" else "_" for mark in text[:limit])
    return kept or "-"
