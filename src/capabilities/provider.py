"""(7) The provider interface: what a capability author writes against.

A provider is called as `provider(context, payload)` after the broker allowed the call and the
decision is on disk. It may be a coroutine function, or a plain function, which then runs in a
thread. A coroutine function without an `await` is called inline, outside any task, unless its spec
says `inline=False`. It returns JSON-like data. It refuses by raising:

- `ScopeViolationError`: its scope forbids this; user space sees `PolicyDeniedError`;
- `ProviderError(message)`: it failed, and the message is safe for user space to see;
- anything else: it failed; user space sees a generic message, the host's log has the traceback.

The audit log has the class of an error, and of its text only a digest.

`context.labels` says what the caller had read when it sent the call: store the labels with what is
written. `context.add_labels(...)` labels the answer: pass what was stored with what is read.
`context.add_artifact(...)` hands out a file with the result of the execution.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, TypeVar

import msgspec

from caps.capabilities.artifacts import Artifact, ArtifactStore
from caps.capabilities.threads import run_in_provider_thread
from caps.protocol.errors import ProviderError
from caps.security.policies.flow_rules import NO_MARKS, checked_mark, labels_in
from caps.security.scopes import AllScopes, Scope, ScopeViolationError, Violation

S = TypeVar("S", bound=Scope)
T = TypeVar("T")

__all__ = ["CallContext", "Provider", "ProviderError", "Scope", "ScopeViolationError", "Violation"]


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


Provider = Callable[[CallContext, Mapping[str, Any]], Awaitable[Any] | Any]

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


def run_without_suspending(coroutine: Any) -> Any:
    """The result of a coroutine that does not suspend; RuntimeError if it does."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("a provider that was thought never to wait waits")
