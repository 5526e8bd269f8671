"""Progress of a call: from its provider to whoever waits for it, if anybody listens.

    with progress_to(show):
        await runtime.call("browser.navigate", {...})

It is a courtesy: nothing is recorded, nothing is decided by it, and it never delays the call.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec


class CallProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a call is. `message` is text of its provider, and may be text of others."""

    capability: str
    progress: float
    total: float | None = None
    message: str = ""


OnCallProgress = Callable[[CallProgress], None]
_listener: contextvars.ContextVar[OnCallProgress | None] = contextvars.ContextVar(
    "caps_progress", default=None
)


@contextmanager
def progress_to(listener: OnCallProgress) -> Iterator[None]:
    """Send the progress of all calls that start in this context to `listener`, which must not wait.

    What it raises is logged.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current_listener() -> OnCallProgress | None:
    """Who listens to the call in flight; None: nobody."""
    return _listener.get()
