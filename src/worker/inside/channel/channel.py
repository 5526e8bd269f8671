"""(4) The worker's end of the channel: one descriptor, and the loop's idle hook.

Messages are collected and written once per turn of the loop, so that a `gather` needs few system
calls. While the channel is full, answers are read, because the host may read no more until its
answers are read.

Printed text is sent immediately, so that nothing is lost if the code is killed afterwards, unless
it prints too often: sends are rate-limited to a burst of 64, refilled at 64 per second. Beyond
that, text is collected until it is long, until a send is available, or until the end of the turn.
It is always sent before a request that was made after it, and before the result.
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
    CapabilityResponseMessage,
    FromHost,
    FromWorker,
    OutputMessage,
    StartMessage,
    StreamItemMessage,
    StreamNextMessage,
)
from caps.worker.inside.aio.loop import Future, Loop
from caps.worker.inside.channel.interrupts import Interrupts

_READ_BYTES = 16 * 1024
_OUTPUT_CHARACTERS = 8 * 1024
_OUTPUT_BURST = 64  # prints that are sent immediately, one by one
_OUTPUT_SECONDS = 1 / 64  # time until one more is available
NOTHING = memoryview(b"")
_MAX_WAIT_SECONDS = 3600.0  # poll refuses a timeout that does not fit its integer; the loop repeats


class Channel:
    """Sends and receives for this worker; the only way out of it."""

    def __init__(self, descriptor: int) -> None:
        self.connection = WorkerConnection()
        self.loop = Loop(self._idle)
        self.interrupts = Interrupts()
        self._descriptor = descriptor
        # A warm-up replaces these three, so that all else is the same for it.
        self._read_some = os.read
        self._write_some = os.write
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self._outgoing: list[bytes] = []
        # These survive an error in the middle of a flush (user space may be at its recursion limit
        # or out of memory, and continue): a frame is never truncated, and no answer is lost.
        self._unwritten = NOTHING
        self._unparsed: list[bytes] = []
        self._inbox: deque[FromHost] = deque()
        self._answers: dict[str, tuple[Future, Callable[[], None]]] = {}
        self.cell_end_callbacks: list[Callable[[], None]] = []
        self._printed: list[str] = []
        self._printed_characters = 0
        self._output_paid_until = 0.0
        self._busy = False
        self.lost_input = False
        """Whether there was no memory for what arrived. What arrives later makes no sense then."""

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
        """Send a capability request. Returns the future of its answer.

        `on_answer` is called when the answer arrives, even if no task waits for it any more. Raises
        ProtocolError, TypeError, ValueError or OverflowError for a payload that cannot be sent.
        """
        before, self._busy = self._busy, True
        try:
            if self._printed:
                self._flush_printed()
            self._outgoing.append(self.connection.request(request_id, fields))
        finally:
            self._busy = before
        answer = Future()
        self._answers[request_id] = (answer, on_answer)
        return answer

    def next_item(self, request_id: str, on_answer: Callable[[], None]) -> Future:
        """Ask for the next item of a stream. Returns the future of the item, or of its end."""
        self.send(StreamNextMessage, request_id=request_id)
        answer = self.loop.future()
        self._answers[request_id] = (answer, on_answer)
        return answer

    def stop_items(self, request_id: str) -> None:
        """No more items of a stream, if it has not ended; its slot is freed when it has."""
        if request_id in self._answers:  # not if the cell is over, or its end was received
            self.send(StreamNextMessage, request_id=request_id, stop=True)

    def write(self, text: str) -> None:
        """Accept printed text."""
        self.note(text)
        if self._printed_characters > _OUTPUT_CHARACTERS or self._may_send_output():
            self.flush()

    def note(self, text: str) -> None:
        """Accept text that is sent with the next message. Safe to call at any point."""
        self._printed.append(text)
        self._printed_characters += len(text)

    def _may_send_output(self) -> bool:
        """Whether a send is available; if so, it is used up."""
        now = time.monotonic()
        paid_until = max(self._output_paid_until, now) + _OUTPUT_SECONDS
        if paid_until > now + _OUTPUT_BURST * _OUTPUT_SECONDS:
            return False
        self._output_paid_until = paid_until
        return True

    def flush(self) -> None:
        """Write everything that is queued.

        The `finally` of a generator may print, and the garbage collector may run it in the middle
        of a message; the printed text waits until that message is complete.
        """
        if self._busy:
            return
        self._busy = True
        try:
            if self._printed:
                self._flush_printed()
            if self._outgoing:
                if self._unwritten or len(self._outgoing) > 1:
                    self._unwritten = memoryview(b"".join((self._unwritten, *self._outgoing)))
                else:
                    self._unwritten = memoryview(self._outgoing[0])
                self._outgoing.clear()
            if self._unwritten:
                self._write()
        finally:
            self._busy = False

    def _write(self) -> None:
        while self._unwritten:
            try:
                written = self._write_some(self._descriptor, self._unwritten)
                if written == len(self._unwritten):
                    break  # nearly always
                self._unwritten = self._unwritten[written:]
            except BlockingIOError:
                self._wait_writable()
            except ConnectionError:
                exit_worker()
        self._unwritten = NOTHING  # the empty rest of a view would keep the whole buffer alive

    def _wait_writable(self) -> None:
        """Wait for room to write, and read what arrives; it is processed after the turn."""
        self._poll.modify(self._descriptor, select.POLLIN | select.POLLOUT)
        ((_, events),) = self._poll.poll()
        self._poll.modify(self._descriptor, select.POLLIN)
        if events & ~select.POLLOUT:
            self._read()

    def has_input(self, milliseconds: int) -> bool:
        """Whether something has arrived, or arrives within this time."""
        return bool(self._inbox or self._unparsed or self._poll.poll(milliseconds))

    def next_message(self) -> FromHost:
        """Wait for one message. Used before user code runs, when only one can arrive."""
        while not self._inbox:
            self._poll.poll()
            self._read()
            self._inbox.extend(self._parse())
        return self._inbox.popleft()

    def next_start(self) -> StartMessage:
        """Wait for code. Messages for the previous cell are dropped."""
        while True:
            message = self.next_message()
            if isinstance(message, StartMessage):
                return message
            if not isinstance(message, CapabilityResponseMessage | StreamItemMessage):
                raise ProtocolError("expected a start", violation="out_of_turn")

    def linger(self, milliseconds: int) -> NoReturn:
        """Everything is sent: ignore what arrives, and exit when nothing arrives for this time."""
        while self._poll.poll(milliseconds):
            self._read()
            self._unparsed.clear()
        exit_worker()

    def forget_answers(self) -> None:
        """The cell has ended: cancel the futures of its answers, and free their slots."""
        answers, self._answers = self._answers, {}
        for answer, _ in answers.values():
            answer.cancel()
        for on_cell_end in self.cell_end_callbacks:
            on_cell_end()

    def _flush_printed(self) -> None:
        printed, self._printed = self._printed, []
        self._printed_characters = 0
        text = "".join(printed)
        # Long text is split, so that no print can make a frame that the host refuses.
        for start in range(0, len(text), 1 << 20):
            piece = text[start : start + (1 << 20)].encode("utf-8", "backslashreplace").decode()
            message = OutputMessage(text=piece, **self.connection.stamp())
            self._outgoing.append(self.connection.send(message))

    def _idle(self, timeout: float | None) -> None:
        self.flush()
        wait_ms = None
        if timeout is not None:
            wait_ms = int(min(timeout, _MAX_WAIT_SECONDS) * 1000 + 0.999)
        if not self._unparsed and self.interrupts.wait(self._poll.poll, wait_ms):
            self._read()
        if self._unparsed:
            for message in self._parse():
                self._dispatch(message)
        if self.interrupts.pending:
            self.loop.interrupt(self.interrupts.take())

    def _parse(self) -> list[FromHost]:
        data = self._unparsed[0] if len(self._unparsed) == 1 else b"".join(self._unparsed)
        self._unparsed.clear()
        try:
            connection = self.connection
            found = connection.take_one(data)
            if found is not None:  # nearly always
                return [found]
            return connection.receive(data)
        except MemoryError:
            self.lost_input = True
            raise

    def _read(self) -> None:
        """Read what has arrived; if that is nothing, the host has closed the channel."""
        try:
            data = self._read_some(self._descriptor, _READ_BYTES)
        except ConnectionError:
            exit_worker()
        if not data:
            exit_worker()
        self._unparsed.append(data)

    def _dispatch(self, message: FromHost) -> None:
        if isinstance(message, CapabilityResponseMessage):
            answer, on_answer = self._answers.pop(message.request_id)
            answer._finish(message, None)
            on_answer()
        elif isinstance(message, StreamItemMessage):
            answer, _ = self._answers[message.request_id]
            answer._finish(message, None)


def exit_worker(code: int = 0) -> NoReturn:
    """End this process immediately: the host has ended, or everything is sent."""
    os._exit(code)


def python_version() -> str:
    """The interpreter's version, in the format of the ready message."""
    return ".".join(str(part) for part in sys.version_info[:3])
