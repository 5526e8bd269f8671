"""(8) What the broker leaves behind of each call of one execution: records, a summary, counts.

`record_decision` and `record_outcome` return when the record is durable and raise AuditError when
it is not; the broker, not this, sees to it that nothing happens without them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from caps.capabilities.grant import Terms
from caps.capabilities.telemetry import UNREGISTERED, Metrics
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.log import AuditSink, append_all
from caps.security.audit.records import AuditEvent, CallStatus, DecisionMade, OutcomeRecorded
from caps.security.decision import Decision


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
        reason=decision.reason.value,
        rule=decision.rule,
        message=decision.message,
        approval=approval_id,
        dry_run_rule=decision.dry_run_rule,
    )


class CallEvidence:
    """Of one execution. `registered` are the names that may become labels."""

    def __init__(
        self,
        audit: AuditSink,
        metrics: Metrics,
        who: dict[str, Any],
        registered: Container[str],
        on_decision: Callable[[DecisionSummary], None] | None,
    ) -> None:
        """`who` is said in every record; `on_decision` hears of each decision as it is made."""
        # Spelt out when somebody asks: most never do while the execution runs.
        self._told: list[tuple[str, str, Decision, str | None]] = []
        self._audit = audit
        self._metrics = metrics
        self._who = who
        self._registered = registered
        self._on_decision = on_decision

    async def record_decision(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms | None,
        approval_id: str | None = None,
    ) -> None:
        await self._audit.append(self.decided(request, decision, terms, approval_id))

    async def record_all(self, events: Sequence[AuditEvent]) -> None:
        """Returns when all are durable; nothing may come of any of them if this raises."""
        await append_all(self._audit, events)

    def decided(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms | None,
        approval_id: str | None = None,
    ) -> DecisionMade:
        """The record of a decision, which is told of to who listens."""
        redactor = self._audit.redactor
        redacted = redactor.split(request.payload, terms.spec.shown if terms else ())
        key = request.idempotency_key
        verdict: Literal["allow", "deny"] = "allow" if decision.allowed else "deny"
        self._tell(request, decision, approval_id)
        return DecisionMade(
            **self._who,
            request_id=request.request_id,
            capability=request.capability,
            decision=verdict,
            reason=decision.reason.value,
            rule=decision.rule,
            message=decision.message,
            nearest=decision.nearest,
            policy_id=decision.policy_id,
            policy_sha256=decision.policy_sha256,
            args_hmac=redacted.args_hmac,
            shown=redacted.shown,
            hidden=redacted.hidden,
            idempotency_key_hmac=None if key is None else redactor.digest(key),
            approval=approval_id,
            dry_run_rule=decision.dry_run_rule,
        )

    def _tell(
        self, request: CapabilityRequestMessage, decision: Decision, approval_id: str | None
    ) -> None:
        self._told.append((request.request_id, request.capability, decision, approval_id))
        if decision.dry_run_rule is not None:
            self._metrics.dry_run_denied.labels(self._label(request)).inc()
        if self._on_decision is not None:
            self._on_decision(_summary(*self._told[-1]))

    @property
    def decisions(self) -> list[DecisionSummary]:
        """What was decided so far."""
        return [_summary(*told) for told in self._told]

    async def record_outcome(
        self,
        request: CapabilityRequestMessage,
        status: CallStatus,
        reason: str | None,
        detail: str | None,
        duration_us: int,
        bytes_out: int,
    ) -> None:
        await self._audit.append(
            self.ended(request, status, reason, detail, duration_us, bytes_out)
        )

    def ended(
        self,
        request: CapabilityRequestMessage,
        status: CallStatus,
        reason: str | None,
        detail: str | None,
        duration_us: int,
        bytes_out: int,
    ) -> OutcomeRecorded:
        """The record of an outcome."""
        return OutcomeRecorded(
            **self._who,
            request_id=request.request_id,
            capability=request.capability,
            status=status,
            reason=reason,
            detail=detail,
            duration_us=duration_us,
            bytes_out=bytes_out,
        )

    def count_request(self, request: CapabilityRequestMessage, outcome: str) -> None:
        self._metrics.child(self._metrics.requests, self._label(request), outcome).inc()

    def count_denied(self, request: CapabilityRequestMessage, reason: str) -> None:
        self._metrics.child(self._metrics.denied, self._label(request), reason).inc()

    def count_seconds(self, request: CapabilityRequestMessage, seconds: float) -> None:
        self._metrics.child(self._metrics.request_seconds, self._label(request)).observe(seconds)

    def _label(self, request: CapabilityRequestMessage) -> str:
        # A name that a worker made up must not become a label.
        return request.capability if request.capability in self._registered else UNREGISTERED
