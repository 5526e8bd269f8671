"""A REPL session: one worker for one caller, which keeps its names from run to run.

async with runtime.session(principal="ada") as session:
    await session.run("x = 1")
    (await session.run("x + 1")).value

Each run is a separate execution with its own id, limits, result and evidence; every record names
the session. Its policies are fixed when it opens. A run that ends with a result, including an error
of the code, leaves the names as they are. If the code is killed, since it did not stop at a limit
or at an interrupt, the next run starts without names, and its result says so. If the worker is lost
in another way the session ends, and later runs raise an error that says why. Nothing of a run
continues after it: its tasks and calls end first.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict

import anyio
import msgspec

from caps.capabilities.broker.idempotency import IdempotencyCache
from caps.capabilities.chain import PolicyChain
from caps.capabilities.grant import Grant
from caps.capabilities.identity import Identity, new_id
from caps.capabilities.registry import PoliciesGiven
from caps.capabilities.runtime.execution_request import ExecutionRequest, SessionChannel
from caps.capabilities.runtime.inputs import NO_INPUTS
from caps.capabilities.runtime.open_runtime import CLOSING_SECONDS, OpenRuntime, acquire_pool
from caps.capabilities.runtime.options import check_run_arguments
from caps.capabilities.runtime.portal import check_process
from caps.capabilities.runtime.result import ExecutionResult
from caps.protocol.argument_checks import require_int
from caps.protocol.errors import ConfigurationError, SessionBusyError, SessionEndedError
from caps.security.audit.model.records import ExecutionStatus
from caps.worker.host.pool.lease import Lease, SessionEnd, SessionOutcome

if TYPE_CHECKING:
    from caps.capabilities.runtime.stream import EventQueue, StreamEvent

MAX_RUNS = 1000
IDLE_MS = 10 * 60 * 1000
WALL_MS = 30 * 60 * 1000

_NAMES_LOST = "the names of all earlier runs are lost"
_MAX_RUNS = 1_000_000
_MAX_MS = 24 * 60 * 60 * 1000


class SessionOptions(TypedDict, total=False):
    """The keyword arguments of `Runtime.session`, which documents them."""

    principal: str
    agent: str | None
    session: str | None
    policy: PoliciesGiven | None
    replace: bool
    max_runs: int
    idle_ms: int
    wall_ms: int


class SessionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a session, in addition to those of the policy, which apply to each run."""

    max_runs: int = MAX_RUNS
    idle_ms: int = IDLE_MS
    wall_ms: int = WALL_MS

    def __post_init__(self) -> None:
        for name, maximum in (
            ("max_runs", _MAX_RUNS),
            ("idle_ms", _MAX_MS),
            ("wall_ms", _MAX_MS),
        ):
            require_int(name, getattr(self, name), 1, maximum)


