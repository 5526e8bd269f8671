"""(8) An audit sink that is watched: how long records take, how many there are, and which failed.

It changes nothing about the sink: what that raises, and when it returns, is the sink's own word.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from caps.capabilities.telemetry.metrics import Metrics
from caps.security.audit.log import AuditSink, all_at_once
from caps.security.audit.records import AuditEvent, PolicyLoaded, kind_of
from caps.security.audit.redaction import Redactor


class ObservedAudit:
    """`sink`, counted in `metrics`."""

    def __init__(self, sink: AuditSink, metrics: Metrics) -> None:
        self._sink = sink
        self._record_all = all_at_once(sink)
        self._metrics = metrics

    @property
    def redactor(self) -> Redactor:
        return self._sink.redactor

    async def append(self, event: AuditEvent) -> None:
        """As `AuditSink.append`. Whoever is cancelled here has no word on the record."""
        await self.append_all((event,))

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """The same for several, which take their time together."""
        metrics = self._metrics
        began = time.perf_counter()
        try:
            await self._record_all(events)
        except Exception:
            metrics.audit_failures.inc(len(events))
            metrics.audit_seconds.observe(time.perf_counter() - began)
            raise
        metrics.audit_seconds.observe(time.perf_counter() - began)
        for event in events:
            metrics.child(metrics.audit_records, kind_of(event)).inc()
            if isinstance(event, PolicyLoaded):
                metrics.policy_loads.labels(event.status).inc()

    async def aclose(self) -> None:
        """As `AuditSink.aclose`."""
        await self._sink.aclose()


class SinkMetrics:
    """What the sinks of a log do, counted in `metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def sink_up(self, sink: str, up: bool) -> None:
        self._metrics.audit_sink_up.labels(sink).set(1 if up else 0)

    def sink_dropped(self, sink: str, records: int) -> None:
        self._metrics.audit_sink_dropped.labels(sink).inc(records)
