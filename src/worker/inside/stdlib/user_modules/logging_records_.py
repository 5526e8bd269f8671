"""Levels, records and formatters of `logging` in user space."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Mapping
from string import Template
from typing import Any

CRITICAL = FATAL = 50
ERROR = 40
WARNING = WARN = 30
INFO = 20
DEBUG = 10
NOTSET = 0
BASIC_FORMAT = "%(levelname)s:%(name)s:%(message)s"

_names: dict[int, str] = {
    CRITICAL: "CRITICAL",
    ERROR: "ERROR",
    WARNING: "WARNING",
    INFO: "INFO",
    DEBUG: "DEBUG",
    NOTSET: "NOTSET",
}
_levels: dict[str, int] = {
    **{name: level for level, name in _names.items()},
    "FATAL": FATAL,
    "WARN": WARN,
}
_start = time.time()
# What a format has at least one of, by its style.
_FIELDS = {
    "%": r"%\(\w+\)[#0+ -]*(\*|\d+)?(\.(\*|\d+))?[diouxefgcrsa%]",
    "{": r"\{\w+",
    "$": r"\$(\w+|\{\w+\})",
}
RECORD_FIELDS = frozenset(
    (
        "args created exc_info exc_text filename funcName levelname levelno lineno message module "
        "msecs msg name pathname process processName relativeCreated stack_info taskName thread "
        "threadName"
    ).split()
)


def getLevelName(level: Any) -> Any:  # noqa: N802 - the library's name
    """The name of a level, or the level of a name."""
    if level in _names:
        return _names[level]
    return _levels.get(level, f"Level {level}")


def getLevelNamesMapping() -> dict[str, int]:  # noqa: N802 - the library's name
    """All levels by name."""
    return dict(_levels)


def addLevelName(level: int, levelName: str) -> None:  # noqa: N802, N803 - the library's names
    """Give a level a name."""
    _names[level] = levelName
    _levels[levelName] = level


def check_level(level: Any) -> int:
    if isinstance(level, int):
        return level
    if not isinstance(level, str):
        raise TypeError(f"Level not an integer or a valid string: {level!r}")
    if level not in _levels:
        raise ValueError(f"Unknown level: {level!r}")
    return _levels[level]


class LogRecord:
    """One event."""

    def __init__(
        self,
        name: str,
        level: int,
        pathname: str,
        lineno: int,
        msg: Any,
        args: Any,
        exc_info: Any,
        func: str | None = None,
        sinfo: str | None = None,
    ) -> None:
        self.name = name
        self.msg = msg
        is_mapping = args and len(args) == 1 and isinstance(args[0], Mapping) and args[0]
        self.args = args[0] if is_mapping else args
        self.levelname = getLevelName(level)
        self.levelno = level
        self.pathname = self.filename = pathname
        self.module = pathname.strip("<>").rpartition("/")[2].removesuffix(".py")
        self.exc_info = exc_info
        self.exc_text: str | None = None
        self.stack_info = sinfo
        self.lineno = lineno
        self.funcName = func
        self.created = time.time()
        self.msecs = int((self.created - int(self.created)) * 1000) + 0.0
        self.relativeCreated = (self.created - _start) * 1000
        self.thread, self.threadName = 1, "MainThread"
        self.process, self.processName = 1, "MainProcess"
        self.taskName = None

    def getMessage(self) -> str:  # noqa: N802 - the library's name
        """The message with its arguments."""
        text = str(self.msg)
        return text % self.args if self.args else text

    def __repr__(self) -> str:
        place = f"{self.pathname}, {self.lineno}"
        return f'<LogRecord: {self.name}, {self.levelno}, {place}, "{self.msg}">'


def makeLogRecord(values: Mapping[str, Any]) -> LogRecord:  # noqa: N802 - the library's name
    """A record with these attributes."""
    record = LogRecord("", NOTSET, "", 0, "", (), None)
    for name, value in values.items():
        setattr(record, name, value)
    return record


class Formatter:
    """Makes text of a record."""

    converter = time.localtime
    default_time_format = "%Y-%m-%d %H:%M:%S"
    default_msec_format = "%s,%03d"

    def __init__(
        self,
        fmt: str | None = None,
        datefmt: str | None = None,
        style: str = "%",
        validate: bool = True,
        *,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        if style not in _FIELDS:
            raise ValueError("Style must be one of: %,{,$")
        if validate and fmt and not re.search(_FIELDS[style], fmt, re.IGNORECASE):
            raise ValueError(f"Invalid format {fmt!r} for {style!r} style")
        plain = {"%": "%(message)s", "{": "{message}", "$": "${message}"}
        self._style = style
        self._fmt = fmt or plain[style]
        self._defaults = dict(defaults or {})
        self.datefmt = datefmt

    def usesTime(self) -> bool:  # noqa: N802 - the library's name
        return "asctime" in self._fmt

    def formatTime(self, record: Any, datefmt: str | None = None) -> str:  # noqa: N802
        moment = type(self).converter(record.created)
        if datefmt:
            return time.strftime(datefmt, moment)
        text = time.strftime(self.default_time_format, moment)
        return self.default_msec_format % (text, record.msecs) if self.default_msec_format else text

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return "".join(traceback.format_exception(ei[1])).removesuffix("\n")

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - the library's name
        return stack_info

    def formatMessage(self, record: Any) -> str:  # noqa: N802 - the library's name
        fields = {**self._defaults, **vars(record)}
        try:
            if self._style == "%":
                return self._fmt % fields
            if self._style == "{":
                return self._fmt.format(**fields)
            return Template(self._fmt).substitute(**fields)
        except KeyError as error:
            raise ValueError(f"Formatting field not found in record: {error}") from None

    def format(self, record: Any) -> str:
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        text = self.formatMessage(record)
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        for more in (record.exc_text, record.stack_info):
            text = f"{text}\n{more}" if more else text
        return text


class Filter:
    """Lets the records of one logger, and of those below it, pass."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def filter(self, record: Any) -> Any:
        return not self.name or f"{record.name}.".startswith(f"{self.name}.")


class Filterer:
    """What loggers and handlers have in common."""

    def __init__(self) -> None:
        self.filters: list[Any] = []

    def addFilter(self, filter: Any) -> None:  # noqa: N802, A002 - the library's names
        if filter not in self.filters:
            self.filters.append(filter)

    def removeFilter(self, filter: Any) -> None:  # noqa: N802, A002 - the library's names
        if filter in self.filters:
            self.filters.remove(filter)

    def filter(self, record: Any) -> Any:
        for one in self.filters:
            passed = one.filter(record) if hasattr(one, "filter") else one(record)
            if not passed:
                return False
            if isinstance(passed, LogRecord):
                record = passed
        return record
