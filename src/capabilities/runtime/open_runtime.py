"""The state of an open runtime, shared by all of its executions, streams and sessions."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from caps.capabilities.bind import check_protected_paths
from caps.capabilities.broker.services import BrokerServices
from caps.capabilities.chain import PolicyChain, chain_of, check_length
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.registry import CapabilityRegistry, PoliciesGiven, PolicyGiven
from caps.capabilities.runtime.execution import JobRunner, run_execution
from caps.capabilities.runtime.execution_request import ExecutionRequest
from caps.capabilities.runtime.inputs import EncodedInputs, encode_inputs
from caps.capabilities.runtime.isolation import CachedIsolationCheck
from caps.capabilities.runtime.opening.policy_reload import (
    CurrentPolicy,
    accepted_record,
    refused_record,
)
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.threads import run_in_runtime_thread
from caps.protocol.argument_checks import require
from caps.protocol.errors import (
    ConfigurationError,
    IsolationError,
    PolicyInvalidError,
    WorkerLostError,
)
from caps.security.audit.log.interface import AuditSink
from caps.security.policies.load import LoadedPolicy, listed, load_policy
from caps.security.policies.protected_paths import ProtectedPath
from caps.worker.host.pool.module_pools import PoolsByModules
from caps.worker.host.pool.pool import WorkerPool

# The longest that closing waits for a provider that refuses to be cancelled.
CLOSING_SECONDS = 10


class ActiveExecutions:
    """Counts the executions and calls that have begun and not yet recorded their end."""

    def __init__(self) -> None:
        self._count = 0
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._ended: anyio.Event | None = None  # set only while `wait_until_none` waits

    def begin(self) -> None:
        """Count one more; the caller must call `end` however the execution ends."""
        self._count += 1

    def end(self) -> None:
        self._count -= 1
        if self._ended is not None:
            self._ended.set()

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Count a call within this context. It has no worker, so `wait_until_none` cancels it."""
        self.begin()
        try:
            with anyio.CancelScope() as scope:
                self._scopes[id(scope)] = scope
                try:
                    yield
                finally:
                    del self._scopes[id(scope)]
        finally:
            self.end()

    async def wait_until_none(self) -> None:
        """Wait for all of them, for a bounded time: a provider may refuse to be cancelled."""
        for scope in tuple(self._scopes.values()):
            scope.cancel()
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            while self._count:
                self._ended = anyio.Event()
                await self._ended.wait()


