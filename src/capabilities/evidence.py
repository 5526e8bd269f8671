"""(8) What the broker leaves behind of each call of one execution: records, a summary, counts.

`record_decision` and `record_outcome` return when the record is durable and raise AuditError when
it is not; the broker, not this, sees to it that nothing happens without them.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Literal

from caps.capabilities.grant import Terms
from caps.capabilities.telemetry import UNREGISTERED, Metrics
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
        self.decisions: list[DecisionSummary] = []
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
        redactor = self._audit.redactor
        redacted = redactor.split(request.payload, terms.spec.shown if terms else ())
        key = request.idempotency_key
        verdict: Literal["allow", "deny"] = "allow" if decision.allowed else "deny"
        self._tell(request, decision, verdict, approval_id)
        await self._audit.append(
            DecisionMade(
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
            self._metrics.dry_run_denied.labels(self._label(request)).inc()
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
                **self._who,
                request_id=request.request_id,
                capability=request.capability,
                status=status,
                reason=reason,
                detail=detail,
                duration_us=duration_us,
                bytes_out=bytes_out,
            )
        )

    def count_request(self, request: CapabilityRequestMessage, outcome: str) -> None:
        self._metrics.requests.labels(self._label(request), outcome).inc()

    def count_denied(self, request: CapabilityRequestMessage, reason: str) -> None:
        self._metrics.denied.labels(self._label(request), reason).inc()

    def count_seconds(self, request: CapabilityRequestMessage, seconds: float) -> None:
        self._metrics.request_seconds.labels(self._label(request)).observe(seconds)

    def _label(self, request: CapabilityRequestMessage) -> str:
        # A name that a worker made up must not become a label.
        return request.capability if request.capability in self._registered else UNREGISTERED
