"""(6) Calls whose providers never wait: answered together, without a task or a deadline for each.

What a worker sent in one go (a `gather`, or a single call) goes the way of the broker, all of it
step by step:

    decide each -> audit the decisions -> call each provider -> audit the outcomes -> answer all

so that a hundred calls cost two writes of the log. What the broker holds on every path holds here:
no provider is called unless the decision allows it and the records of all decisions are durable;
no answer is given unless all outcomes are durable; what is revoked in between, or would begin after
the end of the execution's time, is not begun. A batch that takes long gives way to others now and
then. A call that may have to wait for anything (a person, an earlier call with its key, its
provider) is none of these.

The steps are a generator, which does everything but write: it leaves in `_due` what must be durable
before it may go on, where an interrupt of the host finds it, too. Where the log takes that without
waiting, all of it happens in one step of the event loop (`advance`); else a task sees to the rest
(`finish`).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import msgspec

from caps.capabilities.broker.invoke import Outcome, call_at_once, failure_answer
from caps.capabilities.grant import Terms
from caps.capabilities.telemetry.calls import ObservedCall
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.records import AuditEvent, CallStatus, OutcomeRecorded
from caps.security.decision import Decision, error_for
from caps.worker.host.supervisor.interface import Answer, TakenUp

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker


# For so long the calls of one batch may keep the event loop to themselves.
_TURN_SECONDS: Final = 0.02


class _GivenUpError(BaseException):
    """Tells the steps that nobody goes on with them; not every backend lets others cancel."""


class _Call(msgspec.Struct):
    """One of them on its way."""

    request: CapabilityRequestMessage
    terms: Terms
    decision: Decision
    observed: ObservedCall
    outcome: Outcome | None = None
    answer: Answer | None = None


class CallsAtOnce(TakenUp):
    """Those of `requests` that are such calls."""

    def __init__(
        self, broker: ExecutionBroker, requests: Sequence[CapabilityRequestMessage]
    ) -> None:
        super().__init__(len(requests))
        self._broker = broker
        self._places = [_begin(broker, request) for request in requests]
        self._calls = [call for call in self._places if call is not None]
        # What stands before the next step. None, before the first of all: nothing. Records: that
        # they are durable. No records: that others have had a turn.
        self._due: Sequence[AuditEvent] | None = None
        self._finished = not self._calls
        if self._calls:
            self._steps = self._all_steps()

    @property
    def answers(self) -> list[Answer | None]:
        """None also in the place of what is none of these."""
        return [None if call is None else call.answer for call in self._places]

    def advance(self) -> bool:
        """All of it, if the log takes what is due without waiting."""
        record = self._broker.evidence.record_now
        while not self._finished:
            try:
                if self._due is not None and not (self._due and record(self._due)):
                    return False
                self._due = ()
            except AuditError as error:
                self._go_on(error)
            except BaseException:  # an interrupt, perhaps within a write or just after it
                if self._due and self._broker.evidence.recorded_when_interrupted(self._due):
                    self._due = ()
                raise
            else:
                self._go_on()
        return True

    async def finish(self) -> None:
        """The rest, which has to wait for the log, or for others to have their turn."""
        observed, waiting = self._broker.observed, len(self._calls)
        observed.waits(waiting)
        try:
            while not self._finished:
                await self._until_durable()
        except BaseException as error:  # the end of the execution, or of the host
            await self._wind_up(error)
            raise
        finally:
            observed.waited(waiting)

    async def give_up(self) -> None:
        """As if it had been cancelled while it waited."""
        if not self._finished:
            await self._wind_up(_GivenUpError())

    def conclude(self) -> None:
        """Count them: they are no longer under way."""
        if self._calls:
            self._broker.meter.conclude(len(self._calls))
            for call in self._calls:
                call.observed.finish(call.answer)

    async def _until_durable(self) -> None:
        """Record what is due, then take the next step, unless everything is over by then."""
        # Once handed in it is recorded, whatever happens to this task, and so not a second time.
        due, self._due = self._due, ()
        try:
            if due:
                with anyio.CancelScope(shield=True):
                    await self._broker.evidence.record_all(due)
                await anyio.lowlevel.checkpoint_if_cancelled()
            elif due is not None:
                await anyio.lowlevel.checkpoint()
        except AuditError as error:
            self._go_on(error)
        else:
            self._go_on()

    async def _wind_up(self, error: BaseException) -> None:
        """Record what is due; tell the steps of their early end, and record what they say to it."""
        due, self._due = self._due, ()
        with anyio.CancelScope(shield=True):
            try:
                if due:
                    await self._broker.evidence.record_all(due)
                self._go_on(error)
                while not self._finished:
                    await self._until_durable()
            except AuditError as missing:
                self._go_on(missing)
            except BaseException as last:
                if last is not error:
                    raise

    def _go_on(self, error: BaseException | None = None) -> None:
        """Take the next step: what was due is durable, unless there is an error."""
        if self._finished:
            return
        self._finished = True  # also if it ends with an error of its own
        try:
            if error is None:
                next(self._steps)
            else:
                self._steps.throw(error)
        except StopIteration:
            return
        except BaseException:
            # An interrupt may come when the step is done already: there is more to do then.
            self._finished = inspect.getgeneratorstate(self._steps) == inspect.GEN_CLOSED
            raise
        self._finished = False

    def _all_steps(self) -> Generator[None, None, None]:
        broker = self._broker
        try:
            yield from self._acts()
        except AuditError as error:
            unrecorded = broker.miss_evidence(error)
            for call in self._calls:
                call.answer = unrecorded
                call.observed.ended("audit_error")
        else:
            for call in self._calls:
                _conclude(broker, call)

    def _acts(self) -> Generator[None, None, None]:
        """Call the providers of what is allowed; in turns, between which others may run.

        Whatever ends this early, what was done is recorded, and that the rest was not begun.
        """
        broker, decided = self._broker, self._broker.evidence.decided
        waiting = [call for call in self._calls if call.decision.allowed]
        # Of the first of those; both lists change together: an interrupt finds no call twice.
        outcomes: list[OutcomeRecorded] = []
        # Drawn up whole or not at all: no outcome may stand without its decision.
        self._due = [decided(call.request, call.decision, call.terms) for call in self._calls]
        try:
            yield
            while waiting:
                until = time.perf_counter() + _TURN_SECONDS
                while len(outcomes) < len(waiting) and (
                    not outcomes or time.perf_counter() < until
                ):
                    outcomes.append(_act(broker, waiting[len(outcomes)]))
                waiting, self._due, outcomes = waiting[len(outcomes) :], outcomes, []
                yield
                if waiting:
                    self._due = ()
                    yield
        except AuditError:
            raise  # there is no evidence to be had
        except BaseException:  # the end of the execution, or of the host
            rest = waiting[len(outcomes) :]
            self._due = outcomes + [_not_begun(broker, call) for call in rest]
            yield
            raise


def can_be_at_once(request: CapabilityRequestMessage, terms: Terms | None) -> bool:
    """Whether nothing that `request` asks for can wait."""
    return (
        terms is not None
        and terms.at_once
        and terms.approve is None
        and request.idempotency_key is None
    )


def _begin(broker: ExecutionBroker, request: CapabilityRequestMessage) -> _Call | None:
    terms = broker.grant.terms.get(request.capability)
    if terms is None or not can_be_at_once(request, terms):
        return None
    observed = broker.observed.begin(request)
    decision, _ = broker.judge(request)
    if decision.allowed:
        broker.meter.take_rate(terms)  # counts for the next decision
    return _Call(request, terms, decision, observed)


def _not_begun(broker: ExecutionBroker, call: _Call) -> OutcomeRecorded:
    call.observed.ended(CallStatus.CANCELLED.value)
    detail = "it was not begun, or is not known to have ended"
    return broker.evidence.ended(call.request, CallStatus.CANCELLED, None, detail, 0, 0)


def _act(broker: ExecutionBroker, call: _Call) -> OutcomeRecorded:
    """Call the provider; the record of what came of it."""
    request, terms = call.request, call.terms
    began = time.perf_counter_ns()
    if terms.name in broker.grant.revoked:  # while the record was written
        call.outcome = broker.revoked(request, CallStatus.DENIED)
    elif broker.meter.is_over():  # by then, or by what the calls before it took
        call.outcome = broker.late(request)
    else:
        call.outcome = call_at_once(
            terms,
            broker.context_of(request, terms),
            request.payload,
            policy_id=broker.grant.policy_id,
        )
    outcome = call.outcome
    return broker.evidence.ended(
        request,
        outcome.status,
        outcome.reason,
        outcome.detail,
        (time.perf_counter_ns() - began) // 1000,
        outcome.bytes_out,
    )


def _conclude(broker: ExecutionBroker, call: _Call) -> None:
    """Everything is recorded: the answer may be given."""
    evidence, request, outcome = broker.evidence, call.request, call.outcome
    if outcome is None:
        call.answer = failure_answer(error_for(call.decision, request.capability))
        evidence.count_denied(request, call.decision.reason.value)
        call.observed.ended(CallStatus.DENIED.value)
        return
    call.answer = outcome.answer
    if outcome.status is CallStatus.DENIED:
        evidence.count_denied(request, outcome.denied_for)
    call.observed.ended(outcome.status.value, outcome.reason, outcome.bytes_out)
