"""(8) The records of the calls of one execution, and the summary of its decisions.

A record is built once, in a step of `lifecycle.py`. The drivers of a call make it durable, and see
to it that nothing happens without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from msgspec.structs import replace

from caps.capabilities.artifacts import ArtifactStore
from caps.capabilities.broker.outcomes import Outcome
from caps.capabilities.grant import BoundCapability
from caps.capabilities.telemetry.metrics import Metrics
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.records import DecisionMade, OutcomeRecorded
from caps.security.audit.model.redaction import Redactor
from caps.security.decision import Decision
from caps.security.policies.flow_rules import labels_in

if TYPE_CHECKING:
    from caps.capabilities.broker.lifecycle import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSummary:
    """One decision as the result of an execution lists it."""

    request_id: str
    capability: str
    decision: str
    reason: str
    rule: str | None
    message: str
    approval: str | None = None
    dry_run_rule: str | None = None


def _summary(
    request_id: str, capability: str, decision: Decision, approval_id: str | None
) -> DecisionSummary:
    return DecisionSummary(
        request_id=request_id,
        capability=capability,
        decision="allow" if decision.allowed else "deny",
        reason=decision.reason._value_,
        rule=decision.rule,
        message=decision.message,
        approval=approval_id,
        dry_run_rule=decision.dry_run_rule,
    )


def redacted_error(redactor: Redactor, kind: str, text: str | None) -> str:
    """What a record has of an error: its class, and the digest of its text."""
    return kind if not text else f"{kind}: {redactor.digest(text)}"


def hashed(
    redactor: Redactor, request: CapabilityRequestMessage, bound: BoundCapability | None
) -> CapabilityRequestMessage:
    """`request` with its payload hashed, so that its record takes no time."""
    shown = bound.spec.shown if bound else ()
    return replace(request, payload=redactor.hashed(request.payload, shown))


class CallEvidence:
    """Of one execution."""

    def __init__(
        self,
        redactor: Redactor,
        metrics: Metrics,
        who: dict[str, Any],
        on_decision: Callable[[DecisionSummary], None] | None,
        artifacts: ArtifactStore,
    ) -> None:
        """`who` is part of every record; `on_decision` is called with each decision; the records
        name the `artifacts` that a call handed out."""
        # Formatted only when it is asked for: most executions never ask while they run.
        self._decisions: list[tuple[str, str, Decision, str | None]] = []
        self._redactor = redactor
        self._metrics = metrics
        self._who = who
        self._on_decision = on_decision
        self._artifacts = artifacts

    def add_allowed(self, request: CapabilityRequestMessage, decision: Decision) -> None:
        """A prepared call was allowed and is over: its decision joins the summary."""
        self._decisions.append((request.request_id, request.capability, decision, None))

    def decision_record(self, call: Call) -> DecisionMade:
        """The record of the decision of `call`, which joins the summary; notifies the listener."""
        request, decision, bound = call.request, call.decision, call.bound
        redacted = self._redactor.split(request.payload, bound.spec.shown if bound else ())
        key = request.idempotency_key
        verdict: Literal["allow", "deny"] = "allow" if decision.allowed else "deny"
        record = DecisionMade(
            **self._who_calls(call),
            request_id=request.request_id,
            capability=request.capability,
            decision=verdict,
            reason=decision.reason._value_,  # `value` is a property, written in Python
            rule=decision.rule,
            message=decision.message,
            nearest=decision.nearest,
            policy_id=decision.policy_id,
            policy_sha256=decision.policy_sha256,
            args_hmac=redacted.args_hmac,
            shown=redacted.shown,
            hidden=redacted.hidden,
            idempotency_key_hmac=None if key is None else self._redactor.digest(key),
            approval=call.approval_id,
            dry_run_rule=decision.dry_run_rule,
            dry_run_policy=decision.dry_run_policy,
            labels=list(labels_in(call.answered)),
            parent=None if call.parent is None else call.parent.request_id,
        )
        call.observation.decided(record)
        self._notify(call)
        return record

    def outcome_record(self, call: Call, outcome: Outcome, duration_us: int) -> OutcomeRecorded:
        """The record of how `call` ended. The text of an error is redacted as arguments are."""
        detail = outcome.detail
        if detail is not None:
            detail = redacted_error(self._redactor, detail, outcome.error_text)
        return OutcomeRecorded(
            **self._who_calls(call),
            request_id=call.request.request_id,
            capability=call.request.capability,
            status=outcome.status,
            reason=outcome.reason,
            detail=detail,
            duration_us=duration_us,
            bytes_out=outcome.bytes_out if call.items is None else call.items.size,
            items=None if call.items is None else call.items.count,
            labels=list(labels_in(call.labels)),
            artifacts=self._artifacts.records_of(call.request.request_id),
        )

    @property
    def decisions(self) -> list[DecisionSummary]:
        """All decisions so far."""
        return [_summary(*decision) for decision in self._decisions]

    def count_denied(self, call: Call, reason: str) -> None:
        self._metrics.denied.add((call.observation.label, reason))

    def _notify(self, call: Call) -> None:
        request, decision = call.request, call.decision
        self._decisions.append((request.request_id, request.capability, decision, call.approval_id))
        if decision.dry_run_rule is not None:
            self._metrics.dry_run_denied.add((call.observation.label,))
        if self._on_decision is not None:
            self._on_decision(_summary(*self._decisions[-1]))

    def _who_calls(self, call: Call) -> dict[str, Any]:
        """`who`, with the span of the call itself if it has one."""
        ids = call.observation.ids
        return {**self._who, **ids} if ids else self._who
