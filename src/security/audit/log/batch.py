"""(8) Events that are committed together, and how the tasks that wait for them are woken.

The events of a batch are encoded when it is written, all together, which takes half the time of
encoding each one between other tasks. An event that cannot be recorded fails only its own append.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.log.interface import UndeliveredError
from caps.security.audit.model.chain import EncodedRecord, Entry
from caps.security.audit.model.records import AuditEvent, timestamps


class WakeupGroup(Protocol):
    """The tasks of one event loop that wait for the same batch.

    Every record pays for its way into the writing thread and back. What anyio offers for this
    (events, worker threads, limiters) works on every loop, but costs several times as much, so this
    uses the loop itself.
    """

    def wait(self) -> Awaitable[object]:
        """Ends with `wake`, or when the waiting task is cancelled; the others keep waiting.

        Called in the loop of these tasks.
        """
        ...

    def join(self) -> Awaitable[object] | None:
        """`wait`; None if the caller runs in another loop, and so cannot wait with these tasks."""
        ...

    def wake(self) -> None:
        """Wake all tasks. Called in the loop."""
        ...

    def call_soon(self, act: Callable[[], object]) -> None:
        """Have the loop call `act` after the tasks that can run now. Called in the loop."""
        ...

    def call_from_thread(self, act: Callable[[], object]) -> None:
        """Have the loop call `act`. Raises `RuntimeError` if the loop has ended."""
        ...


class _AsyncioGroup:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # One future for each task: a cancelled task cancels the future that it waits for.
        self._futures: list[asyncio.Future[None]] = []

    def wait(self) -> Awaitable[object]:
        # What `create_future` of asyncio and of uvloop returns, without the call of a method.
        future: asyncio.Future[None] = asyncio.Future(loop=self._loop)
        self._futures.append(future)
        return future

    def join(self) -> Awaitable[object] | None:
        # The function is exported by asyncio.
        return self.wait() if asyncio._get_running_loop() is self._loop else None  # noqa: SLF001

    def wake(self) -> None:
        for future in self._futures:
            if not future.done():
                future.set_result(None)

    def call_soon(self, act: Callable[[], object]) -> None:
        self._loop.call_soon(act)

    def call_from_thread(self, act: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(act)


class _TrioGroup:
    def __init__(self) -> None:
        import trio

        self._current_token = trio.lowlevel.current_trio_token
        self._token = self._current_token()
        self._event = trio.Event()

    def wait(self) -> Awaitable[object]:
        return self._event.wait()

    def join(self) -> Awaitable[object] | None:
        try:
            return self._event.wait() if self._current_token() is self._token else None
        except RuntimeError:
            return None

    def wake(self) -> None:
        self._event.set()

    def call_soon(self, act: Callable[[], object]) -> None:
        self._token.run_sync_soon(act)

    call_from_thread = call_soon


def _new_group() -> WakeupGroup:
    """For tasks of the loop that runs here."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return _TrioGroup() if task is None else _AsyncioGroup(task.get_loop())


# The events of an append, and its time in nanoseconds.
Append = tuple[Sequence[AuditEvent], int]
Encode = Callable[[AuditEvent], EncodedRecord]
EncodeAll = Callable[[Sequence[AuditEvent]], list[EncodedRecord]]


@dataclass(slots=True, eq=False)
class CommitBatch:
    """The events of several appends; not committed unless `committed` says so.

    The loop adds appends until it passes the batch to the thread. The thread sets the outcome and
    passes the batch back.
    """

    appends: list[Append] = field(default_factory=list)
    waiters: WakeupGroup = field(default_factory=_new_group)
    settled: bool = False
    committed: int = 0
    """How many of the appends were committed, except for the refused ones."""
    error: Exception | None = None
    """Why nothing was committed, if that is the case."""
    refused: dict[int, Exception] = field(default_factory=dict)
    """By index of an append: why its events cannot be recorded."""

    def commit(
        self,
        encode: Encode,
        write: Callable[[list[Entry]], object],
        encode_all: EncodeAll,
    ) -> None:
        """Have `write` commit all that can be recorded; of each append all events or none.

        `encode_all` does the same as `encode` for each event, in less time.
        """
        appends = self.appends.copy()
        entries = _encoded_together(encode_all, appends)
        if entries is None:
            entries = self._encode_each(encode, appends)
        try:
            write(entries)
            self.committed = len(appends)
        except Exception as error:  # noqa: BLE001 - `outcome` raises it for all waiting tasks
            self.error = error
        self.settled = True

    def _encode_each(self, encode: Encode, appends: Sequence[Append]) -> list[Entry]:
        entries: list[Entry] = []
        for index, (events, ns) in enumerate(appends):
            try:
                entries += [(encode(event), timestamps([ns])[0]) for event in events]
            except Exception as error:  # noqa: BLE001 - `outcome` raises it for the waiting task
                self.refused[index] = error
        return entries

    def fail(self, error: Exception) -> None:
        """Mark the batch as not committed, finally."""
        self.error = error
        self.settled = True

    def outcome(self, index: int) -> None:
        """Return if the append with this index was committed; raise `AuditError` if not."""
        error = self.refused.get(index, self.error)
        if error is None and index < self.committed:
            return
        # Each waiting task raises its own exception: tracebacks grow on the raised object.
        if isinstance(error, UndeliveredError):
            raise UndeliveredError(error.message) from error
        if isinstance(error, AuditError):
            raise AuditError(error.message) from error
        raise AuditError("the audit log failed to write: internal error") from error


def _encoded_together(encode_all: EncodeAll, appends: Sequence[Append]) -> list[Entry] | None:
    """None if there is an event that cannot be recorded."""
    try:
        records = encode_all([event for events, _ in appends for event in events])
    except Exception:  # noqa: BLE001 - `_encode_each` finds out which event it is, and why
        return None
    times = timestamps([ns for events, ns in appends for _ in events])
    return [*zip(records, times, strict=True)]


class WriteAttempt(msgspec.Struct):
    """An inline write of these events. After an interrupt it can tell whether the write succeeded.

    It belongs to the append that makes it: other processes and threads write the same file, so the
    last bytes of the file do not tell whose they are.
    """

    events: Sequence[object]
    """The events, or the records that were made of them."""
    written: tuple[int, bytes] | None = None
    """The offset and the data, which includes the events. Set just before the write."""

    def succeeded(self, fd: int) -> bool:
        """Whether the file has the data, although an interrupt came before that was noted.

        False if the write did not begin, or if the file cannot be read: evidence is recorded twice
        rather than not at all.
        """
        if self.written is None:
            return False
        offset, data = self.written
        try:
            return os.pread(fd, len(data), offset) == data
        except OSError:
            return False