class OpenRuntime(msgspec.Struct, frozen=True):
    """An open runtime. `tasks` runs its background tasks: streams and the policy reloader.

    `pool` belongs to the policies that the runtime was opened with, and its workers have `modules`;
    `pools` contains it and the pools of other policies. Without `has_ceiling` it was opened without
    a policy, and the empty one in force is no ceiling for others.
    """

    services: BrokerServices
    pools: PoolsByModules
    pool: WorkerPool
    modules: tuple[str, ...]
    in_force: tuple[CurrentPolicy, ...]
    has_ceiling: bool
    protected: tuple[ProtectedPath, ...]
    isolation: CachedIsolationCheck
    executions: ActiveExecutions
    tasks: TaskGroup
    exit_stack: AsyncExitStack

    @property
    def chain(self) -> PolicyChain:
        """The policies that the next execution or session begins with."""
        in_force = self.in_force
        if len(in_force) == 1:  # most often
            return chain_of(in_force[0].bound)
        return chain_of(*(each.bound for each in in_force))

    def chain_with(self, *added: BoundPolicy, replace: bool) -> PolicyChain:
        """`added` beneath the policies in force; with `replace`, without them."""
        if replace or not self.has_ceiling:
            return chain_of(*added)
        return chain_of(*(each.bound for each in self.in_force), *added)

    async def chain_for(
        self, registry: CapabilityRegistry, policy: PoliciesGiven | None, replace: bool
    ) -> PolicyChain:
        """The policies of one execution or session. Workers for their modules can be started.

        Raises ConfigurationError for invalid arguments, and the errors of
        `load_and_record_policies`.
        """
        require(isinstance(replace, bool), "replace", replace, "a `bool`")
        if policy is None:
            if replace:
                raise ConfigurationError("`replace` needs a `policy` to use instead")
            return self.chain
        return await self._chain_with_loaded(
            registry, policy, functools.partial(self.chain_with, replace=replace), self.protected
        )

    async def chain_beneath(
        self, registry: CapabilityRegistry, ceiling: PolicyChain, policy: Mapping[str, Any]
    ) -> PolicyChain:
        """`ceiling` with `policy` beneath it. Raises as `chain_for` does.

        `policy` is not checked against the protected paths: `ceiling` was, and an error would name
        paths of the host to the code that wrote `policy`.
        """
        join = functools.partial(chain_of, *ceiling.policies)
        return await self._chain_with_loaded(registry, policy, join, protected=())

    async def _chain_with_loaded(
        self,
        registry: CapabilityRegistry,
        policy: PoliciesGiven,
        join: Callable[..., PolicyChain],
        protected: tuple[ProtectedPath, ...],
    ) -> PolicyChain:
        given: tuple[PolicyGiven, ...] = listed(policy)
        async with AsyncExitStack() as stack:

            async def start_workers(links: tuple[BoundPolicy, ...]) -> WorkerPool:
                return await acquire_pool(self.pools, stack, join(*links))

            links, _ = await load_and_record_policies(
                registry, self.services.audit, given, start_workers, protected
            )
        return join(*links)

    async def encode_inputs(
        self, inputs: Mapping[str, Any] | None, namespace: str, principal: str
    ) -> EncodedInputs:
        """The inputs of an execution, in the form that is sent. Raises ConfigurationError."""
        if not inputs:
            return encode_inputs(inputs, namespace, self.services.audit.redactor)
        return await run_in_runtime_thread(
            principal, "inputs", encode_inputs, inputs, namespace, self.services.audit.redactor
        )

    def run(self, grant: Grant, request: ExecutionRequest) -> Coroutine[Any, Any, ExecutionResult]:
        """Run one execution to its end, in a worker that has the modules of its grant.

        Raises IsolationError, PolicyInvalidError or WorkerLostError before anything runs.
        """
        if grant.chain.modules == self.modules:
            return self.execute(self.pool, grant, request)
        return self._run_with_modules(grant, request)

    async def _run_with_modules(self, grant: Grant, request: ExecutionRequest) -> ExecutionResult:
        async with AsyncExitStack() as stack:
            pool = await acquire_pool(self.pools, stack, grant.chain)
            return await self.execute(pool, grant, request)

    async def execute(
        self, runner: JobRunner, grant: Grant, request: ExecutionRequest
    ) -> ExecutionResult:
        """Run one execution to its end. Raises IsolationError before anything runs."""
        # Checked every time: a restarted zygote may have fewer layers in force than the first.
        checked = self.isolation.check(runner.layers, grant.chain.modules)
        if isinstance(checked.verdict, IsolationError):
            raise checked.verdict
        self.executions.begin()
        try:
            return await run_execution(
                self.services,
                runner,
                grant,
                request,
                degraded=checked.verdict,
                isolation=checked.recorded,
            )
        finally:
            self.executions.end()


async def acquire_pool(
    pools: PoolsByModules, stack: AsyncExitStack, chain: PolicyChain
) -> WorkerPool:
    """The pool whose workers have the modules that `chain` grants, until `stack` is closed.

    Raises PolicyInvalidError if one of the modules cannot be imported, and WorkerLostError.
    """
    try:
        return await stack.enter_async_context(pools.using(chain.modules))
    except WorkerLostError as lost:
        raise as_policy_error(chain.own, lost) from None


def as_policy_error(
    bound: BoundPolicy, lost: WorkerLostError
) -> PolicyInvalidError | WorkerLostError:
    """The error for `lost`: an invalid policy if the cause is a module that it grants."""
    if "module" not in lost.details:
        return lost
    return PolicyInvalidError(
        f"policy `{bound.source}`: {lost.message} at modules; install it beside caps, or take it "
        "out of the policy",
        source=bound.source,
        place="modules",
    )


async def load_and_record_policies(
    registry: CapabilityRegistry,
    audit: AuditSink,
    given: Sequence[PolicyGiven | None],
    start_workers: Callable[[tuple[BoundPolicy, ...]], Awaitable[WorkerPool]],
    protected: tuple[ProtectedPath, ...],
) -> tuple[tuple[BoundPolicy, ...], WorkerPool]:
    """Bind policies to the registry, start workers for them, and record which are accepted.

    Raises PolicyInvalidError if one is invalid or its scopes reach a protected path, or there is
    none, and the errors of `start_workers`. A policy that is bound already has its record.
    """
    bound: list[BoundPolicy] = []
    loaded: LoadedPolicy | None = None
    try:
        check_length(len(given))
        for policy in given:
            loaded = None
            if isinstance(policy, BoundPolicy):
                bound.append(check_protected_paths(policy, protected))
            else:
                loaded = load_policy(policy)
                bound.append(registry.bind(loaded, guarded=protected))
        pool = await start_workers(tuple(bound))
    except PolicyInvalidError as error:
        source = str(error.details.get("source", ""))
        refused = None if loaded is None else loaded.policy
        await audit.append(refused_record(source, refused, error))
        raise
    for policy, accepted in zip(given, bound, strict=True):
        if not isinstance(policy, BoundPolicy):
            await audit.append(accepted_record(accepted))
    return tuple(bound), pool
