"""Who hears of a pool's stock: the host's telemetry. Nothing depends on what it does."""

from __future__ import annotations

from typing import Protocol


class StockWatch(Protocol):
    """Raises nothing, and returns at once."""

    def stock_changed(self, ready: int, wanted: int) -> None:
        """So many spares more, or fewer, are ready, and should be."""

    def stock_exhausted(self) -> None:
        """Somebody needed a spare, and there was none."""

    def worker_started(self, seconds: float) -> None:
        """A worker is ready; it took so long."""


class Unwatched:
    """Nobody hears of it."""

    def stock_changed(self, ready: int, wanted: int) -> None: ...

    def stock_exhausted(self) -> None: ...

    def worker_started(self, seconds: float) -> None: ...
