"""(6) What is prepared for the calls of one execution, when a capability is called first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from caps.capabilities.broker.batch import InlineBatch
from caps.capabilities.broker.invoke import runs_on_asyncio
from caps.capabilities.broker.prepared.calls import answer_one
from caps.capabilities.broker.prepared.records import RecordTexts, texts_for
from caps.capabilities.broker.prepared.together import PreparedBatch
from caps.capabilities.grant import BoundCapability
from caps.capabilities.provider import CallContext, without_suspending
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.redaction import is_simple_name
from caps.security.decision import Decision, decide
from caps.security.policies.flow_rules import NO_MARKS, labels_in, marks_of
from caps.security.request import NOTHING_USED, Request
from caps.security.scopes import Scope
from caps.security.terms import CapabilityTerms
from caps.worker.host.supervisor.interface import CallResponse, RequestBatch

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
    run: Callable[[CallContext, Mapping[str, Any]], Any]
    shown: Collection[str]
    hideable: frozenset[str]
    """The fields of its schema that are not shown, for `Redactor.hidden_text`."""
    on_asyncio: bool

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
        self._is_on = (
            broker.audit.takes_encoded
            and broker.level == 0
            and not broker.has_listener
            and not broker.telemetry.span.traced
        )
        self._on_asyncio = runs_on_asyncio()
        # By capability and labels; None: such calls are never prepared.
        self._ready: dict[tuple[str, tuple[str, ...]], PreparedCall | None] = {}
        # A flow state replaces its set when it changes, so the same object has the same labels.
        self._answered = NO_MARKS
        self._labels: tuple[str, ...] = ()

    def answer_one(
        self, request: CapabilityRequestMessage, keep: Callable[[RequestBatch], None]
    ) -> CallResponse | None:
        """The answer to a request that came alone; see `CallHandler.answer_one`."""
        call = self._find(request) if self._is_on else None
        if call is not None:
            return answer_one(self._broker, request, call, keep)
        keep(self._general((request,)))
        return None

    def begin(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        """A batch of these: a prepared one if all are prepared, or can be now."""
        pairs: list[tuple[CapabilityRequestMessage, PreparedCall]] = []
        for request in requests if self._is_on else ():
            call = self._find(request)
            if call is None:
                break
            pairs.append((request, call))
        if len(pairs) == len(requests):
            return PreparedBatch(self._broker, pairs)
        return self._general(requests)

    def _general(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        """In the lifecycle. A span is current in the task of its call: traced calls need one."""
        if self._broker.telemetry.span.traced:
            return RequestBatch(len(requests), self._broker.flow.answered)
        return InlineBatch(self._broker, requests)

    def _find(self, request: CapabilityRequestMessage) -> PreparedCall | None:
        answered = self._broker.flow.answered
        if answered is not self._answered:
            self._answered, self._labels = answered, labels_in(answered)
        key = (request.capability, self._labels)
        try:
            return self._ready[key]
        except KeyError:
            return self._prepare(request, self._labels)

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
            run=without_suspending(bound.provider),
            shown=bound.spec.shown,
            hideable=_hideable_fields(bound),
            on_asyncio=self._on_asyncio,
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


def _hideable_fields(bound: BoundCapability) -> frozenset[str]:
    named = bound.schema_in.schema.get("properties", {})
    return frozenset(filter(is_simple_name, named)) - frozenset(bound.spec.shown)


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
