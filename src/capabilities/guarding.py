"""(3) Held before a policy comes into force: its scopes keep away from what it rests on.

A runtime rests on the file of its policy, on the directory in which calls are approved, and on the
places of its audit log. Whoever may change one of them holds every power there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from caps.capabilities.grant import BoundPolicy
from caps.protocol.errors import PolicyInvalidError
from caps.security.policies.protected_paths import Guarded, Reached, first_reached
from caps.security.policies.names import domain_of


def kept_away(bound: BoundPolicy, guarded: Sequence[Guarded]) -> BoundPolicy:
    """`bound`, seen to keep away from `guarded`. Raises PolicyInvalidError: it does not."""
    wanted = tuple(dict.fromkeys((*bound.guarded, *guarded)))
    if wanted == bound.guarded:
        return bound
    for domain in bound.policy.scopes:
        reached = first_reached(writable_by(bound, domain), wanted)
        if reached is not None:
            raise _refused(bound, domain, reached)
    return replace(bound, guarded=wanted)


def writable_by(bound: BoundPolicy, domain: str) -> tuple[Path, ...]:
    """The directories that what is granted of `domain` can change."""
    granted = [bound.terms[name] for name in bound.granted if domain_of(name) == domain]
    scope = granted[0].scope if granted else None
    functions = frozenset(terms.name.partition(".")[2] for terms in granted)
    return () if scope is None else scope.writable_directories(functions)


def _refused(bound: BoundPolicy, domain: str, reached: Reached) -> PolicyInvalidError:
    place = f"scopes.{domain}"
    return PolicyInvalidError(
        f"policy `{bound.source}`: code may change files where {reached.message}; name a "
        f"directory apart from it, or grant only reading, at {place}",
        source=bound.source,
        place=place,
    )
