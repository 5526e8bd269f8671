"""The parser of `xml.etree.ElementTree` in user space; `engines.xml_events` reads the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from caps.worker.inside.stdlib.user_modules.engines.xml_events import XMLEvents

_NAMED_EVENTS = ("start", "end", "start-ns", "end-ns", "comment", "pi")


class ParseError(SyntaxError):
    """The document is not well formed; `code`, `position`."""

    code = 0
    position = (0, 0)


class TargetParser:
    """Reads a document in parts, and tells its target what is there."""

    def __init__(self, *, target: Any, encoding: str | None = None) -> None:
        self.target = self._target = target
        self.entity: dict[str, str] = {}
        self.version = "Expat"
        self._events = XMLEvents(encoding)
        self._names: dict[str, str] = {}
        # The queue of a pull parser, and the events that it asked for.
        self._queue: Any = None
        self._wanted: frozenset[str] = frozenset()

    def _setevents(self, queue: Any, wanted: Iterable[str]) -> None:
        for event in wanted:
            if event not in _NAMED_EVENTS:
                raise ValueError(f"unknown event {event!r}")
        self._queue, self._wanted = queue, frozenset(wanted)

    def feed(self, data: Any) -> None:
        """Read a part of the document."""
        self._read(data, False)

    def close(self) -> Any:
        """Finish, and return what the target's `close` returns."""
        self._read(b"", True)
        finish = getattr(self._target, "close", None)
        return None if finish is None else finish()

    def flush(self) -> None: ...

    def _read(self, data: Any, final: bool) -> None:
        events, problem = self._events.feed(data, final)
        for event in events:
            self._tell(*event)
        if problem is not None:
            message, code, line, column = problem
            error = ParseError(message)
            error.code, error.position = code, (line, column)
            raise error

    def _tell(self, kind: str, *values: Any) -> None:
        target = self._target
        if kind == "start":
            self._start(*values)
        elif kind == "end":
            self._note("end", target.end(self._fixed(values[0])))
        elif kind == "data":
            if hasattr(target, "data"):
                target.data(values[0])
        elif kind in ("comment", "pi"):
            if hasattr(target, kind):
                self._note(kind, getattr(target, kind)(*values))
        elif kind == "start-ns":
            prefix, uri = values[0] or "", values[1] or ""
            told = target.start_ns(prefix, uri) if hasattr(target, "start_ns") else None
            self._note(kind, told or (prefix, uri))
        elif kind == "end-ns":
            told = target.end_ns(values[0] or "") if hasattr(target, "end_ns") else None
            self._note(kind, told)
        elif kind == "doctype" and hasattr(target, "doctype"):
            name, system, public = values
            target.doctype(name, public, system)

    def _start(self, name: str, pairs: list[str]) -> None:
        attributes = {self._fixed(pairs[at]): pairs[at + 1] for at in range(0, len(pairs), 2)}
        self._note("start", self._target.start(self._fixed(name), attributes))

    def _note(self, kind: str, value: Any) -> None:
        if kind in self._wanted:
            self._queue.append((kind, value))

    def _fixed(self, name: str) -> str:
        fixed = self._names.get(name)
        if fixed is None:
            fixed = self._names[name] = "{" + name if "}" in name else name
        return fixed
