"""Calls whose providers never wait are answered together; their evidence stays what it was."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import time
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import anyio
import msgspec
import pytest
from opentelemetry import trace
from prometheus_client import CollectorRegistry

from caps import CapabilityRegistry, MemoryAuditLog
from caps.capabilities.broker.broker import usage
from caps.capabilities.broker.approvals import ApprovalDesk
from caps.capabilities.broker.broker import Broker, ExecutionBroker
from caps.capabilities.identity import Identity
from caps.capabilities.provider import CallContext, ProviderError, finished, never_waits
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.telemetry import Metrics, Tracing
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import AuditEvent, CallStatus, DecisionMade, OutcomeRecorded
from caps.worker.host.supervisor.supervisor import Answer

pytestmark = pytest.mark.anyio


class TogetherLog(MemoryAuditLog):
    """A log that takes several events at once, and fails at a chosen one of these pieces."""

    def __init__(self, fails_at: int | None = None) -> None:
        super().__init__()
        self.pieces: list[int] = []
        self.fails_at = fails_at

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        if len(self.pieces) == self.fails_at:
            raise AuditError("the disk is full")
        self.pieces.append(len(events))
        for event in events:
            await super().append(event)


class Desk:
    """A registry whose providers note that they were called, and the broker of one execution."""

    def __init__(self, audit: MemoryAuditLog | None = None, **policy: Any) -> None:
        self.audit = TogetherLog() if audit is None else audit
        self.called: list[Any] = []
        self.samples = CollectorRegistry()
        self.registry = registry = CapabilityRegistry()
        self.policy = policy

        @registry.capability("box.echo", shown=("word",))
        async def echo(word: str) -> str:
            self.called.append(word)
            if word == "bad":
                raise ProviderError("it is bad")
            if word == "broken":
                raise ZeroDivisionError
            return word

        @registry.capability("box.slow")
        async def slow() -> str:
            await anyio.lowlevel.checkpoint()
            return "late"

        metrics = Metrics(self.samples)
        self.broker = Broker(
            audit=self.audit,
            metrics=metrics,
            tracing=Tracing(trace.NoOpTracerProvider()),
            default_timeout_ms=5000,
            approvals=ApprovalDesk(self.audit, metrics, None),
        )
        self.calls = self.execution("e1")

    def execution(self, execution_id: str) -> ExecutionBroker:
        """One that has all of `box`, under the desk's policy."""
        policy = {"id": "test", "allow": ["box.*"], **self.policy}
        grant = self.registry.inject("caps", execution_id, policy)
        with self.broker.tracing.execution(execution_id, "test", "0" * 64, Identity()) as span:
            calls = ExecutionBroker(self.broker, grant, Identity(), span)
        calls.begin()
        return calls

    async def asked(self, *words: Any, **more: Any) -> list[Answer | None]:
        return await answered(self.calls, [ask(word, **more) for word in words])

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]

    def count(self, name: str, **labels: str) -> float:
        return self.samples.get_sample_value(name, labels) or 0.0


async def answered(
    calls: ExecutionBroker, requests: list[CapabilityRequestMessage]
) -> list[Answer | None]:
    """What is answered together, as a supervisor goes about it."""
    taken_up = calls.take_up(requests)
    try:
        if not taken_up.advance():
            await taken_up.finish()
    finally:
        taken_up.conclude()
    return taken_up.answers


def ask(word: Any, capability: str = "box.echo", **more: Any) -> CapabilityRequestMessage:
    ask.number += 1  # type: ignore[attr-defined]
    number = ask.number  # type: ignore[attr-defined]
    payload = {} if word is None else {"word": word}
    return CapabilityRequestMessage(
        id=f"e1:{number}",
        timestamp=0.0,
        request_id=f"r{number}",
        capability=capability,
        payload=payload,
        **more,
    )


ask.number = 0  # type: ignore[attr-defined]


def told(answer: Answer | None) -> Any:
    assert answer is not None
    if answer.failure is not None:
        return answer.failure.code
    assert isinstance(answer.result, msgspec.Raw)
    return msgspec.msgpack.decode(answer.result)


