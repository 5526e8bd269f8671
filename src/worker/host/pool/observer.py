"""The observer of a pool's stock: the host's telemetry. Nothing in the pool depends on it."""

from __future__ import annotations

from typing import Protocol


class PoolObserver(Protocol):
    """Its methods raise nothing and return immediately."""

    def stock_changed(self, ready: int, wanted: int) -> None:
        """The numbers of spares that are ready, and that should be, changed by these amounts."""

    def stock_exhausted(self) -> None:
        """A spare was needed, and there was none."""

    def worker_started(self, seconds: float) -> None:
        """A worker is ready; starting it took `seconds`."""

    def waiting_changed(self, reason: str, change: int) -> None:
        """One caller more or less waits for a worker; `reason` is a value of `WaitReason`."""

    def wait_refused(self, reason: str) -> None:
        """A caller waited too long for a worker, and was refused."""


class NullPoolObserver:
    """Does nothing."""

    def stock_changed(self, ready: int, wanted: int) -> None: ...

    def stock_exhausted(self) -> None: ...

    def worker_started(self, seconds: float) -> None: ...

    def waiting_changed(self, reason: str, change: int) -> None: ...

    def wait_refused(self, reason: str) -> None: ...
