"""(6) Approvals in the broker: calls wait here for a person, and standing approvals are kept here.

A standing approval allows N calls of one capability until it expires, for one channel (an execution
or its session) or for one principal under the same terms of the same policies. A call that it
covers uses up one of its calls immediately. Any other call waits until it is answered, until the
answer to another call covers it, until it times out, or until its execution ends. Every step is in
the audit log before it has an effect: a call is refused if there is nobody to ask, or if the answer
cannot be recorded.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import msgspec

from caps.capabilities.broker.invoke import is_from_host
from caps.capabilities.grant import BoundCapability, Grant
from caps.capabilities.telemetry import Metrics
from caps.security.approvals.model import (
    MAX_SHOWN_CHARACTERS,
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalScope,
    Approver,
    checked_answer,
    new_approval_id,
)
from caps.security.audit.log.interface import AuditSink, UndeliveredError
from caps.security.audit.model.records import (
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    ShownValue,
)
from caps.security.audit.model.redaction import Redacted
from caps.security.audit.model.sanitize import json_safe
from caps.security.decision import Decision
from caps.security.request import ApprovalUse

# Approving a cut argument would approve whatever follows the cut.
_TOO_LONG = ApprovalAnswer(
    allowed=False,
    by="(host)",
    reason="the shown arguments are too long to be shown whole, so nobody was asked",
)

logger = logging.getLogger(__name__)

_StandingKey = tuple[ApprovalScope, str, str, str, tuple[tuple[str, ...], ...]]


class ApprovalCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that needs an approval, and its caller."""

    who: dict[str, Any]
    """The identity, as in every record of the execution."""
    channel_id: str
    request_id: str
    grant: Grant
    terms: BoundCapability
    decision: Decision
    """Which rule of which policy wants the approval."""
    redacted: Redacted
    rules: tuple[tuple[str, ...], ...]
    """For each policy, the rules that ask. An approval stands only for calls that the same rules
    ask about: what is read between two calls may make another rule ask."""

    @property
    def keys(self) -> dict[ApprovalScope, _StandingKey]:
        """The keys of standing approvals that can cover this call, the narrowest first."""
        # Not only the policy's digest: relative paths in its scopes depend on where its file is.
        what = (self.grant.terms_sha256, self.terms.name, self.rules)
        return {
            ApprovalScope.EXECUTION: (ApprovalScope.EXECUTION, self.channel_id, *what),
            ApprovalScope.PRINCIPAL: (ApprovalScope.PRINCIPAL, self.who["principal"], *what),
        }


class ApprovalResult(msgspec.Struct, frozen=True):
    """The outcome, and the approval that covers the call if one does."""

    use: ApprovalUse
    approval_id: str | None = None


class _StandingApproval(msgspec.Struct):
    approval_id: str
    calls_left: int | None
    until: float | None

    def is_over(self, now: float) -> bool:
        return self.calls_left == 0 or (self.until is not None and now >= self.until)


class _PendingApproval(msgspec.Struct, eq=False):
    """A call that waits for its own answer, or for the answer to another call that covers it."""

    call: ApprovalCall
    changed: anyio.Event = msgspec.field(default_factory=anyio.Event)
    answer: ApprovalAnswer | None = None
    covered_by: str | None = None


