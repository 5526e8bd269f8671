"""The handlers of `logging` in user space."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from caps.worker.inside.stdlib.user_modules.logging_records_ import (
    NOTSET,
    WARNING,
    Filterer,
    Formatter,
    LogRecord,
    check_level,
    getLevelName,
)


class Handler(Filterer):
    """Sends records somewhere."""

    def __init__(self, level: Any = NOTSET) -> None:
        super().__init__()
        self.level = check_level(level)
        self.formatter: Formatter | None = None
        self.name: str | None = None

    def get_name(self) -> str | None:
        return self.name

    def set_name(self, name: str) -> None:
        self.name = name

    def setLevel(self, level: Any) -> None:  # noqa: N802 - the library's name
        self.level = check_level(level)

    def setFormatter(self, fmt: Formatter | None) -> None:  # noqa: N802 - the library's name
        self.formatter = fmt

    def format(self, record: Any) -> str:
        return (self.formatter or _default_formatter).format(record)

    def emit(self, record: Any) -> None:
        raise NotImplementedError("emit must be implemented by Handler subclasses")

    def handle(self, record: Any) -> Any:
        passed = self.filter(record)
        if passed:
            self.emit(passed if isinstance(passed, LogRecord) else record)
        return passed

    def handleError(self, record: Any) -> None:  # noqa: N802 - the library's name
        sys.stderr.write(f"--- Logging error ---\n{traceback.format_exc()}")
        sys.stderr.write(f"Message: {record.msg!r}\nArguments: {record.args}\n")

    def acquire(self) -> None:
        """There are no other threads."""

    def release(self) -> None:
        """There are no other threads."""

    def flush(self) -> None:
        """Nothing is buffered."""

    def close(self) -> None:
        """Nothing is open."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} ({getLevelName(self.level)})>"


class StreamHandler(Handler):
    """Writes records to a stream."""

    terminator = "\n"

    def __init__(self, stream: Any = None) -> None:
        super().__init__()
        self.stream = sys.stderr if stream is None else stream

    def setStream(self, stream: Any) -> Any:  # noqa: N802 - the library's name
        before, self.stream = self.stream, stream
        return None if before is stream else before

    def emit(self, record: Any) -> None:
        try:
            self.stream.write(self.format(record) + self.terminator)
            self.flush()
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001 - as in the library
            self.handleError(record)

    def flush(self) -> None:
        if hasattr(self.stream, "flush"):
            self.stream.flush()


class NullHandler(Handler):
    """Drops records."""

    def handle(self, record: Any) -> Any:
        """Does nothing."""

    def emit(self, record: Any) -> None:
        """Does nothing."""


class _LastResort(StreamHandler):
    """Writes warnings and errors of a program that has set up nothing."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.level = WARNING


_default_formatter = Formatter()
lastResort = _LastResort()  # noqa: N816 - the library's name
