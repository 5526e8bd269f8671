"""(4) `warnings` of user space: a warning is a line of captured output that names the user's line.

The library's `warnings` keeps its filters and registries in modules and frames; here they belong to
one execution. The rules are the library's: the newest filter that fits decides, and the default
shows a warning once for each place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from caps.worker.inside.language.compiler import Program
from caps.worker.inside.channel.output import Output
from caps.worker.inside.errors.report import message_of
from caps.worker.inside.stdlib.context import Surroundings

_ACTIONS = ("default", "error", "ignore", "always", "all", "module", "once")


@dataclass(frozen=True, slots=True)
class _Filter:
    action: str
    message: Callable[[str], Any] | None
    category: type
    line: int

    def fits(self, text: str, category: type, line: int) -> bool:
        return (
            (self.message is None or self.message(text) is not None)
            and issubclass(category, self.category)
            and self.line in (0, line)
        )


@dataclass(frozen=True, slots=True)
class WarningMessage:
    """What `catch_warnings(record=True)` collects."""

    message: Warning
    category: type
    filename: str
    lineno: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.lineno}: {_line_of(self.message)}"


def _line_of(warning: Warning) -> str:
    return f"{type(warning).__name__}: {message_of(warning)}"


class Warnings:
    """The warnings of one execution."""

    __slots__ = ("_filters", "_output", "_programs", "_records", "_seen")

    def __init__(self, output: Output, programs: Mapping[str, Program]) -> None:
        self._output = output
        self._programs = programs
        self._filters: list[_Filter] = []
        self._seen: set[tuple[Any, ...]] = set()
        self._records: list[list[WarningMessage] | None] = []

    def names(self) -> dict[str, Any]:
        """All that `warnings` has here."""
        return {
            "WarningMessage": WarningMessage,
            "catch_warnings": self.catch_warnings,
            "filterwarnings": self.filterwarnings,
            "resetwarnings": self.resetwarnings,
            "simplefilter": self.simplefilter,
            "warn": self.warn,
        }

    def warn(
        self,
        message: Any,
        category: Any = None,
        stacklevel: int = 1,
        source: Any = None,
    ) -> None:
        """`warnings.warn`."""
        del source
        warning, kind = _warning(message, category)
        filename, line = self._place(sys._getframe(1), stacklevel)
        text = message_of(warning)
        action = next(
            (one.action for one in self._filters if one.fits(text, kind, line)), "default"
        )
        if action == "error":
            raise warning
        if action == "ignore" or self._shown_before(action, text, kind, line):
            return
        shown = WarningMessage(warning, kind, filename, line)
        record = self._records[-1] if self._records else None
        if record is not None:
            record.append(shown)
        else:
            self._output.stderr.write(f"{shown}\n")

    def simplefilter(
        self, action: str, category: Any = Warning, lineno: int = 0, append: bool = False
    ) -> None:
        """`warnings.simplefilter`."""
        self._add(action, None, category, lineno, append)

    def filterwarnings(
        self,
        action: str,
        message: str = "",
        category: Any = Warning,
        module: str = "",
        lineno: int = 0,
        append: bool = False,
    ) -> None:
        """`warnings.filterwarnings`; there is one module, so `module` chooses nothing."""
        del module
        pattern = re.compile(message, re.IGNORECASE).match if message else None
        self._add(action, pattern, category, lineno, append)

    def resetwarnings(self) -> None:
        """`warnings.resetwarnings`."""
        self._filters.clear()

    def catch_warnings(
        self, *, record: bool = False, action: Any = None, category: Any = Warning
    ) -> CatchWarnings:
        """`warnings.catch_warnings`."""
        return CatchWarnings(self, bool(record), action, category)

    def _add(self, action: str, message: Any, category: Any, line: int, append: bool) -> None:
        if action not in _ACTIONS:
            raise ValueError(f"`{action!s:.40}` is none of {', '.join(_ACTIONS)}")
        if not (isinstance(category, type) and issubclass(category, Warning)):
            raise TypeError("category must be a Warning subclass")
        made = _Filter(action, message, category, int(line))
        self._filters.insert(len(self._filters) if append else 0, made)

    def _shown_before(self, action: str, text: str, kind: type, line: int) -> bool:
        if action in ("always", "all"):
            return False
        place = {"default": line, "module": -1, "once": -2}[action]
        key = (text, kind, place)
        known = key in self._seen
        self._seen.add(key)
        return known

    def _place(self, frame: FrameType | None, level: int) -> tuple[str, int]:
        """The file and line of the user's code that is `level` calls up."""
        left, place = int(level), ("<agent>", 0)
        while frame is not None and left > 0:
            filename = frame.f_code.co_filename
            if filename in self._programs:
                left, place = left - 1, (filename, frame.f_lineno)
            frame = frame.f_back
        return place


class CatchWarnings:
    """The filters of a `with` block, and what it recorded."""

    __slots__ = ("_action", "_category", "_kept", "_record", "_warnings")

    def __init__(self, warnings: Warnings, record: bool, action: Any, category: Any) -> None:
        self._warnings = warnings
        self._record = record
        self._action = action
        self._category = category
        self._kept: list[tuple[list[_Filter], set[tuple[Any, ...]]]] = []

    def __enter__(self) -> list[WarningMessage] | None:
        held = self._warnings
        self._kept.append((list(held._filters), set(held._seen)))
        record: list[WarningMessage] | None = [] if self._record else None
        held._records.append(record if self._record else (held._records or [None])[-1])
        held._seen.clear()
        if self._action is not None:
            held.simplefilter(self._action, self._category)
        return record

    def __exit__(self, *_error: object) -> None:
        if not self._kept:
            raise RuntimeError("cannot leave a block that was not entered")
        held = self._warnings
        held._filters[:], held._seen = self._kept.pop()
        held._records.pop()


def _warning(message: Any, category: Any) -> tuple[Warning, type]:
    if isinstance(message, Warning):
        return message, type(message)
    kind = UserWarning if category is None else category
    if not (isinstance(kind, type) and issubclass(kind, Warning)):
        raise TypeError("category must be a Warning subclass")
    made = kind(message)
    return made, kind


def warnings_names(surroundings: Surroundings) -> dict[str, Any]:
    """All that `warnings` has here."""
    return Warnings(surroundings.output, surroundings.programs).names()
