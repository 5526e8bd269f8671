"""Patterns that callers and policies give: globs of paths, and regular expressions.

Both take linear time, whatever the pattern is: a glob is matched component by component, and
regular expressions are those of RE2, which has no backtracking (and so no back-references and no
look-around).
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import Final, Protocol

from caps.protocol.errors import ProviderError
from caps.protocol.text import printable

MAX_PATTERN_CHARACTERS: Final = 1000
_MAX_MEMORY: Final = 1024 * 1024
# The time for a byte of text grows with the program: this many instructions are no burden.
_MAX_PROGRAM: Final = 2000


class FoundMatch(Protocol):
    """Where a regular expression matches."""

    def start(self) -> int:
        """The first byte of the match."""


class Regex(Protocol):
    """A compiled regular expression over UTF-8."""

    def search(self, text: bytes) -> FoundMatch | None:
        """The first match anywhere in `text`."""


def compiled_regex(pattern: str, *, ignore_case: bool = False) -> Regex:
    """A regular expression of RE2. Raises ProviderError, for the caller, if it is not valid."""
    import re2

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise ProviderError(f"`pattern` is longer than {MAX_PATTERN_CHARACTERS} characters")
    options = re2.Options()
    options.log_errors, options.never_capture = False, True
    options.max_mem, options.case_sensitive = _MAX_MEMORY, not ignore_case
    try:
        compiled = re2.compile(pattern.encode(), options)
    except UnicodeEncodeError:
        raise ProviderError("`pattern` holds half of a surrogate pair") from None
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ProviderError(f"`pattern` is not valid: {printable(text)}") from None
    if compiled.programsize > _MAX_PROGRAM:
        raise ProviderError("`pattern` is too complex; use fewer or smaller repetitions")
    found: Regex = compiled
    return found


def checked_glob(pattern: str) -> str:
    """Return `pattern` if it is a glob of relative paths; else raise ValueError."""
    shown = printable(pattern)
    if not pattern or len(pattern) > MAX_PATTERN_CHARACTERS:
        raise ValueError(f"`{shown}` must have 1 to {MAX_PATTERN_CHARACTERS} characters")
    if pattern.startswith("/") or ".." in pattern.split("/") or "\0" in pattern:
        raise ValueError(f"`{shown}` must be relative, without `..`")
    return pattern


def glob_matches(pattern: str, parts: Sequence[str]) -> bool:
    """Whether a glob matches a path, given by its components.

    `*`, `?` and `[...]` match within a component, and `**` any number of components. Case matters.
    """
    wanted = [part for part in pattern.split("/") if part and part != "."]
    # The positions in `wanted` that may come next, after each component: no backtracking.
    states = _closed({0}, wanted)
    for part in parts:
        states = _closed(
            {
                state if wanted[state] == "**" else state + 1
                for state in states
                if state < len(wanted)
                and (wanted[state] == "**" or fnmatch.fnmatchcase(part, wanted[state]))
            },
            wanted,
        )
        if not states:
            return False
    return len(wanted) in states


def _closed(states: set[int], wanted: Sequence[str]) -> set[int]:
    """`states`, and those that are reached because `**` matches no component."""
    found = set[int]()
    for state in states:
        found.add(state)
        while state < len(wanted) and wanted[state] == "**":
            state += 1  # noqa: PLW2901 - a position that moves on
            found.add(state)
    return found