async def test_what_comes_together_takes_two_pieces_of_the_log() -> None:
    """All decisions are in the first, all outcomes in the second; each request has its own."""
    desk = Desk()
    answers = await desk.asked("a", "b", "c")
    assert [told(answer) for answer in answers] == ["a", "b", "c"]
    assert desk.audit.pieces == [3, 3]  # type: ignore[attr-defined]
    decided, ended = desk.of(DecisionMade), desk.of(OutcomeRecorded)
    assert [one.request_id for one in decided] == [one.request_id for one in ended]
    assert [one.shown for one in decided] == [{"word": "a"}, {"word": "b"}, {"word": "c"}]
    assert desk.calls.calls == 3
    labels = {"capability": "box.echo", "decision": "allow", "status": "ok"}
    assert desk.count("caps_capability_requests_total", reason_code="allowed", **labels) == 3
    assert desk.count("caps_capability_requests_in_flight") == 0


async def test_no_provider_is_called_before_all_decisions_are_recorded() -> None:
    """If they cannot be, none is, and every call says so."""
    desk = Desk(TogetherLog(fails_at=0))
    answers = await desk.asked("a", "b")
    assert [told(answer) for answer in answers] == ["audit_error", "audit_error"]
    assert desk.called == []
    assert desk.calls.unrecorded is not None


async def test_no_answer_is_given_before_all_outcomes_are_recorded() -> None:
    """The effects happened, and yet nobody gets a result."""
    desk = Desk(TogetherLog(fails_at=1))
    answers = await desk.asked("a", "b")
    assert desk.called == ["a", "b"]
    assert [told(answer) for answer in answers] == ["audit_error", "audit_error"]
    assert desk.calls.unrecorded is not None


async def test_a_log_that_takes_one_event_at_a_time_gets_them_in_the_same_order() -> None:
    """Whoever wrote a sink of their own need not know of this."""
    desk = Desk(MemoryAuditLog())
    assert [told(answer) for answer in await desk.asked("a", "b")] == ["a", "b"]
    kinds = [type(event) for event in desk.audit.events]
    assert kinds == [DecisionMade, DecisionMade, OutcomeRecorded, OutcomeRecorded]


async def test_each_call_ends_in_its_own_way() -> None:
    """Refused by schema, failed, broken and fine, side by side."""
    desk = Desk()
    answers = await desk.asked(7, "bad", "broken", "fine")
    assert [told(answer) for answer in answers] == [
        "validation_error",
        "provider_error",
        "provider_error",
        "fine",
    ]
    assert [one.decision for one in desk.of(DecisionMade)] == ["deny", "allow", "allow", "allow"]
    assert [one.status for one in desk.of(OutcomeRecorded)] == [
        CallStatus.PROVIDER_ERROR,
        CallStatus.PROVIDER_ERROR,
        CallStatus.OK,
    ]
    assert desk.called == ["bad", "broken", "fine"]


async def test_calls_that_come_together_are_under_way_together() -> None:
    """The limit on concurrency counts them, as it does those that wait."""
    desk = Desk(limits={"concurrency": 2})
    answers = await desk.asked("a", "b", "c")
    assert [told(answer) for answer in answers] == ["a", "b", "limit_exceeded"]
    assert [told(answer) for answer in await desk.asked("d")] == ["d"]


async def test_calls_and_rates_count_within_a_piece() -> None:
    """The decision on a call knows of those before it."""
    desk = Desk(limits={"calls": 2})
    assert [told(one) for one in await desk.asked("a", "b", "c")] == ["a", "b", "limit_exceeded"]
    desk = Desk(limits={"rates": {"box.echo": "2/min"}})
    assert [told(one) for one in await desk.asked("a", "b", "c")] == ["a", "b", "limit_exceeded"]


async def test_what_is_revoked_while_the_decisions_are_recorded_is_not_begun() -> None:
    """The record says that it was allowed, and the next that it was not made."""
    desk = Desk()

    class Revoking(TogetherLog):
        async def append_all(self, events: Sequence[AuditEvent]) -> None:
            await super().append_all(events)
            desk.calls.revoke(frozenset({"box.echo"}))

    desk = Desk(Revoking())
    answers = await desk.asked("a", "b")
    assert [told(answer) for answer in answers] == ["policy_denied", "policy_denied"]
    assert desk.called == []
    assert [one.reason for one in desk.of(OutcomeRecorded)] == ["revoked", "revoked"]


