"""(5) Reads a socket on asyncio without a task, a cancel scope or a timer for each message."""

from __future__ import annotations

import asyncio
import contextvars
import math
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

from caps.protocol.loop_share import PIECE_SECONDS, LoopShare

# A `gather` of a hundred calls comes in one piece: in two it would cost twice the writes to the
# audit log. The buffer is not touched beyond what has come, so its size costs nothing.
_RECEIVE_BYTES = 64 * 1024
# A step this short is charged by the clock, even if another process ran in the middle of it.
_SHORT_SECONDS = 0.001

T = TypeVar("T")


class ChannelClosedError(Exception):
    """The peer is gone, or this end was closed."""


class ReadTimeout(Exception):
    """The expected bytes did not come in time. Bytes that did come are not lost."""


def recv_nonblocking(end: socket.socket) -> bytes | None:
    """The bytes that have come; None if there are none yet. Raises ChannelClosedError."""
    try:
        return end.recv(_RECEIVE_BYTES)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""
    except OSError:
        raise ChannelClosedError from None


def identity(data: bytes) -> bytes | None:
    """The `take` function that returns the bytes as they are."""
    return data


class _Raised:
    """The exception that `take` raised, as a result of the future.

    Not as its exception: a future refuses some exceptions and swallows others.
    """

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


# While nobody reads.
_NO_CONTEXT = contextvars.Context()

# The result of a read that took too long. An exception in the future would refer to the frame that
# raises it, and that to the future.
_OVERDUE: Any = object()


class AsyncioReader:
    """Reads on asyncio. The socket is registered with the event loop once, not for each message.

    Bytes are taken from the socket only while a caller waits for them; the rest stays in the
    kernel, which then holds the peer back. They are processed in the event loop's own step, so that
    work that needs no task wakes none.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Any] | None = None
        self._take: Callable[[bytes], Any] = identity
        self._context = _NO_CONTEXT
        self._watched = False
        # Bytes that were read for a caller that was cancelled in the same turn. Only as `identity`
        # returns them: another `take` has processed its bytes and keeps the result itself.
        self._unread: bytes | None = None
        # One timer serves many reads, since each deadline is usually later than the one before.
        # When it fires, it checks whether the current read is overdue. An earlier deadline sets it
        # again.
        self._deadline = math.inf
        self._timer_at = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._share = LoopShare()
        self._rest: asyncio.TimerHandle | None = None
        self._rest_until = 0.0
        # The time of this thread when the current piece of a rest began.
        self._piece_from = 0.0

    async def read(self, take: Callable[[bytes], T | None], within_s: float = math.inf) -> T:
        """What `take` returns for the next bytes, at least one turn of the event loop later.

        Bytes for which it returns None are followed by more. Raises ChannelClosedError, ReadTimeout
        and whatever `take` raises.
        """
        if self._waiter is not None:
            raise anyio.BusyResourceError("reading from")
        if self._socket.fileno() < 0:
            raise ChannelClosedError
        if self._unread is not None:
            await anyio.lowlevel.checkpoint()
            data, self._unread = self._unread, None
            taken = take(data)
            if taken is not None:
                return taken
        waiter: asyncio.Future[T | _Raised] = self._loop.create_future()
        self._waiter, self._take = waiter, take
        # `_readable` would otherwise run in the context of the first caller that read.
        self._context = contextvars.copy_context()
        self._deadline = self._loop.time() + within_s
        if self._deadline < self._timer_at:
            self._set_timer(self._deadline)
        self._watch()
        try:
            result = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                unread = waiter.result()
                self._unread = unread if take is identity and isinstance(unread, bytes) else None
            raise
        finally:
            self._waiter = None
            # What the caller is would refer back to this object, and its context to much else.
            self._take = identity
            self._context = _NO_CONTEXT
        if isinstance(result, _Raised):
            raise result.error
        if result is _OVERDUE:
            raise ReadTimeout
        return result

    def _readable(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._unwatch()  # no caller waits for it
            return
        began, thread_began = time.monotonic(), time.thread_time()
        try:
            try:
                data: bytes | None = self._socket.recv(_RECEIVE_BYTES)
            except OSError:
                data = recv_nonblocking(self._socket)  # which knows the errors
            taken = None if data is None else self._context.run(self._take, data)
        except (KeyboardInterrupt, SystemExit):
            raise  # ends the event loop, which cancels the waiting caller
        except BaseException as error:  # noqa: BLE001 - raised again in `read`
            self._unwatch()
            if not waiter.done():  # `take` may have cancelled the caller
                waiter.set_result(_Raised(error))
        else:
            if taken is not None and not waiter.done():
                waiter.set_result(taken)
            now = time.monotonic()
            took = now - began
            if took > _SHORT_SECONDS:  # else it is exact enough, without one more system call
                took = time.thread_time() - thread_began
            rest = self._share.charge(took, now)
            if rest:
                self._rest_for(rest)

    def _watch(self) -> None:
        if not self._watched and self._rest is None:
            self._loop.add_reader(self._socket.fileno(), self._readable)
            self._watched = True

    def _rest_for(self, seconds: float) -> None:
        """Leave the loop to others: the peer is held back by the kernel meanwhile."""
        self._unwatch()
        LoopShare.resting += 1
        self._rest_until = time.monotonic() + seconds
        self._rest_on(seconds)

    def _rest_on(self, seconds: float) -> None:
        self._piece_from = time.thread_time()
        self._rest = self._loop.call_later(min(seconds, PIECE_SECONDS), self._end_piece)

    def _end_piece(self) -> None:
        now = time.monotonic()
        left = self._rest_until - now
        if left <= 0.0:
            self._end_rest()
        elif self._share.is_alone(time.thread_time() - self._piece_from):
            self._share.forgive(now)
            self._end_rest()
        else:
            self._rest_on(left)

    def _end_rest(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
            LoopShare.resting -= 1
            if self._waiter is not None:
                self._watch()

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = when
        self._timer = self._loop.call_at(when, self._on_timer)

    def _on_timer(self) -> None:
        waiter, fired_for = self._waiter, self._timer_at
        self._timer, self._timer_at = None, math.inf
        if waiter is None or waiter.done():
            return
        if self._deadline <= fired_for:
            waiter.set_result(_OVERDUE)
        elif self._deadline < math.inf:
            self._set_timer(self._deadline)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._socket.fileno())

    def close(self) -> None:
        """Stop reading, before the socket is closed; a waiting caller gets ChannelClosedError."""
        waiter, self._waiter = self._waiter, None
        self._end_rest()
        self._waiter = waiter
        self._unwatch()
        if self._timer is not None:
            self._timer.cancel()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ChannelClosedError())
