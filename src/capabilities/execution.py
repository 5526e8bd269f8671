"""One execution from grant to result: inject, record, run, record.

The first record is durable before the worker gets a byte of the code, and the last is written
however the execution ends, cancellation included. Evidence that cannot be written, of the execution
itself or of a single call, turns the result into a failure, also if the code caught the error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import anyio
import msgspec

from caps.capabilities.broker.broker import Broker, ExecutionBroker
from caps.capabilities.runtime.execution import Cell, Runner
from caps.capabilities.broker.evidence import DecisionSummary
from caps.capabilities.grant import Grant
from caps.capabilities.identity import Identity
from caps.capabilities.runtime.result import (
    ExecutionResult,
    Failure,
    Resources,
    failure_of_code,
    failure_of_host,
    status_of,
)
from caps.capabilities.runtime.source import SourceText
from caps.protocol.errors import (
    AuditError,
    CapsError,
    ExecutionError,
    LimitExceededError,
    ProtocolError,
)
from caps.protocol.messages import ResultMessage, WorkerLimits
from caps.protocol.values import decode_value
from caps.security.audit.model.records import (
    AuditEvent,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    LimitReached,
    ProtocolViolated,
)
from caps.worker.host.supervisor.supervisor import Job
from caps.worker.host.supervisor.wall_clock import WallClock

# Refused requests are answered up to here; beyond it a worker is flooding and is ended.
_PATIENCE = 64

# Even one that is chosen to take long takes a few milliseconds.
_DECODED_AT_ONCE = 16 * 1024


class ExecutionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to run, and for whom."""

    source: str
    filename: str
    identity: Identity
    on_output: Callable[[str], None] | None
    check: bool = False
    on_start: Callable[[str], None] | None = None
    """Gets the execution's id once its start is recorded."""
    on_decision: Callable[[DecisionSummary], None] | None = None
    cell: Cell | None = None

    def __post_init__(self) -> None:
        """A TypeError for a source that is no text, before anything is recorded of it."""
        for name, value in (("source", self.source), ("filename", self.filename)):
            if not isinstance(value, str):
                raise TypeError(f"{name} is of type `{type(value).__name__}`; hand over a `str`")


class _Progress(msgspec.Struct):
    """What is known of an execution while it runs."""

    printed: list[str] = msgspec.field(default_factory=list)
    output_bytes: int = 0
    message: ResultMessage | None = None
    failure: Failure | None = None
    from_code: bool = False
    started: bool = False
    value: Any = None


def new_id() -> str:
    """32 hexadecimal digits that nobody can guess."""
    return os.urandom(16).hex()


def run_execution(
    broker: Broker,
    runner: Runner,
    grant: Grant,
    request: ExecutionRequest,
    *,
    degraded: str | None,
    isolation: Mapping[str, str],
) -> Coroutine[Any, Any, ExecutionResult]:
    """Run one execution; its result, whatever the code did.

    `degraded` names the layers that are not fully in force; every record says so. `isolation` is
    how much of each is, which the first record says.
    """
    return _Run(broker, runner, grant, request, degraded, isolation).to_end()


