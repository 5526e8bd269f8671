"""The way in: a `Runtime` holds registry, policy, audit and workers, and runs code.

async with Runtime(policy="policy.json", registry=builtin_registry()) as runtime:
    result = await runtime.run("await caps.files.read(path='notes.txt')")

with Runtime(policy={"allow": ["time.now"]}, registry=builtin_registry()) as runtime:
    result = runtime.run_sync("await caps.time.now()")
"""

from __future__ import annotations

import functools
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio.from_thread
from anyio.from_thread import BlockingPortal
from opentelemetry.trace import TracerProvider

from caps.capabilities.broker import Broker
from caps.capabilities.execution import ExecutionRequest, run_execution
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.identity import Identity
from caps.capabilities.isolation import isolation_wanted, judge_isolation
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.result import ExecutionResult
from caps.capabilities.settings import capability_timeout_ms
from caps.capabilities.telemetry import Metrics, default_metrics, tracer_from
from caps.protocol.enforcement import Layer
from caps.protocol.errors import ConfigurationError, IsolationError, PolicyInvalidError
from caps.security.audit.log import AuditLog, AuditSink, default_audit_directory
from caps.security.audit.records import PolicyLoaded
from caps.security.policy_source import PolicySource, load_policy
from caps.worker.host.pool import WorkerPool
from caps.worker.host.process import WorkerSource
from caps.worker.host.zygote import ZygoteSource

_DEFAULT_WORKERS = 256
_CLOSING_SECONDS = 10


