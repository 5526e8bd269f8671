"""(8) An audit sink that is watched: how long records take, how many there are, and which failed.

It changes nothing about the sink: what that raises, and when it returns, is the sink's own word.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from caps.capabilities.telemetry.metrics import Metrics
from caps.security.audit.model.records import AuditEvent, PolicyLoaded, kind_of
from caps.security.audit.model.redaction import Redactor
from caps.security.audit.log.interface import (
    AuditSink,
    all_at_once,
    in_this_step,
    taken_when_interrupted,
)


class ObservedAudit:
    """`sink`, counted in `metrics`."""

    def __init__(self, sink: AuditSink, metrics: Metrics) -> None:
        self._sink = sink
        self._record_all = all_at_once(sink)
        self._record_now = in_this_step(sink)
        self.took = taken_when_interrupted(sink)
        """Whether `append_now`, which an interrupt ended, had taken what was handed in last."""
        self._metrics = metrics

    @property
    def redactor(self) -> Redactor:
        return self._sink.redactor

    async def append(self, event: AuditEvent) -> None:
        """As `AuditSink.append`. Whoever is cancelled here has no word on the record."""
        await self.append_all((event,))

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """The same for several, which take their time together."""
        began = time.perf_counter()
        try:
            await self._record_all(events)
        except Exception:
            self._failed(events, began)
            raise
        self._count(events, time.perf_counter() - began)

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        """The same in this very step; False, and nothing is done, if that has to wait."""
        began = time.perf_counter()
        try:
            done = self._record_now(events)
        except Exception:
            self._failed(events, began)
            raise
        if done:
            self._count(events, time.perf_counter() - began)
        return done

    def _failed(self, events: Sequence[AuditEvent], began: float) -> None:
        self._metrics.audit_failures.add((), len(events))
        self._metrics.audit_seconds.observe((), time.perf_counter() - began)

    def _count(self, events: Sequence[AuditEvent], seconds: float) -> None:
        metrics = self._metrics
        metrics.audit_seconds.observe((), seconds)
        for event in events:
            metrics.audit_records.add((kind_of(event),))
            if type(event) is PolicyLoaded:
                metrics.policy_loads.add((event.status,))

    async def aclose(self) -> None:
        """As `AuditSink.aclose`."""
        await self._sink.aclose()


class SinkMetrics:
    """What the sinks of a log do, counted in `metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def sink_up(self, sink: str, up: bool) -> None:
        self._metrics.audit_sink_up.set((sink,), 1 if up else 0)

    def sink_dropped(self, sink: str, records: int) -> None:
        self._metrics.audit_sink_dropped.add((sink,), records)
