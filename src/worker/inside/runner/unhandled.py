"""(4) Reports errors that would be lost silently, in the captured output, in Python's own format.

- the unretrieved error of a task or future, and the error of a callback: with the user's frames
- a coroutine that was never awaited, when it is collected: with the line that dropped it

The reports are bounded, and show no frames of ours. A coroutine may be collected at any point, so
that part runs no user code and only adds its text to the output.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from inspect import CORO_CREATED, getcoroutinestate
from types import CoroutineType, FrameType
from typing import Any

from caps.worker.inside.caps_api.namespace import Capability
from caps.worker.inside.errors.report import Programs, traceback_text

_MAX_REPORTED = 20
_MAX_HELD = 1000
_MAX_NAME = 200


class UnhandledErrors:
    """Reports the first few, and then that there are more."""

    def __init__(self, note: Callable[[str], None], programs: Programs) -> None:
        self._note = note
        self._programs = programs
        self._reported = 0
        self._reported_drops: set[str] = set()

    def install(self) -> None:
        """Get the interpreter's notifications of coroutines from now on, until the process ends."""
        warnings._warn_unawaited_coroutine = self.never_awaited  # type: ignore[attr-defined]

    def report_error(self, what: str, error: BaseException) -> None:
        """An error that no code can retrieve any more."""
        if self._count():
            self._note(f"{what[:_MAX_NAME]}\n{traceback_text(error, self._programs)}")

    def never_awaited(self, coroutine: CoroutineType[Any, Any, Any]) -> None:
        """A coroutine was collected that was never awaited."""
        self._report_dropped(coroutine, sys._getframe(1))

    def report_held(self, values: Iterable[Any]) -> None:
        """Coroutines that the program still holds at its end, as a value or in a list or tuple."""
        for value in values:
            some = value if type(value) in (list, tuple) else (value,)
            for each in some[:_MAX_HELD]:
                if type(each) is CoroutineType and getcoroutinestate(each) == CORO_CREATED:
                    self._report_dropped(each, None)
                    each.close()  # so that it is reported only once

    def close(self) -> None:
        """Report whether there were more, and reset the count."""
        if self._reported > _MAX_REPORTED:
            self._note("(there are more such errors and warnings; they are not shown)\n")
        self._reported = 0
        self._reported_drops.clear()

    def _count(self) -> bool:
        self._reported += 1
        return self._reported <= _MAX_REPORTED

    def _report_dropped(
        self, coroutine: CoroutineType[Any, Any, Any], frame: FrameType | None
    ) -> None:
        if self._reported > _MAX_REPORTED:
            return
        text = self._describe_dropped(coroutine, frame)
        # Like Python's own warning: once per location.
        if text not in self._reported_drops and self._count():
            self._reported_drops.add(text)
            self._note(text)

    def _describe_dropped(
        self, coroutine: CoroutineType[Any, Any, Any], frame: FrameType | None
    ) -> str:
        while frame is not None and frame.f_code.co_filename not in self._programs:
            frame = frame.f_back
        code = coroutine.cr_code if frame is None else frame.f_code
        program = self._programs.get(code.co_filename)
        line = code.co_firstlineno if frame is None else frame.f_lineno
        where = f"{program.filename}:{line}: " if program is not None else ""
        text = f"{where}RuntimeWarning: coroutine '{self._name(coroutine)}' was never awaited\n"
        if program is not None and 0 < line <= len(program.lines):
            text += f"  {program.lines[line - 1].strip()[:_MAX_NAME]}\n"
        return text

    def _name(self, coroutine: CoroutineType[Any, Any, Any]) -> str:
        code = coroutine.cr_code
        if code.co_filename in self._programs:
            return code.co_qualname[:_MAX_NAME]
        frame = coroutine.cr_frame
        called = frame.f_locals.get("self") if frame is not None else None
        if type(called) is Capability:
            return f"caps.{called._entry.name}"
        return f"asyncio.{code.co_qualname}"
