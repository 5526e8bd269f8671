"""(3) One execution from grant to result: inject, record, run, record.

The first record is durable before the worker gets a byte of the code, and the last is written
however the execution ends, cancellation included. If a record of the execution or of a single call
cannot be written, the result is a failure, even if the code caught the error.
"""

from __future__ import annotations

import functools
import io
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import anyio
import msgspec
from msgspec.structs import replace

from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.broker.evidence import redacted_error
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.grant import MILLION, Grant
from caps.capabilities.runtime.budget import BudgetWatchdog
from caps.capabilities.runtime.execution_request import ExecutionRequest, job_under
from caps.capabilities.runtime.recording.texts import (
    ENDED,
    STARTED,
    ExecutionTexts,
    started_event,
    texts_for,
)
from caps.capabilities.runtime.recording.writer import RecordWriter
from caps.capabilities.runtime.result import (
    ExecutionResult,
    Failure,
    Resources,
    failure_of_code,
    failure_of_host,
    status_of,
)
from caps.capabilities.runtime.source import SourceText
from caps.capabilities.threads import run_in_runtime_thread
from caps.protocol.enforcement import Layer
from caps.protocol.errors import (
    AuditError,
    CapsError,
    ExecutionError,
    LimitExceededError,
    ProtocolError,
)
from caps.protocol.messages import ResultMessage
from caps.protocol.values import decode_value
from caps.security.audit.model.records import (
    AuditEvent,
    ExecutionEnded,
    ExecutionStatus,
    LimitReached,
    ProtocolViolated,
)
from caps.worker.host.supervisor.interface import CallHandler, Job, OutputHandler
from caps.worker.host.supervisor.wall_clock import WallClock


class JobRunner(Protocol):
    """Runs a job in a worker: the pool, or the lease of a session."""

    @property
    def layers(self) -> tuple[Layer, ...]: ...

    async def run(self, job: Job, calls: CallHandler, on_output: OutputHandler) -> ResultMessage:
        """See `WorkerPool.run`."""


# Decoding this much takes a few milliseconds even in the worst case.
_INLINE_DECODE_BYTES = 16 * 1024


class _ExecutionState(msgspec.Struct):
    """What is known about an execution while it runs."""

    printed: io.StringIO | None = None
    """One buffer: as an object each, a million prints of a byte would take sixty times that."""
    output_bytes: int = 0
    failure: Failure | None = None
    reported: Failure | None = None
    """The failure that the worker reported, which may not be the one that counts."""
    from_code: bool = False
    started: bool = False
    value: Any = None
    value_is_repr: bool = False


def run_execution(
    services: BrokerServices,
    runner: JobRunner,
    grant: Grant,
    request: ExecutionRequest,
    *,
    degraded: str | None,
    isolation: tuple[tuple[str, str], ...],
) -> Coroutine[Any, Any, ExecutionResult]:
    """Run one execution and return its result, whatever the code did.

    `degraded` names the layers that are not fully in force; every record has it. `isolation` is
    how much of each layer is in force, for the first record.
    """
    execution = _Execution(services, runner, grant, request, degraded, isolation)
    return execution.run_traced() if execution.span.traced else execution.run_to_end()


