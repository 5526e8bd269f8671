"""(6) The answers of calls with idempotency keys: a repeat gets the answer and has no effect.

They are kept as long as the execution, or the session; those of `Runtime.call` for an hour. Their
total size is bounded: an answer that does not fit is given once, and a repeat gets an error that
says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import msgspec

from caps.capabilities.broker.outcomes import error_response
from caps.protocol.errors import LimitExceededError, ProviderError
from caps.security.decision import Decision
from caps.security.policies.flow_rules import NO_MARKS
from caps.worker.host.supervisor.byte_budget import current_share
from caps.worker.host.supervisor.interface import CallResponse

_MAX_BYTES = 4 * 1024 * 1024

# Of all callers of `Runtime.call` together.
MAX_CALLERS = 4096
_MAX_CALLER_BYTES = 64 * 1024 * 1024
_KEPT_SECONDS = 3600.0
# How often the keys of all callers are looked through; there may be millions of them.
_SWEEP_SECONDS = 60.0

CUT_SHORT = ProviderError(
    "the first call with this idempotency key was cut short with its run; whether it had its "
    "effect is not known"
)
NOT_KEPT = ProviderError(
    "the first call with this idempotency key had its effect, but its answer was too large to keep"
)


class IdempotentCall(msgspec.Struct):
    """The answer to an idempotency key. It is there once `ready` is set."""

    args_hmac: str
    terms_sha256: str
    """The terms of the policies that it was decided under. Its answer is not for other terms, whose
    scopes it was not held to."""
    decided: anyio.Event = msgspec.field(default_factory=anyio.Event)
    ready: anyio.Event = msgspec.field(default_factory=anyio.Event)
    answer: CallResponse | None = None
    begun: bool = False
    """Whether it was allowed to act; a call that waits for its approval was not yet."""
    approval_id: str | None = None
    """The approval that it began with."""
    labels: frozenset[str] = NO_MARKS
    """All labels of the answer, which a repeat gets as well."""
    refusal: Decision | None = None
    """Why it did not begin, if it waited and was refused then."""
    size: int = 0
    """Of the answer, while it is kept."""
    ended: float | None = None
    """When it ended, on the monotonic clock."""

    def begin(self, approval_id: str | None) -> None:
        """The call is allowed and acts now."""
        self.begun, self.approval_id = True, approval_id
        self.decided.set()

    def end(self) -> None:
        """The call is over; `answer` is set."""
        self.ended = time.monotonic()
        self.decided.set()
        self.ready.set()


class AnswerRoom:
    """How many bytes of answers may be kept."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def take(self, size: int) -> bool:
        """Whether `size` bytes fit; if so they count from now on."""
        if size > self._left:
            return False
        self._left -= size
        return True

    def give_back(self, size: int) -> None:
        self._left += size


class IdempotencyCache(dict[tuple[str, str], IdempotentCall]):
    """The answer for each pair of capability and idempotency key."""

    def __init__(self, room: AnswerRoom | None = None) -> None:
        super().__init__()
        self.users = 0
        """How many single calls are under way that may still add their keys."""
        self._room = AnswerRoom(_MAX_BYTES) if room is None else room

    def keep(self, recorded: IdempotentCall, answer: CallResponse) -> None:
        """Keep `answer` for the repeats; if there is no room, they get an error instead."""
        size = len(msgspec.msgpack.encode(answer.result)) if recorded.begun else 0
        if self._room.take(size):
            recorded.answer, recorded.size = answer, size
            current_share().keep(size)
        else:
            recorded.answer = error_response(NOT_KEPT)

    def forget_until(self, before: float) -> None:
        """Forget the calls that ended before this moment; their repeats act again."""
        for key, recorded in tuple(self.items()):
            if recorded.ended is not None and recorded.ended < before:
                del self[key]
                self._room.give_back(recorded.size)


class CallerKeys:
    """The idempotency keys of `Runtime.call`, for each principal and session.

    A key is kept for an hour. Nothing is forgotten earlier: a repeat would act again. When there is
    no room for more callers, the call is refused.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._room = AnswerRoom(_MAX_CALLER_BYTES)
        self._callers: dict[tuple[str, str | None], IdempotencyCache] = {}
        self._next_sweep = 0.0

    @contextmanager
    def held(self, principal: str, session: str | None) -> Iterator[IdempotencyCache]:
        """The keys of this caller, for a call that is made in this context.

        A call may wait before it adds its key. All calls of a caller have the same keys meanwhile.
        """
        keys = self.of(principal, session)
        keys.users += 1
        try:
            yield keys
        finally:
            keys.users -= 1

    def of(self, principal: str, session: str | None) -> IdempotencyCache:
        """The keys of this caller. Without a key they are forgotten, unless somebody holds them."""
        caller = (principal, session)
        self._forget_old(caller)
        if caller not in self._callers:
            if len(self._callers) >= MAX_CALLERS:
                raise LimitExceededError(
                    f"idempotency keys of {MAX_CALLERS} callers are kept; call without a key, or "
                    "later",
                    limit="idempotency_keys",
                    allowed=MAX_CALLERS,
                )
            self._callers[caller] = IdempotencyCache(self._room)
        return self._callers[caller]

    def _forget_old(self, caller: tuple[str, str | None]) -> None:
        """The old keys of this caller, and now and then those of all."""
        now = self._clock()
        looked_at = [caller] if caller in self._callers else []
        if now >= self._next_sweep:
            self._next_sweep = now + _SWEEP_SECONDS
            looked_at = list(self._callers)
        for each in looked_at:
            keys = self._callers[each]
            keys.forget_until(now - _KEPT_SECONDS)
            if not keys and not keys.users:
                del self._callers[each]
