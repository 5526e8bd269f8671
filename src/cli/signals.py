"""SIGINT and SIGTERM during a run: the first ends it in good order, the second at once.

A handler that raised could strike anywhere, also while the log is being closed. So it only notes
the signal and cancels what runs; the command goes on from there, and the end is on record before it
leaves.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from caps.cli.exits import ExitCode

_STOPPING = (signal.SIGINT, signal.SIGTERM)


class StopSignals:
    """Within this context, the first of the signals calls what `cancelling` was given."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._cancel: Callable[[], object] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other may set handlers
            for number in _STOPPING:
                # Who started us with a signal ignored (`nohup`, a shell's `&`) meant it.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def cancelling(self, cancel: Callable[[], object]) -> None:
        """What a signal is to call; at once if it came already."""
        self._cancel = cancel
        if self.received is not None:
            cancel()

    def _take(self, number: int, _frame: FrameType | None) -> None:
        for stopping in self._before:
            signal.signal(stopping, signal.SIG_DFL)
        self.received = signal.Signals(number)
        if self._cancel is not None:
            self._cancel()


@contextmanager
def leaving_on_terminate() -> Iterator[None]:
    """Within this context SIGTERM leaves by way of SystemExit, so that what is open is closed."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
        raise SystemExit(ExitCode.TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
