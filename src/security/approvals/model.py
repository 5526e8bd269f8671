"""(6) An approval as data: what a person is asked, and what one may answer.

An answer that allows says what it covers: so many calls, a span of time, or both, whichever ends
first; by default the one call that was asked about. It reaches the execution that asked (or the
session that it is a part of), or, for a span of time only, the principal under the same policy.
The host counts; nothing here is kept by whoever asks or answers.
"""

from __future__ import annotations

import enum
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from caps.security.audit.model.records import ShownValue

MOST_CALLS: Final = 1_000_000
LONGEST_SECONDS: Final = 30 * 86_400
MAX_NAME_CHARACTERS: Final = 128
MAX_REASON_CHARACTERS: Final = 1024
MAX_SHOWN_CHARACTERS: Final = 32 * 1024
"""Of all shown arguments together: what is longer nobody reads, and nobody is asked about."""

_ID_LENGTH = 32
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_DIGITS = 7


class Reach(enum.Enum):
    """Whose calls of the capability an approval covers."""

    EXECUTION = "execution"  # of the execution that asked, or of its session
    PRINCIPAL = "principal"  # of the same principal under the same policy


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that waits for a person. Of its arguments those that its capability shows, uncut."""

    id: str
    execution_id: str
    principal: str
    agent: str | None = None
    session: str | None = None
    request_id: str
    capability: str
    title: str = ""
    rule: str
    policy_id: str
    policy_sha256: str
    shown: dict[str, ShownValue]
    hidden: list[str]
    """The names of the arguments that are not shown."""
    asked_at: str
    expires_at: str


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says to it. `by` is who they say they are."""

    allowed: bool
    by: str
    reason: str | None = None
    calls: int | None = None
    seconds: int | None = None
    reach: Reach = Reach.EXECUTION

    def __post_init__(self) -> None:
        """ValueError for what nobody may answer; a decoder makes a ValidationError of it."""
        if not self.by or len(self.by) > MAX_NAME_CHARACTERS:
            raise ValueError(f"`by` should have 1 to {MAX_NAME_CHARACTERS} characters")
        if self.reason is not None and len(self.reason) > MAX_REASON_CHARACTERS:
            raise ValueError(f"`reason` should have at most {MAX_REASON_CHARACTERS} characters")
        _check_bound("calls", self.calls, MOST_CALLS)
        _check_bound("seconds", self.seconds, LONGEST_SECONDS)
        if self.reach is Reach.PRINCIPAL and self.seconds is None:
            raise ValueError("an approval for a principal needs a span of time")

    @property
    def calls_covered(self) -> int | None:
        """How many calls it covers, the one that was asked about among them; None: any number."""
        return 1 if self.calls is None and self.seconds is None else self.calls


def _check_bound(name: str, value: int | None, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise ValueError(f"`{name}` should be from 1 to {most}")


Approver = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
"""Asks somebody. It is cancelled when nobody waits for the answer any more."""


def new_approval_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(_ID_LENGTH // 2)


def is_approval_id(text: str) -> bool:
    """Whether `text` could be the id of an approval; what is not never becomes a file name."""
    return len(text) == _ID_LENGTH and set(text) <= set("0123456789abcdef")


def parse_span(text: str) -> int:
    """The seconds of `90s`, `10m`, `2h` or `1d`; ValueError for anything else."""
    digits, unit = text[:-1], text[-1:]
    if unit in _UNITS and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        seconds = int(digits) * _UNITS[unit]
        if 1 <= seconds <= LONGEST_SECONDS:
            return seconds
    raise ValueError(f"`{text[:40]}` is no span of time from 1s to 30d, such as `90s` or `10m`")
