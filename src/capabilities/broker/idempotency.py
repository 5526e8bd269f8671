"""(6) The answers of calls with idempotency keys: a repeat gets the answer and has no effect.

They are kept as long as the execution, or the session. Their total size is bounded: an answer that
does not fit is given once, and a repeat gets an error that says so.
"""

from __future__ import annotations

import anyio
import msgspec

from caps.protocol.errors import ProviderError
from caps.security.decision import Decision
from caps.worker.host.supervisor.byte_budget import current_share
from caps.worker.host.supervisor.interface import CallResponse

_MAX_BYTES = 4 * 1024 * 1024

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
    refusal: Decision | None = None
    """Why it did not begin, if it waited and was refused then."""

    def begin(self, approval_id: str | None) -> None:
        """The call is allowed and acts now."""
        self.begun, self.approval_id = True, approval_id
        self.decided.set()

    def end(self) -> None:
        """The call is over; `answer` is set."""
        self.decided.set()
        self.ready.set()


class IdempotencyCache(dict[tuple[str, str], IdempotentCall]):
    """The answer for each pair of capability and idempotency key."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def has_room_for(self, answer: CallResponse) -> bool:
        """Whether `answer` fits; if so it counts from now on."""
        size = len(msgspec.msgpack.encode(answer.result))
        if self._bytes + size > _MAX_BYTES:
            return False
        self._bytes += size
        current_share().keep(size)
        return True
