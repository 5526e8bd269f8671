"""What the decision function says of the calls of a plan, before they are made.

Each question leaves out the rules that another one asks about, so that all that is wrong with a
step is found, and not only the first thing. The rules themselves are in `security/decision.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

import msgspec

from caps.capabilities.grant import BoundCapability, Grant
from caps.capabilities.schemas.schema import CompiledSchema
from caps.security.decision import Decision, decide
from caps.security.policies.flow_rules import NO_MARKS
from caps.security.policy import Limits
from caps.security.request import NOTHING_USED, Request, Usage

_ANY_PAYLOAD: Final = CompiledSchema({}, "any payload")
_NO_LIMITS: Final = Limits(calls=1_000_000)


class _Link(msgspec.Struct, frozen=True, kw_only=True):
    policy_id: str
    policy_sha256: str
    limits: Limits
    terms: Mapping[str, BoundCapability]


class _Asked(_Link, frozen=True, kw_only=True):
    """A grant of which only some rules are left."""

    links: tuple[_Link, ...]
    revoked: AbstractSet[str] = NO_MARKS
    uncarded: AbstractSet[str] = NO_MARKS


class Questions:
    """About the calls under one grant."""

    def __init__(self, grant: Grant) -> None:
        self._grant = grant

    def granted(self, function: str) -> Decision:
        """Whether the policies and tool cards let it be called at all, without an approval."""
        asked = self._asked(function, _NO_LIMITS, scope=None, schema_in=_ANY_PAYLOAD)
        held = msgspec.structs.replace(asked, uncarded=self._grant.uncarded)
        return decide(held, Request(function, {}), NOTHING_USED)

    def after(self, function: str, answered: frozenset[str]) -> Decision:
        """Whether the flow rules let it be called after these answers, without an approval."""
        bare = {"withheld": None, "scope": None, "schema_in": _ANY_PAYLOAD, "approve": None}
        asked = self._asked(function, _NO_LIMITS, **bare)
        usage = msgspec.structs.replace(NOTHING_USED, answered=answered)
        return decide(asked, Request(function, {}), usage)

    def within_limits(self, function: str, calls: int, cost: float) -> Decision:
        """Whether it may be the next call after `calls`, and all may cost `cost`."""
        bare = {"withheld": None, "scope": None, "schema_in": _ANY_PAYLOAD, "approve": None}
        asked = self._asked(function, self._grant.limits, flows=(), **bare)
        usage = Usage(calls=calls, in_flight=0, in_rate_windows=(), past_deadline=False, cost=cost)
        return decide(asked, Request(function, {}), usage)

    def with_payload(self, function: str, payload: Mapping[str, Any]) -> Decision:
        """Whether this payload is in the scope of all policies; its labels if it is."""
        bare = {"withheld": None, "schema_in": _ANY_PAYLOAD, "approve": None, "flows": ()}
        asked = self._asked(function, _NO_LIMITS, **bare)
        return decide(asked, Request(function, payload), NOTHING_USED)

    def _asked(self, function: str, limits: Limits, **changes: Any) -> _Asked:
        links = tuple(
            _Link(
                policy_id=link.policy_id,
                policy_sha256=link.policy_sha256,
                limits=limits if limits is _NO_LIMITS else link.limits,
                terms={function: _changed(link.terms[function], changes)},
            )
            for link in self._grant.links
        )
        own = links[-1]
        return _Asked(
            policy_id=own.policy_id,
            policy_sha256=own.policy_sha256,
            limits=limits,
            terms=own.terms,
            links=links,
        )


def _changed(terms: Any, changes: Mapping[str, Any]) -> BoundCapability:
    assert isinstance(terms, BoundCapability)
    return replace(terms, **changes)
