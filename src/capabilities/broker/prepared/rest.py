"""(6) The way back from a prepared call to the lifecycle, when its decision has reached the log.

From then on the decision cannot change. `UnfinishedBatch` is the general batch of the same calls,
which takes over at any point: the log has to wait, a provider fails, an interrupt comes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from caps.capabilities.broker.batch import Abandoned, InlineBatch
from caps.capabilities.broker.lifecycle import Call, CallState
from caps.capabilities.broker.outcomes import Outcome, ok_outcome
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import OutcomeRecorded
from caps.security.decision import Decision
from caps.security.request import Usage
from caps.worker.host.supervisor.interface import CallResponse, RequestBatch, SendAnswers

if TYPE_CHECKING:
    from caps.capabilities.broker.broker import ExecutionBroker
    from caps.capabilities.broker.prepared.preparation import PreparedCall


class Invoked(msgspec.Struct, frozen=True):
    """A prepared call whose provider was called: when, and how that ended."""

    began_ns: int
    added: set[str]
    """The labels that the provider added."""
    outcome: Outcome | None
    interrupt: BaseException | None = None
    """Why there is no outcome."""


# A prepared call that gave a result: when it began, the encoded result, the record of its outcome.
Made = tuple[int, bytes, EncodedRecord]


class DecidedCall(Call):
    """A call whose decision was made before, and is not made again."""

    __slots__ = ("_made",)

    def __init__(
        self,
        broker: ExecutionBroker,
        request: CapabilityRequestMessage,
        answered: frozenset[str],
        decision: Decision,
    ) -> None:
        self._made: Decision | None = decision
        super().__init__(broker, request, answered)

    def _decide(self, usage: Usage) -> Decision:
        made, self._made = self._made, None
        return super()._decide(usage) if made is None else made

    def invoked(self, found: Invoked) -> None:
        """Its provider was called after the decision was durable. Raises an interrupt again."""
        self._began_ns, self._added = found.began_ns, found.added
        self._state = CallState.CALLING
        if found.interrupt is not None:
            raise found.interrupt
        assert found.outcome is not None
        self.end(found.outcome)


class UnfinishedBatch(InlineBatch):
    """Calls that were decided, of which the first were also made."""

    def __init__(
        self,
        broker: ExecutionBroker,
        decided: Sequence[tuple[CapabilityRequestMessage, Decision]],
        made: Sequence[Invoked],
        answered: frozenset[str],
    ) -> None:
        """`answered` is what the execution had been answered when the requests were received."""
        super().__init__(broker, ())
        self.answered = answered
        calls = [DecidedCall(broker, one, self.answered, decision) for one, decision in decided]
        self._requests = len(calls)
        self._slots, self._calls = [*calls], [*calls]
        self._made = dict(zip(calls, made, strict=False))
        self._finished = False
        self._steps = self._all_steps()
        self._resume()  # to the first step, which leaves the records of the decisions

    def decisions_recorded(self) -> None:
        """The records of the decisions are durable: call the providers of the others."""
        self._pending = ()
        self._resume()

    def recorded(self) -> None:
        """The records that are pending are durable, and an interrupt came at the same time."""
        self._pending = ()

    def fail(self, error: Exception) -> None:
        """The records that are pending could not be written."""
        self._resume(error)

    def _call(self, call: Call) -> OutcomeRecorded:
        made = self._made.get(call) if isinstance(call, DecidedCall) else None
        if made is None or not isinstance(call, DecidedCall):
            return super()._call(call)
        call.invoked(made)
        return call.outcome_record()


class Progress(msgspec.Struct):
    """How far the prepared calls of one read have come."""

    began: float
    decided: bool = False
    """Whether the decisions are in the log."""
    appending: Sequence[EncodedRecord] = ()
    """What was passed to the log last, while it is not known whether the log has it."""
    results: list[tuple[int, bytes]] = []
    """Of the calls that gave a result: when they began, and the encoded result."""
    size: int = 0
    """The bytes of all results."""
    others: list[Invoked] = []
    """The calls after these: at most one that ended in another way, and an interrupted one."""
    failure: AuditError | None = None
    """Why the log does not have what was appended last."""

    @classmethod
    def of_one(
        cls,
        began: float,
        decided: bool,
        appending: Sequence[EncodedRecord],
        made: Made | Invoked | None,
        failure: AuditError | None,
    ) -> Progress:
        """That of a call that came alone."""
        done = cls(began, decided, appending, failure=failure)
        if isinstance(made, tuple):
            done.add_result(made[0], made[1])
        else:
            done.add_other(made)
        return done

    def add_result(self, began_ns: int, result: bytes) -> None:
        self.results.append((began_ns, result))
        self.size += len(result)

    def add_other(self, made: Invoked | None) -> None:
        """None for a call that was not made: the lifecycle makes it."""
        if made is not None:
            self.others.append(made)

    @property
    def made(self) -> list[Invoked]:
        """The calls whose provider was called."""
        made = [Invoked(began, set(), ok_outcome(result)) for began, result in self.results]
        return made + self.others


class ReturningBatch(RequestBatch):
    """Prepared calls, which may return to the lifecycle at any point of `run`."""

    def __init__(
        self,
        broker: ExecutionBroker,
        pairs: Sequence[tuple[CapabilityRequestMessage, PreparedCall]],
        answered: frozenset[str] | None = None,
        done: Progress | None = None,
    ) -> None:
        """`answered` and `done` are those of calls that have come some way already."""
        super().__init__(len(pairs), broker.flow.answered if answered is None else answered)
        self._broker = broker
        self._pairs = pairs
        self._done = Progress(time.perf_counter()) if done is None else done
        self._answers: list[CallResponse | None] = []
        self._general: InlineBatch | None = None
        """Does the rest, if there is one."""

    def run(self) -> None:
        """Set the answers, or let the lifecycle do the rest: here, what `answer_one` left."""
        self.continued()

    @property
    def answers(self) -> list[CallResponse | None]:
        if self._general is not None:
            return self._general.answers
        return self._answers or [None] * self._requests

    def step_sync(self) -> bool:
        """All steps, here or in the lifecycle."""
        if self._general is None and not self._answers:
            try:
                self.run()
            except BaseException as error:
                self.interrupted(error)
                raise
        return self._general is None or self._general.step_sync()

    def continued(self) -> None:
        """The lifecycle takes the calls from where they are."""
        rest = self._continue()
        if self._done.failure is not None:
            rest.fail(self._done.failure)

    def _continue(self) -> UnfinishedBatch:
        decided, done = [(request, call.decision) for request, call in self._pairs], self._done
        rest = UnfinishedBatch(self._broker, decided, done.made, self.answered)
        if done.decided:
            rest.decisions_recorded()
        self._general = rest  # not before: if an interrupt came meanwhile, it is made again
        return rest

    def interrupted(self, error: BaseException) -> None:
        """The host was interrupted: the lifecycle records what is missing, now or at the end."""
        if self._general is not None or self._answers:
            return
        done = self._done
        recorded = bool(done.appending) and self._broker.audit.has_recorded(done.appending)
        if done.decided and len(done.results) + len(done.others) < len(self._pairs):
            done.others.append(Invoked(time.perf_counter_ns(), set(), None, error))
            self._continue().step_sync()  # records it, and raises the interrupt again
        elif recorded:
            self._continue().recorded()
        elif done.appending or done.decided:
            self._continue()

    async def drive(self, send: SendAnswers) -> None:
        """In the lifecycle; a call that is answered here never waits."""
        if self._general is not None:
            await self._general.drive(send)

    async def abandon(self) -> None:
        """In the lifecycle; also calls that an interrupt left here after their decision."""
        with suppress(Abandoned):
            self.interrupted(Abandoned())
        if self._general is not None:
            await self._general.abandon()

    def close(self) -> None:
        """Count what the calls took, unless the lifecycle does."""
        if self._general is not None:
            self._general.close()
        elif self._answers:
            self._count(time.perf_counter() - self._done.began)

    def _count(self, seconds: float) -> None:
        found: dict[str, list[int]] = {}
        for (request, _), (_, result) in zip(self._pairs, self._done.results, strict=True):
            found.setdefault(request.capability, []).append(len(result))
        for capability, sizes in found.items():
            self._broker.telemetry.count_allowed(capability, len(sizes), seconds, sum(sizes))
