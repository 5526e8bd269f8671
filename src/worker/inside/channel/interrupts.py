"""(4) Interrupts the running cell when the host asks for it, as Ctrl-C would.

The host sends SIGINT when a limit is reached, or when the caller wants the cell to stop. The code
gets a `KeyboardInterrupt` and may clean up; if it does not end soon, the host kills this process.
User code cannot prevent that, so nothing here has to be enforced.

The signal may come between any two instructions, also while our own code writes a frame or checks a
name. So the error is raised only where user code could raise one itself:

- at the next line of user code
- within a call or an operation of user code, if that takes long and looks for signals, as a match
  of a regular expression does; also in a library that user code called
- at the await of the task that the loop runs, while the loop waits
- in a function of ours that is marked as `interruptible`

Nothing is raised while no cell runs.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable, Container
from types import CodeType, FrameType
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

_OURS = "caps."
# The instructions that may run C code for long. At the end of a loop the interpreter looks for
# signals, too, but takes the error for one of the instruction before the loop: a `try` around it
# would not see it.
_LONG = frozenset(
    number
    for name, number in opcode.opmap.items()
    if name.startswith(("BINARY_", "CALL", "COMPARE_", "CONTAINS_", "FORMAT_", "PRECALL", "UNARY_"))
)
# Python 3.12 and 3.13 lose the place of an error that a trace function raises where a loop on one
# line begins again: a `try` around the loop would not see it. They keep it at an instruction.
_RAISES_AT_LINES = not (3, 12) <= sys.version_info < (3, 14)
_interruptible: set[CodeType] = set()


def interruptible(function: _F) -> _F:
    """Mark a function of ours: it leaves nothing half done if an error is raised in its frame."""
    _interruptible.add(function.__code__)
    return function


class _Woken(BaseException):
    """Raised by the handler to end a wait."""


class Interrupts:
    """The interrupts of this process. `on_signal` is its handler of SIGINT."""

    def __init__(self) -> None:
        self.pending = False
        """Whether an interrupt has come and is not raised yet."""
        self._user_files: Container[str] = ()
        self._user_builtin = ""
        self._listening = False
        self._waiting = False

    def recognise(self, files: Container[str], builtin: str) -> None:
        """User code is code of these files, and all code with a builtin of this name.

        Without the language layer it has no builtins of its own.
        """
        self._user_files, self._user_builtin = files, builtin

    def begin(self) -> None:
        """A cell starts: it may be interrupted from now on."""
        self._listening = True

    def end(self) -> None:
        """The cell has ended: what comes from now on comes too late, and means nothing."""
        self._listening = False
        if self.pending:
            self._clear()

    def take(self) -> KeyboardInterrupt:
        """The error of the pending interrupt, which the caller raises."""
        self._clear()
        return KeyboardInterrupt("the code was interrupted")

    def wait(self, poll: Callable[[int | None], object], timeout_ms: int | None) -> bool:
        """Whether `poll` found something; an interrupt ends the wait, and is pending then."""
        try:
            # Two blocks: if the handler raises in the inner `finally`, the outer one catches it.
            try:
                self._waiting = True
                return not self.pending and bool(poll(timeout_ms))
            finally:
                self._waiting = False
        except _Woken:
            return False

    def on_signal(self, _number: int, frame: FrameType | None) -> None:
        """Handle the signal. Runs between two instructions of whatever runs in this process."""
        if not self._listening:
            return
        is_repeated, self.pending = self.pending, True
        if self._waiting:
            self._waiting = False
            raise _Woken
        if self._may_raise_in(frame, is_repeated):
            raise self.take()
        while frame is not None:
            if self._is_user_code(frame):
                frame.f_trace = self._trace
            frame = frame.f_back
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        """The interpreter calls this for each new frame, and for each line of a traced one."""
        if not self._is_user_code(frame):
            return None
        # Not at a call or return, where `finally` blocks would be skipped.
        if event == ("line" if _RAISES_AT_LINES else "opcode"):
            frame.f_trace_opcodes = False
            raise self.take()
        if event == "line":
            # The first instruction of this line is next. Python 3.12 looks at the frame that sets
            # the function, too.
            frame.f_trace_opcodes = sys._getframe().f_trace_opcodes = True
            sys.settrace(self._trace)
        return self._trace

    def _may_raise_in(self, frame: FrameType | None, is_repeated: bool) -> bool:
        if frame is not None and self._is_user_code(frame):
            # A loop with nothing in it has no next line.
            return is_repeated or frame.f_code.co_code[frame.f_lasti] in _LONG
        while frame is not None:
            if self._is_user_code(frame) or frame.f_code in _interruptible:
                return True
            if _is_ours(frame):
                return False
            frame = frame.f_back  # a library's: what matters is who called it
        return False

    def _is_user_code(self, frame: FrameType) -> bool:
        return (
            self._user_builtin in frame.f_builtins or frame.f_code.co_filename in self._user_files
        )

    def _clear(self) -> None:
        self.pending = False
        sys.settrace(None)


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__")
    return type(name) is not str or name.startswith(_OURS)
