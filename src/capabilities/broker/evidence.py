"""(8) What the broker leaves behind of each call of one execution: records, a summary, counts.

`record_decision` and `record_outcome` return when the record is durable and raise AuditError when
it is not; the broker, not this, sees to it that nothing happens without them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from caps.capabilities.grant import Terms
from caps.capabilities.telemetry.calls import ObservedCall, ObservedCalls
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.records import CallStatus, DecisionMade, OutcomeRecorded
from caps.security.audit.log.interface import Recorder
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
    """Of one execution, whose calls are `observed` as well."""

    def __init__(
        self,
        recorder: Recorder,
        observed: ObservedCalls,
        who: dict[str, Any],
        on_decision: Callable[[DecisionSummary], None] | None,
    ) -> None:
        """`who` is said in every record; `on_decision` hears of each decision as it is made."""
        # Spelt out when somebody asks: most never do while the execution runs.
        self._told: list[tuple[str, str, Decision, str | None]] = []
        self._record = recorder.record
        self._redactor = recorder.redactor
        self.record_all = recorder.record_all
        self.record_now = recorder.record_now
        self.recorded_when_interrupted = recorder.recorded_when_interrupted
        self._observed = observed
        self._who = who
        self._on_decision = on_decision

    def record_decision(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms | None,
        approval_id: str | None = None,
    ) -> Awaitable[None]:
        return self._record(self.decided(request, decision, terms, approval_id))

    def decided(
        self,
        request: CapabilityRequestMessage,
        decision: Decision,
        terms: Terms | None,
        approval_id: str | None = None,
    ) -> DecisionMade:
        """The record of a decision, which is told of to who listens."""
        redactor = self._redactor
        redacted = redactor.split(request.payload, terms.spec.shown if terms else ())
        key = request.idempotency_key
        verdict: Literal["allow", "deny"] = "allow" if decision.allowed else "deny"
        call = self._observed.of(request)
        call.decided(decision, redacted)
        self._tell(request, decision, approval_id)
        return DecisionMade(
            **self._who_calls(call),
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
            metrics = self._observed.metrics
            metrics.dry_run_denied.add((self._observed.of(request).label,))
        if self._on_decision is not None:
            self._on_decision(_summary(*self._told[-1]))

    @property
    def decisions(self) -> list[DecisionSummary]:
        """What was decided so far."""
        return [_summary(*told) for told in self._told]

    def record_outcome(
        self,
        request: CapabilityRequestMessage,
        status: CallStatus,
        reason: str | None,
        detail: str | None,
        duration_us: int,
        bytes_out: int,
    ) -> Awaitable[None]:
        return self._record(self.ended(request, status, reason, detail, duration_us, bytes_out))

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
            **self._who_calls(self._observed.of(request)),
            request_id=request.request_id,
            capability=request.capability,
            status=status,
            reason=reason,
            detail=detail,
            duration_us=duration_us,
            bytes_out=bytes_out,
        )

    def count_denied(self, request: CapabilityRequestMessage, reason: str) -> None:
        self._observed.metrics.denied.add((self._observed.of(request).label, reason))

    def _who_calls(self, call: ObservedCall) -> dict[str, Any]:
        """`who`, with the span of the call itself where there is one."""
        ids = call.ids
        return {**self._who, **ids} if ids else self._who
