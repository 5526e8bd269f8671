"""(6) An approval as data: the request to a person, and the possible answers.

An answer that allows says what it covers: a number of calls, a duration, or both, whichever ends
first; by default only the call in question. It applies to the execution that asked (or to its
session), or, only with a duration, to the principal under the same policy. The host counts the
calls; neither the code that asks nor the person who answers keeps any of this state.
"""

from __future__ import annotations

import enum
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from caps.security.audit.model.records import ShownValue

MAX_CALLS: Final = 1_000_000
MAX_SECONDS: Final = 30 * 86_400
MAX_NAME_CHARACTERS: Final = 128
MAX_REASON_CHARACTERS: Final = 1024
MAX_SHOWN_CHARACTERS: Final = 32 * 1024
"""Of all shown arguments together. Nobody reads longer ones, so nobody is asked about them."""

_ID_LENGTH = 32
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_MAX_DIGITS = 7


class ApprovalScope(enum.Enum):
    """Whose calls of the capability an approval covers."""

    EXECUTION = "execution"  # those of the execution that asked, or of its session
    PRINCIPAL = "principal"  # those of the same principal under the same policy


class ApprovalRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A call that waits for a person, with the arguments that its capability shows, uncut."""

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
    """A person's answer. `by` is the name that they give.

    Only `allowed=True` is a yes. An answer with a value of another type cannot be built.
    """

    allowed: bool
    by: str
    reason: str | None = None
    calls: int | None = None
    seconds: int | None = None
    reach: ApprovalScope = ApprovalScope.EXECUTION

    def __post_init__(self) -> None:
        """Raise ValueError for an invalid answer; a decoder turns it into a ValidationError."""
        _check_type("allowed", self.allowed, bool, "`True` or `False`")
        _check_type("by", self.by, str, "a string")
        if not self.by or len(self.by) > MAX_NAME_CHARACTERS:
            raise ValueError(f"`by` should have 1 to {MAX_NAME_CHARACTERS} characters")
        if self.reason is not None:
            _check_type("reason", self.reason, str, "a string")
            if len(self.reason) > MAX_REASON_CHARACTERS:
                raise ValueError(f"`reason` should have at most {MAX_REASON_CHARACTERS} characters")
        _check_type("reach", self.reach, ApprovalScope, "an `ApprovalScope`")
        _check_bound("calls", self.calls, MAX_CALLS)
        _check_bound("seconds", self.seconds, MAX_SECONDS)
        if self.reach is ApprovalScope.PRINCIPAL and self.seconds is None:
            raise ValueError("an approval for a principal needs a span of time")

    @property
    def calls_covered(self) -> int | None:
        """How many calls it covers, including the call in question; None: any number."""
        return 1 if self.calls is None and self.seconds is None else self.calls


def _check_type(name: str, value: object, kind: type, expected: str) -> None:
    # The exact type: a subclass could answer differently each time it is asked.
    if type(value) is not kind:
        raise ValueError(f"`{name}` should be {expected}, not `{type(value).__name__}`")


def _check_bound(name: str, value: int | None, most: int) -> None:
    if value is None:
        return
    _check_type(name, value, int, f"an integer from 1 to {most}")
    if not 1 <= value <= most:
        raise ValueError(f"`{name}` should be from 1 to {most}")


def checked_answer(answer: object) -> ApprovalAnswer:
    """A copy of `answer` that was checked again. Raises TypeError or ValueError.

    A subclass need not have called `__post_init__`, and what an approver keeps it may change.
    """
    if not isinstance(answer, ApprovalAnswer):
        raise TypeError(
            f"an approver answers with an `ApprovalAnswer`, not `{type(answer).__name__}`"
        )
    return ApprovalAnswer(
        **{name: getattr(answer, name) for name in ApprovalAnswer.__struct_fields__}
    )


Approver = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
"""Asks a person. It is cancelled when the call no longer waits for the answer."""


def new_approval_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(_ID_LENGTH // 2)


def is_approval_id(text: str) -> bool:
    """Whether `text` could be the id of an approval; only such text becomes a file name."""
    return len(text) == _ID_LENGTH and set(text) <= set("0123456789abcdef")


def parse_duration(text: str) -> int:
    """The seconds of `90s`, `10m`, `2h` or `1d`; ValueError for anything else."""
    digits, unit = text[:-1], text[-1:]
    if unit in _UNITS and digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        seconds = int(digits) * _UNITS[unit]
        if 1 <= seconds <= MAX_SECONDS:
            return seconds
    raise ValueError(f"`{text[:40]}` is not a span of time from 1s to 30d, such as `90s` or `10m`")
