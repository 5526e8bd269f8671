"""(6) What is prepared for the calls of one execution, when a capability is called first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from caps.capabilities.broker.prepared.calls import PreparedBatch
from caps.capabilities.broker.prepared.records import RecordTexts, texts_for
from caps.capabilities.grant import BoundCapability
from caps.capabilities.provider import CallContext
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.decision import Decision, decide
from caps.security.policies.flow_rules import NO_MARKS, labels_in, marks_of
from caps.security.request import NOTHING_USED, Request
from caps.security.scopes import Scope
from caps.security.terms import CapabilityTerms

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker


class PreparedCall(msgspec.Struct, frozen=True, gc=False):
    """What all allowed calls of one capability have in common, once the same labels were answered.

    Their decision is the same, because it depends on the policies and on these labels alone.
    """

    bound: BoundCapability
    decision: Decision
    texts: RecordTexts
    context: CallContext
    """The context of its provider, but for the request and what was answered."""
    fits_schema: Callable[[Any], bool]
    scopes: tuple[Scope, ...]
    function: str
    marks: frozenset[str]

    def fits_scopes(self, payload: Mapping[str, Any]) -> bool:
        """Whether all scopes allow `payload`, and none labels the answer."""
        for scope in self.scopes:
            if scope.violation(self.function, payload) is not None:
                return False
            if scope.labels_for(self.function, payload) != NO_MARKS:
                return False
        return True


class PreparedCalls:
    """Those of one execution."""

    def __init__(self, broker: ExecutionBroker) -> None:
        self._broker = broker
        self._is_on = broker.audit.takes_encoded and broker.level == 0 and not broker.has_listener
        # By capability and labels; None: such calls are never prepared.
        self._ready: dict[tuple[str, tuple[str, ...]], PreparedCall | None] = {}
        # A flow state replaces its set when it changes, so the same object has the same labels.
        self._answered = NO_MARKS
        self._labels: tuple[str, ...] = ()

    def begin(self, requests: Sequence[CapabilityRequestMessage]) -> PreparedBatch | None:
        """A batch of these, if all are prepared, or can be now."""
        if not self._is_on:
            return None
        answered = self._broker.flow.answered
        if answered is not self._answered:
            self._answered, self._labels = answered, labels_in(answered)
        ready, labels = self._ready, self._labels
        pairs: list[tuple[CapabilityRequestMessage, PreparedCall]] = []
        for request in requests:
            key = (request.capability, labels)
            call = ready[key] if key in ready else self._prepare(request, labels)
            if call is None:
                return None
            pairs.append((request, call))
        return PreparedBatch(self._broker, pairs)

    def _prepare(
        self, request: CapabilityRequestMessage, labels: tuple[str, ...]
    ) -> PreparedCall | None:
        broker, grant = self._broker, self._broker.grant
        bound = grant.terms.get(request.capability)
        if bound is None:  # there is no end of names that code can ask for
            return None
        linked = [link.terms[bound.name] for link in grant.links]
        key = (bound.name, labels)
        if not self._is_plain(bound, linked):
            self._ready[key] = None
            return None
        decision = decide(grant, Request(bound.name, request.payload), NOTHING_USED)
        if not decision.allowed:  # the next call may be
            return None
        texts = texts_for(broker.who, bound.name, decision, labels)
        if texts is None or decision.labels:
            self._ready[key] = None
            return None
        found = self._ready[key] = PreparedCall(
            bound=bound,
            decision=decision,
            texts=texts,
            context=_context(broker, bound),
            fits_schema=bound.schema_in.fits,
            scopes=tuple(one.scope for one in linked if one.scope is not None),
            function=bound.name.partition(".")[2],
            marks=marks_of(bound.name),
        )
        return found

    def _is_plain(self, bound: BoundCapability, linked: Sequence[CapabilityTerms]) -> bool:
        """Whether nothing but the rules of `calls.py` decides about its calls."""
        grant = self._broker.grant
        return (
            bound.inline
            and bound.name not in grant.chain.rated
            and bound.name not in grant.costs
            and not any(one.flows or one.approve or one.dry_run or one.labels for one in linked)
        )


def _context(broker: ExecutionBroker, bound: BoundCapability) -> CallContext:
    own = bound.spec.timeout_ms
    default = broker.default_timeout_ms
    return CallContext(
        **broker.caller,
        request_id="",
        capability=bound.name,
        scope=bound.scope,
        timeout_ms=default if own is None else min(own, default),
        artifacts=broker.artifacts,
        host=broker.host,
    )
