"""How many bytes the host holds for one execution: one account, one limit.

Everything that grows with what the code does is counted, by upper estimates:

- requests: the frame that is being read, its decoded form, and each request until it is answered,
  with its audit records;
- results: from before a provider builds one until it is sent;
- kept until the end: the output, the decisions (also as events of a stream) and the answers of
  idempotency keys. The policy bounds them; with default limits they are under three eighths.

When the account is spent, the worker has to wait: a call begins when there is room for its result,
a large message is decoded when there is room for it, and nothing more is read meanwhile. Nobody
waits for ever: results leave room for requests, one result may be built whatever else is held, and
a message may be decoded whatever its size if no call is in flight.

The request server opens a share for each call; whoever calls the provider finds it by
`current_share`, since neither a provider nor a decision needs to know of it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

MAX_HELD_BYTES = 38 * 1024 * 1024
# Printed text is in the buffer of the result and in that of a stream. One wide character makes all
# characters take four bytes.
OUTPUT_FACTOR = 8
# A decision, and its event in a stream.
DECISION_BYTES = 2048
# Memory beyond this is given back to the operating system when the execution ends.
MUCH_BYTES = 1024 * 1024


class ByteBudget:
    """What is held for one execution. Used in the event loop only."""

    def __init__(self, limit: int = MAX_HELD_BYTES) -> None:
        self.was_large = False
        """Whether much was held at some time."""
        self._limit = limit
        # What results leave to requests, so that a call can be made while others wait.
        self._for_requests = limit // 5
        self._requests = 0
        self._reading = 0
        self._decoding = 0
        self._results = 0
        self._kept = 0
        self.held = 0
        """All bytes that are held now: the sum of the above, kept up to date for every call."""
        self._freed: anyio.Event | None = None  # set only while someone waits for it

    @property
    def _room(self) -> int:
        """What is left. A policy that lets more be kept than is usual does not stop the calls."""
        in_flight = self.held - self._kept
        return self._limit - min(self._kept, self._limit * 3 // 8) - in_flight

    def keep(self, size: int) -> None:
        """`size` more is held until the execution ends."""
        self._kept += size
        self.held += size
        if self.held > MUCH_BYTES:
            self.was_large = True

    def hold_requests(self, size: int, *, reading: int = 0) -> None:
        """From now on `size` is held for requests, and `reading` of the frame being read."""
        change = size + reading - self._requests - self._reading
        self._requests, self._reading = size, reading
        if change:
            self._change(change)

    # -- large messages -------------------------------------------------------------------------

    @contextmanager
    def decoding(self, most: int) -> Iterator[int]:
        """Take up to `most` for a message that is decoded now. Yields how much was there."""
        taken = max(0, min(most, self._room))
        self._decoding += taken
        self._change(taken)
        try:
            yield taken
        finally:
            self._decoding -= taken
            self._change(-taken)
            self._notify()  # also if it had to take nothing

    async def wait_for_request(self, size: int) -> None:
        """Wait until a message of this size can be decoded: it fits, or no call is in flight."""
        while self._requests + self._results and self._room < size:
            await self._wait()

    # -- results --------------------------------------------------------------------------------

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

    async def wait_for_result(self, size: int) -> None:
        """Wait until a result of this size fits, or no other result is held."""
        while self._results and self._room - self._for_requests < size:
            await self._wait()

    def change_results(self, by: int) -> None:
        self._results += by
        self._change(by)

    async def _wait(self) -> None:
        if self._freed is None:
            self._freed = anyio.Event()
        await self._freed.wait()

    def _notify(self) -> None:
        freed, self._freed = self._freed, None
        if freed is not None:
            freed.set()

    def _change(self, by: int) -> None:
        self.held += by
        if by < 0:
            self._notify()
        elif self.held > MUCH_BYTES:
            self.was_large = True


class CallShare:
    """What one call holds of its budget."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self._held = 0

    async def reserve(self, size: int) -> None:
        """Wait until there is room for a result of about `size`.

        A call that is nested in another one does not wait: the outer call holds what others need.
        """
        if not self._held:
            await self._budget.wait_for_result(size)
        self._budget.change_results(size)
        self._held += size

    def settle(self, size: int) -> None:
        """The call holds `size` from now on."""
        self._budget.change_results(size - self._held)
        self._held = size

    def keep(self, size: int) -> None:
        """A copy of this size stays until the execution ends."""
        self._budget.keep(size)


_current: contextvars.ContextVar[CallShare | None] = contextvars.ContextVar(
    "caps_call_share", default=None
)


def current_share() -> CallShare:
    """The share of this call; one of its own if nobody opened any."""
    return _current.get() or CallShare(ByteBudget())
