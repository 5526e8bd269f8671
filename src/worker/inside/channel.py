"""(4) The worker's end of the channel: one blocking descriptor, and the loop's idle hook.

What is to be sent is collected and written once a turn, so that a `gather` travels in few system
calls. Printed text is collected too, and leaves when it is old or long enough, before any request
that was made after it, and before the result.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

from caps.protocol.connection import WorkerConnection
from caps.protocol.messages import (
    CancelMessage,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    FromHost,
    FromWorker,
    OutputMessage,
)
from caps.worker.inside.loop import Future, Loop, Task

_READ_BYTES = 16 * 1024
_OUTPUT_CHARACTERS = 8 * 1024
_OUTPUT_SECONDS = 0.02
_LONGEST_WAIT_SECONDS = 3600.0  # poll refuses what does not fit its integer; the loop waits again


class Channel:
    """Sends and receives for this worker; the only way out of it."""

    def __init__(self, descriptor: int) -> None:
        self.connection = WorkerConnection()
        self.loop = Loop(self._idle)
        self.main: Task | None = None
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._outgoing: list[bytes] = []
        self._inbox: deque[FromHost] = deque()
        self._answers: dict[str, tuple[Future, Callable[[], None]]] = {}
        self._printed: list[str] = []
        self._printed_characters = 0
        self._busy = False
        self._last_output = time.monotonic()

    def send(self, kind: type[FromWorker], **fields: Any) -> FromWorker:
        """Queue a message for the end of this turn, behind what was printed before it."""
        before, self._busy = self._busy, True
        try:
            self._flush_printed()
            message = kind(**fields, **self.connection.stamp())
            self._outgoing.append(self.connection.send(message))
        finally:
            self._busy = before
        return message

    def request(self, request_id: str, on_answer: Callable[[], None], **fields: Any) -> Future:
        """Send a capability request; the future of its answer.

        `on_answer` is called when the answer comes, even if nobody waits for it any more. Raises
        ProtocolError, TypeError, ValueError or OverflowError for a payload that cannot be sent.
        """
        self.send(CapabilityRequestMessage, request_id=request_id, **fields)
        answer = self.loop.future()
        self._answers[request_id] = (answer, on_answer)
        return answer

    def write(self, text: str) -> None:
        """Take printed text."""
        self.note(text)
        old = time.monotonic() - self._last_output > _OUTPUT_SECONDS
        if old or self._printed_characters > _OUTPUT_CHARACTERS:
            self.flush()

    def note(self, text: str) -> None:
        """Take text that leaves with what is sent next. Safe in the middle of anything."""
        self._printed.append(text)
        self._printed_characters += len(text)

    def flush(self) -> None:
        """Write everything that is queued.

        The end of a generator may print, and the collector may run it in the middle of a message;
        what it printed waits until that message is whole.
        """
        if self._busy or not (self._outgoing or self._printed):
            return
        self._busy = True
        try:
            self._flush_printed()
            outgoing, self._outgoing = self._outgoing, []
            self._write(b"".join(outgoing))
        finally:
            self._busy = False

    def _write(self, whole: bytes) -> None:
        data = memoryview(whole)
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except ConnectionError:
                leave()

    def next_message(self) -> FromHost:
        """Wait for one message; used before user code runs, when only one can come."""
        while not self._inbox:
            self._inbox.extend(self.connection.receive(self._read()))
        return self._inbox.popleft()

    def _flush_printed(self) -> None:
        if not self._printed:
            return
        printed, self._printed = self._printed, []
        self._printed_characters = 0
        text = "".join(printed)
        self._last_output = time.monotonic()
        # Long text is cut so that no print can make a frame that the host refuses.
        for start in range(0, len(text), 1 << 20):
            piece = text[start : start + (1 << 20)].encode("utf-8", "backslashreplace").decode()
            message = OutputMessage(text=piece, **self.connection.stamp())
            self._outgoing.append(self.connection.send(message))

    def _idle(self, timeout: float | None) -> None:
        self.flush()
        wait_ms = None
        if timeout is not None:
            wait_ms = int(min(timeout, _LONGEST_WAIT_SECONDS) * 1000 + 0.999)
        if self._poll.poll(wait_ms):
            for message in self.connection.receive(self._read()):
                self._dispatch(message)

    def _read(self) -> bytes:
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except ConnectionError:
            leave()
        if not data:
            leave()
        return data

    def _dispatch(self, message: FromHost) -> None:
        if isinstance(message, CapabilityResponseMessage):
            answer, on_answer = self._answers.pop(message.request_id)
            answer._finish(message, None)
            on_answer()
        elif isinstance(message, CancelMessage) and self.main is not None:
            self.main.cancel()


def leave(code: int = 0) -> NoReturn:
    """End this process at once: the host is gone, or everything is said."""
    os._exit(code)


def python_version() -> str:
    """The interpreter, as the ready message names it."""
    return ".".join(str(part) for part in sys.version_info[:3])