@pytest.mark.parametrize(
    "request_",
    [
        ask(None, "box.slow"),
        ask("a", idempotency_key="k"),
        ask("a", "box.unknown"),
        ask("a", "box.echo", timeout_ms=1),
    ],
)
async def test_what_may_wait_is_left_to_a_task_of_its_own(
    request_: CapabilityRequestMessage,
) -> None:
    """A provider that awaits, an earlier call under the same key, a name that is not known."""
    desk = Desk()
    (answer,) = await answered(desk.calls, [request_])
    at_once = request_.timeout_ms is not None  # a deadline changes nothing for who never waits
    assert (answer is not None) is at_once
    assert bool(desk.audit.events) is at_once


async def test_a_call_that_needs_an_approval_is_left_to_a_task_of_its_own() -> None:
    """A person is waited for."""
    assert await Desk(approve=["box.echo"]).asked("a") == [None]


async def waits() -> None:
    await anyio.lowlevel.checkpoint()


async def never() -> int:
    return 1


async def loops() -> int:
    async for _ in never_ending():
        return 1
    return 2


async def never_ending() -> AsyncIterator[int]:
    yield 1


class Methods:
    async def never(self) -> int:
        return 1

    async def __call__(self, context: CallContext, payload: Any) -> int:
        return 1


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (never, True),
        (Methods().never, True),
        (waits, False),
        (loops, False),
        (never_ending, False),
        (lambda: 1, False),
        (Methods(), False),
        (functools.partial(never), False),
        (CapabilitySpec, False),
    ],
)
def test_only_a_coroutine_without_a_point_to_wait_at_never_waits(
    provider: Any, expected: bool
) -> None:
    """What cannot be told from its code is taken to wait."""
    assert never_waits(provider) is expected


async def test_a_coroutine_that_waits_all_the_same_is_stopped() -> None:
    """It is closed and is an error; nothing is left that nobody awaits."""
    with pytest.raises(RuntimeError, match="never to wait"):
        finished(waits())


def add_to(desk: Desk, name: str, function: Any) -> ExecutionBroker:
    """Another execution on the desk, with one more capability."""
    desk.registry.capability(name)(function)
    return desk.execution(name)


async def test_what_a_call_sets_in_its_context_is_its_own() -> None:
    """Not the next call's, and not the host's."""
    tenant = contextvars.ContextVar("tenant", default="nobody")
    seen: list[str] = []

    async def remember() -> None:
        seen.append(tenant.get())
        tenant.set("somebody")

    calls = add_to(Desk(), "box.remember", remember)
    await answered(calls, [ask(None, "box.remember"), ask(None, "box.remember")])
    await answered(calls, [ask(None, "box.remember")])
    assert seen == ["nobody"] * 3
    assert tenant.get() == "nobody"


