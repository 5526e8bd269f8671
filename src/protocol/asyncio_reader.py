"""(5) Reading a socket on asyncio without a task, a scope or a timer for every message."""

from __future__ import annotations

import asyncio
import contextvars
import math
import socket
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.lowlevel

# Large receive buffers cost more than they save: most frames are a few hundred bytes.
_RECEIVE_BYTES = 16 * 1024

T = TypeVar("T")


class ChannelClosedError(Exception):
    """The peer is gone, or this end was closed."""


class OverdueError(Exception):
    """What was waited for has not come in time. Nothing that did come is lost."""


def received(end: socket.socket) -> bytes | None:
    """What has come; None if that is nothing yet. ChannelClosedError."""
    try:
        return end.recv(_RECEIVE_BYTES)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""
    except OSError:
        raise ChannelClosedError from None


def as_it_is(data: bytes) -> bytes | None:
    """The `take` of who wants the bytes themselves."""
    return data


class _Raised:
    """What `take` raised. No exception of a future, which refuses some and swallows others."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class AsyncioReader:
    """Reads on asyncio, which is told once what to watch, and not anew for every message.

    Bytes are taken from the socket only when somebody waits for them; the rest stays in the kernel,
    which then holds the peer back. They are looked at as they come, so that what needs no task is
    done without waking one.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Any] | None = None
        self._take: Callable[[bytes], Any] = as_it_is
        self._context = contextvars.copy_context()
        self._watched = False
        # What was read, as it is, for somebody who was cancelled in the same turn. What a `take`
        # of its own made of it is that one's to keep.
        self._untaken: bytes | None = None
        # One timer serves many reads, as each usually ends later than the one before: it looks when
        # it rings whether anybody waits for so long. It is set anew for one that ends earlier.
        self._overdue_at = math.inf
        self._rings_at = math.inf
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, take: Callable[[bytes], T | None], within_s: float = math.inf) -> T:
        """What `take` makes of the next bytes, a turn later at least.

        Raises ChannelClosedError and OverdueError.
        """
        if self._waiter is not None:
            raise anyio.BusyResourceError("reading from")
        if self._socket.fileno() < 0:
            raise ChannelClosedError
        if self._untaken is not None:
            await anyio.lowlevel.checkpoint()
            data, self._untaken = self._untaken, None
            taken = take(data)
            if taken is not None:
                return taken
        waiter: asyncio.Future[T | _Raised] = self._loop.create_future()
        self._waiter, self._take = waiter, take
        # The event loop's own steps have the context of whoever read first.
        self._context = contextvars.copy_context()
        self._overdue_at = self._loop.time() + within_s
        if self._overdue_at < self._rings_at:
            self._ring_at(self._overdue_at)
        if not self._watched:
            self._loop.add_reader(self._socket.fileno(), self._readable)
            self._watched = True
        try:
            brought = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                kept = waiter.result()
                self._untaken = kept if take is as_it_is and isinstance(kept, bytes) else None
            raise
        finally:
            self._waiter = None
        if isinstance(brought, _Raised):
            raise brought.error
        return brought

    def _readable(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            self._unwatch()  # nobody is there to take it
            return
        try:
            data = received(self._socket)
            taken = None if data is None else self._context.run(self._take, data)
        except (KeyboardInterrupt, SystemExit):
            raise  # to end the event loop, and who waits is cancelled with it
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits
            self._unwatch()
            if not waiter.done():  # what was called may have cancelled who waits
                waiter.set_result(_Raised(error))
        else:
            if taken is not None and not waiter.done():
                waiter.set_result(taken)

    def _ring_at(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = when
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        waiter, rung_for = self._waiter, self._rings_at
        self._timer, self._rings_at = None, math.inf
        if waiter is None or waiter.done():
            return
        if self._overdue_at <= rung_for:
            waiter.set_exception(OverdueError())
        elif self._overdue_at < math.inf:
            self._ring_at(self._overdue_at)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._socket.fileno())

    def close(self) -> None:
        """Before the socket is closed: whoever waits gets ChannelClosedError."""
        self._unwatch()
        if self._timer is not None:
            self._timer.cancel()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(ChannelClosedError())
