"""The way in: a `Runtime` holds registry, policy, audit and workers, and runs code.

async with Runtime(policy="policy.json", registry=builtin_registry()) as runtime:
    result = await runtime.run("await caps.files.read(path='notes.txt')")

with Runtime(policy={"allow": ["time.now"]}, registry=builtin_registry()) as runtime:
    result = runtime.run_sync("await caps.time.now()")

`stream` gives the same execution as it happens, and `session` a worker in which names live on.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
import anyio.from_thread
import anyio.lowlevel

from caps.capabilities.broker.approvals import ApprovalDesk
from caps.capabilities.runtime.options import refuse_foreign, refuse_foreign_listener
from caps.capabilities.runtime.sync import SyncWays
from caps.capabilities.broker.broker import Broker
from caps.capabilities.execution import ExecutionRequest, new_id
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.runtime.protected_paths import guarded_by
from caps.capabilities.guarding import kept_away
from caps.capabilities.identity import Identity
from caps.capabilities.runtime.isolation import IsolationJudge, isolation_wanted, judge_isolation
from caps.capabilities.runtime.open_runtime import (
    Opened,
    Underway,
    approver_from,
    bind_policy,
    open_audit,
    prove_workers,
    take_workers,
)
from caps.capabilities.runtime.policy_reload import PolicyInForce, PolicyWatch, watched_path
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.session import (
    IDLE_MS,
    MAX_RUNS,
    WALL_MS,
    Session,
    SessionLimits,
)
from caps.capabilities.settings import capability_timeout_ms
from caps.capabilities.telemetry import Metrics, Tracing, default_metrics
from caps.capabilities.telemetry.observers import ObservedAudit
from caps.capabilities.telemetry.observed_workers import ObservedWorkers
from caps.protocol.enforcement import Layer
from caps.protocol.errors import CapsError, ConfigurationError, IsolationError
from caps.protocol.argument_checks import refuse_unless_whole
from caps.security.approvals.model import Approver
from caps.security.audit.log.settings import AuditSettings
from caps.security.audit.log.interface import AuditSink
from caps.security.policies.load import PolicySource, load_policy, policy_path
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.pool.module_pools import WorkerPools
from caps.worker.host.process.worker import WorkerSource
from caps.worker.host.zygote.source import ZygoteSource

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
    from prometheus_client import CollectorRegistry

    from caps.capabilities.runtime.stream import Feed, StreamEvent

_DEFAULT_WORKERS = 256


class Runtime(SyncWays):
    """Runs untrusted code under one policy. Enter it, then `run` as often as you like."""

    def __init__(
        self,
        policy: PolicySource | None = None,
        *,
        registry: CapabilityRegistry | None = None,
        audit: AuditSink | AuditSettings | str | os.PathLike[str] | None = None,
        namespace: str = "caps",
        isolation: str | None = None,
        workers: WorkerSource | None = None,
        max_workers: int = _DEFAULT_WORKERS,
        default_timeout_ms: int | None = None,
        metrics: Metrics | CollectorRegistry | None = None,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture_arguments: bool | None = None,
        watch: bool | None = None,
        approver: Approver | str | os.PathLike[str] | None = None,
    ) -> None:
        """`policy` and `audit` come from CAPS_POLICY_PATH and CAPS_AUDIT_PATH if not given.

        Without any policy nothing is granted. `isolation` stands in for CAPS_ISOLATION: with less
        than every layer in force the runtime refuses to open unless it is `best-effort`. An
        `audit` that is handed over stays open when the runtime closes; one that is opened here is
        closed with it, and kept as its `AuditSettings` or the CAPS_AUDIT variables say. `watch`
        says whether a change of the policy's file comes into force while the runtime is open; by
        default it does for CAPS_POLICY_PATH. `approver` is asked about calls that the policy wants
        approved: a function, or a directory for `caps approvals`, by default CAPS_APPROVALS_PATH.
        `metrics` are counted in the global Prometheus registry if no other is given; spans go to
        the global OpenTelemetry providers, or to those that are given, without arguments unless
        `capture_arguments`, which has them redacted as the audit has.
        """
        super().__init__()
        refuse_foreign(
            registry=registry,
            audit=audit,
            namespace=namespace,
            isolation=isolation,
            workers=workers,
            metrics=metrics,
            tracer_provider=tracer_provider,
            meter_provider=meter_provider,
            capture_arguments=capture_arguments,
            watch=watch,
            approver=approver,
        )
        refuse_unless_whole("max_workers", max_workers, 1)
        self.registry = CapabilityRegistry() if registry is None else registry
        self._policy_source = policy
        self._watch = watch
        self._approver = approver_from(approver)
        self._audit_source = audit
        self._namespace = namespace
        self._isolation = isolation_wanted(isolation)
        self._max_workers = max_workers
        self._timeout_ms = capability_timeout_ms(default_timeout_ms)
        if metrics is None:
            metrics = default_metrics()
        self._metrics = metrics if isinstance(metrics, Metrics) else Metrics.of(metrics)
        self._tracing = Tracing(tracer_provider, meter_provider, capture=capture_arguments)
        self._workers = (
            ZygoteSource(on_start=self._metrics.zygote_started) if workers is None else workers
        )
        self._opened: Opened | None = None
        self._home: anyio.lowlevel.EventLoopToken | None = None

    async def __aenter__(self) -> Self:
        """Open audit, policy and workers.

        Raises AuditError, ConfigurationError, PolicyInvalidError, IsolationError, WorkerLostError.
        """
        if self._opened is not None:
            raise ConfigurationError("the runtime is open already")
        async with AsyncExitStack() as stack:
            try:
                self._opened = await self._open_all(stack)
                self._home = anyio.lowlevel.current_token()
            except CapsError as error:
                failure = error  # raised below, outside the task groups, which would wrap it
            else:
                return self
        raise failure

    async def _open_all(self, stack: AsyncExitStack) -> Opened:
        log = open_audit(self._audit_source, stack, self._metrics)
        audit = ObservedAudit(log, self._metrics)
        watched = watched_path(self._policy_source, self._watch)
        underway = Underway()
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        # The pools end them, then they record how they ended, then the log is closed.
        stack.push_async_callback(underway.none_left)
        pools = WorkerPools(
            self._workers,
            self._max_workers,
            self._metrics.workers_alive.add,
            ObservedWorkers(self._metrics),
        )

        async def start_workers(bound: BoundPolicy) -> WorkerPool:
            await stack.enter_async_context(pools.open())
            return await take_workers(pools, stack, bound)

        guarded = guarded_by(log, self._approver, policy_path(self._policy_source))
        bound, pool = await bind_policy(
            self.registry, audit, self._policy_source, start_workers, guarded
        )
        degraded = judge_isolation(pool.layers, self._isolation, bound.policy.modules)
        if isinstance(degraded, IsolationError):
            raise degraded
        broker = Broker(
            audit=audit,
            metrics=self._metrics,
            tracing=self._tracing,
            default_timeout_ms=self._timeout_ms,
            approvals=ApprovalDesk(audit, self._metrics, self._approver),
        )
        in_force = PolicyInForce(bound, self._metrics)
        stack.callback(in_force.end)
        self._metrics.count_layers(pool.layers, +1)
        stack.callback(self._metrics.count_layers, pool.layers, -1)
        if watched is not None:
            have_workers = functools.partial(prove_workers, pools)
            watch = PolicyWatch(
                watched, self.registry, have_workers, audit, self._metrics, in_force
            )
            tasks.start_soon(watch.run)
        return Opened(
            broker=broker,
            pools=pools,
            pool=pool,
            modules=bound.policy.modules,
            in_force=in_force,
            guarded=guarded,
            isolation=IsolationJudge(self._isolation),
            underway=underway,
            tasks=tasks,
            closing=stack.pop_all(),
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        opened, self._opened = self._opened, None
        if opened is None:
            return None
        # Executions under way are ended, and their results say so.
        # What the caller's own code raised is not shown to the task groups: they would wrap it.
        await opened.closing.aclose()
        return None

    @property
    def degraded(self) -> str | None:
        """What is missing of the isolation, if it was allowed to be; None if nothing is."""
        opened = self._open()
        modules = opened.bound.policy.modules
        found = judge_isolation(opened.pool.layers, self._isolation, modules)
        return None if found is None else str(found)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Which layers hold the code, and how fully."""
        return self._open().pool.layers

    @property
    def policy(self) -> BoundPolicy:
        """The policy in force, set against the registry."""
        return self._open().bound

    async def bind(self, policy: PolicySource | BoundPolicy) -> BoundPolicy:
        """Set another policy against the registry, for `run`; PolicyInvalidError if it is bad.

        If it grants real modules, workers that hold them are started.
        """
        opened = self._open()
        if isinstance(policy, BoundPolicy):
            return kept_away(policy, opened.guarded)
        async with AsyncExitStack() as stack:
            take = functools.partial(take_workers, opened.pools, stack)
            bound, _ = await bind_policy(
                self.registry, opened.broker.audit, policy, take, opened.guarded
            )
        return bound

    async def revoke(
        self,
        execution_id: str,
        capability: str,
        *,
        by: str | None = None,
        reason: str | None = None,
    ) -> tuple[str, ...]:
        """Take `capability` (or all of `domain.*`) back from an execution while it runs.

        Its later calls are refused and those under way are stopped; what was taken is returned. In
        a session it is gone from the later runs, too, and the session's id will do as well as that
        of a run. Raises ExecutionUnknownError if nothing of that id is under way in this runtime,
        ConfigurationError if no such capability is registered, and AuditError if it could not be
        recorded; it is revoked all the same then.
        """
        broker = self._open().broker
        return await broker.live.revoke(
            broker.audit, broker.metrics, execution_id, capability, by=by, reason=reason
        )

    def stubs(self, policy: PolicySource | BoundPolicy | None = None) -> str:
        """What `caps` looks like to the code, as the text of a `.pyi` file made for a prompt.

        Under the runtime's own policy, open or not, or under another; PolicyInvalidError if it is
        bad.
        """
        from caps.capabilities.stubs.render import render

        if policy is None and self._opened is not None:
            policy = self._opened.bound
        if not isinstance(policy, BoundPolicy):
            policy = self.registry.bind(
                load_policy(self._policy_source if policy is None else policy)
            )
        return render(policy, domains=self.registry.domains, namespace=self._namespace)

    async def run(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PolicySource | BoundPolicy | None = None,
        filename: str = "<agent>",
        on_output: Callable[[str], None] | None = None,
        check: bool = False,
    ) -> ExecutionResult:
        """Run `source` in a process of its own, for `principal`.

        Whatever the code does, the result says it; nothing that the code did is raised. Cancelling
        kills the worker. `on_output` gets what is printed as it is printed. `policy` stands in for
        the runtime's own in this execution; `await runtime.bind(policy)` once if it runs often.
        With `check`, code whose capability calls are certain to fail does not run at all; the
        error's `details["problems"]` lists all of them.
        """
        refuse_foreign_listener(on_output, check)
        request = ExecutionRequest(
            source=source,
            filename=filename,
            identity=Identity(principal=principal, agent=agent, session=session),
            on_output=on_output,
            check=check,
        )
        return await self._execute(request, policy)

    async def stream(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PolicySource | BoundPolicy | None = None,
        filename: str = "<agent>",
    ) -> AsyncGenerator[StreamEvent, None]:
        """`run` as it happens: Started, Output and Decided as they come, and Finished at the end.

        A slow reader holds nothing up. Leaving the loop, or `aclose`, kills the worker.
        """

        from caps.capabilities.runtime.stream import stream_of

        async def execute(feed: Feed) -> ExecutionResult:
            request = ExecutionRequest(
                source=source,
                filename=filename,
                identity=Identity(principal=principal, agent=agent, session=session),
                on_output=feed.output,
                on_start=feed.start,
                on_decision=feed.decide,
            )
            return await self._execute(request, policy)

        async with aclosing(stream_of(self._open_here().tasks, execute)) as events:
            async for event in events:
                yield event

    async def learn(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        filename: str = "<agent>",
        on_output: Callable[[str], None] | None = None,
    ) -> ExecutionResult:
        """`run`, watched for what the code asks: `caps` lists what is withheld, too.

        Nothing more is granted by that. A call of what is withheld is refused and recorded, and
        raises PolicyDeniedError; `caps.security.review.learn` makes a policy of the records.
        """
        refuse_foreign_listener(on_output)
        request = ExecutionRequest(
            source=source,
            filename=filename,
            identity=Identity(principal=principal, agent=agent, session=None),
            on_output=on_output,
        )
        opened = self._open_here()
        grant = self._inject(new_id(), opened.bound)
        return await opened.run(grant.for_learning(), request)

    def session(
        self,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PolicySource | BoundPolicy | None = None,
        max_runs: int = MAX_RUNS,
        idle_ms: int = IDLE_MS,
        wall_ms: int = WALL_MS,
    ) -> Session:
        """`async with runtime.session() as s: await s.run("x = 1")`: one worker, many runs.

        The policy is fixed at the opening, and its limits hold for each run, memory for all of
        them. The session itself ends after `max_runs`, when nothing ran for `idle_ms`, and
        `wall_ms` after its opening. `session` names it in the audit log; else an id is made.
        """
        return Session(
            self._open(),
            functools.partial(self._bound, policy),
            self._inject,
            Identity(principal=principal, agent=agent, session=session),
            SessionLimits(max_runs=max_runs, idle_ms=idle_ms, wall_ms=wall_ms),
        )

    async def _execute(
        self, request: ExecutionRequest, policy: PolicySource | BoundPolicy | None
    ) -> ExecutionResult:
        bound = await self._bound(policy)
        return await self._open().run(self._inject(new_id(), bound), request)

    async def _bound(self, policy: PolicySource | BoundPolicy | None) -> BoundPolicy:
        opened = self._open_here()
        return opened.bound if policy is None else await self.bind(policy)

    def _inject(self, execution_id: str, bound: BoundPolicy) -> Grant:
        return self.registry.inject(self._namespace, execution_id, bound)

    def _is_open(self) -> bool:
        return self._opened is not None

    def _open_here(self) -> Opened:
        """`_open` for who awaits something of it, which only its own event loop can bring."""
        opened = self._open()
        if anyio.lowlevel.current_token() != self._home:
            raise ConfigurationError(
                "the runtime was opened on another event loop; use `run_sync` or `submit` here"
            )
        return opened

    def _open(self) -> Opened:
        if self._opened is None:
            raise ConfigurationError("the runtime is not open; use `async with Runtime(...)`")
        return self._opened
