"""(6) The answers of calls with idempotency keys: a repeat gets the answer and has no effect.

They are kept as long as the execution, or the session; those of `Runtime.call` for an hour. Their
total size is bounded: an answer that does not fit is given once, and a repeat gets an error that
says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio
import msgspec

from caps.capabilities.broker.invoke import error_response
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

    def of(self, principal: str, session: str | None) -> IdempotencyCache:
        """The keys of this caller, for a call that is about to be made."""
        self._forget_old()
        caller = (principal, session)
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

    def _forget_old(self) -> None:
        before = self._clock() - _KEPT_SECONDS
        for caller, keys in tuple(self._callers.items()):
            keys.forget_until(before)
            if not keys:
                del self._callers[caller]
