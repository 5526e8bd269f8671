"""(4) Two dictionaries for one scope: the one that user code passed to `eval` or `exec`, and ours.

Code needs the guards among its variables, and user code must not hold the dictionary that has them.
So evaluated code runs with a dictionary of ours, and this module brings both in line where control
passes from one to the other:

- before and after each `eval` and `exec` with the same dictionary,
- when a function of the text is entered, for the variables that it reads,
- when one ends that may have set some. `synced_functions` emits these two.

Only plain dictionaries are followed, with the methods of `dict` itself: no code of the user's runs,
except `__eq__` of keys.

Runs in the worker, after confinement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

# Not identifiers: user code can name neither the guard nor this variable.
SYNC_GUARD = "<sync>"
SCOPE_NAME = "<scope>"

_ABSENT = object()
# The dictionaries for which the scope is found again. One more forgets the one used longest ago.
_MAX_SCOPES = 64


class Scope:
    """The variables of evaluated code, and the dictionary that they came from."""

    __slots__ = ("_given", "_is_visible", "_seen", "real")

    def __init__(
        self, given: dict[str, Any], real: dict[str, Any], is_visible: Callable[[Any], bool]
    ) -> None:
        self._given, self.real, self._is_visible = given, real, is_visible
        # The values that both had when they were compared last.
        self._seen: dict[str, Any] = {}
        real[SCOPE_NAME] = self

    def belongs_to(self, given: Any) -> bool:
        """Whether this is the scope of the dictionary `given`."""
        return self._given is given

    def sync_all(self) -> None:
        """Bring all variables in line."""
        self.sync([name for name in {**self._given, **self.real} if self._is_visible(name)])

    def sync(self, names: Iterable[str]) -> None:
        """Bring these variables in line; what evaluated code has changed comes first."""
        for name in names:
            inside = self.real.get(name, _ABSENT)
            outside = dict.get(self._given, name, _ABSENT)
            is_old = inside is self._seen.get(name, _ABSENT)
            if inside is outside and is_old:
                continue
            newer = outside if is_old else inside
            for variables in (self.real, self._given, self._seen):
                _set(variables, name, newer)


def _set(variables: dict[str, Any], name: str, value: Any) -> None:
    if value is _ABSENT:
        dict.pop(variables, name, None)
    else:
        dict.__setitem__(variables, name, value)


class Scopes:
    """The scopes of one execution, found by the dictionary that was passed."""

    __slots__ = ("_found", "_is_visible")

    def __init__(self, is_visible: Callable[[Any], bool]) -> None:
        self._is_visible = is_visible
        self._found: dict[int, Scope] = {}

    def scope_of(self, given: dict[str, Any], fixed: dict[str, Any]) -> Scope:
        """The scope of a plain dictionary, up to date; a new one has the variables `fixed`."""
        scope = self._found.pop(id(given), None)
        if scope is None or not scope.belongs_to(given):
            scope = Scope(given, dict(fixed), self._is_visible)
        self._found[id(given)] = scope
        if len(self._found) > _MAX_SCOPES:
            del self._found[next(iter(self._found))]
        scope.sync_all()
        return scope


def sync_caller(*names: str) -> None:
    """The guard: bring variables, by default all, of the function that calls this in line."""
    scope = sys._getframe(1).f_globals.get(SCOPE_NAME)
    if type(scope) is not Scope:
        return
    if names:
        scope.sync(names)
    else:
        scope.sync_all()
