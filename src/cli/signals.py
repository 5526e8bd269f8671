"""SIGINT and SIGTERM during a run: the first signal ends it in good order, the second immediately.

A handler that raised could interrupt anything, also the closing of the log. So it only stores the
signal and cancels the run. The command then continues, and records the end before it exits.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from caps.cli.exits import ExitCode, fail

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """In this context, the first signal calls the function that was passed to `on_stop`."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._cancel: Callable[[], object] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if (
            threading.current_thread() is threading.main_thread()
        ):  # no other thread may set handlers
            for number in _STOPPING:
                # A signal that is ignored from the start (`nohup`, a shell's `&`) stays ignored.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_stop(self, cancel: Callable[[], object]) -> None:
        """Call `cancel` at a signal; immediately if one has come already."""
        self._cancel = cancel
        if self.received is not None:
            cancel()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        for stopping in self._before:
            signal.signal(stopping, signal.SIG_DFL)
        self.received = signal.Signals(number)
        if self._cancel is not None:
            self._cancel()


@contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """In this context SIGTERM raises SystemExit, so that everything open is closed."""

    def exit_now(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it immediately
        raise SystemExit(ExitCode.TERMINATED)

    before = signal.signal(signal.SIGTERM, exit_now)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def result_of(running: Future[T], stop: StopSignals) -> T | None:
    """The result; None if it was cancelled. Closing the runtime then waits for its end."""
    from concurrent.futures import CancelledError

    stop.on_stop(running.cancel)
    try:
        return running.result()
    except CancelledError:
        return None


def exit_by_signal(by: signal.Signals | None) -> NoReturn:
    """Exit as a command does that a signal stopped."""
    if by is signal.SIGTERM:
        fail("terminated", ExitCode.TERMINATED)
    fail("interrupted", ExitCode.INTERRUPTED)
