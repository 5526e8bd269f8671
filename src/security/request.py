"""(6) What a decision is about: a request, and what its execution used before it. Values only."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from caps.security.policies.flow_rules import NO_MARKS


class Request(msgspec.Struct, frozen=True):
    """The call that is to be decided."""

    capability: str
    payload: Mapping[str, Any]


class KeyUse(enum.Enum):
    """How the execution used the idempotency key of this request before."""

    FRESH = "fresh"  # never, or the request has no key
    REPEAT = "repeat"  # for the same call
    CONFLICT = "conflict"  # for another call


class ApprovalUse(enum.Enum):
    """The outcome of asking for an approval of this request."""

    NONE = "none"  # nobody was asked
    GIVEN = "given"
    DENIED = "denied"
    TIMED_OUT = "timed_out"


class Usage(msgspec.Struct, frozen=True):
    """What the execution used before this request."""

    calls: int
    in_flight: int
    in_rate_windows: tuple[int, ...]
    """The calls in the window of its rate, for each policy of the grant; empty: none in any."""
    past_deadline: bool
    key: KeyUse = KeyUse.FRESH
    approval: ApprovalUse = ApprovalUse.NONE
    answered: frozenset[str] = NO_MARKS
    """The marks of what its channel was answered before the request was received."""
    cost: float = 0.0
    """What its allowed calls cost so far, with this one."""


# An execution that has not called anything yet.
NOTHING_USED: Final = Usage(calls=0, in_flight=0, in_rate_windows=(), past_deadline=False)
