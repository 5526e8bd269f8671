"""The entry point: a `Runtime` holds registry, policy, audit log and workers, and runs code.

async with Runtime(policy="policy.json", registry=builtin_registry()) as runtime:
    result = await runtime.run("await caps.files.read(path='notes.txt')")

with Runtime(policy={"allow": ["time.now"]}, registry=builtin_registry()) as runtime:
    result = runtime.run_sync("await caps.time.now()")

`stream` yields the events of an execution as they happen; `session` keeps names between runs.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from caps.capabilities.chain import PolicyChain
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.identity import Identity, new_id
from caps.capabilities.registry import CapabilityRegistry, PoliciesGiven, PolicyGiven
from caps.capabilities.runtime.budget import check_budget
from caps.capabilities.runtime.execution_request import ExecutionRequest
from caps.capabilities.runtime.inputs import NO_INPUTS, EncodedInputs, checked_arguments
from caps.capabilities.runtime.lifetime import RuntimeLifetime
from caps.capabilities.runtime.opening.settings import (
    DEFAULT_WORKERS,
    ApproverGiven,
    AuditGiven,
    checked_settings,
)
from caps.capabilities.runtime.options import (
    check_execution_id,
    check_revoke_arguments,
    check_run_arguments,
)
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.session import (
    IDLE_MS,
    MAX_RUNS,
    WALL_MS,
    Session,
    SessionLimits,
)
from caps.capabilities.telemetry import Metrics
from caps.protocol.ways import Via
from caps.security.policies.load import (
    Policies,
    is_policy_given,
    listed,
    load_policy,
)
from caps.worker.host.pool.admission import DEFAULT_WAIT_MS
from caps.worker.host.process.worker import WorkerSource

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider
    from prometheus_client import CollectorRegistry

    from caps.capabilities.broker.evidence import DecisionSummary
    from caps.capabilities.runtime.call import CallChannel, CallResult
    from caps.capabilities.runtime.stream import EventQueue, StreamEvent


class Runtime(RuntimeLifetime):
    """Runs untrusted code under its policies. Enter it, then `run` as often as you like."""

    def __init__(
        self,
        policy: Policies | None = None,
        *,
        registry: CapabilityRegistry | None = None,
        audit: AuditGiven | None = None,
        namespace: str = "caps",
        isolation: str | None = None,
        workers: WorkerSource | None = None,
        max_workers: int = DEFAULT_WORKERS,
        max_workers_per_principal: int | None = None,
        max_wait_ms: int = DEFAULT_WAIT_MS,
        default_timeout_ms: int | None = None,
        metrics: Metrics | CollectorRegistry | None = None,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture_arguments: bool | None = None,
        watch: bool | None = None,
        approver: ApproverGiven | None = None,
    ) -> None:
        """`policy` and `audit` come from CAPS_POLICY_PATH and CAPS_AUDIT_PATH if not given.

        Of a list of policies each must allow, and so must one that is given to `run`. Without a
        policy nothing is granted. At most `max_workers` executions and sessions have a
        worker at the same time, of one principal at most `max_workers_per_principal`, by default
        half of them. The others wait, and principals take turns; one that has waited for
        `max_wait_ms` does not run, with a NoFreeWorkerError. `isolation` overrides CAPS_ISOLATION:
        if not every layer is fully in force, the runtime refuses to open unless it is
        `best-effort`. An `audit` log that is passed in stays open when the runtime closes; one that
        is opened here is closed with it, and kept according to its `AuditSettings` or the
        CAPS_AUDIT variables. `watch` says whether a change of the policy file comes into force
        while the runtime is open; by default it does for CAPS_POLICY_PATH. `approver` is asked
        about calls for which the policy requires an approval: a function, or a directory for `caps
        approvals`, by default CAPS_APPROVALS_PATH. `metrics` are counted in the global Prometheus
        registry if no other is given. Spans go to the given OpenTelemetry providers, or to the
        global ones; they have no arguments unless `capture_arguments` is set, which adds them
        redacted as in the audit log.
        """
        settings = checked_settings(
            policy,
            registry=registry,
            audit=audit,
            namespace=namespace,
            isolation=isolation,
            workers=workers,
            max_workers=max_workers,
            max_workers_per_principal=max_workers_per_principal,
            max_wait_ms=max_wait_ms,
            default_timeout_ms=default_timeout_ms,
            metrics=metrics,
            tracer_provider=tracer_provider,
            meter_provider=meter_provider,
            capture_arguments=capture_arguments,
            watch=watch,
            approver=approver,
        )
        super().__init__(settings)
        self.registry = settings.registry

    async def bind(self, policy: PolicyGiven, *, replace: bool = False) -> BoundPolicy:
        """Bind another policy to the registry, for `run`. PolicyInvalidError if it is invalid.

        If it grants real modules, workers that have imported them are started: those that the
        policies in force grant, too, or all of them with `replace`.
        """
        return (await self._chain((policy,), replace)).own

    async def revoke(
        self,
        execution_id: str,
        capability: str,
        *,
        by: str | None = None,
        reason: str | None = None,
    ) -> tuple[str, ...]:
        """Revoke `capability` (or all of `domain.*`) for an execution while it runs.

        Later calls are refused and calls in flight are stopped; the revoked names are returned. In
        a session it is revoked for the later runs, too; the id of the session works as well as that
        of a run. Raises ExecutionUnknownError if nothing with that id runs in this runtime,
        ConfigurationError if no such capability is registered, and AuditError if it could not be
        recorded: it is revoked anyway then.
        """
        check_revoke_arguments(execution_id, capability, by, reason)
        services = self._open().services
        return await services.live.revoke(
            services.audit, services.metrics, execution_id, capability, by=by, reason=reason
        )

    def stubs(self, policy: PoliciesGiven | None = None, *, replace: bool = False) -> str:
        """The `caps` namespace that code sees, as the text of a `.pyi` file for a prompt.

        Under the runtime's own policies (the runtime need not be open), and beneath them `policy`,
        as in `run`. Raises PolicyInvalidError if one is invalid.
        """
        from caps.capabilities.stubs.render import render

        opened, sources = self._opened, self._settings.policies
        ceiling: list[PolicyGiven] = []
        if not (replace or (policy is not None and not is_policy_given(sources))):
            ceiling = [self.registry.bind(load_policy(each)) for each in sources]
            if opened is not None:
                ceiling = list(opened.chain.policies)
        added: tuple[PolicyGiven, ...] = () if policy is None else listed(policy)
        chain = self.registry.chain((*ceiling, *added))
        return render(chain, domains=self.registry.domains, namespace=self._settings.namespace)

    async def run(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
        replace: bool = False,
        filename: str = "<agent>",
        inputs: Mapping[str, Any] | None = None,
        argv: Sequence[str] | None = None,
        on_output: Callable[[str], None] | None = None,
        check: bool = False,
        budget: float | None = None,
    ) -> ExecutionResult:
        """Run `source` in a process of its own, for `principal`.

        The result reports whatever the code does; errors of the code are never raised. Cancelling
        kills the worker. `on_output` gets printed text as it is printed. `policy`, one or a list,
        is put beneath the runtime's own policies for this execution, so it can only take away; with
        `replace` it is used instead of them. Call `await runtime.bind(policy)` once if it is used
        often. `inputs` are names that the code finds, with values of any type that a result can
        have; `argv` follows the file name in `sys.argv`. With `check`, code whose capability calls
        are certain to fail does not run at all; the error's `details["problems"]` lists all of
        them. `budget` lowers `limits.cost`: the execution is stopped when a call would exceed it.
        """
        if on_output is not None or check is not False:
            check_run_arguments(on_output, check)
        if budget is not None:
            check_budget(budget)
        request = ExecutionRequest(
            source=source,
            filename=filename,
            identity=Identity(principal=principal, agent=agent, session=session),
            on_output=on_output,
            check=check,
            inputs=NO_INPUTS if inputs is None else await self._encoded(inputs, principal),
            argv=None if argv is None else checked_arguments(argv),
        )
        if policy is None and replace is False:  # most often, and nothing has to be checked
            opened = self._open_here()
            return await opened.run(self._inject(new_id(), opened.chain, budget), request)
        return await self._execute(request, policy, replace, budget=budget)

    async def stream(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
        replace: bool = False,
        filename: str = "<agent>",
        inputs: Mapping[str, Any] | None = None,
        argv: Sequence[str] | None = None,
        check: bool = False,
        budget: float | None = None,
        execution_id: str | None = None,
        via: Via = "code",
    ) -> AsyncGenerator[StreamEvent, None]:
        """`run` as a stream of events: Started, Output, Decided, HandedOut, then Finished.

        A slow reader delays nothing. Leaving the loop, or `aclose`, kills the worker.
        `execution_id` is its id in all records, for a program that keeps a record of its own
        before the start: 32 hexadecimal digits that were never used before. `via` is as in `call`.
        """

        from caps.capabilities.runtime.stream import stream_execution

        async def execute(feed: EventQueue) -> ExecutionResult:
            request = ExecutionRequest(
                source=source,
                filename=filename,
                identity=Identity(principal=principal, agent=agent, session=session, via=via),
                on_output=feed.output,
                on_start=feed.start,
                on_decision=feed.decide,
                on_artifact=feed.hand_out,
                check=check,
                inputs=await self._encoded(inputs, principal),
                argv=arguments,
            )
            return await self._execute(request, policy, replace, execution_id, budget)

        check_run_arguments(None, check)
        check_budget(budget)
        check_execution_id(execution_id)
        arguments = checked_arguments(argv)
        async with aclosing(stream_execution(self._open_here().tasks, execute)) as events:
            async for event in events:
                yield event

    async def call(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
        replace: bool = False,
        timeout_ms: int | None = None,
        idempotency_key: str | None = None,
        via: Via = "call",
        budget: float | None = None,
    ) -> CallResult:
        """Call one function without any code, as a model that calls a tool does.

        It is decided, recorded and limited like a call from code; the result reports a refusal or a
        failure, and `unwrap` raises it. A repeat with the same `idempotency_key` of the same
        principal and session gets the answer of the first call for an hour. `policy`, `replace`
        and `budget` are those of `run`. `via` says in the records how the request reached the
        program. Raises ConfigurationError for arguments of a wrong type or size; nothing is
        recorded then.
        """
        from caps.capabilities.runtime.call import function_call, run_call

        check_budget(budget)
        identity = Identity(principal=principal, agent=agent, session=session, via=via)
        execution_id = new_id()
        wanted = function_call(
            identity,
            execution_id,
            name,
            payload,
            timeout_ms=timeout_ms,
            idempotency_key=idempotency_key,
        )
        grant = self._inject(execution_id, await self._chain(policy, replace), budget)
        opened = self._open()
        return await run_call(opened.services, opened.executions, grant, wanted)

    @asynccontextmanager
    async def calls(
        self,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
        replace: bool = False,
        via: Via = "call",
        budget: float | None = None,
        execution_id: str | None = None,
        on_decision: Callable[[DecisionSummary], None] | None = None,
    ) -> AsyncIterator[CallChannel]:
        """`async with runtime.calls() as channel: await channel.call(name, payload)`.

        All calls of the channel are of one execution: what one has read counts for the flow rules
        of the next, and limits and budget are those of all together. The policies are fixed when
        it opens. The arguments are those of `call` and `stream`.
        """
        from caps.capabilities.runtime.call import open_channel

        check_budget(budget)
        check_execution_id(execution_id)
        identity = Identity(principal=principal, agent=agent, session=session, via=via)
        chain = await self._chain(policy, replace)
        grant, opened = self._inject(execution_id or new_id(), chain, budget), self._open()
        parts = opened.services, opened.executions, grant, identity
        with open_channel(*parts, on_decision=on_decision) as channel:
            yield channel

    async def learn(
        self,
        source: str,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        filename: str = "<agent>",
        on_output: Callable[[str], None] | None = None,
    ) -> ExecutionResult:
        """`run` in learning mode: `caps` also lists the capabilities that are withheld.

        This grants nothing more. A call of a withheld capability is refused and recorded, and
        raises PolicyDeniedError; `caps.security.review.learn` makes a policy from the records.
        """
        check_run_arguments(on_output)
        request = ExecutionRequest(
            source=source,
            filename=filename,
            identity=Identity(principal=principal, agent=agent, session=None),
            on_output=on_output,
        )
        opened = self._open_here()
        grant = self._inject(new_id(), opened.chain)
        return await opened.run(grant.for_learning(), request)

    def session(
        self,
        *,
        principal: str = "anonymous",
        agent: str | None = None,
        session: str | None = None,
        policy: PoliciesGiven | None = None,
        replace: bool = False,
        max_runs: int = MAX_RUNS,
        idle_ms: int = IDLE_MS,
        wall_ms: int = WALL_MS,
    ) -> Session:
        """`async with runtime.session() as s: await s.run("x = 1")`: one worker, many runs.

        The policies are fixed when the session opens; `policy` and `replace` are as in `run`. Their
        limits apply to each run; the memory limit
        applies to all runs together. The session ends after `max_runs`, when nothing ran for
        `idle_ms`, and `wall_ms` after it opened. `session` is its name in the audit log; by default
        a new id.
        """
        return Session(
            self._open(),
            functools.partial(self._chain, policy, replace),
            self._inject,
            Identity(principal=principal, agent=agent, session=session),
            SessionLimits(max_runs=max_runs, idle_ms=idle_ms, wall_ms=wall_ms),
        )

    async def _encoded(self, inputs: Mapping[str, Any] | None, principal: str) -> EncodedInputs:
        opened = self._open_here()
        if inputs is None:
            return NO_INPUTS
        return await opened.encode_inputs(inputs, self._settings.namespace, principal)

    async def _execute(
        self,
        request: ExecutionRequest,
        policy: PoliciesGiven | None,
        replace: bool,
        execution_id: str | None = None,
        budget: float | None = None,
    ) -> ExecutionResult:
        chain = await self._chain(policy, replace)
        grant = self._inject(execution_id or new_id(), chain, budget)
        return await self._open().run(grant, request)

    async def _chain(self, policy: PoliciesGiven | None, replace: bool) -> PolicyChain:
        return await self._open_here().chain_for(self.registry, policy, replace)

    def _inject(self, execution_id: str, chain: PolicyChain, budget: float | None = None) -> Grant:
        namespace = self._settings.namespace
        return self.registry.inject(namespace, execution_id, chain, budget=budget)
