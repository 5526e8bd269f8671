"""How far a call in flight has come, for whoever waits for it, such as an MCP client.

    with progress_to(show):
        await runtime.call("browser.navigate", {...})

Whoever waits opens `progress_to`; a provider calls `context.report_progress`. In between there is a
context variable, so it reaches also the calls of code that runs for the one who waits. It is a
courtesy: nothing is recorded, nothing is decided by it, and without a listener it goes nowhere.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import msgspec

MAX_MESSAGE_CHARACTERS: Final = 1000

logger = logging.getLogger(__name__)


class Progress(msgspec.Struct, frozen=True):
    """One report. `total` is the value of `done` at the end, if the provider knows it."""

    done: float
    total: float | None = None
    message: str | None = None
    """Text of the provider, and perhaps of others: an external server, for instance."""
    capability: str | None = None
    """The function that reports; None if the report is not of one call."""


OnProgress = Callable[[Progress], None]
Report = Callable[[float, float | None, str | None], None]
"""Takes `done`, `total` and the message. ValueError for a number that is not finite."""

_listener: ContextVar[OnProgress | None] = ContextVar("caps_progress", default=None)


@contextmanager
def progress_to(listener: OnProgress) -> Iterator[None]:
    """In this context, `listener` gets what providers report. It must not wait.

    What it raises is logged: a call does not fail because of whoever watches it.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def progress_of(capability: str) -> Report:
    """Reports the progress of a call of `capability` to the listener of the current context.

    It may be called in another context, such as that of a task which reads for several calls.
    """
    listener = _listener.get()

    def report(done: float, total: float | None, message: str | None) -> None:
        if not (math.isfinite(done) and (total is None or math.isfinite(total))):
            raise ValueError("progress is told in finite numbers")
        if listener is None:
            return
        text = None if message is None else str(message)[:MAX_MESSAGE_CHARACTERS]
        end = None if total is None else float(total)
        try:
            listener(Progress(float(done), end, text, capability))
        except Exception:
            logger.exception("whoever listens to the progress of `%s` failed", capability)

    return report
