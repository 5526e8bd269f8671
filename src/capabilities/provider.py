"""(7) The provider interface: what a capability author writes against.

A provider is called as `provider(context, payload)` after the broker allowed the call and the
decision is on disk. It may be a coroutine function, or a plain function, which then runs in a
thread. A coroutine function without an `await` is called inline, outside any task, unless its spec
says `inline=False`. It returns JSON-like data; or it is an async generator function, whose spec
says `streams=True`, and yields any number of items. It refuses by raising:

- `ScopeViolationError`: its scope forbids this; user space sees `PolicyDeniedError`;
- `ProviderError(message)`: it failed, and the message is safe for user space to see;
- anything else: it failed; user space sees a generic message, the host's log has the traceback.

The audit log has the class of an error, and of its text only a digest.

`context.labels` says what the caller had read when it sent the call: store the labels with what is
written. `context.add_labels(...)` labels the answer: pass what was stored with what is read.
`context.add_artifact(...)` hands out a file with the result of the execution.
`context.report_progress(...)` tells whoever waits for the call how far it has come.

A provider that awaits may use its runtime: `context.call` makes another call for the same caller,
`context.run` runs code for it, and `context.resource` shares what is opened once per runtime.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from caps.capabilities.artifacts import Artifact, ArtifactStore
from caps.capabilities.progress import progress_of
from caps.capabilities.threads import run_in_provider_thread
from caps.protocol.errors import ProviderError
from caps.security.policies.flow_rules import NO_MARKS, checked_mark, labels_in
from caps.security.scopes import AllScopes, Scope, ScopeViolationError, Violation

if TYPE_CHECKING:
    from caps.capabilities.runtime.result import ExecutionResult

S = TypeVar("S", bound=Scope)
T = TypeVar("T")

__all__ = [
    "CallContext",
    "CallHost",
    "Provider",
    "ProviderError",
    "ResourceFactory",
    "Scope",
    "ScopeViolationError",
    "Violation",
]

ResourceFactory = Callable[[], AbstractAsyncContextManager[T]]
"""Opens what several calls share. It is the key: use a function of a module, not a lambda."""


class CallHost(Protocol):
    """What a call in flight may ask of its runtime. See the methods of `CallContext`."""

    async def call(self, context: CallContext, capability: str, payload: Mapping[str, Any]) -> Any:
        """Make a nested call."""

    def allows(self, capability: str, payload: Mapping[str, Any]) -> bool:
        """Whether the grant has it, with a scope that allows `payload`."""

    async def run(
        self,
        context: CallContext,
        source: str,
        *,
        policy: Mapping[str, Any] | None,
        inputs: Mapping[str, Any] | None,
    ) -> ExecutionResult:
        """Run a nested execution."""

    async def resource(self, factory: ResourceFactory[T]) -> T:
        """Get what `factory` opens."""


class CallContext(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, under which scope. Built by the broker from the grant, never from a message."""

    execution_id: str
    request_id: str
    capability: str
    principal: str
    agent: str | None
    session: str | None
    scope: Scope | None
    """An `AllScopes` if the grant rests on several policies: its `violation` asks each of them."""
    timeout_ms: int
    answered: frozenset[str] = NO_MARKS
    """The marks of what the caller had been answered when it sent this call: labels, functions."""
    added: set[str] = msgspec.field(default_factory=set)
    """What `add_labels` was given."""
    artifacts: ArtifactStore | None = None
    """Those of the execution; None in a context that was not made by a broker."""
    host: CallHost | None = None
    depth: int = 0
    """The number of calls of this execution that this one is nested in; see `call`."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of what the caller had been answered when it sent this call, sorted."""
        return labels_in(self.answered)

    def add_labels(self, *labels: str) -> None:
        """Label the answer of this call, also if it fails later. May be called in a thread.

        Takes marks, too (names of functions). ValueError for anything else; nothing is added then.
        """
        self.added.update([checked_mark(label) for label in labels])

    def add_artifact(self, artifact: Artifact) -> None:
        """Hand out `artifact`: it is in the result of the execution. Not from a thread.

        Raises LimitExceededError, which the caller gets if the provider lets it pass.
        """
        if self.artifacts is None:
            raise ProviderError(f"`{self.capability}` has no result to hand anything out with")
        self.artifacts.add(self.capability, self.request_id, artifact)

    def report_progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell whoever waits for this call, an MCP client for instance. Not from a thread.

        The message leaves the host as it is. ValueError for a number that is not finite.
        """
        progress_of(self.capability)(done, total, message)

    def scope_as(self, model: type[S]) -> S:
        """The scope as `model`; a `ProviderError` if the broker passed another one.

        Also if there are several: a provider that asks for one could not check the others.
        """
        first, *others = self.scopes_as(model)
        if others:
            raise ProviderError(
                f"`{self.capability}` cannot be called under several policies; its provider must "
                "check each scope of `scopes_as`"
            )
        return first

    def scopes_as(self, model: type[S]) -> tuple[S, ...]:
        """The scope of each policy, as `model`. What the provider does must lie in all of them."""
        scopes = self.scope.parts if isinstance(self.scope, AllScopes) else (self.scope,)
        found = tuple(scope for scope in scopes if isinstance(scope, model))
        if not found or len(found) != len(scopes):
            raise ProviderError(f"`{self.capability}` was called without its scope")
        return found

    async def run_in_thread(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run blocking work in a thread of the caller's share; `anyio.to_thread` has one for all.

        At the deadline of the call the thread is abandoned.
        """
        return await run_in_provider_thread(self.principal, self.execution_id, function, *arguments)

    async def call(self, capability: str, payload: Mapping[str, Any]) -> Any:
        """Make another call for the same caller: it is decided, limited and recorded by itself.

        Raises what the caller would see (`protocol.errors.CALL_ERRORS`). It ends with this call.
        """
        return await self._host.call(self, capability, payload)

    def allows(self, capability: str, payload: Mapping[str, Any]) -> bool:
        """Whether the caller's grant has `capability` now, with a scope that allows `payload`.

        For what an earlier call has given, and a later one uses: the grant may be another by then,
        or revoked. It is no decision, so it has no record.
        """
        return self._host.allows(capability, payload)

    async def run(
        self,
        source: str,
        *,
        policy: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> ExecutionResult:
        """Run code for the same caller, under its grant, and beneath that under `policy`.

        It has a worker of its own and ends with this call. Its calls count as calls of this
        execution, too, and its labels are added to the answer. Raises ProviderError if code is
        nested too deeply, PolicyInvalidError, ConfigurationError for the inputs, IsolationError and
        WorkerLostError.
        """
        return await self._host.run(self, source, policy=policy, inputs=inputs)

    async def resource(self, factory: ResourceFactory[T]) -> T:
        """What `factory` opens: once per runtime, on first use. It is closed with the runtime.

        Raises what opening raises; the next call tries again then.
        """
        return await self._host.resource(factory)

    @property
    def _host(self) -> CallHost:
        if self.host is None:
            raise ProviderError(f"`{self.capability}` was called without a runtime")
        return self.host


Provider = Callable[[CallContext, Mapping[str, Any]], Awaitable[Any] | Any]
PlainProvider = Callable[[CallContext, Mapping[str, Any]], Any]

# The only instruction that suspends the frame of a coroutine.
_SUSPENDS = dis.opmap["YIELD_VALUE"]


def has_no_await(provider: Any) -> bool:
    """Whether `provider` is a coroutine function whose own code cannot suspend."""
    function = provider.__func__ if type(provider) is MethodType else provider
    if type(function) is not FunctionType:
        return False
    # By its own code: a plain function may be marked as one, and what it returns may suspend.
    if not function.__code__.co_flags & inspect.CO_COROUTINE:
        return False
    # Instructions are at even offsets, their arguments at odd ones.
    return _SUSPENDS not in function.__code__.co_code[::2]


# Of derived providers, by the function itself: an attribute would be copied to what wraps it.
_plain_functions: WeakKeyDictionary[FunctionType, PlainProvider] = WeakKeyDictionary()


def has_plain_function(provider: Provider, plain: PlainProvider) -> None:
    """From now on `without_suspending` returns `plain` for `provider`, which does the same."""
    assert isinstance(provider, FunctionType)
    _plain_functions[provider] = plain


def without_suspending(provider: Provider) -> PlainProvider:
    """What an inline `provider` returns, as a plain function."""
    if isinstance(provider, FunctionType) and provider in _plain_functions:
        return _plain_functions[provider]
    return lambda context, payload: run_without_suspending(provider(context, payload))


def run_without_suspending(coroutine: Any) -> Any:
    """The result of a coroutine that does not suspend; RuntimeError if it does."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("a provider that was thought never to wait waits")
