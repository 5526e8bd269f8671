"""The events of an execution, from bytes of server-sent events, without IO.

A connection that breaks is opened again after the last event that was read, so each event comes
once. The driver gives what it receives to `receive`, and asks `broken` how long to wait.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from caps.client.errors import AnswerInvalidError, ClientError, ServiceUnreachableError
from caps.client.exchange import may_repeat, pause_before
from caps.client.message import Request
from caps.client.settings import ClientSettings
from caps.client.values import Event

LAST: Final = "finished"
LAST_EVENT_ID: Final = "Last-Event-ID"
_MAX_NUMBER: Final = 2**53
_MAX_DIGITS: Final = len(str(_MAX_NUMBER))


class EventFeed:
    """One stream, over as many connections as it takes."""

    def __init__(self, request: Request[Any], after: int, settings: ClientSettings) -> None:
        self._request = request
        self._settings = settings
        self._last = after
        self._line = bytearray()
        self._fields: dict[str, str] = {}
        self._size = 0
        self._failures = 0
        self._ended = False

    def request(self) -> Request[Any]:
        """What to send now: everything after the last event that was read."""
        self._line.clear()
        self._start_event()
        headers = {**self._request.headers, LAST_EVENT_ID: str(self._last)}
        return msgspec.structs.replace(self._request, headers=headers)

    def has_ended(self) -> bool:
        """Whether the last event was read."""
        return self._ended

    def receive(self, data: bytes) -> list[Event]:
        """The events that are complete now. Raises AnswerInvalidError."""
        *lines, rest = data.split(b"\n")
        found = []
        for line in lines:
            event = self._take(bytes(self._line) + line)
            self._line.clear()
            if event is not None:
                self._last, self._failures = event.number, 0
                found.append(event)
                if event.kind == LAST:
                    self._ended = True
                    return found
        self._line += rest
        self._check_size(len(self._line))
        return found

    def broken(self, error: ClientError | None) -> float:
        """How long to wait before the next connection. Raises the error if there is none.

        `error` is None for a connection that ended in good order, before the last event.
        """
        self._failures += 1
        if error is None:
            error = ServiceUnreachableError("the stream of events ended early", sent=True)
        if self._failures >= self._settings.attempts or not may_repeat(self._request, error):
            raise error
        return pause_before(self._failures + 1, self._settings, error)

    def _take(self, line: bytes) -> Event | None:
        """The event that this line completes, if it does."""
        line = line.removesuffix(b"\r")
        if not line:
            fields = self._fields
            self._start_event()
            return _event(fields, self._last)
        name, _, value = line.partition(b":")
        if name:  # a line that begins with a colon keeps the connection alive, and no more
            key, text = name.decode("latin-1"), value.removeprefix(b" ").decode("utf-8", "replace")
            before = self._fields.get(key)
            joined = before is not None and key == "data"
            self._fields[key] = f"{before}\n{text}" if joined else text
            self._size += len(line)
            self._check_size(0)
        return None

    def _check_size(self, more: int) -> None:
        if self._size + more > self._settings.max_event_bytes:
            raise AnswerInvalidError(f"an event is over {self._settings.max_event_bytes} bytes")

    def _start_event(self) -> None:
        self._fields, self._size = {}, 0


def _event(fields: dict[str, str], last: int) -> Event | None:
    """The event of a block of lines; None for a block without data. Raises AnswerInvalidError."""
    if "data" not in fields:
        return None
    number = fields.get("id", "")
    is_number = number.isascii() and number.isdecimal() and len(number) <= _MAX_DIGITS
    if not is_number or not last < int(number) <= _MAX_NUMBER:
        raise AnswerInvalidError("the events of the stream are out of order")
    try:
        data = msgspec.json.decode(fields["data"], type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise AnswerInvalidError(f"an event is not JSON: {error}") from None
    return Event(number=int(number), kind=fields.get("event", ""), data=data)
