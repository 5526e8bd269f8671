"""(7) The provider interface: what a capability author writes against.

A provider is called as `provider(context, payload)` after the broker allowed the call and the
decision is on disk. It may be a coroutine function, or a plain function, which then runs in a
thread. It returns JSON-like data. It refuses by raising:

- `ScopeViolationError`: its scope forbids this; user space sees `PolicyDeniedError`;
- `ProviderError(message)`: it failed, and the message is safe for user space to see;
- anything else: it failed; user space sees a generic message, the audit has the rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from caps.protocol.errors import ProviderError
from caps.security.scopes import Scope, ScopeViolationError, Violation

S = TypeVar("S", bound=Scope)

__all__ = ["CallContext", "Provider", "ProviderError", "Scope", "ScopeViolationError", "Violation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
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
