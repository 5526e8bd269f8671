"""How much memory the results of one execution may take on the host, from call to worker.

A call reserves memory before its provider builds a result, and waits while its execution has none
left. When the result is there, the call takes as much as that, until the answer is sent. So a
worker that asks for much and reads little waits for itself, and its memory on the host is bounded.

The request server opens a share for each call; whoever calls the provider finds it by
`current_share`, since neither a provider nor a decision needs to know of it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

RESULT_BYTES = 24 * 1024 * 1024
# Memory beyond this is given back to the operating system when the execution ends.
MUCH_BYTES = 1024 * 1024


class ByteBudget:
    """What the calls of one execution hold. Used in the event loop only."""

    def __init__(self, limit: int = RESULT_BYTES) -> None:
        self.was_large = False
        """Whether much was held at some time."""
        self._limit = limit
        self._held = 0
        self._freed = anyio.Event()

    @contextmanager
    def share(self) -> Iterator[CallShare]:
        """The share of one call, for as long as its result is held."""
        share = CallShare(self)
        token = _current.set(share)
        try:
            yield share
        finally:
            _current.reset(token)
            share.settle(0)

    async def wait_for(self, size: int) -> None:
        """Wait until `size` more fits. One call may take more than there is, if it is alone."""
        while self._held and self._held + size > self._limit:
            self._freed = anyio.Event() if self._freed.is_set() else self._freed
            await self._freed.wait()

    def change(self, by: int) -> None:
        self._held += by
        self.was_large = self.was_large or self._held > MUCH_BYTES
        if by < 0:
            self._freed.set()


class CallShare:
    """What one call holds of its budget."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._held = 0

    async def reserve(self, size: int) -> None:
        """Wait until there is room for a result of about `size`."""
        await self._budget.wait_for(size)
        self._budget.change(size)
        self._held += size

    def settle(self, size: int) -> None:
        """The call holds `size` from now on."""
        self._budget.change(size - self._held)
        self._held = size


_current: contextvars.ContextVar[CallShare | None] = contextvars.ContextVar(
    "caps_call_share", default=None
)


def current_share() -> CallShare:
    """The share of this call; one of its own if nobody opened any."""
    return _current.get() or CallShare(ByteBudget())
