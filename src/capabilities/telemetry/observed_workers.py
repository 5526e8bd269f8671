"""(8) The workers of a runtime, counted: its stock of spares, and how long a start takes."""

from __future__ import annotations

from caps.capabilities.telemetry.metrics import Metrics


class ObservedWorkers:
    """What the pools tell of their workers, as metrics. Pools of all runtimes add up."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def stock_changed(self, ready: int, wanted: int) -> None:
        if ready:
            self._metrics.spares_ready.add(ready)
        if wanted:
            self._metrics.spares_wanted.add(wanted)

    def stock_exhausted(self) -> None:
        self._metrics.spares_exhausted.add(())

    def worker_started(self, seconds: float) -> None:
        self._metrics.worker_start_seconds.observe((), seconds)
