"""The judge of attacks on the language: what a program has at hand, and what tells that it worked.

A program hands what it got to `take`, or calls `escaped` when it did what it must not be able to
do. Either is written to the output, behind `WORKED`. The same names stand in a test's own process
and in a worker, where they come from the one below the user's reach.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caps.worker.inside.caps_api.record import record_of
from support.language_programs import power_of

WORKED = "it worked: "


class Secret:
    """Represents any object of ours or of a library that user code can reach."""

    def __init__(self) -> None:
        self._hidden = "loot"

    def _method(self) -> str:
        return self.__deep

    @property
    def __deep(self) -> str:
        return self._hidden


class Below(Secret):
    @property
    def _hidden(self) -> str:
        return "loot"

    @_hidden.setter
    def _hidden(self, _new: str) -> None: ...


def judged_names(write: Callable[[str], None]) -> dict[str, Any]:
    """What every program finds: the judge, and things worth attacking."""

    def take(value: Any) -> None:
        items = [value, *value] if isinstance(value, (list, tuple)) else [value]
        for found in filter(None, map(power_of, items)):
            write(f"{WORKED}{found}\n")

    def escaped() -> None:
        write(f"{WORKED}what it wanted\n")

    return {
        "below": Below(),
        "escaped": escaped,
        "record": record_of({"a": 1}),
        "secret": Secret(),
        "take": take,
    }
