"""The sync way in: calls from any thread into the event loop that a runtime keeps in its own."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import Self, TypedDict, TypeVar, Unpack

import anyio.from_thread
from anyio.from_thread import BlockingPortal

from caps.capabilities.grant import BoundPolicy
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.session import Session, SessionTerms
from caps.protocol.errors import ConfigurationError
from caps.security.policies.load import PolicySource
from caps.worker.host.pool.lease import SessionEnd

T = TypeVar("T")


def wait_for(portal: BlockingPortal, call: Callable[[], Awaitable[T]]) -> T:
    """Run `call` in the portal's loop and wait; an interrupt of this thread cancels it there."""
    running = portal.start_task_soon(call)
    try:
        return running.result()
    except BaseException:
        running.cancel()
        raise


class SyncSession:
    """A session for programs without an event loop. Made by `Runtime.session_sync`."""

    def __init__(self, session: Session, portal: BlockingPortal) -> None:
        self._session = session
        self._portal = portal

    @property
    def id(self) -> str:
        """What the records of all its runs carry as `session`."""
        return self._session.id

    @property
    def ended(self) -> SessionEnd | None:
        """Why it is over; None while it lives."""
        return self._session.ended

    def run(
        self, source: str, *, on_output: Callable[[str], None] | None = None
    ) -> ExecutionResult:
        """`Session.run`, from any thread."""
        call: Callable[[], Awaitable[ExecutionResult]] = functools.partial(
            self._session.run, source, on_output=on_output
        )
        return wait_for(self._portal, call)

    def close(self) -> None:
        """`Session.close`, from any thread."""
        wait_for(self._portal, self._session.close)


class LearningTerms(TypedDict, total=False):
    """The keyword arguments of `Runtime.learn`."""

    principal: str
    agent: str | None
    filename: str
    on_output: Callable[[str], None] | None


class RunTerms(LearningTerms, total=False):
    """The keyword arguments of `Runtime.run`."""

    session: str | None
    policy: PolicySource | BoundPolicy | None
    check: bool


class SyncWays(AbstractAsyncContextManager["SyncWays"], ABC):
    """What a `Runtime` offers to programs without an event loop, within `with Runtime(...)`.

    It keeps a loop in a thread of its own; everything here may be called from any thread.
    """

    def __init__(self) -> None:
        self._sync_stack = ExitStack()
        self._portal: BlockingPortal | None = None

    @abstractmethod
    async def run(self, source: str, **terms: Unpack[RunTerms]) -> ExecutionResult: ...

    @abstractmethod
    async def learn(self, source: str, **terms: Unpack[LearningTerms]) -> ExecutionResult: ...

    @abstractmethod
    def session(self, **terms: Unpack[SessionTerms]) -> Session: ...

    @abstractmethod
    async def revoke(
        self,
        execution_id: str,
        capability: str,
        *,
        by: str | None = None,
        reason: str | None = None,
    ) -> tuple[str, ...]: ...

    @abstractmethod
    def _is_open(self) -> bool: ...

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

    def run_sync(self, source: str, **terms: Unpack[RunTerms]) -> ExecutionResult:
        """`run` for programs without an event loop; an interrupt ends the execution, too."""
        run = functools.partial(self.run, source, **terms)
        return wait_for(self._sync_portal("run_sync", "await runtime.run"), run)

    def submit(self, source: str, **terms: Unpack[RunTerms]) -> Future[ExecutionResult]:
        """`run_sync` that does not wait; to cancel the future is to cancel the execution."""
        run = functools.partial(self.run, source, **terms)
        return self._sync_portal("submit", "await runtime.run").start_task_soon(run)

    def submit_learning(
        self, source: str, **terms: Unpack[LearningTerms]
    ) -> Future[ExecutionResult]:
        """`learn` for programs without an event loop; it does not wait, as `submit`."""
        run = functools.partial(self.learn, source, **terms)
        return self._sync_portal("submit_learning", "await runtime.learn").start_task_soon(run)

    def revoke_sync(
        self,
        execution_id: str,
        capability: str,
        *,
        by: str | None = None,
        reason: str | None = None,
    ) -> tuple[str, ...]:
        """`revoke` for programs without an event loop."""
        revoke = functools.partial(self.revoke, execution_id, capability, by=by, reason=reason)
        return wait_for(self._sync_portal("revoke_sync", "await runtime.revoke"), revoke)

    @contextmanager
    def session_sync(self, **terms: Unpack[SessionTerms]) -> Iterator[SyncSession]:
        """`session` for programs without an event loop."""
        portal = self._sync_portal("session_sync", "async with runtime.session")
        session = self.session(**terms)
        with portal.wrap_async_context_manager(session):
            yield SyncSession(session, portal)

    def _sync_portal(self, asked_by: str, instead: str) -> BlockingPortal:
        if self._portal is None and self._is_open():
            raise ConfigurationError(
                f"{asked_by}: the runtime was opened with `async with`; use `{instead}`"
            )
        if self._portal is None:
            raise ConfigurationError(
                f"{asked_by} needs `with Runtime(...)`; the runtime is not open"
            )
        return self._portal
