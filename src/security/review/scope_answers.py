"""What a scope can be asked beyond yes and no, as values: for the tools that judge policies.

None of these takes part in a decision. A scope that answers none of them is decided about all the
same; the tools then say that they do not know.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class Severity(enum.StrEnum):
    """How much a finding matters."""

    ERROR = "error"  # the policy does not do what it says
    WARNING = "warning"  # it probably does more, or less, than was meant
    INFO = "info"  # worth knowing

    @property
    def rank(self) -> int:
        """Larger is worse."""
        return list(reversed(Severity)).index(self)


@dataclass(frozen=True, slots=True)
class ScopeChange:
    """The smallest change of one key that lets a payload through.

    `value` takes the place of the key's value, or with `append` joins its list. `opens` says what
    else gets through then.
    """

    key: str
    value: Any
    append: bool
    opens: str


@dataclass(frozen=True, slots=True)
class Concern:
    """Something about a scope that a reviewer should look at; `place` is inside the scope."""

    code: str
    severity: Severity
    place: tuple[str | int, ...]
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call as a log tells it: the arguments that are shown, and the names of the others.

    `bytes_out` is the size of its result, if it had one.
    """

    function: str
    shown: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()
    bytes_out: int | None = None


@dataclass(frozen=True, slots=True)
class ProposedPart:
    """One part of a proposed scope, and the calls (by their index) that ask for it."""

    place: tuple[str | int, ...]
    calls: tuple[int, ...]
    note: str


@dataclass(frozen=True, slots=True)
class ScopeProposal:
    """The narrowest scope for some calls; `outside` are calls that it should refuse."""

    scope: dict[str, Any]
    parts: tuple[ProposedPart, ...]
    outside: tuple[SeenCall, ...] = ()