class Runtime:
    """Runs untrusted code under one policy. Enter it, then `run` as often as you like."""

    def __init__(
        self,
        policy: PolicySource | None = None,
        *,
        registry: CapabilityRegistry | None = None,
        audit: AuditSink | str | os.PathLike[str] | None = None,
        namespace: str = "caps",
        isolation: str | None = None,
        workers: WorkerSource | None = None,
        max_workers: int = _DEFAULT_WORKERS,
        default_timeout_ms: int | None = None,
        metrics: Metrics | None = None,
        tracer_provider: TracerProvider | None = None,
    ) -> None:
        """`policy` and `audit` come from CAPS_POLICY_PATH and CAPS_AUDIT_PATH if not given.

        Without any policy nothing is granted. `isolation` stands in for CAPS_ISOLATION: with less
        than every layer in force the runtime refuses to open unless it is `best-effort`. An
        `audit` that is handed over stays open when the runtime closes; one that is opened here is
        closed with it.
        """
        if max_workers < 1:
            raise ConfigurationError(f"max_workers is `{max_workers}`; set at least 1")
        self.registry = CapabilityRegistry() if registry is None else registry
        self._policy_source = policy
        self._audit_source = audit
        self._namespace = namespace
        self._isolation = isolation_wanted(isolation)
        self._workers = ZygoteSource() if workers is None else workers
        self._max_workers = max_workers
        self._timeout_ms = capability_timeout_ms(default_timeout_ms)
        self._metrics = default_metrics() if metrics is None else metrics
        self._tracer = tracer_from(tracer_provider)
        self._opened: _Opened | None = None
        self._sync_stack = ExitStack()
        self._portal: BlockingPortal | None = None

    async def __aenter__(self) -> Self:
        """Open audit, policy and workers.

        Raises AuditError, ConfigurationError, PolicyInvalidError, IsolationError, WorkerLostError.
        """
        if self._opened is not None:
            raise ConfigurationError("the runtime is open already")
        async with AsyncExitStack() as stack:
            audit = self._open_audit(stack)
            bound = await self._bind(audit, self._policy_source)
            underway = _Underway()
            # The pool ends them, then they record how they ended, then the log is closed.
            stack.push_async_callback(underway.none_left)
            pool = WorkerPool(self._workers, self._max_workers, self._metrics.workers_alive.inc)
            await stack.enter_async_context(pool.open())
            degraded = judge_isolation(pool.layers, self._isolation)
            if not isinstance(degraded, IsolationError):
                broker = Broker(
                    audit=audit,
                    metrics=self._metrics,
                    tracer=self._tracer,
                    default_timeout_ms=self._timeout_ms,
                )
                self._opened = _Opened(broker, pool, bound, underway, stack.pop_all())
                return self
        raise degraded

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
        found = judge_isolation(self._open().pool.layers, self._isolation)
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
        """Set another policy against the registry, for `run`; PolicyInvalidError if it is bad."""
        if isinstance(policy, BoundPolicy):
            return policy
        return await self._bind(self._open().broker.audit, policy)

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
    ) -> ExecutionResult:
        """Run `source` in a process of its own, for `principal`.

        Whatever the code does, the result says it; nothing that the code did is raised. Cancelling
        kills the worker. `on_output` gets what is printed as it is printed. `policy` stands in for
        the runtime's own in this execution; `await runtime.bind(policy)` once if it runs often.
        """
        opened = self._open()
        bound = opened.bound if policy is None else await self.bind(policy)
        request = ExecutionRequest(
            source=source,
            filename=filename,
            identity=Identity(principal=principal, agent=agent, session=session),
            on_output=on_output,
        )
        injected = functools.partial(self.registry.inject, self._namespace, policy=bound)
        # Judged every time: a zygote that was started again may hold less than the first.
        degraded = judge_isolation(opened.pool.layers, self._isolation)
        if isinstance(degraded, IsolationError):
            raise degraded
        with opened.underway.one():
            return await run_execution(
                opened.broker, opened.pool, injected, request, degraded=degraded
            )

    def __enter__(self) -> Self:
        """The sync way in: an event loop of our own in a thread."""
        with ExitStack() as stack:
            portal = stack.enter_context(anyio.from_thread.start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self))
            self._portal = portal
            self._sync_stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._portal = None
        self._sync_stack.__exit__(kind, error, traceback)

    def run_sync(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PolicySource | BoundPolicy | None = None,
        filename: str = "<agent>",
        on_output: Callable[[str], None] | None = None,
    ) -> ExecutionResult:
        """`run` for programs without an event loop; from any thread, within `with Runtime(...)`."""
        if self._portal is None:
            raise ConfigurationError("run_sync needs `with Runtime(...)`; the runtime is not open")
        run: Callable[[], Awaitable[ExecutionResult]] = functools.partial(
            self.run,
            source,
            principal=principal,
            agent=agent,
            session=session,
            policy=policy,
            filename=filename,
            on_output=on_output,
        )
        running = self._portal.start_task_soon(run)
        try:
            return running.result()
        except BaseException:
            running.cancel()  # an interrupt of this thread ends the execution, too
            raise

    def _open(self) -> _Opened:
        if self._opened is None:
            raise ConfigurationError("the runtime is not open; use `async with Runtime(...)`")
        return self._opened

    def _open_audit(self, stack: AsyncExitStack) -> AuditSink:
        given = self._audit_source
        if given is not None and not isinstance(given, (str, os.PathLike)):
            return given
        log = AuditLog.open(default_audit_directory() if given is None else Path(given))
        stack.push_async_callback(_close_whatever_happens, log)
        return log

    async def _bind(self, audit: AuditSink, policy: PolicySource | None) -> BoundPolicy:
        try:
            bound = self.registry.bind(load_policy(policy))
        except PolicyInvalidError as error:
            await audit.append(
                PolicyLoaded(
                    policy_id="(unread)",
                    policy_sha256="",
                    source=str(error.details.get("source", "")),
                    status="refused",
                    message=error.message,
                )
            )
            raise
        await audit.append(
            PolicyLoaded(
                policy_id=bound.policy.id,
                policy_sha256=bound.policy.sha256,
                source=bound.source,
                status="accepted",
            )
        )
        return bound


async def _close_whatever_happens(audit: AuditLog) -> None:
    with anyio.CancelScope(shield=True):
        await audit.aclose()


class _Underway:
    """How many executions have begun and not recorded their end."""

    def __init__(self) -> None:
        self._count = 0
        self._ended = anyio.Event()

    @contextmanager
    def one(self) -> Iterator[None]:
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            self._ended.set()

    async def none_left(self) -> None:
        """Wait for all of them; not for ever, as a provider may refuse to be cancelled."""
        with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
            while self._count:
                self._ended = anyio.Event()
                await self._ended.wait()


@dataclass(frozen=True, slots=True)
class _Opened:
    """What an open runtime holds."""

    broker: Broker
    pool: WorkerPool
    bound: BoundPolicy
    underway: _Underway
    closing: AsyncExitStack
