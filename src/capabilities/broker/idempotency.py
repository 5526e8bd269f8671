"""(6) Answers that are kept for idempotency keys, so that a repeat has no second effect.

They live as long as the execution, or the session, and together take a bounded part of the host's
memory: an answer that there is no room for is given once, and a repeat is told so.
"""

from __future__ import annotations

import anyio
import msgspec

from caps.protocol.errors import ProviderError
from caps.security.decision import Decision
from caps.worker.host.supervisor.supervisor import Answer

_MOST_BYTES = 16 * 1024 * 1024

CUT_SHORT = ProviderError(
    "the first call with this idempotency key was cut short with its run; whether it had its "
    "effect is not known"
)
NOT_KEPT = ProviderError(
    "the first call with this idempotency key had its effect, but its answer was too large to keep"
)


class KeyedAnswer(msgspec.Struct):
    """The answer to an idempotency key: there now, or once `ready` is set."""

    args_hmac: str
    decided: anyio.Event = msgspec.field(default_factory=anyio.Event)
    ready: anyio.Event = msgspec.field(default_factory=anyio.Event)
    answer: Answer | None = None
    begun: bool = False
    """Whether it came as far as to act; a call that waits for its approval has not."""
    approval_id: str | None = None
    """The approval that it began with."""
    refusal: Decision | None = None
    """Why it did not begin, if it waited and was refused then."""

    def begin(self, approval_id: str | None) -> None:
        """It is allowed, and acts."""
        self.begun, self.approval_id = True, approval_id
        self.decided.set()

    def end(self) -> None:
        """Nothing more comes of it; `answer` is set."""
        self.decided.set()
        self.ready.set()


class KeyedAnswers(dict[tuple[str, str], KeyedAnswer]):
    """What was answered under each capability and idempotency key."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0

    def has_room_for(self, answer: Answer) -> bool:
        """Whether `answer` may be kept; it counts then."""
        size = len(msgspec.msgpack.encode(answer.result))
        if self._bytes + size > _MOST_BYTES:
            return False
        self._bytes += size
        return True