class _Execution(RecordWriter):
    """The state of one execution on the host."""

    def __init__(
        self,
        services: BrokerServices,
        runner: JobRunner,
        grant: Grant,
        request: ExecutionRequest,
        degraded: str | None,
        isolation: tuple[tuple[str, str], ...],
    ) -> None:
        self._audit = services.audit
        self._services = services
        self._runner = runner
        self._grant = grant
        self._request = request
        self._isolation = isolation
        self._degraded = degraded
        self._source = SourceText.of(request.source, request.filename)
        self.span = services.tracing.execution(
            grant.execution_id, grant.policy_id, grant.policy_sha256, request.identity
        )
        channel = request.channel
        self._clock = WallClock()
        self._watchdog: BudgetWatchdog | None = None
        if grant.costs:  # else no call costs anything
            self._watchdog = BudgetWatchdog(grant.limits.cost, request.on_decision)
        self._calls = ExecutionBroker(
            services,
            grant,
            request.identity,
            self.span,
            degraded=degraded,
            channel_id=channel.channel_id if channel else None,
            keys=channel.keys if channel else None,
            flow=channel.flow if channel else request.flow,
            clock=self._clock,
            on_decision=request.on_decision if self._watchdog is None else self._watchdog.see,
            on_artifact=request.on_artifact,
            outer=None if request.parent is None else request.parent.broker,
        )
        self._progress = _ExecutionState()
        self._texts: ExecutionTexts | None = None
        self._began = time.perf_counter()

    async def run_traced(self) -> ExecutionResult:
        with self.span:
            return await self.run_to_end()

    async def run_to_end(self) -> ExecutionResult:
        services, calls, status = self._services, self._calls, ExecutionStatus.HOST_FAILED
        services.metrics.execution_started()
        services.live.add(calls)  # it can be revoked from now on
        outer = None if self._request.parent is None else self._request.parent.broker
        if outer is not None:
            outer.inner.add(calls)
        try:
            await self._run()
            status, progress = ExecutionStatus.OK, self._progress
            if progress.failure is not None:
                status = status_of(progress.failure, from_code=progress.from_code)
        except anyio.get_cancelled_exc_class():
            status = ExecutionStatus.CANCELLED
            raise
        finally:
            services.live.remove(calls)
            if outer is not None:
                outer.inner.remove(calls)
            if calls.was_called and self._request.channel is None:
                calls.forget()
            status = await self._record_end(status)
        return self._result(status)

    async def _run(self) -> None:
        progress = self._progress
        try:
            waiting = self._write_start()
            if waiting is not None:
                await self._audit.append(waiting)
            self._services.metrics.count_injected(self._grant.chain.granted)
            if self._request.on_start is not None:
                self._request.on_start(self._grant.execution_id)
            if self._source.refusal is not None:
                raise ExecutionError(self._source.refusal)
            running = self._runner.run(self._job(), self._calls, self._add_output)
            watchdog = self._watchdog
            message = await (running if watchdog is None else watchdog.watch(running))
            if not self._set_result(message):
                await self._decode_in_thread(message)
        except ExecutionError as error:
            progress.failure, progress.from_code = failure_of_host(error), True
        except CapsError as error:
            progress.failure, progress.from_code = failure_of_host(error), False
            progress.started = error.details.get("started", progress.started)
            await self._record_termination(error)
        finally:
            if self._calls.unrecorded is not None:
                self.fail(self._calls.unrecorded)

    def _job(self) -> Job:
        grant, request, source = self._grant, self._request, self._source
        channel = request.channel
        return replace(
            job_under(grant.chain, grant.namespace, grant.learning, channel is not None),
            execution_id=grant.execution_id if channel is None else channel.channel_id,
            source=source.text,
            filename=source.filename,
            owner=request.identity.principal,
            clock=self._clock,
            check=request.check,
            inputs=request.inputs.data,
            argv=request.argv,
        )

    def _add_output(self, text: str) -> None:
        progress = self._progress
        if progress.printed is None:
            progress.printed = io.StringIO()
        progress.printed.write(text)
        progress.output_bytes += len(text.encode())
        if self._request.on_output is not None:
            self._request.on_output(text)

    def _set_result(self, message: ResultMessage) -> bool:
        """Keep what the worker reported; False if its value is still to be decoded."""
        progress = self._progress
        progress.started = not message.never_ran
        progress.from_code = True
        if message.error is not None:
            progress.failure = progress.reported = failure_of_code(message.error)
        elif len(message.value) > _INLINE_DECODE_BYTES:
            return False
        elif message.value:
            progress.value = decode_value(message.value)
        progress.value_is_repr = message.value_is_repr
        return True

    async def _decode_in_thread(self, message: ResultMessage) -> None:
        """Decode a large value without blocking the event loop."""
        caller, progress = self._request.identity.principal, self._progress
        progress.value = await run_in_runtime_thread(
            caller, self._grant.execution_id, decode_value, message.value
        )
        progress.value_is_repr = message.value_is_repr

    def _write_start(self) -> AuditEvent | None:
        """Record the start; its event if that has to wait."""
        texts = self._texts = self._usual_texts()
        record = None if texts is None else texts.started(self._source.sha256)
        return self.write(self._started_event, record, STARTED)

    def _usual_texts(self) -> ExecutionTexts | None:
        """The texts of both records, if those of this execution can be cut out."""
        request, grant = self._request, self._grant
        if not self._audit.takes_encoded or self.span.ids:
            return None
        if request.inputs.digests or request.parent is not None:
            return None
        return texts_for(
            request.identity,
            grant.execution_id,
            grant.chain,
            self._isolation,
            self._degraded,
            learning=grant.learning,
        )

    def _started_event(self) -> AuditEvent:
        grant, request = self._grant, self._request
        started = started_event(
            self._calls.who,
            grant.chain,
            self._isolation,
            learning=grant.learning,
            source_sha256=self._source.sha256,
        )
        parent = None if request.parent is None else request.parent.id
        return replace(started, inputs=request.inputs.digests, parent=parent)

    async def _record_termination(self, error: CapsError) -> None:
        """Record why the host ended the execution, as a separate record."""
        if isinstance(error, ProtocolError):
            violation = str(error.details.get("violation", "unknown"))
            self._services.metrics.protocol_violated(violation)
            event: Callable[[], AuditEvent] = functools.partial(
                ProtocolViolated, **self._calls.who, violation=violation, message=error.message
            )
        elif isinstance(error, LimitExceededError):
            self._services.metrics.limit_reached(str(error.details["limit"]))
            limit, allowed = str(error.details["limit"]), error.details["allowed"]
            event = functools.partial(
                LimitReached,
                **self._calls.who,
                limit=limit,
                allowed=round(allowed * MILLION) if limit == "cost" else int(allowed),
                message=error.message,
            )
        else:
            return
        await self.append_or_fail(event)

    async def _record_end(self, status: ExecutionStatus) -> ExecutionStatus:
        progress, used, texts = self._progress, self._calls.used, self._texts
        duration = time.perf_counter() - self._began
        duration_us = int(duration * 1_000_000)
        ended = functools.partial(self._ended_event, status, duration_us)
        record = None
        if texts is not None and status is ExecutionStatus.OK and used is not None:
            calls = self._calls.calls_made
            record = texts.ended(calls, progress.output_bytes, duration_us, used)
        try:
            waiting = self.write(ended, record, ENDED)
            if waiting is not None:
                await self._append_shielded(waiting)
        except AuditError as error:
            self.fail(error)
            status = ExecutionStatus.HOST_FAILED
        finally:  # a shield does not stop a native asyncio cancellation; the write goes on then
            cpu_us = used.cpu_us if used else None
            self._services.metrics.execution_ended(status, duration, progress.output_bytes, cpu_us)
            if self.span.traced:
                self.span.settle(status.value, progress.failure.code if progress.failure else None)
        return status

    def _ended_event(self, status: ExecutionStatus, duration_us: int) -> AuditEvent:
        progress, used = self._progress, self._calls.used
        failure = progress.failure
        return ExecutionEnded(
            **self._calls.who,
            status=status,
            error_code=failure.code if failure else None,
            error_message=self._recorded_message(failure) if failure else None,
            duration_us=duration_us,
            calls=self._calls.calls_made,
            output_bytes=progress.output_bytes,
            cpu_us=used.cpu_us if used else None,
            max_rss_kb=used.max_rss_kb if used else None,
        )

    def _recorded_message(self, failure: Failure) -> str:
        """The text of an error of the code may quote any value, so only its digest is recorded."""
        if failure is not self._progress.reported:
            return failure.message
        return redacted_error(self._audit.redactor, failure.type, failure.message)

    def fail(self, error: AuditError) -> None:
        self._progress.failure = failure_of_host(error)
        self._progress.from_code = False
        self._progress.value = None

    def _result(self, status: ExecutionStatus) -> ExecutionResult:
        progress, calls, used = self._progress, self._calls, self._calls.used
        # The objects of an execution refer to each other and are collected some time later. What
        # can be large goes with the result.
        self._progress = _ExecutionState()
        return ExecutionResult(
            execution_id=self._grant.execution_id,
            status=status,
            started=progress.started,
            value=progress.value,
            value_is_repr=progress.value_is_repr,
            stdout="" if progress.printed is None else progress.printed.getvalue(),
            error=progress.failure,
            usage=Resources(
                duration_ms=round((time.perf_counter() - self._began) * 1000, 3),
                calls=calls.calls_made,
                output_bytes=progress.output_bytes,
                cpu_ms=used.cpu_us / 1000 if used else None,
                max_rss_kb=used.max_rss_kb if used else None,
            ),
            decisions=calls.decisions,
            artifacts=calls.handed_out,
        )
