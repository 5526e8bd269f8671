"""(4) The errors of `asyncio`, with the names that a program sees."""

from __future__ import annotations


class CancelledError(BaseException):
    """The task was cancelled. A BaseException, as in asyncio: `except Exception` lets it pass."""

    __module__ = "asyncio.exceptions"


class InvalidStateError(Exception):
    """The future is in the wrong state for this operation: not done yet, or done already."""

    __module__ = "asyncio.exceptions"


class BrokenBarrierError(RuntimeError):
    """The barrier was reset or aborted."""

    __module__ = "asyncio.exceptions"


class QueueEmpty(Exception):
    """`get_nowait` of an empty queue."""

    __module__ = "asyncio.queues"


class QueueFull(Exception):
    """`put_nowait` into a queue that holds `maxsize` items."""

    __module__ = "asyncio.queues"


class QueueShutDown(Exception):
    """The queue was shut down."""

    __module__ = "asyncio.queues"
