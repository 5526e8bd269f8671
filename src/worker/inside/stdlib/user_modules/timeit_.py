"""`timeit` of user space."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

default_timer = time.perf_counter
default_number = 1_000_000
default_repeat = 5
_Statement = str | Callable[[], Any]


class Timer:
    """`timeit.Timer`, for functions and for source."""

    def __init__(
        self,
        stmt: _Statement = "pass",
        setup: _Statement = "pass",
        timer: Callable[[], float] = default_timer,
        globals: dict[str, Any] | None = None,  # noqa: A002 - the library's name
    ) -> None:
        self.timer = timer
        variables = dict(globals or {})
        if isinstance(setup, str):
            # Not in a function: variables of the set-up are globals of the statement.
            self._setup: Callable[[], Any] = lambda: exec(setup, variables)  # noqa: S102 - guarded
        else:
            self._setup = setup
        self._stmt = stmt
        self._variables = variables

    def timeit(self, number: int = default_number) -> float:
        """The time for `number` calls."""
        self._setup()
        call = self._compiled() if isinstance(self._stmt, str) else self._stmt
        timer = self.timer
        start = timer()
        for _ in itertools.repeat(None, number):
            call()
        return timer() - start

    def repeat(self, repeat: int = default_repeat, number: int = default_number) -> list[float]:
        """The times of several runs."""
        return [self.timeit(number) for _ in range(repeat)]

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> tuple[int, float]:
        """How many calls take 0.2 seconds, and how long they took."""
        scale = 1
        while True:
            for digit in (1, 2, 5):
                number = scale * digit
                taken = self.timeit(number)
                if callback is not None:
                    callback(number, taken)
                if taken >= 0.2:
                    return number, taken
            scale *= 10

    def _compiled(self) -> Callable[[], Any]:
        lines = str(self._stmt).splitlines() or ["pass"]
        exec("def call():\n" + "".join(f"    {line}\n" for line in lines), self._variables)  # noqa: S102 - guarded
        call: Callable[[], Any] = self._variables.pop("call")
        return call


def timeit(
    stmt: _Statement = "pass",
    setup: _Statement = "pass",
    timer: Callable[[], float] = default_timer,
    number: int = default_number,
    globals: dict[str, Any] | None = None,  # noqa: A002 - the library's name
) -> float:
    """`timeit.timeit`."""
    return Timer(stmt, setup, timer, globals).timeit(number)


def repeat(
    stmt: _Statement = "pass",
    setup: _Statement = "pass",
    timer: Callable[[], float] = default_timer,
    repeat: int = default_repeat,
    number: int = default_number,
    globals: dict[str, Any] | None = None,  # noqa: A002 - the library's name
) -> list[float]:
    """`timeit.repeat`."""
    return Timer(stmt, setup, timer, globals).repeat(repeat, number)