class ApprovalQueue:
    """The approvals of one runtime; standing approvals end with it."""

    def __init__(
        self,
        audit: AuditSink,
        metrics: Metrics,
        approver: Approver | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without an `approver` there is nobody to ask, and a call that needs one is refused.

        `clock` measures the duration of standing approvals, in seconds.
        """
        self._clock = clock
        self._audit = audit
        self._metrics = metrics
        self._approver = approver
        self._standing: dict[_StandingKey, list[_StandingApproval]] = {}
        self._pending: list[_PendingApproval] = []

    def take(self, call: ApprovalCall) -> str | None:
        """Use up one call of a standing approval that covers this one; the approval's id."""
        for key in call.keys.values():
            found = [one for one in self._standing.pop(key, []) if not one.is_over(self._clock())]
            if not found:
                continue
            self._standing[key] = found
            if found[0].calls_left is not None:
                found[0].calls_left -= 1
            return found[0].approval_id
        return None

    def forget(self, channel_id: str) -> None:
        """Drop the standing approvals of an execution or session that is over."""
        over = [key for key in self._standing if key[:2] == (ApprovalScope.EXECUTION, channel_id)]
        for key in over:
            del self._standing[key]

    async def ask(self, call: ApprovalCall, timeout_ms: int) -> ApprovalResult:
        """Wait for an answer, at most `timeout_ms`. AuditError if it cannot be recorded."""
        if self._approver is None:
            return ApprovalResult(ApprovalUse.NONE)
        if timeout_ms <= 0:
            return ApprovalResult(ApprovalUse.TIMED_OUT)  # earlier calls used up the waiting time
        request, event = _build_request(call, timeout_ms)
        pending = _PendingApproval(call)
        self._pending.append(pending)
        self._metrics.approvals_waiting.add(1)
        try:
            with anyio.CancelScope(shield=True):
                await self._audit.append(event)
            if request is None:
                pending.answer = _TOO_LONG
            else:
                with anyio.move_on_after(timeout_ms / 1000):
                    await self._wait_for_answer(self._approver, pending, request)
        except (anyio.get_cancelled_exc_class(), UndeliveredError):
            # What was asked for on record is settled there.
            await self._record(call, event.approval, ApprovalOutcome.WITHDRAWN)
            raise
        finally:
            self._pending.remove(pending)
            self._metrics.approvals_waiting.add(-1)
        return await self._settle(pending, event.approval)

    async def _wait_for_answer(
        self, approver: Approver, pending: _PendingApproval, request: ApprovalRequest
    ) -> None:
        async with anyio.create_task_group() as asking:
            asking.start_soon(_ask_approver, approver, request, pending)
            await pending.changed.wait()
            asking.cancel_scope.cancel()

    async def _settle(self, pending: _PendingApproval, approval_id: str) -> ApprovalResult:
        call, answer = pending.call, pending.answer
        if pending.covered_by is not None:
            note = f"covered by approval {pending.covered_by}"
            await self._record(call, approval_id, ApprovalOutcome.WITHDRAWN, note=note)
            return ApprovalResult(ApprovalUse.GIVEN, pending.covered_by)
        if answer is None:
            await self._record(call, approval_id, ApprovalOutcome.TIMED_OUT)
            return ApprovalResult(ApprovalUse.TIMED_OUT)
        fields = {"by": answer.by, "note": answer.reason}
        if answer.allowed is not True:
            await self._record(call, approval_id, ApprovalOutcome.DENIED, **fields)
            return ApprovalResult(ApprovalUse.DENIED)
        await self._record(
            call,
            approval_id,
            ApprovalOutcome.GIVEN,
            **fields,
            calls=answer.calls_covered,
            seconds=answer.seconds,
            reach=answer.reach.value,
        )
        self._add_standing(call, approval_id, answer)
        return ApprovalResult(ApprovalUse.GIVEN, approval_id)

    def _add_standing(self, call: ApprovalCall, approval_id: str, answer: ApprovalAnswer) -> None:
        """Keep what the answer covers beyond the call in question, and use it for waiting calls."""
        calls = answer.calls_covered
        until = None if answer.seconds is None else self._clock() + answer.seconds
        standing = _StandingApproval(approval_id, None if calls is None else calls - 1, until)
        if standing.is_over(self._clock()):
            return
        self._standing.setdefault(call.keys[answer.reach], []).append(standing)
        for pending in self._pending:
            if not pending.changed.is_set():
                pending.covered_by = self.take(pending.call)
                if pending.covered_by is not None:
                    pending.changed.set()

    async def _record(
        self, call: ApprovalCall, approval_id: str, outcome: ApprovalOutcome, **fields: Any
    ) -> None:
        self._metrics.approvals.add((call.terms.name, outcome.value))
        settled = ApprovalSettled(
            **call.who,
            approval=approval_id,
            request_id=call.request_id,
            capability=call.terms.name,
            outcome=outcome,
            **fields,
        )
        with anyio.CancelScope(shield=True):
            await self._audit.append(settled)


async def _ask_approver(
    approver: Approver, request: ApprovalRequest, pending: _PendingApproval
) -> None:
    """Ask the approver. If it fails, or does not answer with a valid answer, that is a denial."""
    try:
        pending.answer = checked_answer(await _given_answer(approver, request))
    except BaseException as error:
        if is_from_host(error):
            raise
        logger.exception(
            "the approval of `%s` could not be asked for; the call is denied", request.capability
        )
        reason = f"the approver failed: {type(error).__name__}"
        pending.answer = ApprovalAnswer(allowed=False, by="(host)", reason=reason)
    pending.changed.set()


async def _given_answer(approver: Approver, request: ApprovalRequest) -> object:
    """What the approver returned. A coroutine that it did not await is closed."""
    answer: object = await approver(request)
    if inspect.iscoroutine(answer):
        answer.close()
    return answer


def _full_arguments(shown: Mapping[str, ShownValue]) -> dict[str, ShownValue] | None:
    """The shown arguments, uncut, as JSON-safe values; None if they are too long."""
    found = {
        name: value
        if value is None or isinstance(value, bool)
        else json_safe(value, MAX_SHOWN_CHARACTERS)
        for name, value in shown.items()
    }
    length = sum(len(value) for value in found.values() if isinstance(value, str))
    return found if length <= MAX_SHOWN_CHARACTERS else None


def _build_request(
    call: ApprovalCall, timeout_ms: int
) -> tuple[ApprovalRequest | None, ApprovalRequested]:
    """The request for the approver and the audit event; None: too long for a person to judge."""
    now, decision, terms = datetime.now(UTC), call.decision, call.terms
    assert decision.rule is not None  # `decide` requires an approval only with such a rule
    what: dict[str, Any] = {
        "request_id": call.request_id,
        "capability": terms.name,
        "rule": decision.rule,
        "policy_id": decision.policy_id,
        "policy_sha256": decision.policy_sha256,
    }
    approval_id = new_approval_id()
    event = ApprovalRequested(
        **call.who,
        **what,
        approval=approval_id,
        args_hmac=call.redacted.args_hmac,
        shown=call.redacted.shown,
        hidden=call.redacted.hidden,
        timeout_ms=timeout_ms,
    )
    shown = _full_arguments(call.redacted.shown)
    if shown is None:
        return None, event
    who = {name: call.who[name] for name in ("execution_id", "principal", "agent", "session")}
    request = ApprovalRequest(
        **who,
        **what,
        id=approval_id,
        title=terms.spec.title,
        shown=shown,
        hidden=sorted(call.redacted.hidden),
        asked_at=now.isoformat(timespec="seconds"),
        expires_at=(now + timedelta(milliseconds=timeout_ms)).isoformat(timespec="seconds"),
    )
    return request, event
