"""(4) `warnings` of user space: a warning is printed to the captured output with the user's line.

The library's `warnings` keeps its filters and registries in modules and frames; here they belong to
one execution. The rules are those of the library: the newest filter that matches decides, and by
default a warning is shown once for each place. Warnings of granted packages follow them, too.
"""

from __future__ import annotations

import re
import sys
import warnings as library_warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.errors.report import message_of
from caps.worker.inside.language.compiler import Program
from caps.worker.inside.stdlib.context import StdlibContext

_MAX_LINE = 1_000
_ACTIONS = ("default", "error", "ignore", "always", "all", "module", "once")


@dataclass(frozen=True, slots=True)
class _Filter:
    action: str
    message: Callable[[str], Any] | None
    category: type
    line: int

    def matches(self, text: str, category: type, line: int) -> bool:
        return (
            (self.message is None or self.message(text) is not None)
            and issubclass(category, self.category)
            and self.line in (0, line)
        )


@dataclass(frozen=True, slots=True)
class WarningMessage:
    """One warning that `catch_warnings(record=True)` has recorded."""

    message: Warning
    category: type
    filename: str
    lineno: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.lineno}: {_format_warning(self.message)}"


def _format_warning(warning: Warning) -> str:
    return f"{type(warning).__name__}: {message_of(warning)}"


class Warnings:
    """The warnings of one execution."""

    __slots__ = ("_filters", "_output", "_programs", "_records", "_seen")

    def __init__(self, output: OutputStreams, programs: Mapping[str, Program]) -> None:
        self._output = output
        self._programs = programs
        self._filters: list[_Filter] = []
        self._seen: set[tuple[Any, ...]] = set()
        self._records: list[list[WarningMessage] | None] = []

    def names(self) -> dict[str, Any]:
        """All names of `warnings` in user space."""
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
        warning, kind = _make_warning(message, category)
        self._decide(warning, kind, self._find_place(sys._getframe(1), stacklevel))

    def show_of_package(self, given: library_warnings.WarningMessage) -> None:
        """A warning that a package gives: at the line of the program that called it."""
        warning, kind = _make_warning(given.message, given.category)
        self._decide(warning, kind, self._find_place(sys._getframe(1), 1))

    def _decide(self, warning: Warning, kind: type, place: tuple[str, int]) -> None:
        filename, line = place
        text = message_of(warning)
        action = next(
            (one.action for one in self._filters if one.matches(text, kind, line)), "default"
        )
        if action == "error":
            raise warning
        if action == "ignore" or self._was_shown(action, text, kind, line):
            return
        shown = WarningMessage(warning, kind, filename, line)
        record = self._records[-1] if self._records else None
        if record is not None:
            record.append(shown)
        else:
            self._output.stderr.write(f"{shown}\n{self._source_line(filename, line)}")

    def simplefilter(
        self, action: str, category: Any = Warning, lineno: int = 0, append: bool = False
    ) -> None:
        """`warnings.simplefilter`."""
        self._add_filter(action, None, category, lineno, append)

    def filterwarnings(
        self,
        action: str,
        message: str = "",
        category: Any = Warning,
        module: str = "",
        lineno: int = 0,
        append: bool = False,
    ) -> None:
        """`warnings.filterwarnings`; there is only one module, so `module` has no effect."""
        del module
        pattern = re.compile(message, re.IGNORECASE).match if message else None
        self._add_filter(action, pattern, category, lineno, append)

    def resetwarnings(self) -> None:
        """`warnings.resetwarnings`."""
        self._filters.clear()

    def catch_warnings(
        self, *, record: bool = False, action: Any = None, category: Any = Warning
    ) -> CatchWarnings:
        """`warnings.catch_warnings`."""
        return CatchWarnings(self, bool(record), action, category)

    def _add_filter(
        self, action: str, message: Any, category: Any, line: int, append: bool
    ) -> None:
        if action not in _ACTIONS:
            raise ValueError(f"`{action!s:.40}` is none of {', '.join(_ACTIONS)}")
        if not (isinstance(category, type) and issubclass(category, Warning)):
            raise TypeError("category must be a Warning subclass")
        new = _Filter(action, message, category, int(line))
        self._filters.insert(len(self._filters) if append else 0, new)

    def _was_shown(self, action: str, text: str, kind: type, line: int) -> bool:
        if action in ("always", "all"):
            return False
        place = {"default": line, "module": -1, "once": -2}[action]
        key = (text, kind, place)
        known = key in self._seen
        self._seen.add(key)
        return known

    def _source_line(self, filename: str, line: int) -> str:
        program = self._programs.get(filename)
        lines = () if program is None else program.lines
        text = lines[line - 1].strip()[:_MAX_LINE] if 0 < line <= len(lines) else ""
        return f"  {text}\n" if text else ""

    def _find_place(self, frame: FrameType | None, level: int) -> tuple[str, int]:
        """The file and line of the user code that is `level` calls up."""
        remaining, place = int(level), ("<agent>", 0)
        while frame is not None and remaining > 0:
            filename = frame.f_code.co_filename
            if filename in self._programs:
                remaining, place = remaining - 1, (filename, frame.f_lineno)
            frame = frame.f_back
        return place


class CatchWarnings:
    """The context manager of `catch_warnings`: saves and restores the filters of a block."""

    __slots__ = ("_action", "_category", "_record", "_saved", "_warnings")

    def __init__(self, warnings: Warnings, record: bool, action: Any, category: Any) -> None:
        self._warnings = warnings
        self._record = record
        self._action = action
        self._category = category
        self._saved: list[tuple[list[_Filter], set[tuple[Any, ...]]]] = []

    def __enter__(self) -> list[WarningMessage] | None:
        warnings = self._warnings
        self._saved.append((list(warnings._filters), set(warnings._seen)))
        record: list[WarningMessage] | None = [] if self._record else None
        warnings._records.append(record if self._record else (warnings._records or [None])[-1])
        warnings._seen.clear()
        if self._action is not None:
            warnings.simplefilter(self._action, self._category)
        return record

    def __exit__(self, *_error: object) -> None:
        if not self._saved:
            raise RuntimeError("cannot leave a block that was not entered")
        warnings = self._warnings
        warnings._filters[:], warnings._seen = self._saved.pop()
        warnings._records.pop()


def _make_warning(message: Any, category: Any) -> tuple[Warning, type]:
    if isinstance(message, Warning):
        return message, type(message)
    kind = UserWarning if category is None else category
    if not (isinstance(kind, type) and issubclass(kind, Warning)):
        raise TypeError("category must be a Warning subclass")
    warning = kind(message)
    return warning, kind


def warnings_names(context: StdlibContext) -> dict[str, Any]:
    """All names of `warnings` in user space."""
    return _warnings_of(context).names()


def _warnings_of(context: StdlibContext) -> Warnings:
    found: Warnings | None = context.shared.get("warnings")
    if found is None:
        found = context.shared["warnings"] = Warnings(context.output, context.programs)
    return found


def take_package_warnings(context: StdlibContext) -> None:
    """From now on, the warnings of packages go the way of the program's own.

    What a package filters and catches for itself, the library still does.
    """

    def show(given: library_warnings.WarningMessage) -> None:
        _warnings_of(context).show_of_package(given)

    library_warnings._showwarnmsg_impl = show  # type: ignore[attr-defined]
    # How often one is shown is decided here.
    library_warnings.filterwarnings("always", append=True)
