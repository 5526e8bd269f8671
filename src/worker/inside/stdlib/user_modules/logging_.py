"""`logging` of user space: records go to the captured output, or to handlers of the program's own.

There are no files and no other threads. The place of a record is that of the program's own code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from caps.worker.inside.stdlib.user_modules.logging_handlers_ import (
    Handler,
    NullHandler,
    StreamHandler,
    lastResort,
)
from caps.worker.inside.stdlib.user_modules.logging_records_ import (
    BASIC_FORMAT,
    CRITICAL,
    DEBUG,
    ERROR,
    FATAL,
    INFO,
    NOTSET,
    RECORD_FIELDS,
    WARN,
    WARNING,
    Filter,
    Filterer,
    Formatter,
    LogRecord,
    addLevelName,
    check_level,
    getLevelName,
    getLevelNamesMapping,
    makeLogRecord,
)
from caps.worker.inside.stdlib.user_modules.native import find_caller

__all__ = [
    "BASIC_FORMAT",
    "FATAL",
    "WARN",
    "Filter",
    "Handler",
    "NullHandler",
    "addLevelName",
    "getLevelNamesMapping",
    "lastResort",
    "makeLogRecord",
]


class Logger(Filterer):
    """`logging.Logger`."""

    def __init__(self, name: str, level: Any = NOTSET) -> None:
        super().__init__()
        self.name = name
        self.level = check_level(level)
        self.parent: Logger | None = None
        self.propagate = True
        self.handlers: list[Any] = []
        self.disabled = False

    def setLevel(self, level: Any) -> None:  # noqa: N802 - the library's name
        self.level = check_level(level)

    def getEffectiveLevel(self) -> int:  # noqa: N802 - the library's name
        logger: Logger | None = self
        while logger is not None and not logger.level:
            logger = logger.parent
        return NOTSET if logger is None else logger.level

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the library's name
        return not self.disabled and level > _disabled[0] and level >= self.getEffectiveLevel()

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._log_if(DEBUG, msg, args, kwargs)

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._log_if(INFO, msg, args, kwargs)

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._log_if(WARNING, msg, args, kwargs)

    warn = warning

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._log_if(ERROR, msg, args, kwargs)

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
        self._log_if(ERROR, msg, args, {**kwargs, "exc_info": exc_info})

    def critical(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self._log_if(CRITICAL, msg, args, kwargs)

    fatal = critical

    def log(self, level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(level, int):
            raise TypeError("level must be an integer")
        self._log_if(level, msg, args, kwargs)

    def _log_if(self, level: int, msg: Any, args: Any, options: dict[str, Any]) -> None:
        if self.isEnabledFor(level):
            self._log(level, msg, args, **options)

    def _log(
        self,
        level: int,
        msg: Any,
        args: Any,
        exc_info: Any = None,
        extra: Mapping[str, Any] | None = None,
        stack_info: bool = False,
        stacklevel: int = 1,
    ) -> None:
        del stack_info
        filename, line, function = find_caller(stacklevel)
        error = _error_of(exc_info)
        record = LogRecord(self.name, level, filename, line, msg, args, error, function)
        for name, value in (extra or {}).items():
            if name in RECORD_FIELDS:
                raise KeyError(f"Attempt to overwrite {name!r} in LogRecord")
            setattr(record, name, value)
        self.handle(record)

    def makeRecord(self, *args: Any) -> LogRecord:  # noqa: N802 - the library's name
        return LogRecord(*args)

    def handle(self, record: Any) -> None:
        passed = False if self.disabled else self.filter(record)
        if passed:
            self.callHandlers(passed if isinstance(passed, LogRecord) else record)

    def addHandler(self, hdlr: Any) -> None:  # noqa: N802 - the library's name
        if hdlr not in self.handlers:
            self.handlers.append(hdlr)

    def removeHandler(self, hdlr: Any) -> None:  # noqa: N802 - the library's name
        if hdlr in self.handlers:
            self.handlers.remove(hdlr)

    def hasHandlers(self) -> bool:  # noqa: N802 - the library's name
        return bool(self._all_handlers())

    def _all_handlers(self) -> list[Any]:
        logger: Logger | None = self
        found: list[Any] = []
        while logger is not None:
            found += logger.handlers
            logger = logger.parent if logger.propagate else None
        return found

    def callHandlers(self, record: Any) -> None:  # noqa: N802 - the library's name
        for handler in self._all_handlers() or [lastResort]:
            if record.levelno >= handler.level:
                handler.handle(record)

    def getChild(self, suffix: str) -> Logger:  # noqa: N802 - the library's name
        return getLogger(suffix if self is root else f"{self.name}.{suffix}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} ({getLevelName(self.getEffectiveLevel())})>"


def _error_of(exc_info: Any) -> Any:
    if not exc_info:
        return None
    if isinstance(exc_info, BaseException):
        return type(exc_info), exc_info, None
    if isinstance(exc_info, tuple):
        return exc_info if exc_info[1] is not None else None
    current = sys.exception()
    return None if current is None else (type(current), current, None)


class LoggerAdapter:
    """Adds the same information to every record."""

    def __init__(self, logger: Any, extra: Mapping[str, Any] | None = None) -> None:
        self.logger = logger
        self.extra = extra

    def process(self, msg: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return msg, {**kwargs, "extra": self.extra}

    def log(self, level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
        if self.logger.isEnabledFor(level):
            text, options = self.process(msg, kwargs)
            self.logger.log(level, text, *args, **options)

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(DEBUG, msg, *args, **kwargs)

    def info(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(INFO, msg, *args, **kwargs)

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(WARNING, msg, *args, **kwargs)

    def error(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(ERROR, msg, *args, **kwargs)

    def exception(self, msg: Any, *args: Any, exc_info: Any = True, **kwargs: Any) -> None:
        self.log(ERROR, msg, *args, exc_info=exc_info, **kwargs)

    def critical(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        self.log(CRITICAL, msg, *args, **kwargs)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the library's name
        enabled: bool = self.logger.isEnabledFor(level)
        return enabled

    def setLevel(self, level: Any) -> None:  # noqa: N802 - the library's name
        self.logger.setLevel(level)


_disabled = [NOTSET - 1]
root = Logger("root", WARNING)
_loggers: dict[str, Logger] = {}


def getLogger(name: str | None = None) -> Logger:  # noqa: N802 - the library's name
    """The logger of this name; its parent is the nearest one above it that exists."""
    if not name or name == root.name:
        return root
    if not isinstance(name, str):
        raise TypeError("A logger name must be a string")
    if name not in _loggers:
        logger = Logger(name)
        logger.parent = _nearest_above(name)
        for each, below in _loggers.items():
            if each.startswith(f"{name}.") and below.parent is logger.parent:
                below.parent = logger
        _loggers[name] = logger
    return _loggers[name]


def _nearest_above(name: str) -> Logger:
    above = name.rpartition(".")[0]
    while above and above not in _loggers:
        above = above.rpartition(".")[0]
    return _loggers[above] if above else root


def basicConfig(  # noqa: N802 - the library's name
    *,
    level: Any = None,
    format: str | None = None,  # noqa: A002 - the library's name
    datefmt: str | None = None,
    style: str = "%",
    stream: Any = None,
    handlers: Iterable[Any] | None = None,
    force: bool = False,
    **options: Any,
) -> None:
    """Set up the root logger, once."""
    if "filename" in options:
        raise ValueError("there are no files here; without `filename` records go to the output")
    if force:
        root.handlers.clear()
    if root.handlers:
        return
    plain = {"%": BASIC_FORMAT, "{": "{levelname}:{name}:{message}"}
    default = plain.get(style, "${levelname}:${name}:${message}")
    formatter = Formatter(format or default, datefmt, style)
    for handler in handlers if handlers is not None else [StreamHandler(stream)]:
        if handler.formatter is None:
            handler.setFormatter(formatter)
        root.addHandler(handler)
    if level is not None:
        root.setLevel(level)


def disable(level: Any = CRITICAL) -> None:
    """Drop all records of this level and below."""
    _disabled[0] = check_level(level) or NOTSET - 1


def shutdown() -> None:
    """Nothing is open."""


def _with_root(name: str) -> Callable[..., None]:
    def log(*args: Any, **kwargs: Any) -> None:
        if not root.handlers:
            basicConfig()
        getattr(root, name)(*args, **kwargs)

    return log


debug = _with_root("debug")
info = _with_root("info")
warning = warn = _with_root("warning")
error = _with_root("error")
exception = _with_root("exception")
critical = fatal = _with_root("critical")
log = _with_root("log")
