"""Opening a runtime: the audit log, the policies, the workers, and what watches over them.

Everything that is opened is closed by the exit stack, in the reverse order: the workers end all
executions, these record their end, then the log is closed.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.chain import chain_of
from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.isolation import CachedIsolationCheck, check_isolation
from caps.capabilities.runtime.open_runtime import (
    CLOSING_SECONDS,
    ActiveExecutions,
    OpenRuntime,
    acquire_pool,
    load_and_record_policies,
)
from caps.capabilities.runtime.opening.policy_reload import (
    CurrentPolicy,
    PolicyReloader,
    watched_paths,
)
from caps.capabilities.runtime.opening.protected_paths import protected_paths_of
from caps.capabilities.runtime.opening.settings import AuditGiven, RuntimeSettings
from caps.capabilities.runtime.provider_host.runtime_host import RuntimeHost
from caps.capabilities.runtime.provider_host.shared_resources import SharedResources
from caps.capabilities.telemetry import Metrics
from caps.capabilities.telemetry.observers import MeteredAudit, PoolMetrics, SinkMetrics
from caps.protocol.errors import IsolationError
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.log.log import AuditLog
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.load import is_policy_given, policy_path
from caps.worker.host.pool.admission import Admission
from caps.worker.host.pool.module_pools import PoolsByModules
from caps.worker.host.pool.pool import WorkerPool


async def open_parts(settings: RuntimeSettings, stack: AsyncExitStack) -> OpenRuntime:
    """Open everything in `stack`, which the open runtime takes over.

    Raises AuditError, ConfigurationError, PolicyInvalidError, IsolationError, WorkerLostError.
    """
    metrics, sources = settings.metrics, settings.policies
    log = _open_audit(settings.audit, stack, metrics)
    audit = MeteredAudit(log, metrics)
    watched = watched_paths(sources, settings.watch)
    has_ceiling = is_policy_given(sources)
    executions = ActiveExecutions()
    tasks = await stack.enter_async_context(anyio.create_task_group())
    stack.callback(tasks.cancel_scope.cancel)
    resources = SharedResources(tasks)
    stack.push_async_callback(resources.aclose, CLOSING_SECONDS)
    # On exit the pools end all executions, these record their end, then the log is closed.
    stack.push_async_callback(executions.wait_until_none)
    pools = _pools(settings)

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
    in_force = tuple(CurrentPolicy(bound, metrics) for bound in links)
    for current in in_force:
        stack.callback(current.end)
    metrics.count_layers(pool.layers, +1)
    stack.callback(metrics.count_layers, pool.layers, -1)
    for reloader in _reloaders(settings, audit, pools, watched, in_force):
        tasks.start_soon(reloader.run)
    host = RuntimeHost(settings.registry, resources, lambda: opened)
    opened = OpenRuntime(
        services=_broker_services(settings, audit, host),
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
    return opened


def _open_audit(
    given: AuditGiven | None,
    stack: AsyncExitStack,
    metrics: Metrics,
) -> AuditSink:
    """The given sink, or the log at the given path, which is closed with `stack`.

    Defaults come from the CAPS_AUDIT variables. Raises AuditError, ConfigurationError.
    """
    if given is None or isinstance(given, (str, os.PathLike)):
        given = AuditSettings.from_environment(None if given is None else Path(given))
    elif not isinstance(given, AuditSettings):
        return given
    log = AuditLog.open(given, observer=SinkMetrics(metrics))
    stack.push_async_callback(_close_shielded, log)
    return log


async def _close_shielded(audit: AuditLog) -> None:
    with anyio.CancelScope(shield=True):
        await audit.aclose()


def _pools(settings: RuntimeSettings) -> PoolsByModules:
    observer = PoolMetrics(settings.metrics)
    admission = Admission(
        settings.max_workers,
        per_owner=settings.max_workers_per_principal,
        max_wait_ms=settings.max_wait_ms,
        observer=observer,
    )
    alive = settings.metrics.workers_alive.add
    return PoolsByModules(settings.workers, admission, alive, observer)


def _broker_services(
    settings: RuntimeSettings, audit: MeteredAudit, host: RuntimeHost
) -> BrokerServices:
    return BrokerServices(
        audit=audit,
        metrics=settings.metrics,
        tracing=settings.tracing,
        default_timeout_ms=settings.timeout_ms,
        approvals=ApprovalQueue(audit, settings.metrics, settings.approver),
        host=host,
    )


def _reloaders(
    settings: RuntimeSettings,
    audit: MeteredAudit,
    pools: PoolsByModules,
    watched: Sequence[str | None],
    in_force: tuple[CurrentPolicy, ...],
) -> Iterator[PolicyReloader]:
    """One for each policy whose file is watched."""
    for index, (path, current) in enumerate(zip(watched, in_force, strict=True)):
        if path is not None:
            check_workers = functools.partial(_check_workers_start, pools, in_force, index)
            yield PolicyReloader(
                path, settings.registry, check_workers, audit, settings.metrics, current
            )


async def _check_workers_start(
    pools: PoolsByModules, in_force: Sequence[CurrentPolicy], index: int, bound: BoundPolicy
) -> None:
    """Start workers for the policies in force with `bound` as the one at `index`.

    If there are none yet. Raises the errors of `acquire_pool`.
    """
    links = [each.bound for each in in_force]
    links[index] = bound
    async with AsyncExitStack() as stack:
        await acquire_pool(pools, stack, chain_of(*links))
