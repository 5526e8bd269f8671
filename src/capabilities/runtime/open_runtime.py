"""What an open runtime holds, shared by all of its executions, streams and sessions."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from caps.capabilities.broker.approvals import DirectoryApprover
from caps.capabilities.broker.broker import Broker
from caps.capabilities.runtime.execution import Runner
from caps.capabilities.execution import ExecutionRequest, run_execution
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.runtime.isolation import IsolationJudge
from caps.capabilities.runtime.policy_reload import PolicyInForce, accepted_record, refused_record
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.telemetry import Metrics
from caps.capabilities.telemetry.observers import SinkMetrics
from caps.protocol.errors import (
    IsolationError,
    PolicyInvalidError,
    WorkerLostError,
)
from caps.security.approvals.model import Approver
from caps.security.audit.log.log import AuditLog
from caps.security.audit.log.settings import AuditSettings
from caps.security.audit.log.interface import AuditSink
from caps.security.policies.protected_paths import Guarded
from caps.security.policies.load import LoadedPolicy, PolicySource, load_policy
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.pool.module_pools import WorkerPools

_CLOSING_SECONDS = 10


class Underway:
    """How many executions have begun and not recorded their end."""

    def __init__(self) -> None:
        self._count = 0
        self._ended: anyio.Event | None = None  # while somebody waits

    def begin(self) -> None:
        """One more; `end` is due however it ends."""
        self._count += 1

    def end(self) -> None:
        self._count -= 1
        if self._ended is not None:
            self._ended.set()

    async def none_left(self) -> None:
        """Wait for all of them; not for ever, as a provider may refuse to be cancelled."""
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
            while self._count:
                self._ended = anyio.Event()
                await self._ended.wait()


@dataclass(frozen=True, slots=True)
class Opened:
    """An open runtime. `tasks` are what runs beside the caller's own: its streams.

    `pool` is the one of the policy that it was opened with, and holds `modules`; `pools` has it,
    and those of other policies.
    """

    broker: Broker
    pools: WorkerPools
    pool: WorkerPool
    modules: tuple[str, ...]
    in_force: PolicyInForce
    guarded: tuple[Guarded, ...]
    isolation: IsolationJudge
    underway: Underway
    tasks: TaskGroup
    closing: AsyncExitStack

    @property
    def bound(self) -> BoundPolicy:
        """The policy that the next execution or session begins with."""
        return self.in_force.bound

    async def run(self, grant: Grant, request: ExecutionRequest) -> ExecutionResult:
        """Run one execution in a worker that holds the modules of its grant, to its end.

        Raises IsolationError, PolicyInvalidError or WorkerLostError before anything runs.
        """
        if grant.modules == self.modules:
            return await self.execute(self.pool, grant, request)
        async with AsyncExitStack() as stack:
            pool = await take_workers(self.pools, stack, grant.bound)
            return await self.execute(pool, grant, request)

    async def execute(
        self, runner: Runner, grant: Grant, request: ExecutionRequest
    ) -> ExecutionResult:
        """Run one execution to its end. Raises IsolationError before anything runs."""
        # Judged every time: a zygote that was started again may hold less than the first.
        judged = self.isolation.judge(runner.layers, grant.modules)
        if isinstance(judged.verdict, IsolationError):
            raise judged.verdict
        self.underway.begin()
        try:
            return await run_execution(
                self.broker,
                runner,
                grant,
                request,
                degraded=judged.verdict,
                isolation=judged.enforced,
            )
        finally:
            self.underway.end()


async def take_workers(pools: WorkerPools, stack: AsyncExitStack, bound: BoundPolicy) -> WorkerPool:
    """The pool whose workers hold the modules that `bound` grants, until `stack` is closed.

    Raises PolicyInvalidError if one of these cannot be had, and WorkerLostError.
    """
    try:
        return await stack.enter_async_context(pools.using(bound.policy.modules))
    except WorkerLostError as lost:
        raise refused_module(bound, lost) from None


async def prove_workers(pools: WorkerPools, bound: BoundPolicy) -> None:
    """Start the workers that `bound` asks for, if there are none yet. Raises as `take_workers`."""
    async with AsyncExitStack() as stack:
        await take_workers(pools, stack, bound)


def refused_module(
    bound: BoundPolicy, lost: WorkerLostError
) -> PolicyInvalidError | WorkerLostError:
    """What `lost` comes to: the policy's fault if it is a module that it grants."""
    if "module" not in lost.details:
        return lost
    return PolicyInvalidError(
        f"policy `{bound.source}`: {lost.message} at modules; install it beside caps, or take it "
        "out of the policy",
        source=bound.source,
        place="modules",
    )


def open_audit(
    given: AuditSink | AuditSettings | str | os.PathLike[str] | None,
    stack: AsyncExitStack,
    metrics: Metrics,
) -> AuditSink:
    """The sink that was given, or the log at its path, closed with `stack`.

    What is not given comes from the CAPS_AUDIT variables. Raises AuditError, ConfigurationError.
    """
    if given is None or isinstance(given, (str, os.PathLike)):
        given = AuditSettings.from_environment(None if given is None else Path(given))
    elif not isinstance(given, AuditSettings):
        return given
    log = AuditLog.opened_by(given, SinkMetrics(metrics))
    stack.push_async_callback(_close_whatever_happens, log)
    return log


def approver_from(given: Approver | str | os.PathLike[str] | None) -> Approver:
    """The approver that was given, or one that asks through a directory."""
    if given is None or isinstance(given, (str, os.PathLike)):
        return DirectoryApprover(None if given is None else Path(given))
    return given


async def _close_whatever_happens(audit: AuditLog) -> None:
    with anyio.CancelScope(shield=True):
        await audit.aclose()


async def bind_policy(
    registry: CapabilityRegistry,
    audit: AuditSink,
    policy: PolicySource | None,
    take: Callable[[BoundPolicy], Awaitable[WorkerPool]],
    guarded: tuple[Guarded, ...],
) -> tuple[BoundPolicy, WorkerPool]:
    """Set a policy against the registry, `take` workers for it, and record both.

    Raises PolicyInvalidError if it is bad or reaches what is guarded, and what `take` raises.
    """
    loaded: LoadedPolicy | None = None
    try:
        loaded = load_policy(policy)
        bound = registry.bind(loaded, guarded=guarded)
        pool = await take(bound)
    except PolicyInvalidError as error:
        source = str(error.details.get("source", ""))
        read = None if loaded is None else loaded.policy
        await audit.append(refused_record(source, read, error))
        raise
    await audit.append(accepted_record(bound))
    return bound, pool