class _Run:
    """The state of one execution on the host."""

    def __init__(
        self,
        broker: Broker,
        runner: Runner,
        grant: Grant,
        request: ExecutionRequest,
        degraded: str | None,
        isolation: Mapping[str, str],
    ) -> None:
        self._broker = broker
        self._runner = runner
        self._grant = grant
        self._request = request
        self._isolation = isolation
        self._source = SourceText.of(request.source, request.filename)
        self._span = broker.tracing.execution(
            grant.execution_id, grant.policy_id, grant.policy_sha256, request.identity
        )
        cell = request.cell
        self._clock = WallClock()
        self._calls = ExecutionBroker(
            broker,
            grant,
            request.identity,
            self._span,
            degraded=degraded,
            channel_id=cell.channel_id if cell else None,
            keys=cell.keys if cell else None,
            clock=self._clock,
            on_decision=request.on_decision,
        )
        self._who = self._calls.who
        self._progress = _Progress()
        self._began = time.perf_counter()

    async def to_end(self) -> ExecutionResult:
        broker, status = self._broker, ExecutionStatus.HOST_FAILED
        with self._span:
            broker.metrics.execution_begun()
            broker.live.add(self._calls)  # it can be revoked from now on
            try:
                await self._run()
                status = self._status()
            except anyio.get_cancelled_exc_class():
                status = ExecutionStatus.CANCELLED
                raise
            finally:
                broker.live.remove(self._calls)
                if self._request.cell is None:
                    broker.approvals.forget(self._calls.channel_id)
                status = await self._record_end(status)
        return self._result(status)

    async def _run(self) -> None:
        progress = self._progress
        try:
            await self._record_start()
            if self._request.on_start is not None:
                self._request.on_start(self._grant.execution_id)
            if self._source.refusal is not None:
                raise ExecutionError(self._source.refusal)
            message = await self._runner.run(self._job(), self._calls, self._take_output)
            await self._take_result(message)
        except ExecutionError as error:
            progress.failure, progress.from_code = failure_of_host(error), True
        except CapsError as error:
            progress.failure, progress.from_code = failure_of_host(error), False
            progress.started = error.details.get("started", progress.started)
            await self._record_trouble(error)
        finally:
            self._miss_evidence(self._calls.unrecorded)

    def _job(self) -> Job:
        grant, limits, cell = self._grant, self._grant.limits, self._request.cell
        return Job(
            execution_id=cell.channel_id if cell else grant.execution_id,
            namespace=grant.namespace,
            policy_id=grant.policy_id,
            manifest=grant.manifest,
            manifest_bytes=grant.manifest_bytes,
            source=self._source.text,
            filename=self._source.filename,
            wall_ms=limits.wall_ms,
            session=cell is not None,
            output_bytes=limits.output_bytes,
            most_requests=limits.calls + _PATIENCE,
            clock=self._clock,
            worker_limits=WorkerLimits(
                cpu_ms=limits.cpu_ms,
                memory_mb=limits.memory_mb,
                concurrency=limits.concurrency,
            ),
            check=self._request.check,
        )

    def _take_output(self, text: str) -> None:
        self._progress.printed.append(text)
        self._progress.output_bytes += len(text.encode())
        if self._request.on_output is not None:
            self._request.on_output(text)

    async def _take_result(self, message: ResultMessage) -> None:
        progress = self._progress
        progress.started = not message.never_ran
        progress.from_code = True
        if message.error is not None:
            progress.failure = failure_of_code(message.error)
        elif len(message.value) > _DECODED_AT_ONCE:
            # What takes long is decoded beside the event loop, which others need.
            progress.value = await anyio.to_thread.run_sync(decode_value, message.value)
        elif message.value:
            progress.value = decode_value(message.value)
        progress.message = message

    def _status(self) -> ExecutionStatus:
        return status_of(self._progress.failure, from_code=self._progress.from_code)

    async def _record_start(self) -> None:
        grant, bound = self._grant, self._grant.bound
        started = ExecutionStarted(
            **self._who,
            policy_id=grant.policy_id,
            policy_sha256=grant.policy_sha256,
            source_sha256=self._source.sha256,
            granted=list(bound.granted),
            withheld=list(bound.withheld_records),
            isolation=dict(self._isolation),
            modules=list(bound.policy.modules),
            mode="learn" if grant.learning else None,
            terms_sha256=bound.terms_sha256,
        )
        if not self._recorded_now(started):
            await self._broker.recorder.record(started)
        self._broker.metrics.count_injected(bound.granted)

    async def _record_trouble(self, error: CapsError) -> None:
        """What ended the execution from outside is a record of its own."""
        if isinstance(error, ProtocolError):
            violation = str(error.details.get("violation", "unknown"))
            self._broker.metrics.protocol_violated(violation)
            event: Any = ProtocolViolated(**self._who, violation=violation, message=error.message)
        elif isinstance(error, LimitExceededError):
            self._broker.metrics.limit_reached(str(error.details["limit"]))
            event = LimitReached(
                **self._who,
                limit=str(error.details["limit"]),
                allowed=int(error.details["allowed"]),
                message=error.message,
            )
        else:
            return
        await self._append_or_fail(event)

    async def _record_end(self, status: ExecutionStatus) -> ExecutionStatus:
        progress, used = self._progress, self._calls.used
        failure = progress.failure
        duration = time.perf_counter() - self._began
        ended = ExecutionEnded(
            **self._who,
            status=status,
            error_code=failure.code if failure else None,
            error_message=failure.message if failure else None,
            duration_us=int(duration * 1_000_000),
            calls=self._calls.calls,
            output_bytes=progress.output_bytes,
            cpu_us=used.cpu_us if used else None,
            max_rss_kb=used.max_rss_kb if used else None,
        )
        try:
            if await self._append_or_fail(ended):
                status = ExecutionStatus.HOST_FAILED
        finally:  # no shield stops a cancellation of asyncio's own; the record is on its way then
            self._observe_end(status, duration)
        return status

    def _observe_end(self, status: ExecutionStatus, duration: float) -> None:
        progress, used = self._progress, self._calls.used
        self._broker.metrics.execution_ended(
            status, duration, progress.output_bytes, used.cpu_us if used else None
        )
        if self._span.traced:
            self._span.settle(status.value, progress.failure.code if progress.failure else None)

    def _recorded_now(self, event: AuditEvent) -> bool:
        """`record_now`, once, also if an interrupt comes within it or just after it."""
        recorder, events = self._broker.recorder, (event,)
        try:
            return recorder.record_now(events)
        except AuditError:
            raise
        except BaseException:
            try:
                if not recorder.recorded_when_interrupted(events):
                    recorder.record_now(events)
            except AuditError as error:
                self._miss_evidence(error)  # and the interrupt goes on: nobody else tells of it
            raise

    async def _append_or_fail(self, event: Any) -> bool:
        """Write a record; if it cannot be written the execution has failed. True if so.

        If that has to wait, nobody's giving up cuts it short.
        """
        try:
            if not self._recorded_now(event):
                with anyio.CancelScope(shield=True):
                    await self._broker.recorder.record(event)
        except AuditError as error:
            self._miss_evidence(error)
            return True
        return False

    def _miss_evidence(self, error: AuditError | None) -> None:
        """An execution without all of its evidence has failed, whatever else is said of it."""
        if error is not None:
            self._progress.failure = failure_of_host(error)
            self._progress.from_code = False
            self._progress.value = None

    def _result(self, status: ExecutionStatus) -> ExecutionResult:
        progress, used = self._progress, self._calls.used
        return ExecutionResult(
            execution_id=self._grant.execution_id,
            status=status,
            started=progress.started,
            value=progress.value,
            value_is_repr=progress.message.value_is_repr if progress.message else False,
            stdout="".join(progress.printed),
            error=progress.failure,
            usage=Resources(
                duration_ms=round((time.perf_counter() - self._began) * 1000, 3),
                calls=self._calls.calls,
                output_bytes=progress.output_bytes,
                cpu_ms=used.cpu_us / 1000 if used else None,
                max_rss_kb=used.max_rss_kb if used else None,
            ),
            decisions=tuple(self._calls.decisions),
        )
