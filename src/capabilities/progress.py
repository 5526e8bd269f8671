"""How far a call in flight has come, for whoever waits for it, such as an MCP client.

Whoever waits opens `progress_to`; a provider calls `context.report_progress`. In between there is a
context variable, so it reaches also the calls of code that runs for the one who waits. Nothing is
decided by it, and without anybody who waits it goes nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import msgspec

MAX_MESSAGE_CHARACTERS: Final = 1000


class Progress(msgspec.Struct, frozen=True):
    """One report. `total` is the value of `done` at the end, if the provider knows it."""

    done: float
    total: float | None = None
    message: str | None = None


_sink: ContextVar[Callable[[Progress], None] | None] = ContextVar("caps_progress", default=None)


@contextmanager
def progress_to(sink: Callable[[Progress], None]) -> Iterator[None]:
    """In this context, `sink` gets what providers report. It must not wait."""
    token = _sink.set(sink)
    try:
        yield
    finally:
        _sink.reset(token)


def report_progress(done: float, total: float | None, message: str | None) -> None:
    """Tell whoever waits. ValueError for a number that is not finite."""
    if not (math.isfinite(done) and (total is None or math.isfinite(total))):
        raise ValueError("progress is told in finite numbers")
    sink = _sink.get()
    if sink is not None:
        text = None if message is None else str(message)[:MAX_MESSAGE_CHARACTERS]
        sink(Progress(float(done), None if total is None else float(total), text))
