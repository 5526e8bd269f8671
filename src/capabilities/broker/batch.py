"""(6) The driver of inline calls: one batch, without a task or a deadline for each call.

What a worker sent in one write (a `gather`, or a single call) takes each step of `lifecycle.py`
together:

    decide each -> audit the decisions -> call each provider -> audit the outcomes -> answer all

so that a hundred calls cost two writes of the log. No provider is called before the decisions of
all are durable; no answer is given before its outcome is. A batch that takes long passes on what
it has and yields to other tasks now and then. Calls that may block (approval, idempotency replay,
awaiting provider) take the task-based path in `broker.py`.

The steps are a generator that does everything but write: it leaves in `_pending` the records that
must be durable before it may continue, where an interrupt of the host finds them, too. If the log
can write them without waiting, the whole batch runs in one step of the event loop (`step_sync`);
otherwise a task does the rest (`drive`).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel

from caps.capabilities.broker.invoke import call_inline
from caps.capabilities.broker.lifecycle import Call
from caps.capabilities.grant import Grant
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.log.interface import UndeliveredError
from caps.security.audit.model.records import AuditEvent, OutcomeRecorded
from caps.worker.host.supervisor.interface import SENT, CallResponse, RequestBatch, SendAnswers

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker

# How long the calls of a batch may keep the loop to themselves, and how large results may get.
_TURN_SECONDS: Final = 0.02
_TURN_BYTES: Final = 1024 * 1024


class Abandoned(BaseException):
    """Thrown into the steps when the execution ends and no task is there to be cancelled."""


class InlineBatch(RequestBatch):
    """Those of `requests` that never wait."""

    def __init__(
        self, broker: ExecutionBroker, requests: Sequence[CapabilityRequestMessage]
    ) -> None:
        super().__init__(len(requests), broker.flow.answered)
        self._broker = broker
        self._slots = [
            Call(broker, request, self.answered) if is_inline(broker.grant, request) else None
            for request in requests
        ]
        self._calls = [call for call in self._slots if call is not None]
        # What must happen before the next step. None, before the first step: nothing. Records:
        # they become durable. No records: other tasks have had a turn.
        self._pending: Sequence[AuditEvent] | None = None
        self._finished = not self._calls
        if self._calls:
            self._steps = self._all_steps()

    @property
    def answers(self) -> list[CallResponse | None]:
        """None also for a request that is not in this batch."""
        return [None if call is None else call.response for call in self._slots]

    def step_sync(self) -> bool:
        """All steps, if the log can write the pending records without waiting."""
        audit = self._broker.audit
        while not self._finished:
            try:
                if self._pending is not None and not (
                    self._pending and audit.append_now(self._pending)
                ):
                    return False
                self._pending = ()
            except AuditError as error:
                self._resume(error)
            except BaseException:  # an interrupt, perhaps within a write or just after it
                if self._pending and audit.has_recorded(self._pending):
                    self._pending = ()
                raise
            else:
                self._resume()
        return True

    async def drive(self, send: SendAnswers) -> None:
        """The remaining steps, which wait for the log, for other tasks, or for `send`."""
        telemetry, waiting = self._broker.telemetry, len(self._calls)
        telemetry.waits(waiting)
        try:
            while not self._finished:
                if any(results := self._take_results()):
                    await send(results)
                await self._until_durable()
        except BaseException as error:  # the end of the execution, or of the host
            await self._abort(error)
            raise
        finally:
            telemetry.waited(waiting)

    def _take_results(self) -> list[CallResponse | None]:
        """The results that are ready, which are dropped here; failures are small and stay."""
        results: list[CallResponse | None] = [None] * len(self._slots)
        for index, call in enumerate(self._slots):
            response = call and call.response
            if call and response and response is not SENT and not response.failure:
                results[index], call.response, call.outcome = response, SENT, None
        return results

    async def abandon(self) -> None:
        """As if it had been cancelled while it waited."""
        if not self._finished:
            await self._abort(Abandoned())

    def close(self) -> None:
        """The calls are no longer in flight."""
        for call in self._calls:
            call.release()

    async def _until_durable(self) -> None:
        """Record what is pending, then take the next step, unless everything has ended by then."""
        # The log writes these records even if this task is cancelled, so it gets them only once.
        pending, self._pending = self._pending, ()
        try:
            if pending:
                with anyio.CancelScope(shield=True):
                    await self._broker.audit.append_all(pending)
                await anyio.lowlevel.checkpoint_if_cancelled()
            elif pending is not None:
                await anyio.lowlevel.checkpoint()
        except AuditError as error:
            self._resume(error)
        else:
            self._resume()

    async def _abort(self, error: BaseException) -> None:
        """Record what is pending, throw `error` into the steps, and record what follows from it."""
        pending, self._pending = self._pending, ()
        with anyio.CancelScope(shield=True):
            try:
                if pending:
                    await self._broker.audit.append_all(pending)
            except AuditError as missing:
                error = missing
            try:
                self._resume(error)
                while not self._finished:
                    await self._until_durable()
            except BaseException as last:
                if last is not error:
                    raise

    def _resume(self, error: BaseException | None = None) -> None:
        """Take the next step: what was pending is durable, unless there is an error."""
        if self._finished:
            return
        self._finished = True  # also if the step raises an error of its own
        try:
            if error is None:
                next(self._steps)
            else:
                self._steps.throw(error)
        except StopIteration:
            return
        except BaseException:
            # An interrupt may come when the step is done already: then there is more to do.
            self._finished = inspect.getgeneratorstate(self._steps) == inspect.GEN_CLOSED
            raise
        self._finished = False

    def _all_steps(self) -> Generator[None, None, None]:
        try:
            yield from self._record_and_call()
        except AuditError as error:
            response = self._broker.audit_failed(error)
            for call in self._calls:
                if call.response is None:
                    call.fail(response)
        else:
            self._close_recorded()

    def _close_recorded(self) -> None:
        """Give the calls whose last record is durable their responses."""
        for call in self._calls:
            if call.response is None and not call.lacks_outcome:
                call.close()

    def _record_and_call(self) -> Generator[None, None, None]:
        """Call the providers of what is allowed, in turns between which other tasks may run.

        Unless the log fails, each of these calls gets an outcome record, however this ends: also if
        the log has the decisions and a required sink does not, so that no provider is called.
        """
        waiting = [call for call in self._calls if call.decision.allowed]
        # The outcomes of the first of `waiting`. Both change together: an interrupt finds no call
        # twice.
        outcomes: list[OutcomeRecorded] = []
        # All of them or none: there must be no outcome without its decision.
        self._pending = [call.decision_record() for call in self._calls]
        try:
            yield
            while waiting:
                began, size = time.perf_counter(), 0
                while len(outcomes) < len(waiting) and not (outcomes and turn_is_over(began, size)):
                    outcomes.append(self._call(waiting[len(outcomes)]))
                    size += outcomes[-1].bytes_out
                waiting, self._pending, outcomes = waiting[len(outcomes) :], outcomes, []
                yield
                if waiting:
                    self._close_recorded()
                    self._pending = ()
                    yield
        except GeneratorExit:  # the batch was dropped: another one continues for it
            raise
        except BaseException as error:  # the end of the execution, or of the host
            if isinstance(error, AuditError) and not isinstance(error, UndeliveredError):
                raise  # what was pending is not in the log, and an outcome needs its decision
            rest = waiting[len(outcomes) :]
            self._pending = outcomes + [call.interrupt() for call in rest]
            yield
            raise

    def _call(self, call: Call) -> OutcomeRecorded:
        bound = call.bound
        assert bound is not None  # it was allowed
        if call.begin():
            payload, policy_id = call.request.payload, self._broker.grant.policy_id
            call.end(call_inline(bound, call.context(), payload, policy_id=policy_id))
        return call.outcome_record()


def turn_is_over(began: float, size: int) -> bool:
    """Whether calls that began then, with results of this size, have to give way to others."""
    return size >= _TURN_BYTES or time.perf_counter() >= began + _TURN_SECONDS


def is_inline(grant: Grant, request: CapabilityRequestMessage) -> bool:
    """Whether nothing that `request` asks for can wait."""
    bound = grant.terms.get(request.capability)
    return (
        bound is not None and bound.inline and not bound.may_ask and request.idempotency_key is None
    )
