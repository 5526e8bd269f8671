"""(7) The `secrets` domain: `secrets.handle` gives code a handle, and never a value."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.secrets.sources import NAME_PATTERN
from caps.providers.secrets.capability import Secrets
from caps.providers.secrets.scope import SecretsScope

__all__ = ["SecretsScope", "register_secrets"]


async def handle(
    context: CallContext,
    name: Annotated[str, Field(pattern=NAME_PATTERN)],
) -> str:
    """Get a handle of a secret: text to use in a header, which the host replaces by the value."""
    from caps.capabilities.secrets.handles import open_handles
    from caps.providers.secrets.lookup import read_secret

    scopes = context.scopes_as(SecretsScope)
    if not all(name in scope.rules for scope in scopes):  # the broker has checked it already
        raise ProviderError(f"the policy names no secret `{name}`")
    table = await context.resource(open_handles)
    hosts = [scope.rules[name].hosts for scope in scopes]
    return await table.issue(context, name, hosts, read_secret)


def register_secrets(registry: CapabilityRegistry) -> None:
    """Declare the domain `secrets`, its one function and its capability."""
    registry.domain(
        "secrets",
        scope=SecretsScope,
        title="Secrets",
        description="Handles of secrets; only the host sees the values.",
    )
    registry.capability(
        "secrets.handle",
        title="Get a handle of a secret",
        shown=("name",),
        tags=frozenset({"reads"}),
        idempotent=True,
    )(handle)
    registry.register(Secrets)
