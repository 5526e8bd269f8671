"""Runs a program under Python's own asyncio and in user space, on a clock that needs no waiting."""

from __future__ import annotations

import asyncio
import contextlib
import io
import selectors
import warnings
from typing import Any

import pytest

from caps.worker.inside.aio import loop as loop_module
from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.language.compiler import compile_source
from support.idle_clock import IdleClock
from support.language_programs import make_globals

_THREAD_SECONDS = 10


class ClockSelector(selectors.SelectSelector):
    """The selector of asyncio's loop: waiting moves the clock."""

    def __init__(self, clock: IdleClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Without a timer, only a thread can wake the loop, and threads take real time.
        ready = super().select(0 if timeout is not None else _THREAD_SECONDS)
        if not ready:
            self._clock.idle(timeout)
        return ready


class ClockLoop(asyncio.SelectorEventLoop):
    """Python's own loop on that clock."""

    def __init__(self, clock: IdleClock) -> None:
        self._clock = clock
        super().__init__(ClockSelector(clock))
        # A task that the garbage collector finds later would be logged with its traceback. That
        # parses source, and Python 3.11 fails if the collector ran within another `ast.parse`.
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        return self._clock.now

    async def shutdown_default_executor(self, *_options: Any) -> None:
        """Threads do not use this clock; programs that use threads wait for them."""


def run_natively(source: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The output of the program under Python's asyncio."""
    clock, printed = IdleClock(), io.StringIO()
    monkeypatch.setattr(asyncio, "new_event_loop", lambda: ClockLoop(clock))
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: ClockLoop(clock))
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of names that user space still has
        try:
            exec(compile(source, "<agent>", "exec"), {"__name__": "__main__"})
        except BaseException as error:
            printed.write(f"raised {type(error).__name__} {error}\n")
    return printed.getvalue()


def run_in_user_space(source: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The output of the program in user space."""
    clock = IdleClock()
    monkeypatch.setattr(loop_module, "time", clock)
    printed: list[str] = []
    user_globals: dict[str, Any] = make_globals(Loop(clock.idle), printed, {})
    try:
        eval(compile_source(source).code, user_globals)
    except BaseException as error:
        printed.append(f"raised {type(error).__name__} {error}\n")
    return "".join(printed)
