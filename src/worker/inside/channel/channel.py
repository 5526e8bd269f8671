"""(4) The worker's end of the channel: one descriptor, and the loop's idle hook.

What is to be sent is collected and written once a turn, so that a `gather` travels in few system
calls. While the channel takes no more, answers are read, as the host may take no more until they
are.

Printed text leaves at once, so that nothing is lost of code that is killed afterwards, as long as
it does not print too often: there are 64 sends to spend, and as many come back in a second. Beyond
that text is collected until it is long, until a send has come back, or until the end of the turn.
It always leaves before a request that was made after it, and before the result.
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
from caps.protocol.errors import ProtocolError
from caps.protocol.messages import (
    CancelMessage,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    FromHost,
    FromWorker,
    OutputMessage,
    StartMessage,
)
from caps.worker.inside.aio.loop import Future, Loop, Task

_READ_BYTES = 16 * 1024
_OUTPUT_CHARACTERS = 8 * 1024
_OUTPUT_BURST = 64  # prints that are sent at once, one by one
_OUTPUT_SECONDS = 1 / 64  # and how long it takes until there is one more
NOTHING = memoryview(b"")
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
        # What is under way outlives an error in mid-flush (user space may be at its recursion
        # limit or out of memory, and go on): a frame is never cut, and no answer is lost.
        self._unwritten = NOTHING
        self._unparsed: list[bytes] = []
        self._inbox: deque[FromHost] = deque()
        self._answers: dict[str, tuple[Future, Callable[[], None]]] = {}
        self.at_cell_end: list[Callable[[], None]] = []
        self._printed: list[str] = []
        self._printed_characters = 0
        self._output_paid_until = 0.0
        self._busy = False

    def send(self, kind: type[FromWorker], **fields: Any) -> FromWorker:
        """Queue a message for the end of this turn, behind what was printed before it."""
        before, self._busy = self._busy, True
        try:
            if self._printed:
                self._flush_printed()
            message = kind(**fields, **self.connection.stamp())
            self._outgoing.append(self.connection.send(message))
        finally:
            self._busy = before
        return message

    def request(
        self, request_id: str, on_answer: Callable[[], None], fields: dict[str, Any]
    ) -> Future:
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
        if self._printed_characters > _OUTPUT_CHARACTERS or self._may_send_output():
            self.flush()

    def note(self, text: str) -> None:
        """Take text that leaves with what is sent next. Safe in the middle of anything."""
        self._printed.append(text)
        self._printed_characters += len(text)

    def _may_send_output(self) -> bool:
        """Whether a send is left; it is spent then."""
        now = time.monotonic()
        paid_until = max(self._output_paid_until, now) + _OUTPUT_SECONDS
        if paid_until > now + _OUTPUT_BURST * _OUTPUT_SECONDS:
            return False
        self._output_paid_until = paid_until
        return True

    def flush(self) -> None:
        """Write everything that is queued.

        The end of a generator may print, and the collector may run it in the middle of a message;
        what it printed waits until that message is whole.
        """
        if self._busy:
            return
        self._busy = True
        try:
            if self._printed:
                self._flush_printed()
            if self._outgoing:
                self._unwritten = memoryview(b"".join((self._unwritten, *self._outgoing)))
                self._outgoing.clear()
            if self._unwritten:
                self._write()
        finally:
            self._busy = False

    def _write(self) -> None:
        while self._unwritten:
            try:
                self._unwritten = self._unwritten[os.write(self._descriptor, self._unwritten) :]
            except BlockingIOError:
                self._until_writable()
            except ConnectionError:
                leave()
        self._unwritten = NOTHING  # what is left of a view still holds all that it was cut from

    def _until_writable(self) -> None:
        """Wait for room to write, and take in what comes; it is acted on when the turn is over."""
        self._poll.modify(self._descriptor, select.POLLIN | select.POLLOUT)
        ((_, events),) = self._poll.poll()
        self._poll.modify(self._descriptor, select.POLLIN)
        if events & ~select.POLLOUT:
            self._read()

    def has_input(self, seconds: float) -> bool:
        """Whether something has come, or comes within so many seconds."""
        return bool(self._inbox or self._unparsed or self._poll.poll(seconds * 1000))

    def next_message(self) -> FromHost:
        """Wait for one message; used before user code runs, when only one can come."""
        while not self._inbox:
            self._poll.poll()
            self._read()
            self._inbox.extend(self._parse())
        return self._inbox.popleft()

    def next_start(self) -> StartMessage:
        """Wait for code; what still comes for the cell before it is dropped."""
        while True:
            message = self.next_message()
            if isinstance(message, StartMessage):
                return message
            if not isinstance(message, CapabilityResponseMessage | CancelMessage):
                raise ProtocolError("a start was due", violation="out_of_turn")

    def linger(self, seconds: float) -> NoReturn:
        """Everything is said: take no notice of what comes, and leave when nothing does."""
        while self._poll.poll(seconds * 1000):
            self._read()
            self._unparsed.clear()
        leave()

    def forget_answers(self) -> None:
        """The cell is over: nobody waits for its answers, and their places are free again."""
        answers, self._answers = self._answers, {}
        for answer, _ in answers.values():
            answer.cancel()
        for forget in self.at_cell_end:
            forget()
        self.main = None

    def _flush_printed(self) -> None:
        printed, self._printed = self._printed, []
        self._printed_characters = 0
        text = "".join(printed)
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
        if not self._unparsed and self._poll.poll(wait_ms):
            self._read()
        if self._unparsed:
            for message in self._parse():
                self._dispatch(message)

    def _parse(self) -> list[FromHost]:
        data = b"".join(self._unparsed)
        self._unparsed.clear()
        return self.connection.receive(data)

    def _read(self) -> None:
        """Take in what has come; the host is gone if that is nothing."""
        try:
            data = os.read(self._descriptor, _READ_BYTES)
        except ConnectionError:
            leave()
        if not data:
            leave()
        self._unparsed.append(data)

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