async def test_no_call_begins_after_the_end_of_the_executions_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if it was decided before: those before it may take long."""
    desk, begun, now = Desk(), [], [0.0]
    monkeypatch.setattr(usage, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def compute() -> None:
        begun.append(1)
        now[0] += 0.06

    desk.policy["limits"] = {"wall_ms": 100}
    calls = add_to(desk, "box.compute", compute)
    answers = await answered(calls, [ask(None, "box.compute") for _ in range(5)])
    assert len(begun) == 2
    assert [told(answer) for answer in answers[2:]] == ["limit_exceeded"] * 3
    reasons = [one.reason for one in desk.of(OutcomeRecorded)]
    assert reasons == [None, None, *["deadline_passed"] * 3]


async def test_a_long_batch_gives_way_and_can_be_cancelled() -> None:
    """What was done is recorded then, and that the rest was not begun."""
    desk, begun = Desk(), []

    async def compute() -> None:
        begun.append(1)
        ends = time.monotonic() + 0.05
        while time.monotonic() < ends:
            pass

    calls = add_to(desk, "box.compute", compute)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answered, calls, [ask(None, "box.compute") for _ in range(5)])
            await anyio.lowlevel.checkpoint()
            while not begun:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    statuses = [one.status for one in desk.of(OutcomeRecorded)]
    assert statuses == [CallStatus.OK] * len(begun) + [CallStatus.CANCELLED] * (5 - len(begun))
    assert len(begun) < 5
    assert desk.count("caps_capability_requests_in_flight") == 0


async def test_a_provider_that_raises_what_only_hosts_raise_fails_alone() -> None:
    """The others of its batch have their outcomes, and it has one, too."""
    desk = Desk()

    async def close(word: str) -> str:
        if word == "bad":
            raise GeneratorExit
        return word

    calls = add_to(desk, "box.close", close)
    answers = await answered(calls, [ask(word, "box.close") for word in ("a", "bad", "b")])
    assert [told(answer) for answer in answers] == ["a", "provider_error", "b"]
    assert len(desk.of(OutcomeRecorded)) == 3


@pytest.mark.skipif(
    not hasattr(inspect, "markcoroutinefunction"), reason="functions are marked from 3.12 on"
)
def test_a_plain_function_that_is_marked_as_a_coroutines_may_wait() -> None:
    """Its own code has no point to wait at; what it gives has."""

    def marked() -> Any:
        return waits()

    inspect.markcoroutinefunction(marked)  # type: ignore[attr-defined]
    assert not never_waits(marked)


class PromptLog(TogetherLog):
    """A log that takes so many pieces without waiting; the rest it takes later."""

    def __init__(self, prompt: int, fails_at: int | None = None) -> None:
        super().__init__(fails_at)
        self.prompt = prompt

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        if len(self.pieces) >= self.prompt:
            return False
        if len(self.pieces) == self.fails_at:
            raise AuditError("the disk is full")
        self.pieces.append(len(events))
        for event in events:
            finished(self.append(event))
        return True


async def test_a_log_that_does_not_wait_leaves_nothing_to_a_task() -> None:
    """Both records are written, and the answer is there, in one step."""
    desk = Desk(PromptLog(2))
    taken_up = desk.calls.take_up([ask("a"), ask("b")])
    assert taken_up.advance()
    assert [told(answer) for answer in taken_up.answers] == ["a", "b"]
    taken_up.conclude()
    assert [type(event).__name__ for event in desk.audit.events] == [
        *["DecisionMade"] * 2,
        *["OutcomeRecorded"] * 2,
    ]


@pytest.mark.parametrize("prompt", [0, 1])
async def test_a_log_that_waits_is_waited_for_before_anything_goes_on(prompt: int) -> None:
    """No provider before the decision, no answer before the outcome."""
    desk = Desk(PromptLog(prompt))
    taken_up = desk.calls.take_up([ask("a")])
    assert not taken_up.advance()
    assert desk.called == ["a"] * prompt
    assert taken_up.answers == [None]
    await taken_up.finish()
    assert [told(answer) for answer in taken_up.answers] == ["a"]
    taken_up.conclude()
    assert desk.called == ["a"]
    assert len(desk.audit.events) == 2


@pytest.mark.parametrize("fails_at", [0, 1])
async def test_without_evidence_there_is_no_answer_in_one_step_either(fails_at: int) -> None:
    """The effect may have happened, the result is not handed out."""
    desk = Desk(PromptLog(2, fails_at=fails_at))
    taken_up = desk.calls.take_up([ask("a")])
    assert taken_up.advance()
    assert [told(answer) for answer in taken_up.answers] == ["audit_error"]
    taken_up.conclude()
    assert desk.called == ["a"] * fails_at
    assert desk.calls.unrecorded is not None


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("prompt", "statuses"), [(0, [CallStatus.CANCELLED]), (1, [CallStatus.OK])]
)
async def test_what_nobody_goes_on_with_is_recorded_as_far_as_it_came(
    prompt: int, statuses: list[CallStatus]
) -> None:
    """A provider that was called has its outcome; one that was not is not called any more."""
    desk = Desk(PromptLog(prompt))
    taken_up = desk.calls.take_up([ask("a")])
    assert not taken_up.advance()
    await taken_up.give_up()
    taken_up.conclude()
    assert [one.decision for one in desk.of(DecisionMade)] == ["allow"]
    assert len(desk.calls.decisions) == 1
    assert desk.called == ["a"] * prompt
    assert [one.status for one in desk.of(OutcomeRecorded)] == statuses
    assert taken_up.answers == [None]


async def test_who_gives_up_what_is_finished_changes_nothing() -> None:
    """It was answered already."""
    desk = Desk(PromptLog(2))
    taken_up = desk.calls.take_up([ask("a")])
    assert taken_up.advance()
    await taken_up.give_up()
    taken_up.conclude()
    assert len(desk.audit.events) == 2


def test_a_provider_that_never_waits_needs_no_task() -> None:
    """Its own cancellation is its failure; nobody else could cancel it."""
    desk = Desk(PromptLog(2))

    async def cancel() -> None:
        raise asyncio.CancelledError

    taken_up = add_to(desk, "box.cancel", cancel).take_up([ask(None, "box.cancel")])
    assert taken_up.advance()
    assert [told(answer) for answer in taken_up.answers] == ["provider_error"]
    taken_up.conclude()


async def test_a_provider_that_never_waits_has_no_task_to_cancel() -> None:
    """The one that serves it is the host's; afterwards the host has it again."""
    desk, seen = Desk(), []

    async def look() -> None:
        seen.append(asyncio.current_task())
        raise ProviderError("it fails")

    host = asyncio.current_task()
    await answered(add_to(desk, "box.look", look), [ask(None, "box.look")])
    assert seen == [None]
    assert asyncio.current_task() is host


