"""The wall clock of one execution: it can stand still while somebody outside is waited for.

The supervisor runs the code within `scope`; the broker lets the clock stand while a call is parked.
How long it stood in all is known, so that whoever lets it stand can bound that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class WallClock:
    """Counts down while the code runs. Used from one event loop."""

    def __init__(self) -> None:
        self._scope: anyio.CancelScope | None = None
        self._left_s = math.inf
        self._reasons = 0
        self._stood_s = 0.0
        self._still_since = 0.0

    def start(self, wall_ms: float) -> anyio.CancelScope:
        """The scope that is cancelled when the time is up; to be entered now."""
        self._scope = anyio.move_on_after(wall_ms / 1000)
        return self._scope

    @property
    def stood_still_s(self) -> float:
        """For how long it has stood still, in all and until now."""
        standing = time.monotonic() - self._still_since if self._reasons else 0.0
        return self._stood_s + standing

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """It stands while anybody is in here; several at once count once."""
        if not self._reasons:
            self._halt()
        self._reasons += 1
        try:
            yield
        finally:
            self._reasons -= 1
            if not self._reasons:
                self._go_on()

    def _halt(self) -> None:
        self._still_since = time.monotonic()
        if self._scope is not None:
            self._left_s = self._scope.deadline - anyio.current_time()
            self._scope.deadline = math.inf

    def _go_on(self) -> None:
        self._stood_s += time.monotonic() - self._still_since
        if self._scope is not None:
            self._scope.deadline = anyio.current_time() + self._left_s
