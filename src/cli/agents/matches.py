"""Which agent an argument means: the one of this id, else the only one of this name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar
from uuid import UUID

from caps.cli.exits import ExitCode, fail
from caps.protocol.text import printable

T = TypeVar("T")

MATCHES: Final = 2
"""As many agents of a name as must be found to know that there are several."""


def agent_id_in(given: str) -> UUID | None:
    """The id, if it is one."""
    try:
        return UUID(given)
    except ValueError:
        return None


def can_be_a_name(given: str) -> bool:
    """Whether an agent can have this name; an argument may be longer, or not be UTF-8."""
    from caps.agents.definition import MAX_NAME_CHARACTERS

    if not 0 < len(given) <= MAX_NAME_CHARACTERS or "\0" in given:
        return False
    return not any("\ud800" <= character <= "\udfff" for character in given)


def only_one(found: Sequence[T], given: str) -> T:
    """The only match; ends the command if there is none, or more than one."""
    shown = printable(given, 80)
    if not found:
        fail(f"there is no agent `{shown}`", ExitCode.BAD_USAGE)
    if len(found) > 1:
        fail(f"several agents are named `{shown}`; give the id of one", ExitCode.BAD_USAGE)
    return found[0]
