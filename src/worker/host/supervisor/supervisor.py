"""(4) The supervisor: runs one execution in one worker and bounds it from outside.

In a session several executions follow each other on one channel; each has its own supervisor.

It moves messages between the channel and a `CallHandler` (the broker), enforces wall time, CPU time
and output, and kills the process when the execution ends, for whatever reason. Code that is out of
time is interrupted first, and killed if it does not stop soon. A worker that breaks the protocol,
exits or sends nothing ends its own execution and nothing else.

The outcome is a `ResultMessage` or one of these errors: LimitExceededError (a limit was reached;
CodeInterruptedError if the code stopped by itself), ProtocolError (the worker broke the protocol),
WorkerLostError (the worker exited; `started` says whether the code had run).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

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
    OutputMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
)
from caps.protocol.transport import ChannelClosedError, ReadTimeout
from caps.worker.host.memory.give_back import give_back_soon
from caps.worker.host.process.shared_processor import SharedProcessor
from caps.worker.host.process.worker import ExitStatus, ResourceUsage, Worker
from caps.worker.host.supervisor.byte_budget import OUTPUT_FACTOR, ByteBudget
from caps.worker.host.supervisor.cpu_limit import cpu_limit_reached, wait_until_used_up
from caps.worker.host.supervisor.interface import CallHandler, Job, Manifest, OutputHandler
from caps.worker.host.supervisor.interruption import CodeInterruptedError, interrupt
from caps.worker.host.supervisor.requests import LargeMessages, RequestServer, split
from caps.worker.host.supervisor.wall_clock import wall_limit_reached

# Short executions end within this time. Making a spare waits for as long, because it would compete
# with them for the processor.
SHORT_RUN_SECONDS = 0.003


class Supervisor:
    """One job on one channel.

    Mutable; used by its own task, and by the event loop's read callback when data arrives.
    """

    # Attributes of the class are its first state: most executions change few of them.
    on_sent: Callable[[], None] | None = None
    """Called once when the code is sent, as far as the channel has room."""
    used_at_result: ResourceUsage | None = None
    """What the code had used when it sent its result, if that can be measured while the worker
    lives; then the caller need not wait until the worker is reaped."""
    killed_by_owner: bool = False
    """After a result, the caller kills the worker, once the result is passed on. Nobody reads what
    the code sends meanwhile. Not while calls are in flight."""
    printed_bytes: int = 0
    started: bool = False
    _cpu_start_us: int | None = None
    _peer_closed: bool = False
    _stopped: bool = False
    _out_of_time: LimitExceededError | None = None
    _output_cut: bool = False

    def __init__(
        self,
        job: Job,
        worker: Worker,
        connection: HostConnection,
        calls: CallHandler,
        on_output: OutputHandler,
        program: bytes = b"",
        on_slow: Callable[[], None] | None = None,
    ) -> None:
        """`program` is the compiled source, if the cache has it. `on_slow` is called once if the
        code does not end within SHORT_RUN_SECONDS, or makes a call."""
        self.job = job
        self.worker = worker
        self.connection = connection
        self.calls = calls
        self.on_output = on_output
        self.program = program
        self.on_slow = on_slow

    @functools.cached_property
    def budget(self) -> ByteBudget:
        """Made by the first call or output."""
        return ByteBudget()

    async def run(self) -> ResultMessage:
        """Send manifest and code, then serve requests until the result or the wall limit."""
        self.calls.begin()
        # CPU time that the worker used before, to get ready, is not charged to the code.
        self._cpu_start_us = self.worker.cpu_us()
        all_sent = self._send_start()
        if self.on_sent is not None:
            self.on_sent()
        outcome: ResultMessage | Exception | None = None
        try:
            # Most code makes no call and ends before its wall time or its CPU time could be used
            # up. It needs neither a cancel scope nor a second task.
            began = time.monotonic()
            limit_s = min(self.job.wall_ms, self.job.worker_limits.cpu_ms) / 1000
            # Without `on_slow` it does not matter whether it is slow.
            wait_s = limit_s if self.on_slow is None else min(limit_s, SHORT_RUN_SECONDS)
            first = await self._receive_within(wait_s) if all_sent else ()
            if isinstance(first, ResultMessage):
                outcome = first
            else:
                outcome = await self._serve(first, began, limit_s - wait_s, all_sent)
        except Exception as error:  # noqa: BLE001 - raised below, when the worker is stopped
            outcome = error
        finally:
            self._stop(outcome, leave=self.killed_by_owner)
            if "budget" in self.__dict__ and self.budget.was_large:
                give_back_soon()
        if outcome is None:  # a provider cancelled a task that is not its own
            raise ProviderError(
                "a provider cancelled the execution; see the calls in the audit log"
            )
        if isinstance(outcome, ProtocolError):
            self.started = True  # a misbehaving worker cannot be trusted about "never ran"
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def used(self, status: ExitStatus) -> ResourceUsage | None:
        """What the code used, from its worker's exit status; None if it could not be measured."""
        if self._cpu_start_us is None or not status.max_rss_kb:
            return None
        cpu_us = max(0, status.cpu_us - self._cpu_start_us)
        return ResourceUsage(cpu_us=cpu_us, max_rss_kb=status.max_rss_kb)

    def used_so_far(self) -> ResourceUsage | None:
        """What a cell used, while its worker still lives; None if it could not be measured."""
        now_us = None if self._cpu_start_us is None else self.worker.cpu_us()
        if self._cpu_start_us is None or now_us is None:
            return None
        return ResourceUsage(cpu_us=max(0, now_us - self._cpu_start_us), max_rss_kb=None)

    def _send_start(self) -> bool:
        """Send manifest and code. Returns False if a part is unsent; it precedes the next send."""
        job, connection = self.job, self.connection
        manifest = b""  # of a later cell of a session, and of many spares, it was sent before
        if connection.state is State.READY:
            message = Manifest.of(job).message(job.execution_id, connection)
            manifest = connection.send(message)
        start = connection.send(
            StartMessage(
                source=job.source,
                filename=job.filename,
                limits=job.worker_limits,
                check=job.check,
                program=self.program,
                inputs=job.inputs,
                argv=None if job.argv is None else list(job.argv),
                **connection.stamp(),
            )
        )
        try:
            return self.worker.transport.send_now(manifest + start)
        except ChannelClosedError:
            return True  # the reading side finds out how the worker ended, with a better error

    async def _serve(
        self,
        first: Sequence[FromWorker] | LargeMessages,
        began: float,
        left_s: float,
        all_sent: bool,
    ) -> ResultMessage | None:
        """The result of code that is slow or makes calls; None if a provider cancelled this task.

        `all_sent`: the code is fully sent. `first` was received since it `began`; if it is empty,
        nothing else can have reached a limit for `left_s`.
        """
        if self.on_slow is not None:
            self.on_slow()
        if all_sent and not first and left_s > 0.0:
            received = await self._receive_within(left_s)
            if isinstance(received, ResultMessage):
                return received
            first = received
        elapsed_ms = (time.monotonic() - began) * 1000
        return await self._serve_with_calls(first, self.job.wall_ms - elapsed_ms, all_sent)

    async def _receive_within(
        self, seconds: float
    ) -> ResultMessage | Sequence[FromWorker] | LargeMessages:
        """The result, or the first calls, or messages that are too large to decode here.

        Empty if none of them came in time.
        """
        try:
            return await self.worker.transport.receive_until(self._process_data, seconds)
        except ReadTimeout:
            return ()
        except ChannelClosedError:
            self._raise_lost()

    def _process_data(
        self, data: bytes
    ) -> ResultMessage | Sequence[FromWorker] | LargeMessages | None:
        """Handle messages until the result or the first call, and return these; None if neither.

        Runs in the event loop's callback, in no task.
        """
        if not data:
            self._raise_lost()
        only = self.connection.take_one(data)
        if only is not None:  # nearly always
            if type(only) is ResultMessage:
                return only
            return [only] if type(only) is CapabilityRequestMessage else self._handle(only)
        messages = split(self.connection, data)
        if isinstance(messages, LargeMessages):
            return messages
        for index, message in enumerate(messages):
            if type(message) is CapabilityRequestMessage:
                return messages[index:]
            result = self._handle(message)
            if result is not None:
                return result
        return None

    async def _serve_with_calls(
        self, messages: Sequence[FromWorker] | LargeMessages, wall_ms: float, all_sent: bool
    ) -> ResultMessage | None:
        outcome: ResultMessage | Exception | None = None
        async with anyio.create_task_group() as calls:
            calls.start_soon(self._watch_limits, self.job.clock.start(wall_ms), calls.cancel_scope)
            processor = SharedProcessor(self.worker)
            server = RequestServer(
                self.worker.transport,
                self.connection,
                self.calls,
                self.job,
                self.budget,
                self._handle,
                self._raise_lost,
                processor,
            )
            try:
                if not all_sent:
                    await self._send_rest()
                with processor:  # left before the worker is killed: it exits at full speed
                    outcome = self._judge(await server.serve(messages, calls))
            except Exception as error:  # noqa: BLE001 - raised below, outside the group, unwrapped
                outcome = error
            finally:
                self._stop(outcome)
            # The execution is over: calls that are still in flight are cancelled.
            calls.cancel_scope.cancel()
        if outcome is None or isinstance(outcome, WorkerLostError):
            outcome = self._out_of_time or outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _watch_limits(self, clock: anyio.CancelScope, execution: anyio.CancelScope) -> None:
        """Wait until the code is out of time; interrupt it, and then end the execution."""
        limit = wall_limit_reached(self.job.wall_ms)
        with clock:
            await self._wait_for_cpu_limit()
            limit = cpu_limit_reached(self.job.worker_limits.cpu_ms)
        self._out_of_time = limit
        await interrupt(self.worker)
        execution.cancel()

    async def _wait_for_cpu_limit(self) -> None:
        if self._cpu_start_us is not None:
            end_us = self._cpu_start_us + self.job.worker_limits.cpu_ms * 1000
            if await wait_until_used_up(self.worker.cpu_us, end_us):
                return
        await anyio.sleep_forever()  # it cannot be measured, or the worker has exited

    def _judge(self, result: ResultMessage) -> ResultMessage | CodeInterruptedError:
        """The outcome for this result: code that was out of time has none, even if it says so."""
        limit = self._out_of_time
        if limit is None:
            return result
        return CodeInterruptedError(limit.message, report=result.error, **limit.details)

    def _stop(self, outcome: ResultMessage | Exception | None, *, leave: bool = False) -> None:
        """Kill the worker now: calls may still wait for audit records, and code must not run on.

        A worker that closed its channel is exiting by itself, and its exit status is still needed.
        A worker that sent a result in a session has ended its cell, and waits for the next one,
        also if the code was interrupted. `leave`: one that sent its result is not killed here.
        """
        if self._stopped:
            return
        self._stopped = True
        stays = self.job.session and isinstance(outcome, ResultMessage | CodeInterruptedError)
        if isinstance(outcome, ResultMessage) and not stays:
            self.used_at_result = self._measure_usage()
            stays = leave and self.used_at_result is not None
        if not self._peer_closed and not stays:
            self.worker.kill()

    def _measure_usage(self) -> ResourceUsage | None:
        """What the code used, measured while its worker lives."""
        start_us, now_us = self._cpu_start_us, self.worker.cpu_us()
        max_rss_kb = self.worker.max_rss_kb()
        if start_us is None or now_us is None or max_rss_kb is None:
            return None
        return ResourceUsage(cpu_us=max(0, now_us - start_us), max_rss_kb=max_rss_kb)

    def _handle(self, message: FromWorker) -> ResultMessage | None:
        """Handle a message that needs no answer. Returns it if it is the result."""
        match message:
            case OutputMessage():
                self._handle_output(message.text)
            case StartedMessage():
                self.started = True
            case ResultMessage():
                return message
        return None

    def _handle_output(self, text: str) -> None:
        # An empty message counts as one byte, or a worker could send them without end. Text that
        # is too long in any encoding is not encoded.
        most = self.job.output_bytes + 1
        size = max(1, len(text) if len(text) > most else len(text.encode()))
        self.printed_bytes += size
        if self.printed_bytes > self.job.output_bytes:
            if self.job.session:
                self._cut_output(text, self.job.output_bytes - self.printed_bytes + size)
                return
            raise LimitExceededError(
                f"the code printed more than {self.job.output_bytes} bytes; "
                "raise `limits.output_bytes` if it may",
                limit="output_bytes",
                allowed=self.job.output_bytes,
            )
        self.budget.keep(OUTPUT_FACTOR * size)
        self.on_output(text)

    def _cut_output(self, text: str, room: int) -> None:
        """Pass on the first `room` bytes of the text, and say once that the rest is missing.

        In a session the names of the code are worth more than its output.
        """
        if self._output_cut:
            return
        self._output_cut = True
        kept = text[: max(0, room)].encode()[: max(0, room)].decode("utf-8", "ignore")
        note = f"\n… the output was cut at {self.job.output_bytes} bytes (`limits.output_bytes`)\n"
        self.on_output(kept + note)

    async def _send_rest(self) -> None:
        try:
            await self.worker.transport.send(b"")
        except ChannelClosedError:
            return  # as in `_send_start`

    def _raise_lost(self) -> NoReturn:
        """The worker closed its channel."""
        self._peer_closed = True
        self.connection.at_end()
        raise WorkerLostError("the worker closed its channel", started=self.started)
