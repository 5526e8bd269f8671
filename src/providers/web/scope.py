"""The scope of the `web` domain: which hosts, how, and how much.

All rules that can be checked on the payload alone, without IO:

- the URL is one that `url.py` takes, and its scheme is in `schemes`;
- a pattern in `hosts` names its host, and its port is in `ports`;
- a host that is written as an address is one that may be connected to (`addresses.py`);
- the method is in `methods`;
- an unknown function or a wrong type is refused.

Only the provider knows the addresses of a name, the size of a body (`max_bytes`) and where a
server redirects to. It checks the addresses by the same table; a redirect is a call of its own, and
so another decision by this scope, of which there are at most `redirects` in a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field

from caps.capabilities.provider import Scope, Violation
from caps.protocol.text import printable
from caps.providers.web.addresses import Address, Network, is_private_network, refusal
from caps.providers.web.url import Url, UrlError, parse_url
from caps.security.hosts import HostPatterns, address_of, is_covered

if TYPE_CHECKING:
    from caps.security.review.scope_answers import (
        Concern,
        ObservedArguments,
        ScopeChange,
        ScopeProposal,
    )
    from caps.security.review.width import Breadth

# The largest content must fit a message to the worker, where a byte can take three.
MAX_BYTES_CEILING = 4 * 1024 * 1024
MAX_REDIRECTS = 15
MAX_PORTS = 64
METHODS = ("GET", "HEAD")


def _private_network(text: str) -> str:
    try:
        network = ip_network(text)
    except ValueError:
        message = f"`{printable(text)}` is not a network such as `10.1.0.0/16`"
        raise ValueError(message) from None
    if not is_private_network(network):
        raise ValueError(f"`{network}` is not private; name a part of a private network")
    return str(network)


class WebScope(Scope):
    """`scopes.web` of a policy."""

    hosts: HostPatterns
    ports: Annotated[
        tuple[Annotated[int, Field(ge=1, le=65535)], ...],
        Field(min_length=1, max_length=MAX_PORTS, strict=False),
    ] = (80, 443)
    schemes: Annotated[
        tuple[Literal["http", "https"], ...], Field(min_length=1, max_length=2, strict=False)
    ] = ("http", "https")
    methods: Annotated[
        tuple[Literal["GET", "HEAD"], ...], Field(min_length=1, max_length=2, strict=False)
    ] = ("GET", "HEAD")
    max_bytes: Annotated[int, Field(gt=0, le=MAX_BYTES_CEILING)] = 1024 * 1024
    redirects: Annotated[int, Field(ge=0, le=MAX_REDIRECTS)] = 5
    loopback: bool = False
    networks: Annotated[
        tuple[Annotated[str, AfterValidator(_private_network)], ...],
        Field(max_length=64, strict=False),
    ] = ()

    @cached_property
    def private_networks(self) -> tuple[Network, ...]:
        return tuple(map(ip_network, self.networks))

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """Pure, and never raises, whatever is in `payload`."""
        if function != "fetch":
            return Violation("hosts", f"the web scope knows no function `{function}`")
        text = _argument(payload, "url")
        if not isinstance(text, str):
            return Violation("hosts", "`url` must be given, as a string")
        try:
            url = parse_url(text)
        except UrlError as error:
            return Violation("hosts", str(error))
        return self._method_violation(_argument(payload, "method", "GET")) or self.url_violation(
            url
        )

    def _method_violation(self, method: object) -> Violation | None:
        if method in self.methods:
            return None
        shown = printable(method) if isinstance(method, str) else "this"
        return Violation("methods", f"the method `{shown}` is not allowed")

    def url_violation(self, url: Url) -> Violation | None:
        """What in `url` lies outside this scope."""
        if url.scheme not in self.schemes:
            return Violation("schemes", f"the scheme `{url.scheme}` is not allowed")
        if not is_covered(url.host, self.hosts):
            return Violation("hosts", f"the host `{url.host}` is not allowed")
        if url.port not in self.ports:
            return Violation("ports", f"the port {url.port} is not allowed")
        address = address_of(url.host)
        return None if address is None else self.address_violation(url.host, address)

    def address_violation(self, host: str, address: Address) -> Violation | None:
        """Why no connection may be made to an address of `host`."""
        kind = refusal(address, loopback=self.loopback, networks=self.private_networks)
        if kind is None:
            return None
        rule = {"loopback": "loopback", "private": "networks"}.get(kind, "hosts")
        return Violation(rule, f"`{host}` has an address that is not public ({kind})")

    # From here on: the answers for tools that review policies.

    def fields_of(self, function: str) -> Mapping[str, AbstractSet[str]] | None:  # noqa: ARG002
        url = frozenset({"url"})
        return {
            **dict.fromkeys(("hosts", "ports", "schemes", "loopback", "networks"), url),
            "methods": frozenset({"method"}),
            **dict.fromkeys(("max_bytes", "redirects"), frozenset[str]()),
        }

    def change_for(self, function: str, payload: Mapping[str, Any]) -> ScopeChange | None:
        """Allow the host, the port, the scheme or the method of this call."""
        from caps.providers.web.scope_review import change_for

        violation = self.violation(function, payload)
        return None if violation is None else change_for(self, violation.rule, payload)

    def widths_to(self, newer: Scope) -> dict[str, Breadth]:
        from caps.providers.web.scope_review import widths

        return widths(self, newer) if isinstance(newer, WebScope) else super().widths_to(newer)

    def concerns(self, functions: AbstractSet[str], given: AbstractSet[str]) -> tuple[Concern, ...]:  # noqa: ARG002
        from caps.providers.web.scope_review import concerns

        return tuple(concerns(self))

    @classmethod
    def covering(
        cls, calls: Sequence[ObservedArguments], held: Self | None
    ) -> ScopeProposal | None:
        """The hosts, ports, schemes and methods of the calls; the bounds of `held`."""
        from caps.providers.web.scope_review import proposed_scope

        return proposed_scope(calls, held)


def _argument(payload: object, name: str, default: object = None) -> object:
    return payload.get(name, default) if isinstance(payload, (dict, Mapping)) else None
