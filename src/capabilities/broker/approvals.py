"""(6) The approval desk: calls wait here for a person, and answers are counted here.

What was approved is a *cover*: so many calls of one capability, for so long, for one channel (an
execution or its session) or for one principal under the same terms of a policy. A call that a cover
is there for takes one of its calls at once; any other is parked until it is answered, covered by
the answer to another, out of time, or ended with its execution. Every step of that is in the audit
log before it has a consequence: who asks nobody, or cannot say what was answered, is refused.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import msgspec

from caps.capabilities.grant import Grant, Terms
from caps.capabilities.telemetry import Metrics
from caps.protocol.errors import ConfigurationError
from caps.security.approvals.model import (
    MAX_SHOWN_CHARACTERS,
    ApprovalAnswer,
    ApprovalRequest,
    Approver,
    Reach,
    new_approval_id,
)
from caps.security.approvals.directory import ApprovalStore, default_approvals_directory
from caps.security.audit.model.sanitize import legible_value
from caps.security.audit.model.records import (
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    ShownValue,
)
from caps.security.audit.model.redaction import Redacted
from caps.security.audit.log.interface import AuditSink
from caps.security.decision import ApprovalUse

_LOOK_SECONDS = 0.2

# To approve of the start of an argument would be to approve of whatever follows it.
_TOO_LONG = ApprovalAnswer(
    allowed=False,
    by="(host)",
    reason="the shown arguments are too long to be shown whole, so nobody was asked",
)

logger = logging.getLogger(__name__)

CoverKey = tuple[Reach, str, str, str]


class AskedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that needs an approval, and who makes it."""

    who: dict[str, Any]
    """As every record of the execution says it."""
    channel_id: str
    request_id: str
    grant: Grant
    terms: Terms
    redacted: Redacted

    @property
    def keys(self) -> dict[Reach, CoverKey]:
        """What a cover for this call may be filed under, the narrowest first."""
        # Not the policy's digest alone: relative paths in its scopes start where its file is.
        name, sha256 = self.terms.name, self.grant.terms_sha256
        return {
            Reach.EXECUTION: (Reach.EXECUTION, self.channel_id, sha256, name),
            Reach.PRINCIPAL: (Reach.PRINCIPAL, self.who["principal"], sha256, name),
        }


class Settled(msgspec.Struct, frozen=True):
    """What came of it, and the approval that covers the call if one does."""

    use: ApprovalUse
    approval_id: str | None = None


class _Cover(msgspec.Struct):
    approval_id: str
    calls_left: int | None
    until: float | None

    def is_over(self, now: float) -> bool:
        return self.calls_left == 0 or (self.until is not None and now >= self.until)


class _Parked(msgspec.Struct, eq=False):
    """A call that waits: for its own answer, or for a cover that another's brings."""

    call: AskedCall
    changed: anyio.Event = msgspec.field(default_factory=anyio.Event)
    answer: ApprovalAnswer | None = None
    covered_by: str | None = None


