"""(7) The `web` domain: `web.fetch`, its scope, and the capability `web_fetch`.

Registering it imports neither an HTTP client nor a converter: the first fetch does.
"""

from __future__ import annotations

from caps.capabilities.registry import CapabilityRegistry
from caps.providers.web.capability import WebFetch
from caps.providers.web.fetch import WebFetcher
from caps.providers.web.scope import WebScope

__all__ = ["WebFetcher", "WebScope", "register_web"]


def register_web(registry: CapabilityRegistry, fetcher: WebFetcher | None = None) -> None:
    """Declare the domain `web`, its one function and its capability."""
    registry.domain(
        "web",
        scope=WebScope,
        title="Web",
        description="Fetch pages from the hosts that the policy names.",
    )
    registry.capability(
        "web.fetch",
        title="Fetch a page",
        shown=("url", "method"),
        tags=frozenset({"reads"}),
        idempotent=True,
        labels=("untrusted",),
        egress=True,
    )((fetcher or WebFetcher()).fetch)
    registry.register(WebFetch)
