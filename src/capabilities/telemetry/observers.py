"""(8) Metrics of the audit log, of its sinks and of the pools of workers."""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence

from caps.capabilities.telemetry.metrics import Metrics
from caps.protocol.errors import AuditError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import AuditEvent, PolicyLoaded, kind_of


class PoolMetrics:
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

    def waiting_changed(self, reason: str, change: int) -> None:
        self._metrics.workers_awaited.add_holder((reason,), change)

    def wait_refused(self, reason: str) -> None:
        self._metrics.worker_waits_refused.add((reason,))


class MeteredAudit(AuditSink):
    """`sink`, counted in `metrics`. Every error that it raises is an `AuditError`."""

    def __init__(self, sink: AuditSink, metrics: Metrics) -> None:
        self._sink = sink
        self._metrics = metrics
        self._appends = metrics.appends
        self.redactor = sink.redactor
        self.takes_encoded = sink.takes_encoded

    async def append(self, event: AuditEvent) -> None:
        """As `AuditSink.append`. A caller that is cancelled here does not learn the result."""
        await self.append_all((event,))

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        """The same for several, which are timed together."""
        began = time.perf_counter()
        try:
            await self._sink.append_all(events)
        except Exception as error:
            self._failed(events, began)
            if isinstance(error, AuditError):
                raise
            raise _as_audit_error(error) from error
        self._count(events, time.perf_counter() - began)

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        began = time.perf_counter()
        try:
            done = self._sink.append_now(events)
        except Exception as error:
            self._failed(events, began)
            if isinstance(error, AuditError):
                raise
            raise _as_audit_error(error) from error
        if done is True:
            self._count(events, time.perf_counter() - began)
        elif done is not False:
            raise _not_a_bool(done)
        return done

    def append_encoded(self, records: Sequence[EncodedRecord], kind: str) -> bool:
        began = time.perf_counter()
        try:
            done = self._sink.append_encoded(records, kind)
        except Exception as error:
            self._failed(records, began)
            if isinstance(error, AuditError):
                raise
            raise _as_audit_error(error) from error
        if done is True:
            self._appends.put((kind, len(records), time.perf_counter() - began))
        elif done is not False:
            raise _not_a_bool(done)
        return done

    def has_recorded(self, events: Sequence[object]) -> bool:
        return self._sink.has_recorded(events) is True

    def _failed(self, events: Sequence[object], began: float) -> None:
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


def _not_a_bool(answer: object) -> AuditError:
    """The error for an answer of `append_now` that is not a bool: only True means durable."""
    if inspect.iscoroutine(answer):
        answer.close()
    return AuditError(
        f"`append_now` of the audit log must return a `bool`, not `{type(answer).__name__}`"
    )


def _as_audit_error(error: Exception) -> AuditError:
    """A foreign error of a log as the one that callers expect, so that no effect follows it."""
    return AuditError(f"the audit log failed with `{type(error).__name__}`: {error}")


class SinkMetrics:
    """What the sinks of a log do, counted in `metrics`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def sink_up(self, sink: str, up: bool) -> None:
        self._metrics.audit_sink_up.set((sink,), 1 if up else 0)

    def sink_dropped(self, sink: str, records: int) -> None:
        self._metrics.audit_sink_dropped.add((sink,), records)