class ApprovalDesk:
    """One for each runtime; its covers end with it."""

    def __init__(
        self,
        audit: AuditSink,
        metrics: Metrics,
        approver: Approver | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without an `approver` there is nobody to ask, and what needs an approval is refused.

        Spans of time are counted by `clock`, in seconds.
        """
        self._clock = clock
        self._audit = audit
        self._metrics = metrics
        self._approver = approver
        self._covers: dict[CoverKey, list[_Cover]] = {}
        self._parked: list[_Parked] = []

    def take(self, call: AskedCall) -> str | None:
        """One call of a cover, if there is one for this; the id of its approval."""
        for key in call.keys.values():
            covers = [c for c in self._covers.pop(key, []) if not c.is_over(self._clock())]
            if not covers:
                continue
            self._covers[key] = covers
            if covers[0].calls_left is not None:
                covers[0].calls_left -= 1
            return covers[0].approval_id
        return None

    def forget(self, channel_id: str) -> None:
        """An execution or session is over, and what was approved for it with it."""
        gone = [key for key in self._covers if key[:2] == (Reach.EXECUTION, channel_id)]
        for key in gone:
            del self._covers[key]

    async def ask(self, call: AskedCall, timeout_ms: int) -> Settled:
        """Wait for an answer, at most so long. Raises AuditError: there is no evidence of it."""
        if self._approver is None:
            return Settled(ApprovalUse.NONE)
        if timeout_ms <= 0:
            return Settled(ApprovalUse.TIMED_OUT)  # its waiting was used up by calls before
        request, event = _asked(call, timeout_ms)
        await self._audit.append(event)
        parked = _Parked(call)
        if request is None:
            parked.answer = _TOO_LONG
            return await self._settle(parked, event.approval)
        self._parked.append(parked)
        self._metrics.approvals_waiting.add(1)
        try:
            with anyio.move_on_after(timeout_ms / 1000):
                await self._until_settled(self._approver, parked, request)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._record(call, request.id, ApprovalOutcome.WITHDRAWN)
            raise
        finally:
            self._parked.remove(parked)
            self._metrics.approvals_waiting.add(-1)
        return await self._settle(parked, request.id)

    async def _until_settled(
        self, approver: Approver, parked: _Parked, request: ApprovalRequest
    ) -> None:
        async with anyio.create_task_group() as asking:
            asking.start_soon(_put_to, approver, request, parked)
            await parked.changed.wait()
            asking.cancel_scope.cancel()

    async def _settle(self, parked: _Parked, approval_id: str) -> Settled:
        call, answer = parked.call, parked.answer
        if parked.covered_by is not None:
            note = f"covered by approval {parked.covered_by}"
            await self._record(call, approval_id, ApprovalOutcome.WITHDRAWN, note=note)
            return Settled(ApprovalUse.GIVEN, parked.covered_by)
        if answer is None:
            await self._record(call, approval_id, ApprovalOutcome.TIMED_OUT)
            return Settled(ApprovalUse.TIMED_OUT)
        said = {"by": answer.by, "note": answer.reason}
        if not answer.allowed:
            await self._record(call, approval_id, ApprovalOutcome.DENIED, **said)
            return Settled(ApprovalUse.DENIED)
        await self._record(
            call,
            approval_id,
            ApprovalOutcome.GIVEN,
            **said,
            calls=answer.calls_covered,
            seconds=answer.seconds,
            reach=answer.reach.value,
        )
        self._cover(call, approval_id, answer)
        return Settled(ApprovalUse.GIVEN, approval_id)

    def _cover(self, call: AskedCall, approval_id: str, answer: ApprovalAnswer) -> None:
        """Put into force what the answer covers beyond the call that was asked about."""
        calls = answer.calls_covered
        until = None if answer.seconds is None else self._clock() + answer.seconds
        cover = _Cover(approval_id, None if calls is None else calls - 1, until)
        if cover.is_over(self._clock()):
            return
        self._covers.setdefault(call.keys[answer.reach], []).append(cover)
        for parked in self._parked:
            if not parked.changed.is_set():
                parked.covered_by = self.take(parked.call)
                if parked.covered_by is not None:
                    parked.changed.set()

    async def _record(
        self, call: AskedCall, approval_id: str, outcome: ApprovalOutcome, **said: Any
    ) -> None:
        self._metrics.approvals.add((call.terms.name, outcome.value))
        await self._audit.append(
            ApprovalSettled(
                **call.who,
                approval=approval_id,
                request_id=call.request_id,
                capability=call.terms.name,
                outcome=outcome,
                **said,
            )
        )


async def _put_to(approver: Approver, request: ApprovalRequest, parked: _Parked) -> None:
    """Ask; an approver that fails has denied."""
    try:
        answer = await approver(request)
        if not isinstance(answer, ApprovalAnswer):
            raise TypeError("an approver answers with an `ApprovalAnswer`")
        parked.answer = answer
    except Exception as error:
        logger.exception("the approval of `%s` could not be asked for", request.capability)
        reason = f"the approver failed: {type(error).__name__}"
        parked.answer = ApprovalAnswer(allowed=False, by="(host)", reason=reason)
    parked.changed.set()


def _uncut(shown: Mapping[str, ShownValue]) -> dict[str, ShownValue] | None:
    """What is shown, whole, in what JSON can carry; None if that is too long."""
    found = {
        name: value
        if value is None or isinstance(value, bool)
        else legible_value(value, MAX_SHOWN_CHARACTERS)
        for name, value in shown.items()
    }
    length = sum(len(value) for value in found.values() if isinstance(value, str))
    return found if length <= MAX_SHOWN_CHARACTERS else None


def _asked(call: AskedCall, timeout_ms: int) -> tuple[ApprovalRequest | None, ApprovalRequested]:
    """What is put to the approver and what is recorded; None: too long for anybody to judge."""
    now, grant, terms = datetime.now(UTC), call.grant, call.terms
    assert terms.approve is not None  # `decide` asked for an approval
    what = {
        "request_id": call.request_id,
        "capability": terms.name,
        "rule": terms.approve,
        "policy_id": grant.policy_id,
        "policy_sha256": grant.policy_sha256,
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
    shown = _uncut(call.redacted.shown)
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


class DirectoryApprover:
    """Asks through a directory, which `caps approvals` answers from another process."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        announce: Callable[[ApprovalRequest], None] | None = None,
    ) -> None:
        """By default in the directory that CAPS_APPROVALS_PATH names when a call begins to wait,
        of which `announce` is told."""
        self._directory = directory
        self._announce = announce

    @property
    def directory(self) -> Path:
        """Where it asks."""
        return self._directory or default_approvals_directory()

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Raises ConfigurationError: the directory is of no use."""
        directory = self.directory
        with ApprovalStore.open(directory, make=True) as store:
            try:
                with store.posted(request):
                    if self._announce is not None:
                        self._announce(request)
                    # Another process answers; there is no event to wait for.
                    while (answer := store.answer_to(request.id)) is None:  # noqa: ASYNC110
                        await anyio.sleep(_LOOK_SECONDS)
                    return answer
            except OSError as error:
                raise ConfigurationError(
                    f"approvals directory `{directory}` cannot be used: {error.strerror}"
                ) from error
