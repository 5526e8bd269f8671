"""What the `web` scope tells the tools that review policies. Nothing here decides about calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from caps.providers.web.url import UrlError, parse_url
from caps.security.hosts import EVERY_HOST, is_covered
from caps.security.review.scope_answers import (
    Concern,
    ObservedArguments,
    ProposedPart,
    ScopeChange,
    ScopeProposal,
    Severity,
)
from caps.security.review.width import Breadth, width_of

if TYPE_CHECKING:
    from caps.providers.web.scope import WebScope

# What the URL of a call does not say.
_KEPT: Final = {"max_bytes", "redirects", "loopback", "networks"}


def change_for(scope: WebScope, rule: str, payload: Mapping[str, Any]) -> ScopeChange | None:
    """The smallest change of the key `rule`; None if no change of it could help."""
    try:
        url = parse_url(str(payload.get("url")))
    except UrlError:
        return None
    method = payload.get("method", "GET")
    match rule:
        case "hosts" if not is_covered(url.host, scope.hosts):
            return ScopeChange("hosts", url.host, True, f"everything at `{url.host}`")
        case "ports":
            return ScopeChange("ports", url.port, True, f"port {url.port} of every host")
        case "schemes":
            return ScopeChange("schemes", url.scheme, True, f"`{url.scheme}` to every host")
        case "methods" if method in ("GET", "HEAD"):
            return ScopeChange("methods", method, True, f"`{method}` to every host")
        case "loopback":
            return ScopeChange("loopback", True, False, "services of this machine")
        case _:
            return None


def widths(older: WebScope, newer: WebScope) -> dict[str, Breadth]:
    """For each key, what `newer` allows compared to `older`."""
    found = {
        key: _width_of_sets(frozenset(getattr(older, key)), frozenset(getattr(newer, key)))
        for key in ("ports", "schemes", "methods")
    }
    found["hosts"] = width_of(
        more=not _all_covered(newer.hosts, older.hosts),
        less=not _all_covered(older.hosts, newer.hosts),
    )
    found["networks"] = width_of(
        more=not _all_within(newer, older), less=not _all_within(older, newer)
    )
    for key in ("max_bytes", "redirects", "loopback"):
        before, after = int(getattr(older, key)), int(getattr(newer, key))
        found[key] = width_of(more=after > before, less=after < before)
    return found


def _width_of_sets(older: frozenset[Any], newer: frozenset[Any]) -> Breadth:
    return width_of(more=bool(newer - older), less=bool(older - newer))


def _all_covered(patterns: tuple[str, ...], by: tuple[str, ...]) -> bool:
    """Whether every host of `patterns` is one of `by`."""
    return all(
        pattern in by
        or EVERY_HOST in by
        # `*.a.b` is covered by `*.b`: each name below `a.b` is below `b`.
        or is_covered(pattern.removeprefix("*."), [each for each in by if each.startswith("*.")])
        for pattern in patterns
    )


def _all_within(scope: WebScope, other: WebScope) -> bool:
    return all(
        any(
            network.version == outer.version and network.subnet_of(outer)  # type: ignore[arg-type]
            for outer in other.private_networks
        )
        for network in scope.private_networks
    )


def proposed_scope(
    calls: Sequence[ObservedArguments], held: WebScope | None
) -> ScopeProposal | None:
    """The narrowest scope for `calls`. What no URL says stays as it was in `held`."""
    seen: dict[str, dict[Any, list[int]]] = {"hosts": {}, "ports": {}, "schemes": {}, "methods": {}}
    for index, call in enumerate(calls):
        try:
            url = parse_url(str(call.shown.get("url")))
        except UrlError:
            continue
        method = call.shown.get("method", "GET")
        found = {"hosts": url.host, "ports": url.port, "schemes": url.scheme, "methods": method}
        for key, value in found.items():
            seen[key].setdefault(value, []).append(index)
    if not seen["hosts"]:
        return None
    scope: dict[str, Any] = {key: sorted(values) for key, values in seen.items()}
    parts = [
        ProposedPart((key, place), tuple(seen[key][value]), "seen in the calls")
        for key, values in scope.items()
        for place, value in enumerate(values)
    ]
    if held is not None:
        scope |= held.model_dump(include=_KEPT, exclude_defaults=True)
    outside = ObservedArguments("fetch", {"url": "https://outside.invalid/"})
    return ScopeProposal(scope, tuple(parts), (outside,))


def concerns(scope: WebScope) -> Iterator[Concern]:
    """What a reviewer should check."""
    if EVERY_HOST in scope.hosts:
        yield Concern(
            "every-host",
            Severity.WARNING,
            ("hosts", scope.hosts.index(EVERY_HOST)),
            "every public host is reached, so what the code knows can be sent to anybody",
            "name the hosts that the code needs",
        )
    if scope.loopback:
        yield Concern(
            "loopback-reached",
            Severity.WARNING,
            ("loopback",),
            "services of this machine are reached, which often need no sign-in",
            "remove `loopback`",
        )
    if scope.networks:
        yield Concern(
            "private-network-reached",
            Severity.WARNING,
            ("networks",),
            "services of private networks are reached",
            "name the smallest networks that the code needs",
        )
    if "http" in scope.schemes:
        yield Concern(
            "http-allowed",
            Severity.INFO,
            (),
            "`http` is allowed, so pages can be read and changed on their way",
            'set `"schemes": ["https"]`',
        )
