"""What all routes share: the open runtime, the store, sign-in, and the executions under way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from os import PathLike
from pathlib import Path
from typing import Annotated

import anyio
from fastapi import Depends, Request

from caps.agents.resolution import AgentResolver
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.runtime.opening.policy_reload import watched_paths
from caps.capabilities.runtime.runtime import Runtime
from caps.security.audit.log.administration import Administrator
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.load import Policies, PolicySource, is_policy_given, listed
from caps.service.approvals import StoreApprover
from caps.service.cards import ServiceCards, open_cards
from caps.service.executions.recovery import mark_lost
from caps.service.executions.retention import prune_executions
from caps.service.executions.runner import ExecutionRunner
from caps.service.instance import held_instance
from caps.service.limits import PrincipalLimits, RequestLimits
from caps.service.secured_route import caller_of
from caps.service.signin.roles import Principal
from caps.service.signin.tokens import TokenVerifier
from caps.store import open_store
from caps.store.database import Store

NO_POLICY = {"version": 1, "id": "nothing-is-granted"}


class Service:
    """An open service. Made by `open_service`."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        store: Store,
        verifier: TokenVerifier,
        limits: RequestLimits,
        runner: ExecutionRunner,
        cards: ServiceCards,
        audit_directory: Path,
        policy_files: tuple[Path | None, ...],
    ) -> None:
        self.runtime = runtime
        self.store = store
        self.verifier = verifier
        self.limits = limits
        self.runner = runner
        self.cards = cards
        self.principals = PrincipalLimits(limits)
        self.agents = AgentResolver(runtime)
        self.draining = False
        self.audit_directory = audit_directory
        self.audit_readers = anyio.CapacityLimiter(2)
        """Reading the log is work: it may not take all threads."""
        self.verifying = anyio.Semaphore(1)
        self.policy_files = policy_files
        """For each policy in force the file that is watched, if there is one."""
        self.reviewers = anyio.CapacityLimiter(2)
        self.activating = anyio.Lock()

    def administrator(self, caller: Principal) -> Administrator:
        """`caller` as the one whose change is recorded."""
        return Administrator(audit=self.runtime.audit, principal=caller.name, via="http")


@asynccontextmanager
async def open_service(
    *,
    policy: Policies | None,
    registry: CapabilityRegistry,
    audit: AuditSettings,
    verifier: TokenVerifier,
    limits: RequestLimits,
    drain_seconds: float,
) -> AsyncIterator[Service]:
    """A service on the store of the environment. Raises the errors of `Runtime` and of the store.

    There is always a policy over those of callers: without one of the operator nothing is granted.
    Executions that an earlier process left unfinished are marked before anything runs. When it
    closes, executions get `drain_seconds` to end, and are then cancelled.
    """
    given: Policies | None = policy if is_policy_given(listed(policy)) else NO_POLICY
    sources: tuple[PolicySource | None, ...] = listed(given)
    # Those of CAPS_POLICY_PATH are watched anyway.
    watch = True if any(isinstance(each, str | PathLike) for each in sources) else None
    watched = watched_paths(sources, watch)
    async with AsyncExitStack() as stack:
        instance = stack.enter_context(held_instance(audit.directory))
        store = await stack.enter_async_context(open_store())
        approver = StoreApprover(store, instance)
        runtime = Runtime(given, registry=registry, audit=audit, approver=approver, watch=watch)
        await stack.enter_async_context(runtime)
        # The instance is held: what is unfinished has no process any more.
        await mark_lost(store, instance, audit.directory)
        await approver.clear()
        cards = await open_cards(store, registry, runtime.audit)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        tasks.start_soon(cards.watch.run)
        tasks.start_soon(approver.run)
        tasks.start_soon(prune_executions, store, limits.keep_days)
        runner = ExecutionRunner(runtime, store, tasks, instance, limits.pending_executions)
        stack.push_async_callback(runner.drain, drain_seconds)
        yield Service(
            runtime=runtime,
            store=store,
            verifier=verifier,
            limits=limits,
            runner=runner,
            cards=cards,
            audit_directory=audit.directory,
            policy_files=tuple(map(_file, watched)),
        )


def _file(watched: str | None) -> Path | None:
    return Path(watched).absolute() if watched else None


def service_of(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


ServiceGiven = Annotated[Service, Depends(service_of)]
Caller = Annotated[Principal, Depends(caller_of)]
