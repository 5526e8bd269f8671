"""(7) The provider interface: what a capability author writes against.

A provider is called as `provider(context, payload)` after the broker allowed the call and the
decision is on disk. It may be a coroutine function, or a plain function, which then runs in a
thread. A coroutine function without an `await` cannot wait, and is called without a task of its
own, in none at all. It returns JSON-like data. It refuses by raising:

- `ScopeViolationError`: its scope forbids this; user space sees `PolicyDeniedError`;
- `ProviderError(message)`: it failed, and the message is safe for user space to see;
- anything else: it failed; user space sees a generic message, the audit has the rest.
"""

from __future__ import annotations

import dis
import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, TypeVar

import msgspec

from caps.protocol.errors import ProviderError
from caps.security.scopes import Scope, ScopeViolationError, Violation

S = TypeVar("S", bound=Scope)

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
    timeout_ms: int

    def scope_as(self, model: type[S]) -> S:
        """The scope as `model`; a `ProviderError` if the broker handed over another one."""
        if not isinstance(self.scope, model):
            raise ProviderError(f"`{self.capability}` was called without its scope")
        return self.scope


Provider = Callable[[CallContext, Mapping[str, Any]], Awaitable[Any] | Any]

# The one instruction at which the frame of a coroutine is left before its end.
_SUSPENDS = dis.opmap["YIELD_VALUE"]


def never_waits(provider: Any) -> bool:
    """Whether `provider` is a coroutine function whose own code holds no point to wait at."""
    function = provider.__func__ if type(provider) is MethodType else provider
    if type(function) is not FunctionType:
        return False
    # By its own code: a plain function may be marked as one, and what it gives may wait.
    if not function.__code__.co_flags & inspect.CO_COROUTINE:
        return False
    # Instructions stand at even places, their arguments at odd ones.
    return _SUSPENDS not in function.__code__.co_code[::2]


def finished(coroutine: Any) -> Any:
    """The result of a coroutine that never waits; RuntimeError if it does all the same."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("a provider that was thought never to wait waits")