@pytest.mark.parametrize("prompt", [0, 2])
async def test_a_cancellation_that_comes_during_a_call_is_not_lost(prompt: int) -> None:
    """It meets the task that serves the call, and finds what was done on record."""
    desk = Desk(PromptLog(prompt))
    serving: list[asyncio.Task[Any]] = []

    async def cancel() -> None:
        serving[0].cancel()

    async def serve() -> None:
        await answered(calls, [ask(None, "box.cancel")])
        await anyio.lowlevel.checkpoint()

    calls = add_to(desk, "box.cancel", cancel)
    serving.append(asyncio.create_task(serve()))
    with pytest.raises(asyncio.CancelledError):
        await serving[0]
    assert [one.status for one in desk.of(OutcomeRecorded)] == [CallStatus.OK]


async def test_an_interrupt_of_the_host_is_not_the_providers() -> None:
    """It passes through."""
    desk = Desk(PromptLog(2))

    async def interrupt() -> None:
        raise KeyboardInterrupt

    taken_up = add_to(desk, "box.interrupt", interrupt).take_up([ask(None, "box.interrupt")])
    with pytest.raises(KeyboardInterrupt):
        taken_up.advance()


async def test_what_was_handed_in_when_the_execution_ended_is_recorded_once() -> None:
    """The log was being written, and nobody hands it in again."""
    log = PromptLog(1)
    desk = Desk(log)
    begun, release = anyio.Event(), anyio.Event()

    async def slowly(events: Sequence[AuditEvent]) -> None:
        begun.set()
        await release.wait()
        await log.append_all(events)

    desk.calls.evidence.record_all = slowly
    taken_up = desk.calls.take_up([ask("a"), ask("b")])
    assert not taken_up.advance()
    async with anyio.create_task_group() as tasks:

        async def finish() -> None:
            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel, scope)
                await taken_up.finish()
            assert scope.cancelled_caught
            taken_up.conclude()

        async def cancel(scope: anyio.CancelScope) -> None:
            await begun.wait()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            release.set()

        tasks.start_soon(finish)
    assert [one.status for one in desk.of(OutcomeRecorded)] == [CallStatus.OK] * 2


@pytest.mark.parametrize("prompt", [0, 1])
async def test_what_is_given_up_without_evidence_is_known_to_lack_it(prompt: int) -> None:
    """The log fails at the last moment, too: the execution is told, and there is no answer."""
    desk = Desk(PromptLog(prompt, fails_at=prompt))
    taken_up = desk.calls.take_up([ask("a")])
    assert not taken_up.advance()
    await taken_up.give_up()
    taken_up.conclude()
    assert desk.calls.unrecorded is not None
    assert [told(answer) for answer in taken_up.answers] == ["audit_error"]
