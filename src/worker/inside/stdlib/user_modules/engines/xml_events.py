"""(4) Parses XML: text in, a list of events out. Entities cannot be declared.

So an entity can neither name a file nor grow, and the events of a document are at most as large as
the document. The parser in C calls functions of ours only. While it works it cannot be called
again, not even by user code that a collection of garbage runs.
"""

from __future__ import annotations

from pyexpat import ExpatError, ParserCreate, errors
from typing import Any, Final

from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.stdlib.user_modules.engines.plain_values import (
    plain_text,
    refuse_second_init,
)

_Event = tuple[Any, ...]
UNDEFINED_ENTITY: Final = errors.codes[errors.XML_ERROR_UNDEFINED_ENTITY]


class _RefusedError(Exception):
    """The document has something that is not offered."""


class XMLEvents(metaclass=Sealed):
    """A parser of one document.

    Its events: `("start", name, attributes)`, `("end", name)`, `("data", text)`,
    `("comment", text)`, `("pi", target, text)`, `("start-ns", prefix, uri)`, `("end-ns", prefix)`,
    `("doctype", name, system, public)`. A name with a namespace is `uri}name`.
    """

    __slots__ = ("_busy", "_events", "_parser")

    def __init__(self, encoding: Any = None) -> None:
        refuse_second_init(self, "_parser")
        chosen = None if encoding is None else plain_text(encoding)
        self._busy = False
        self._events: list[_Event] = []
        parser = self._parser = ParserCreate(chosen, "}")
        note = self._events.append
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = lambda name, pairs: note(("start", name, pairs))
        parser.EndElementHandler = lambda name: note(("end", name))
        parser.CharacterDataHandler = lambda text: note(("data", text))
        parser.CommentHandler = lambda text: note(("comment", text))
        parser.ProcessingInstructionHandler = lambda target, text: note(("pi", target, text))
        parser.StartNamespaceDeclHandler = lambda prefix, uri: note(("start-ns", prefix, uri))
        parser.EndNamespaceDeclHandler = lambda prefix: note(("end-ns", prefix))
        parser.StartDoctypeDeclHandler = lambda name, system, public, _internal: note(
            ("doctype", name, system, public)
        )
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._skip_entity

    def feed(self, data: Any, final: Any) -> tuple[list[_Event], _Event | None]:
        """Parse a part of the document; `final` says that it is the last one.

        Returns the events and, if the document is not well formed, the message of the error, its
        code, line and column.
        """
        part = plain_text(data) if isinstance(data, str) else bytes(memoryview(data))
        if self._busy:
            raise ValueError("the parser is at work")
        last, parser = bool(final), self._parser
        problem: _Event | None = None
        self._busy = True
        try:
            parser.Parse(part, last)
        except ExpatError as error:
            problem = (str(error), error.code, error.lineno, error.offset)
        except _RefusedError as error:
            place = (parser.CurrentLineNumber, parser.CurrentColumnNumber)
            problem = (f"{error}: line {place[0]}, column {place[1]}", UNDEFINED_ENTITY, *place)
        finally:
            self._busy = False
        events = self._events[:]
        self._events.clear()
        return events, problem

    def _refuse_entity(self, *_declaration: Any) -> None:
        raise _RefusedError("entity declarations are refused here")

    def _skip_entity(self, name: str, is_parameter: Any) -> None:
        if not is_parameter:
            raise _RefusedError(f"undefined entity &{name};")
