"""(4) `traceback` and `pprint`: text about errors and values, without our own internals.

A traceback object gives access to frames and through them to everything. User space gets only the
text that the report of a failed execution would show, with the user's own frames.
"""

from __future__ import annotations

import operator
import pprint as library_pprint
import sys
from types import TracebackType
from typing import Any, NamedTuple

from caps.worker.inside.errors.report import frame_summaries, frame_texts, traceback_text
from caps.worker.inside.stdlib.context import StdlibContext

_ABSENT: Any = object()


class FrameSummary(NamedTuple):
    """`traceback.FrameSummary`: where a frame of the program is."""

    filename: str
    lineno: int
    name: str
    line: str


def format_list(extracted_list: Any) -> list[str]:
    """`traceback.format_list`."""
    texts = []
    for filename, line, name, source in extracted_list:
        code = f"    {source}\n" if source else ""
        texts.append(f'  File "{filename}", line {line}, in {name}\n{code}')
    return texts


class Tracebacks:
    """`traceback` of one execution."""

    __slots__ = ("_context",)

    def __init__(self, context: StdlibContext) -> None:
        self._context = context

    def names(self) -> dict[str, Any]:
        """All names of `traceback` in user space."""
        return {
            "format_exc": self.format_exc,
            "format_exception": self.format_exception,
            "extract_tb": self.extract_tb,
            "format_exception_only": self.format_exception_only,
            "format_list": format_list,
            "format_tb": self.format_tb,
            "print_exc": self.print_exc,
            "print_exception": self.print_exception,
            "print_tb": self.print_tb,
        }

    def extract_tb(self, tb: Any, limit: Any = None) -> list[FrameSummary]:
        """The user's frames of a traceback."""
        _check_traceback(tb)
        frames = [FrameSummary(*one) for one in frame_summaries(tb, self._context.programs)]
        most = _plain_limit(limit)
        if most is None:
            return frames
        return frames[:most] if most >= 0 else frames[most:]

    def format_tb(self, tb: Any, limit: Any = None) -> list[str]:
        """The same as lines of text."""
        _check_traceback(tb)
        return frame_texts(tb, self._context.programs, _plain_limit(limit))

    def print_tb(self, tb: Any, limit: Any = None, file: Any = None) -> None:
        """The same, printed."""
        self._print("".join(self.format_tb(tb, limit)), file)

    def format_exc(self, limit: Any = None, chain: bool = True) -> str:
        """The error that is being handled, as text."""
        return self._text(sys.exception(), limit, chain)

    def print_exc(self, limit: Any = None, file: Any = None, chain: bool = True) -> None:
        """The same, printed."""
        self._print(self._text(sys.exception(), limit, chain), file)

    def format_exception(
        self,
        exc: Any,
        /,
        value: Any = _ABSENT,
        tb: Any = None,
        limit: Any = None,
        chain: Any = True,
    ) -> list[str]:
        """An error as lines of text."""
        del tb
        return self._text(_resolve_error(exc, value), limit, chain).splitlines(keepends=True)

    def print_exception(
        self,
        exc: Any,
        /,
        value: Any = _ABSENT,
        tb: Any = None,
        limit: Any = None,
        file: Any = None,
        chain: Any = True,
    ) -> None:
        """The same, printed."""
        del tb
        self._print(self._text(_resolve_error(exc, value), limit, chain), file)

    def format_exception_only(self, exc: Any, /, value: Any = _ABSENT) -> list[str]:
        """The type and message of an error, without a traceback."""
        error = _resolve_error(exc, value)
        if error is None:
            return ["NoneType: None\n"]
        return traceback_text(error, {}, chain=False).splitlines(keepends=True)

    def _text(self, error: BaseException | None, limit: Any, chain: Any) -> str:
        if error is None:
            return "NoneType: None\n"
        most = _plain_limit(limit)
        return traceback_text(error, self._context.programs, chain=bool(chain), limit=most)

    def _print(self, text: str, file: Any) -> None:
        (self._context.output.stderr if file is None else file).write(text)


def _plain_limit(limit: Any) -> int | None:
    """The number of frames, as an `int` whose methods are not the user's."""
    return None if limit is None else int(operator.index(limit))


def _check_traceback(tb: Any) -> None:
    if tb is not None and type(tb) is not TracebackType:
        raise TypeError(f"a traceback was due, not a `{type(tb).__name__}`")


def _resolve_error(exc: Any, value: Any) -> BaseException | None:
    error = exc if value is _ABSENT else value
    if error is not None and not isinstance(error, BaseException):
        raise TypeError(f"an exception was due, not a `{type(error).__name__}`")
    return error


def traceback_names(context: StdlibContext) -> dict[str, Any]:
    """All names of `traceback` in user space."""
    return Tracebacks(context).names()


def pprint_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `pprint`, which print to the captured output."""
    stdout: Any = context.output.stdout

    def PrettyPrinter(  # noqa: N802 - the name that user space sees
        indent: int = 1,
        width: int = 80,
        depth: int | None = None,
        stream: Any = None,
        **options: Any,
    ) -> library_pprint.PrettyPrinter:
        """`pprint.PrettyPrinter`."""
        target = stdout if stream is None else stream
        return library_pprint.PrettyPrinter(indent, width, depth, target, **options)

    def pprint(
        object: Any,  # noqa: A002 - the library's own name
        stream: Any = None,
        indent: int = 1,
        width: int = 80,
        depth: int | None = None,
        **options: Any,
    ) -> None:
        """`pprint.pprint`."""
        PrettyPrinter(indent, width, depth, stream, **options).pprint(object)

    def pp(object: Any, *args: Any, sort_dicts: bool = False, **options: Any) -> None:  # noqa: A002
        """`pprint.pp`."""
        pprint(object, *args, sort_dicts=sort_dicts, **options)

    return {"PrettyPrinter": PrettyPrinter, "pp": pp, "pprint": pprint}
