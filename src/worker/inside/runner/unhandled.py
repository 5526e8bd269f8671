"""(4) What would be lost without a word, told in the captured output as Python tells it.

- the error of a task or future that nobody asked for, and of a callback: with the user's frames
- a coroutine that was never awaited, when it is collected: with the line that dropped it

Bounded, and with nothing of ours in it. A coroutine may be collected in the middle of anything, so
that part runs no code of the user's and only leaves its text.
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

_MOST = 20
_MOST_HELD = 1000
_MAX_NAME = 200


class Complaints:
    """Tells of a few, and then that there are more."""

    def __init__(self, note: Callable[[str], None], programs: Programs) -> None:
        self._note = note
        self._programs = programs
        self._told = 0
        self._dropped_before: set[str] = set()

    def listen(self) -> None:
        """Hear of coroutines from the interpreter, from now on until this process ends."""
        warnings._warn_unawaited_coroutine = self.never_awaited  # type: ignore[attr-defined]

    def lost(self, what: str, error: BaseException) -> None:
        """An error that nobody will ask for any more."""
        if self._counted():
            self._note(f"{what[:_MAX_NAME]}\n{traceback_text(error, self._programs)}")

    def never_awaited(self, coroutine: CoroutineType[Any, Any, Any]) -> None:
        """A coroutine that was made, not awaited, and is no more."""
        self._tell_dropped(coroutine, sys._getframe(1))

    def held(self, values: Iterable[Any]) -> None:
        """Coroutines that the program still holds at its end, by themselves or in a list."""
        for value in values:
            some = value if type(value) in (list, tuple) else (value,)
            for each in some[:_MOST_HELD]:
                if type(each) is CoroutineType and getcoroutinestate(each) == CORO_CREATED:
                    self._tell_dropped(each, None)
                    each.close()  # told once

    def close(self) -> None:
        """Tell that there were more, if there were; what comes next is counted anew."""
        if self._told > _MOST:
            self._note("(there are more such errors and warnings; they are not shown)\n")
        self._told = 0
        self._dropped_before.clear()

    def _counted(self) -> bool:
        self._told += 1
        return self._told <= _MOST

    def _tell_dropped(
        self, coroutine: CoroutineType[Any, Any, Any], frame: FrameType | None
    ) -> None:
        if self._told > _MOST:
            return
        told = self._dropped(coroutine, frame)
        # As Python's own warning: once for each place.
        if told not in self._dropped_before and self._counted():
            self._dropped_before.add(told)
            self._note(told)

    def _dropped(self, coroutine: CoroutineType[Any, Any, Any], frame: FrameType | None) -> str:
        while frame is not None and frame.f_code.co_filename not in self._programs:
            frame = frame.f_back
        code = coroutine.cr_code if frame is None else frame.f_code
        program = self._programs.get(code.co_filename)
        line = code.co_firstlineno if frame is None else frame.f_lineno
        where = f"{program.filename}:{line}: " if program is not None else ""
        told = f"{where}RuntimeWarning: coroutine '{self._name(coroutine)}' was never awaited\n"
        if program is not None and 0 < line <= len(program.lines):
            told += f"  {program.lines[line - 1].strip()[:_MAX_NAME]}\n"
        return told

    def _name(self, coroutine: CoroutineType[Any, Any, Any]) -> str:
        code = coroutine.cr_code
        if code.co_filename in self._programs:
            return code.co_qualname[:_MAX_NAME]
        frame = coroutine.cr_frame
        called = frame.f_locals.get("self") if frame is not None else None
        if type(called) is Capability:
            return f"caps.{called._entry.name}"
        return f"asyncio.{code.co_qualname}"
