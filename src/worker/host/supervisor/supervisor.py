"""The supervisor: runs one execution in one worker and bounds it from outside.

In a session several executions follow each other on one channel; each has a supervisor of its own.

It moves messages between the channel and a `CallHandler` (the broker), enforces wall time, CPU time
and output, and ends the process when the execution ends, however that comes about. A worker that
breaks the protocol, dies or falls silent ends its own execution and nothing else.

What may come of it, beside a `ResultMessage`: LimitExceededError (a bound was reached),
ProtocolError (it lied), WorkerLostError (it died; `started` says whether the code had run).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import anyio

from caps.protocol.connection import HostConnection, State
from caps.protocol.errors import (
    LimitExceededError,
    ProtocolError,
    ProviderError,
    WorkerLostError,
)
from caps.protocol.messages import (
    CapabilityRequestMessage,
    FromWorker,
    ManifestMessage,
    OutputMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
)
from caps.protocol.transport import ChannelClosedError, OverdueError
from caps.worker.host.supervisor.requests import Answering
from caps.worker.host.supervisor.cpu_limit import cpu_limit_reached, is_used_up
from caps.worker.host.supervisor.interface import Answer, CallHandler, Job, OutputHandler
from caps.worker.host.process.worker import Ending, Used, Worker

# Short executions are over by then: to make a spare, which would take their processor from them,
# waits for so long.
AT_ONCE_SECONDS = 0.003

__all__ = ["AT_ONCE_SECONDS", "Answer", "CallHandler", "Execution", "Job", "OutputHandler"]


def _unheard() -> None:
    """Nobody waits for it."""


@dataclass(slots=True)
class Execution:
    """One job on one channel. Mutable; its task's, and the event loop's where output arrives."""

    job: Job
    worker: Worker
    connection: HostConnection
    calls: CallHandler
    on_output: OutputHandler
    program: bytes = b""
    """What the source compiles to, if a compiler process has told."""
    on_long: Callable[[], None] = _unheard
    """Hears, once, that the code is not over at once, or waits for a call."""
    used_at_result: Used | None = None
    """What the code had used when it gave its result, if that can be seen while the worker lives;
    what was measured then is not waited for."""
    printed_bytes: int = 0
    started: bool = False
    _begun_us: int | None = None
    _hung_up: bool = False
    _stopped: bool = False
    _cpu_used_up: bool = False

    async def run(self) -> ResultMessage:
        """Hand over manifest and code, then serve requests until the result or the wall limit."""
        self.calls.begin()
        # What it used before, to get ready, is not the code's.
        self._begun_us = self.worker.cpu_us()
        sent = self._hand_over()
        ended: ResultMessage | Exception | None = None
        try:
            ended = await self._serve(sent)
        except Exception as error:  # noqa: BLE001 - raised below, when the worker is stopped
            ended = error
        finally:
            self._stop(ended)
        if ended is None and self._cpu_used_up:
            raise cpu_limit_reached(self.job.worker_limits.cpu_ms)
        if ended is None:  # a task that is not the provider's own was cancelled by it
            raise ProviderError(
                "a provider cancelled the execution; see the calls in the audit log"
            )
        if isinstance(ended, ProtocolError):
            self.started = True  # from a liar, "never ran" cannot be believed
        if isinstance(ended, Exception):
            raise ended
        return ended

    def used(self, ending: Ending) -> Used | None:
        """What the code used, once its worker has ended; None if nobody could measure it."""
        if self._begun_us is None or not ending.max_rss_kb:
            return None
        cpu_us = max(0, ending.cpu_us - self._begun_us)
        return Used(cpu_us=cpu_us, max_rss_kb=ending.max_rss_kb)

    def used_so_far(self) -> Used | None:
        """What a cell used, while its worker lives on; None if nobody could measure it."""
        now_us = None if self._begun_us is None else self.worker.cpu_us()
        if self._begun_us is None or now_us is None:
            return None
        return Used(cpu_us=max(0, now_us - self._begun_us), max_rss_kb=None)

    def _hand_over(self) -> bool:
        """Send what the worker needs; False if some of it is left, to go before what follows."""
        job, connection = self.job, self.connection
        # A later cell of a session finds the manifest of the first in force.
        manifest = self._manifest() if connection.state is State.READY else b""
        start = connection.send(
            StartMessage(
                source=job.source,
                filename=job.filename,
                limits=job.worker_limits,
                check=job.check,
                program=self.program,
                **connection.stamp(),
            )
        )
        try:
            return self.worker.transport.send_now(manifest + start)
        except ChannelClosedError:
            return True  # the reading side learns how the worker ended, and says it better

    def _manifest(self) -> bytes:
        job = self.job
        # To the encoder, what is encoded is as good as what is not.
        capabilities: Any = list(job.manifest) if job.manifest_bytes is None else job.manifest_bytes
        return self.connection.send(
            ManifestMessage(
                execution_id=job.execution_id,
                namespace=job.namespace,
                policy_id=job.policy_id,
                capabilities=capabilities,
                session=job.session,
                **self.connection.stamp(),
            )
        )

    async def _serve(self, sent: bool) -> ResultMessage | None:
        """Its result; None if it used up its CPU time. `sent`: nothing of the code is left here.

        Most code makes no call and ends before its time, or its CPU time, could be used up, and
        needs neither a scope nor a task beside this one.
        """
        begun = time.monotonic()
        arrived = await self._first_arrival(sent)
        if isinstance(arrived, ResultMessage):
            return arrived
        past_ms = (time.monotonic() - begun) * 1000
        with self.job.clock.start(self.job.wall_ms - past_ms):
            if not sent:
                await self._send_rest()
            return await self._serve_with_calls(arrived)
        raise LimitExceededError(
            f"the code ran longer than {self.job.wall_ms} ms; raise `limits.wall_ms` if it may",
            limit="wall_ms",
            allowed=self.job.wall_ms,
        )

    async def _first_arrival(self, sent: bool) -> ResultMessage | Sequence[FromWorker]:
        """The result, or the first calls.

        Nothing if a limit may have been reached by then, or if the worker waits for its code.
        """
        most_s = min(self.job.wall_ms, self.job.worker_limits.cpu_ms) / 1000
        arrived = await self._arrival(min(most_s, AT_ONCE_SECONDS)) if sent else ()
        if isinstance(arrived, ResultMessage):
            return arrived
        self.on_long()
        if arrived or not sent:
            return arrived
        return await self._arrival(most_s - AT_ONCE_SECONDS)

    async def _arrival(self, within_s: float) -> ResultMessage | Sequence[FromWorker]:
        try:
            return await self.worker.transport.receive_until(self._arrived, within_s)
        except OverdueError:
            return ()
        except ChannelClosedError:
            self._lost()

    def _arrived(self, data: bytes) -> ResultMessage | Sequence[FromWorker] | None:
        """What there is more to do about than to take note. Runs in no task."""
        if not data:
            self._lost()
        messages = self.connection.receive(data)
        for place, message in enumerate(messages):
            if type(message) is CapabilityRequestMessage:
                return messages[place:]
            result = self._take(message)
            if result is not None:
                return result
        return None

    async def _serve_with_calls(self, messages: Sequence[FromWorker]) -> ResultMessage | None:
        ended: ResultMessage | Exception | None = None
        async with anyio.create_task_group() as calls:
            calls.start_soon(self._watch_cpu, calls.cancel_scope)
            answering = Answering(
                self.worker.transport,
                self.connection,
                self.calls,
                self.job.most_requests,
                self._take,
                self._lost,
            )
            try:
                ended = await answering.serve(messages, calls)
            except Exception as error:  # noqa: BLE001 - raised below, outside the group, unwrapped
                ended = error
            finally:
                self._stop(ended)
            # The execution is over: whatever it still waits for is cancelled.
            calls.cancel_scope.cancel()
        if isinstance(ended, Exception):
            raise ended
        return ended

    async def _watch_cpu(self, execution: anyio.CancelScope) -> None:
        if self._begun_us is not None:
            end_us = self._begun_us + self.job.worker_limits.cpu_ms * 1000
            if await is_used_up(self.worker.cpu_us, end_us):
                self._cpu_used_up = True
                execution.cancel()

    def _stop(self, ended: ResultMessage | Exception | None) -> None:
        """End the code now: its calls may have to wait for their evidence, and it must not run on.

        A worker that closed its channel is ending by itself, and how it does is yet to be learnt.
        One that gave a result in a session has ended its cell, and waits for the next.
        """
        if self._stopped:
            return
        self._stopped = True
        waits = self.job.session and isinstance(ended, ResultMessage)
        if isinstance(ended, ResultMessage) and not waits:
            self.used_at_result = self._seen_use()
        if not self._hung_up and not waits:
            self.worker.kill()

    def _seen_use(self) -> Used | None:
        """What the code used, as it can be seen while its worker lives."""
        so_far, max_rss_kb = self.used_so_far(), self.worker.max_rss_kb()
        if so_far is None or max_rss_kb is None:
            return None
        return Used(cpu_us=so_far.cpu_us, max_rss_kb=max_rss_kb)

    def _take(self, message: FromWorker) -> ResultMessage | None:
        """Act on what asks for no answer; the result, if it is that."""
        match message:
            case OutputMessage():
                self._take_output(message.text)
            case StartedMessage():
                self.started = True
            case ResultMessage():
                return message
        return None

    def _take_output(self, text: str) -> None:
        # An empty message counts too, or a worker could send them without end.
        self.printed_bytes += max(1, len(text.encode()))
        if self.printed_bytes > self.job.output_bytes:
            raise LimitExceededError(
                f"the code printed more than {self.job.output_bytes} bytes; "
                "raise `limits.output_bytes` if it may",
                limit="output_bytes",
                allowed=self.job.output_bytes,
            )
        self.on_output(text)

    async def _send_rest(self) -> None:
        try:
            await self.worker.transport.send(b"")
        except ChannelClosedError:
            return  # as above

    def _lost(self) -> NoReturn:
        """The worker closed its channel."""
        self._hung_up = True
        self.connection.at_end()
        raise WorkerLostError("the worker closed its channel", started=self.started)
