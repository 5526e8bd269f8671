"""What a scope tells the tools that review policies, as values.

None of these takes part in a decision. A scope that provides none of them still works; the tools
then report that they do not know.
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
    """The smallest change of one key that allows a payload.

    `value` replaces the key's value, or with `append` is added to its list. `opens` says what else
    is allowed then.
    """

    key: str
    value: Any
    append: bool
    opens: str


@dataclass(frozen=True, slots=True)
class Concern:
    """Something about a scope that a reviewer should check; `place` is inside the scope."""

    code: str
    severity: Severity
    place: tuple[str | int, ...]
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ObservedArguments:
    """A call in a log: the arguments that are shown, and the names of the others.

    `bytes_out` is the size of its result, if it had one.
    """

    function: str
    shown: Mapping[str, Any]
    hidden: frozenset[str] = frozenset()
    bytes_out: int | None = None


@dataclass(frozen=True, slots=True)
class ProposedPart:
    """One part of a proposed scope, and the calls (by their index) that need it."""

    place: tuple[str | int, ...]
    calls: tuple[int, ...]
    note: str


@dataclass(frozen=True, slots=True)
class ScopeProposal:
    """The narrowest scope for some calls; `outside` are calls that it should refuse."""

    scope: dict[str, Any]
    parts: tuple[ProposedPart, ...]
    outside: tuple[ObservedArguments, ...] = ()
