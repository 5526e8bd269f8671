"""The synchronous API: calls from any thread into an event loop in a thread of the runtime."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

from caps.capabilities.registry import PoliciesGiven
from caps.capabilities.runtime.portal import RuntimePortal
from caps.capabilities.runtime.result import ExecutionResult
from caps.capabilities.runtime.session import Session, SessionOptions
from caps.protocol.errors import ConfigurationError
from caps.protocol.ways import Via
from caps.worker.host.pool.lease import SessionEnd

if TYPE_CHECKING:
    from caps.capabilities.runtime.call import CallResult

T = TypeVar("T")


class SyncSession:
    """A session for programs without an event loop. Made by `Runtime.session_sync`."""

    def __init__(self, session: Session, portal: RuntimePortal) -> None:
        self._session = session
        self._portal = portal

    @property
    def id(self) -> str:
        """The value of `session` in the records of all its runs."""
        return self._session.id

    @property
    def ended(self) -> SessionEnd | None:
        """Why it ended; None while it is open."""
        return self._session.ended

    def run(
        self,
        source: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        on_output: Callable[[str], None] | None = None,
        check: bool = False,
    ) -> ExecutionResult:
        """`Session.run`, from any thread."""
        call: Callable[[], Awaitable[ExecutionResult]] = functools.partial(
            self._session.run, source, inputs=inputs, on_output=on_output, check=check
        )
        return self._portal.run(call)

    def submit(
        self,
        source: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        on_output: Callable[[str], None] | None = None,
        check: bool = False,
    ) -> Future[ExecutionResult]:
        """`run` that does not wait; cancelling the future ends the session."""
        call: Callable[[], Awaitable[ExecutionResult]] = functools.partial(
            self._session.run, source, inputs=inputs, on_output=on_output, check=check
        )
        return self._portal.start(call)

    def interrupt(self) -> bool:
        """`Session.interrupt`, from any thread."""
        return self._portal.run(self._session.interrupt)

    def close(self) -> None:
        """`Session.close`, from any thread."""
        self._portal.run(self._session.close)


class LearnOptions(TypedDict, total=False):
    """The keyword arguments of `Runtime.learn`."""

    principal: str
    agent: str | None
    filename: str
    on_output: Callable[[str], None] | None


class RunOptions(LearnOptions, total=False):
    """The keyword arguments of `Runtime.run`."""

    session: str | None
    policy: PoliciesGiven | None
    replace: bool
    inputs: Mapping[str, Any] | None
    argv: Sequence[str] | None
    check: bool
    budget: float | None


class CallOptions(TypedDict, total=False):
    """The keyword arguments of `Runtime.call`."""

    principal: str
    agent: str | None
    session: str | None
    policy: PoliciesGiven | None
    replace: bool
    timeout_ms: int | None
    idempotency_key: str | None
    via: Via
    budget: float | None


class SyncRuntimeMixin(AbstractAsyncContextManager["SyncRuntimeMixin"], ABC):
    """The methods of `Runtime` for programs without an event loop, inside `with Runtime(...)`.

    The runtime runs a loop in a separate thread; everything here may be called from any thread.
    """

    def __init__(self) -> None:
        self._sync_stack = ExitStack()
        self._portal: RuntimePortal | None = None

    @abstractmethod
    async def run(self, source: str, **options: Unpack[RunOptions]) -> ExecutionResult: ...

    @abstractmethod
    async def call(
        self, name: str, payload: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> CallResult: ...

    @abstractmethod
    async def learn(self, source: str, **options: Unpack[LearnOptions]) -> ExecutionResult: ...

    @abstractmethod
    def session(self, **options: Unpack[SessionOptions]) -> Session: ...

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
        """Start an event loop in a thread and open the runtime in it."""
        with ExitStack() as stack:
            portal = stack.enter_context(RuntimePortal())
            stack.enter_context(portal.entered(self))
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

    def run_sync(self, source: str, **options: Unpack[RunOptions]) -> ExecutionResult:
        """`run` for programs without an event loop; an interrupt ends the execution, too."""
        run = functools.partial(self.run, source, **options)
        return self._sync_portal("run_sync", "await runtime.run").run(run)

    def submit(self, source: str, **options: Unpack[RunOptions]) -> Future[ExecutionResult]:
        """`run_sync` that does not wait; cancelling the future cancels the execution."""
        run = functools.partial(self.run, source, **options)
        return self._sync_portal("submit", "await runtime.run").start(run)

    def call_sync(
        self, name: str, payload: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> CallResult:
        """`call` for programs without an event loop; an interrupt ends the call, too."""
        call = functools.partial(self.call, name, payload, **options)
        return self._sync_portal("call_sync", "await runtime.call").run(call)

    def submit_call(
        self, name: str, payload: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]
    ) -> Future[CallResult]:
        """`call_sync` that does not wait; cancelling the future cancels the call."""
        call = functools.partial(self.call, name, payload, **options)
        return self._sync_portal("submit_call", "await runtime.call").start(call)

    def submit_work(self, work: Callable[[], Awaitable[T]]) -> Future[T]:
        """Run an async function in the loop of the runtime; cancelling the future cancels it."""
        return self._sync_portal("submit_work", "await").start(work)

    def submit_learning(
        self, source: str, **options: Unpack[LearnOptions]
    ) -> Future[ExecutionResult]:
        """`learn` for programs without an event loop; it does not wait, like `submit`."""
        run = functools.partial(self.learn, source, **options)
        return self._sync_portal("submit_learning", "await runtime.learn").start(run)

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
        return self._sync_portal("revoke_sync", "await runtime.revoke").run(revoke)

    @contextmanager
    def session_sync(self, **options: Unpack[SessionOptions]) -> Iterator[SyncSession]:
        """`session` for programs without an event loop."""
        portal = self._sync_portal("session_sync", "async with runtime.session")
        session = self.session(**options)
        with portal.entered(session):
            yield SyncSession(session, portal)

    def _sync_portal(self, method: str, instead: str) -> RuntimePortal:
        if self._portal is None and self._is_open():
            raise ConfigurationError(
                f"{method}: the runtime was opened with `async with`; use `{instead}`"
            )
        if self._portal is None:
            raise ConfigurationError(f"{method} needs `with Runtime(...)`; the runtime is not open")
        return self._portal
