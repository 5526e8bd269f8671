"""Looking a host up: once for each fetch, every address checked, before anything is connected to.

The connection is made to an address of this answer, so a name that answers differently the next
time gains nothing. One address that is refused refuses the host: such an answer is an attack, or a
name that means different things in different places.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Final

from caps.capabilities.provider import CallContext, ProviderError, ScopeViolationError
from caps.protocol.text import printable
from caps.providers.web.addresses import Address
from caps.providers.web.scope import WebScope
from caps.providers.web.url import Url
from caps.security.hosts import address_of

Resolver = Callable[[str, int], Sequence[str]]
"""From a host and a port to addresses. It blocks, so it is called in a thread. Raises OSError."""

_MAX_ADDRESSES: Final = 32


def system_resolver(host: str, port: int) -> list[str]:
    """What the host's own resolver answers."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


async def checked_addresses(
    context: CallContext, scopes: Sequence[WebScope], url: Url, resolver: Resolver
) -> tuple[Address, ...]:
    """The addresses of the host of `url`, all of which every scope allows.

    Raises ProviderError if it has none, ScopeViolationError for one that may not be reached.
    """
    own = address_of(url.host)
    found = (own,) if own is not None else await _looked_up(context, url, resolver)
    for scope in scopes:
        for address in found:
            violation = scope.address_violation(url.host, address)
            if violation is not None:
                raise ScopeViolationError(violation.rule, violation.message, scope=scope)
    return found


async def _looked_up(context: CallContext, url: Url, resolver: Resolver) -> tuple[Address, ...]:
    try:
        texts = await context.run_in_thread(resolver, url.host, url.port)
    except (OSError, UnicodeError):
        texts = ()
    if not texts:
        raise ProviderError(f"there is no host `{printable(url.host)}`")
    try:
        return tuple(map(ip_address, texts[:_MAX_ADDRESSES]))
    except ValueError:
        raise ProviderError(f"the addresses of `{url.host}` are not valid") from None
