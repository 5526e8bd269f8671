"""Opening a runtime: the audit log, the policies, the workers, and what watches over them.

Everything that is opened is closed by the exit stack, in the reverse order: the workers end all
executions, these record their end, then the log is closed.
"""

from __future__ import annotations

import functools
import os
from contextlib import AsyncExitStack

import anyio
import msgspec

from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.chain import chain_of
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.isolation import CachedIsolationCheck, check_isolation
from caps.capabilities.runtime.open_runtime import (
    ActiveExecutions,
    OpenRuntime,
    acquire_pool,
    check_workers_start,
    load_and_record_policies,
    open_audit,
)
from caps.capabilities.runtime.policy_reload import CurrentPolicy, PolicyReloader, watched_paths
from caps.capabilities.runtime.protected_paths import protected_paths_of
from caps.capabilities.telemetry import Metrics, Tracing
from caps.capabilities.telemetry.observers import MeteredAudit, PoolMetrics
from caps.protocol.errors import IsolationError
from caps.security.approvals.model import Approver
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.load import PolicySource, is_policy_given, policy_path
from caps.worker.host.pool.admission import Admission
from caps.worker.host.pool.module_pools import PoolsByModules
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.process.worker import WorkerSource


class RuntimeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a `Runtime`, checked and with their defaults."""

    registry: CapabilityRegistry
    policies: tuple[PolicySource | None, ...]
    watch: bool | None
    approver: Approver
    audit: AuditSink | AuditSettings | str | os.PathLike[str] | None
    isolation: str
    max_workers: int
    max_workers_per_principal: int | None
    max_wait_ms: int
    timeout_ms: int
    metrics: Metrics
    tracing: Tracing
    workers: WorkerSource


async def open_runtime(settings: RuntimeSettings, stack: AsyncExitStack) -> OpenRuntime:
    """Open everything in `stack`.

    Raises AuditError, ConfigurationError, PolicyInvalidError, IsolationError, WorkerLostError.
    """
    metrics = settings.metrics
    log = open_audit(settings.audit, stack, metrics)
    audit = MeteredAudit(log, metrics)
    sources = settings.policies
    watched = watched_paths(sources, settings.watch)
    has_ceiling = is_policy_given(sources)
    executions = ActiveExecutions()
    tasks = await stack.enter_async_context(anyio.create_task_group())
    stack.callback(tasks.cancel_scope.cancel)
    # On exit the pools end all executions, these record their end, then the log is closed.
    stack.push_async_callback(executions.wait_until_none)
    observer = PoolMetrics(metrics)
    admission = Admission(
        settings.max_workers,
        per_owner=settings.max_workers_per_principal,
        max_wait_ms=settings.max_wait_ms,
        observer=observer,
    )
    pools = PoolsByModules(settings.workers, admission, metrics.workers_alive.add, observer)

    async def start_workers(links: tuple[BoundPolicy, ...]) -> WorkerPool:
        await stack.enter_async_context(pools.open())
        return await acquire_pool(pools, stack, chain_of(*links))

    protected = protected_paths_of(log, settings.approver, map(policy_path, sources))
    links, pool = await load_and_record_policies(
        settings.registry, audit, sources, start_workers, protected
    )
    modules = chain_of(*links).modules
    degraded = check_isolation(pool.layers, settings.isolation, modules)
    if isinstance(degraded, IsolationError):
        raise degraded
    broker = BrokerServices(
        audit=audit,
        metrics=metrics,
        tracing=settings.tracing,
        default_timeout_ms=settings.timeout_ms,
        approvals=ApprovalQueue(audit, metrics, settings.approver),
    )
    in_force = tuple(CurrentPolicy(bound, metrics) for bound in links)
    for current in in_force:
        stack.callback(current.end)
    metrics.count_layers(pool.layers, +1)
    stack.callback(metrics.count_layers, pool.layers, -1)
    for index, (path, current) in enumerate(zip(watched, in_force, strict=True)):
        if path is not None:
            check_workers = functools.partial(check_workers_start, pools, in_force, index)
            reloader = PolicyReloader(
                path, settings.registry, check_workers, audit, metrics, current
            )
            tasks.start_soon(reloader.run)
    return OpenRuntime(
        broker=broker,
        pools=pools,
        pool=pool,
        modules=modules,
        in_force=in_force,
        has_ceiling=has_ceiling,
        protected=protected,
        isolation=CachedIsolationCheck(settings.isolation),
        executions=executions,
        tasks=tasks,
        exit_stack=stack.pop_all(),
    )