class Session:
    """Runs cells, one after another, in one worker. Created by `Runtime.session`."""

    def __init__(
        self,
        opened: OpenRuntime,
        bind: Callable[[], Awaitable[PolicyChain]],
        inject: Callable[[str, PolicyChain], Grant],
        identity: Identity,
        limits: SessionLimits,
    ) -> None:
        self._opened = opened
        self._bind = bind
        self._inject = inject
        self._channel_id = new_id()
        self._identity = msgspec.structs.replace(
            identity, session=identity.session or self._channel_id
        )
        flows = opened.services.flows
        flow = flows.of_unnamed(self._identity) if identity.session is None else flows.of(identity)
        self._limits = limits
        self._lease = Lease(
            opened.pool,
            idle_ms=limits.idle_ms,
            wall_ms=limits.wall_ms,
            owner=identity.principal,
        )
        self._pool_stack = AsyncExitStack()
        self._grant: Grant | None = None
        self._channel = SessionChannel(
            channel_id=self._channel_id,
            keys=IdempotencyCache(),
            flow=flow,
        )
        self._process = os.getpid()
        self._runs = 0
        self._busy = False
        self._run_over: anyio.Event | None = None  # set only while someone waits for it

    @property
    def id(self) -> str:
        """The value of `session` in the records of all its runs."""
        return str(self._identity.session)

    @property
    def ended(self) -> SessionEnd | None:
        """Why it ended; None while it is open."""
        return None if self._lease.ended is None else self._lease.ended.reason

    @property
    def channel_id(self) -> str:
        """The id of the channel that its runs share, and no other session or execution uses."""
        return self._channel_id

    @property
    def grant(self) -> Grant:
        """What its next run may do."""
        if self._grant is None:
            raise ConfigurationError("the session is not open; use `async with runtime.session()`")
        return self._grant

    @property
    def who(self) -> dict[str, Any]:
        """The identity, as in audit records."""
        return self._identity.who(self._channel_id)

    def revoke(self, capabilities: frozenset[str]) -> None:
        """Revoke these for later runs. `Runtime.revoke` calls it, and handles the current run."""
        self._grant = self.grant.revoking(*capabilities)

    async def __aenter__(self) -> Self:
        """Fix the policy and acquire a worker.

        Raises PolicyInvalidError, ProtocolError, WorkerLostError (NoFreeWorkerError if it had to
        wait too long for one), and ConfigurationError for a session that was open before.
        """
        if self._grant is not None:
            raise ConfigurationError("a session is opened once; ask the runtime for another")
        chain = await self._bind()
        self._grant = self._inject(self._channel_id, chain)
        async with AsyncExitStack() as stack:
            self._lease.use_pool(await acquire_pool(self._opened.pools, stack, chain))
            await self._lease.open()
            self._pool_stack = stack.pop_all()
        self._opened.services.live.add(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None or os.getpid() == self._process:  # a forked child's own error passes
            await self.close()

    async def close(self) -> None:
        """Kill the worker; code that still runs in it is lost. Leaving the context does the same.

        A run that is ended by this has recorded its end before this returns. Raises
        ConfigurationError in a forked child: the worker belongs to the parent.
        """
        check_process(self._process)
        self._opened.services.live.remove(self)
        self._opened.services.approvals.forget(self._channel_id)
        try:
            await self._lease.end(SessionEnd.CLOSED, "it was closed")
            with anyio.move_on_after(CLOSING_SECONDS):
                while self._busy:
                    await self._run_ended()
        finally:
            await self._pool_stack.aclose()

    async def interrupt(self) -> bool:
        """Interrupt the running cell, as Ctrl-C would; wait until it has ended.

        The code gets a `KeyboardInterrupt`. If it does not end within a second it is killed, and
        the names of the session are lost. Returns False if no cell runs.
        """
        if not self._busy:
            return False
        async with anyio.create_task_group() as group:
            group.start_soon(self._lease.interrupt)
            await self._run_ended()
            group.cancel_scope.cancel()
        return True

    async def _run_ended(self) -> None:
        """Wait for the end of the run that is in flight."""
        if self._run_over is None:
            self._run_over = anyio.Event()
        await self._run_over.wait()

    async def run(
        self,
        source: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        on_output: Callable[[str], None] | None = None,
        check: bool = False,
    ) -> ExecutionResult:
        """Run a cell, `<cell N>` in tracebacks. Like `Runtime.run`, in this session's worker.

        Cancelling kills the worker and ends the session. Raises SessionBusyError while another
        run is in flight, and SessionEndedError once the session has ended.
        """
        if on_output is not None or check is not False:
            check_run_arguments(on_output, check)
        return await self._run_cell(source, inputs, check, on_output)

    async def stream(
        self, source: str, *, inputs: Mapping[str, Any] | None = None, check: bool = False
    ) -> AsyncGenerator[StreamEvent, None]:
        """`run` as a stream of events; leaving early ends the session. Raises as `run` does."""

        from caps.capabilities.runtime.stream import stream_execution

        async def execute(feed: EventQueue) -> ExecutionResult:
            return await self._run_cell(source, inputs, check, feed.output, feed)

        check_run_arguments(None, check)
        async with aclosing(stream_execution(self._opened.tasks, execute)) as events:
            async for event in events:
                yield event

    async def _run_cell(
        self,
        source: str,
        inputs: Mapping[str, Any] | None,
        check: bool,
        on_output: Callable[[str], None] | None,
        feed: EventQueue | None = None,
    ) -> ExecutionResult:
        self._check_free()
        if self._runs >= self._limits.max_runs:
            await self._lease.end(SessionEnd.RUNS, f"it has had its {self._limits.max_runs} runs")
        if self._lease.ended is not None:
            raise _ended_error(self._lease.ended)
        self._busy = True
        self._runs += 1
        lost = self._lease.take_loss()
        try:
            encoded = NO_INPUTS
            if inputs is not None:
                encoded = await self._opened.encode_inputs(
                    inputs, self.grant.namespace, self._identity.principal
                )
            request = ExecutionRequest(
                source=source,
                filename=f"<cell {self._runs}>",
                identity=self._identity,
                on_output=on_output,
                on_start=None if feed is None else feed.start,
                on_decision=None if feed is None else feed.decide,
                on_artifact=None if feed is None else feed.hand_out,
                channel=self._channel,
                inputs=encoded,
                check=check,
            )
            # The session's grant with the execution id of this run.
            result = await self._opened.execute(self._lease, self.grant.named(new_id()), request)
            if result.status is ExecutionStatus.PROTOCOL_VIOLATION:
                await self._end_on_violation(result)
            return replace(result, note=f"{_NAMES_LOST}: {lost}") if lost else result
        finally:
            self._busy = False
            over, self._run_over = self._run_over, None
            if over is not None:
                over.set()

    def _check_free(self) -> None:
        check_process(self._process)
        if self._busy:
            raise SessionBusyError(
                "the session runs another cell; wait for it, or open a session of its own"
            )
        _ = self.grant  # raises if it was never opened

    async def _end_on_violation(self, result: ExecutionResult) -> None:
        """End the session after a result that could not be decoded, found after the run ended."""
        if self._lease.ended is None:
            reason = result.error.message if result.error else "it broke the protocol"
            await self._lease.end(SessionEnd.PROTOCOL_VIOLATION, reason)


def _ended_error(ended: SessionOutcome) -> SessionEndedError:
    return SessionEndedError(
        f"the session has ended: {ended.message}; open a new one", reason=ended.reason.value
    )
