"""(8) What the broker leaves behind of each call of one execution: records, a summary, counts.

`record_decision` and `record_outcome` return when the record is durable and raise AuditError when
it is not; the broker, not this, sees to it that nothing happens without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from caps.capabilities.grant import Terms
from caps.capabilities.telemetry.calls import ObservedCalls
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.log import AuditSink
from caps.security.audit.records import CallStatus, DecisionMade, OutcomeRecorded
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


class CallEvidence:
    """Of one execution, whose calls are `observed` as well."""

    def __init__(
        self,
        audit: AuditSink,
        observed: ObservedCalls,
        who: dict[str, Any],
        on_decision: Callable[[DecisionSummary], None] | None,
    ) -> None:
        """`who` is said in every record; `on_decision` hears of each decision as it is made."""
        self.decisions: list[DecisionSummary] = []
        self._audit = audit
        self._observed = observed
        self._who = who
        self._on_decision = on_decision

    async def record_decision(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms | None,
        approval_id: str | None = None,
    ) -> None:
        redactor = self._audit.redactor
        redacted = redactor.split(request.payload, terms.spec.shown if terms else ())
        key = request.idempotency_key
        verdict: Literal["allow", "deny"] = "allow" if decision.allowed else "deny"
        self._observed.of(request).decided(decision, redacted)
        self._tell(request, decision, verdict, approval_id)
        await self._audit.append(
            DecisionMade(
                **self._who_calls(request),
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
        )

    def _tell(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        verdict: str,
        approval_id: str | None,
    ) -> None:
        summary = DecisionSummary(
            request_id=request.request_id,
            capability=request.capability,
            decision=verdict,
            reason=decision.reason.value,
            rule=decision.rule,
            message=decision.message,
            approval=approval_id,
            dry_run_rule=decision.dry_run_rule,
        )
        self.decisions.append(summary)
        if decision.dry_run_rule is not None:
            metrics = self._observed.metrics
            metrics.dry_run_denied.labels(self._observed.of(request).label).inc()
        if self._on_decision is not None:
            self._on_decision(summary)

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
            OutcomeRecorded(
                **self._who_calls(request),
                request_id=request.request_id,
                capability=request.capability,
                status=status,
                reason=reason,
                detail=detail,
                duration_us=duration_us,
                bytes_out=bytes_out,
            )
        )

    def count_denied(self, request: CapabilityRequestMessage, reason: str) -> None:
        metrics = self._observed.metrics
        metrics.child(metrics.denied, self._observed.of(request).label, reason).inc()

    def _who_calls(self, request: CapabilityRequestMessage) -> dict[str, Any]:
        """`who`, with the span of the call itself where there is one."""
        ids = self._observed.of(request).ids
        return {**self._who, **ids} if ids else self._who
