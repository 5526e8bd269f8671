"""(4) The `asyncio` of user space beside Python's own: the same programs, the same output.

Both run on a clock that moves only when nothing is left to do, so no program takes any time.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import selectors
from typing import Any

import pytest

from caps.worker.inside.aio import loop as loop_module
from caps.worker.inside.language.compiler import compile_source
from caps.worker.inside.aio.loop import Loop
from unit.asyncio_programs import SOURCES
from unit.language_programs import make_globals


class Clock:
    """Time that passes only when a loop is idle."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def idle(self, timeout: float | None) -> None:
        assert timeout is not None, "nothing is left that could wake the loop"
        self.now += timeout


class ClockSelector(selectors.SelectSelector):
    """What asyncio waits with: nothing is ever ready, and waiting moves the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            self._clock.idle(timeout)
        return ready


class ClockLoop(asyncio.SelectorEventLoop):
    """Python's own loop on that clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        super().__init__(ClockSelector(clock))

    def time(self) -> float:
        return self._clock.now

    async def shutdown_default_executor(self, *_options: Any) -> None:
        """Threads know no such clock; programs that use some wait for them themselves."""


def natively(source: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the program prints under Python's asyncio."""
    clock, printed = Clock(), io.StringIO()
    monkeypatch.setattr(asyncio, "new_event_loop", lambda: ClockLoop(clock))
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: ClockLoop(clock))
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(source, "<agent>", "exec"), {"__name__": "__main__"})
        except BaseException as error:
            printed.write(f"raised {type(error).__name__} {error}\n")
    return printed.getvalue()


def in_user_space(source: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What it prints in user space."""
    clock = Clock()
    monkeypatch.setattr(loop_module, "time", clock)
    printed: list[str] = []
    user_globals: dict[str, Any] = make_globals(Loop(clock.idle), printed, {})
    try:
        eval(compile_source(source).code, user_globals)
    except BaseException as error:
        printed.append(f"raised {type(error).__name__} {error}\n")
    return "".join(printed)


@pytest.mark.parametrize("name", SOURCES)
def test_a_program_prints_what_it_prints_under_asyncio(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Line by line, in the same order."""
    caplog.set_level("CRITICAL", "asyncio")
    expected = natively(SOURCES[name], monkeypatch)
    assert expected
    assert in_user_space(SOURCES[name], monkeypatch) == expected
