"""Calls whose providers never wait are answered together; their evidence stays what it was."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import math
import time
from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import anyio
import msgspec
import pytest

from caps import MemoryAuditLog
from caps.capabilities.broker import batch as batch_module
from caps.capabilities.broker import usage
from caps.capabilities.broker.broker import ExecutionBroker
from caps.capabilities.provider import (
    CallContext,
    ProviderError,
    has_no_await,
    run_without_suspending,
)
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.errors import AuditError
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.audit import AuditEvent, CallStatus, DecisionMade, OutcomeRecorded
from caps.worker.host.supervisor.interface import SENT, CallResponse
from support.broker_setup import (
    BatchLog,
    BrokerSetup,
    answer_batch,
    make_request,
    send_nothing,
)

pytestmark = pytest.mark.anyio


def plain_answer(answer: CallResponse | None) -> Any:
    assert answer is not None
    if answer.failure is not None:
        return answer.failure.code
    assert isinstance(answer.result, msgspec.Raw)
    return msgspec.msgpack.decode(answer.result)


async def test_what_comes_together_takes_two_pieces_of_the_log() -> None:
    """All decisions are in the first, all outcomes in the second; each request has its own."""
    setup = BrokerSetup()
    answers = await setup.call("a", "b", "c")
    assert [plain_answer(answer) for answer in answers] == ["a", "b", "c"]
    assert setup.audit.batches == [3, 3]  # type: ignore[attr-defined]
    decided, ended = setup.of(DecisionMade), setup.of(OutcomeRecorded)
    assert [one.request_id for one in decided] == [one.request_id for one in ended]
    assert [one.shown for one in decided] == [{"word": "a"}, {"word": "b"}, {"word": "c"}]
    assert setup.calls.meter.calls == 3
    labels = {"capability": "box.echo", "decision": "allow", "status": "ok"}
    assert setup.count("caps_capability_requests_total", reason_code="allowed", **labels) == 3
    assert setup.count("caps_capability_requests_in_flight") == 0


async def test_no_provider_is_called_before_all_decisions_are_recorded() -> None:
    """If they cannot be, none is, and every call says so."""
    setup = BrokerSetup(BatchLog(fails_at=0))
    answers = await setup.call("a", "b")
    assert [plain_answer(answer) for answer in answers] == ["audit_error", "audit_error"]
    assert setup.called == []
    assert setup.calls.unrecorded is not None


async def test_no_answer_is_given_before_all_outcomes_are_recorded() -> None:
    """The effects happened, but no caller gets a result."""
    setup = BrokerSetup(BatchLog(fails_at=1))
    answers = await setup.call("a", "b")
    assert setup.called == ["a", "b"]
    assert [plain_answer(answer) for answer in answers] == ["audit_error", "audit_error"]
    assert setup.calls.unrecorded is not None


async def test_a_log_that_takes_one_event_at_a_time_gets_them_in_the_same_order() -> None:
    """The author of a custom sink need not know of this."""
    setup = BrokerSetup(MemoryAuditLog())
    assert [plain_answer(answer) for answer in await setup.call("a", "b")] == ["a", "b"]
    kinds = [type(event) for event in setup.audit.events]
    assert kinds == [DecisionMade, DecisionMade, OutcomeRecorded, OutcomeRecorded]


async def test_each_call_ends_in_its_own_way() -> None:
    """Refused by schema, failed, broken and fine, side by side."""
    setup = BrokerSetup()
    answers = await setup.call(7, "bad", "broken", "fine")
    assert [plain_answer(answer) for answer in answers] == [
        "validation_error",
        "provider_error",
        "provider_error",
        "fine",
    ]
    assert [one.decision for one in setup.of(DecisionMade)] == ["deny", "allow", "allow", "allow"]
    assert [one.status for one in setup.of(OutcomeRecorded)] == [
        CallStatus.PROVIDER_ERROR,
        CallStatus.PROVIDER_ERROR,
        CallStatus.OK,
    ]
    assert setup.called == ["bad", "broken", "fine"]


async def test_calls_that_come_together_are_under_way_together() -> None:
    """The limit on concurrency counts them, as it does those that wait."""
    setup = BrokerSetup(limits={"concurrency": 2})
    answers = await setup.call("a", "b", "c")
    assert [plain_answer(answer) for answer in answers] == ["a", "b", "limit_exceeded"]
    assert [plain_answer(answer) for answer in await setup.call("d")] == ["d"]


async def test_calls_and_rates_count_within_a_piece() -> None:
    """The decision on a call knows of those before it."""
    setup = BrokerSetup(limits={"calls": 2})
    assert [plain_answer(one) for one in await setup.call("a", "b", "c")] == [
        "a",
        "b",
        "limit_exceeded",
    ]
    setup = BrokerSetup(limits={"rates": {"box.echo": "2/min"}})
    assert [plain_answer(one) for one in await setup.call("a", "b", "c")] == [
        "a",
        "b",
        "limit_exceeded",
    ]


async def test_what_is_revoked_while_the_decisions_are_recorded_is_not_begun() -> None:
    """The record says that it was allowed, and the next that it was not made."""
    setup = BrokerSetup()

    class Revoking(BatchLog):
        async def append_all(self, events: Sequence[AuditEvent]) -> None:
            await super().append_all(events)
            setup.calls.revoke(frozenset({"box.echo"}))

    setup = BrokerSetup(Revoking())
    answers = await setup.call("a", "b")
    assert [plain_answer(answer) for answer in answers] == ["policy_denied", "policy_denied"]
    assert setup.called == []
    assert [one.reason for one in setup.of(OutcomeRecorded)] == ["revoked", "revoked"]


@pytest.mark.parametrize(
    "request_",
    [
        make_request(None, "box.slow"),
        make_request("a", idempotency_key="k"),
        make_request("a", "box.unknown"),
        make_request("a", "box.echo", timeout_ms=1),
    ],
)
async def test_what_may_wait_is_left_to_a_task_of_its_own(
    request_: CapabilityRequestMessage,
) -> None:
    """A provider that awaits, an earlier call under the same key, a name that is not known."""
    setup = BrokerSetup()
    (answer,) = await answer_batch(setup.calls, [request_])
    at_once = request_.timeout_ms is not None  # a deadline changes nothing for who never waits
    assert (answer is not None) is at_once
    assert bool(setup.audit.events) is at_once


async def test_a_call_that_needs_an_approval_is_left_to_a_task_of_its_own() -> None:
    """A person is waited for."""
    assert await BrokerSetup(approve=["box.echo"]).call("a") == [None]


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
    """A function whose code cannot be inspected is assumed to wait."""
    assert has_no_await(provider) is expected


async def test_a_coroutine_that_waits_all_the_same_is_stopped() -> None:
    """It is closed and is an error; no coroutine is left that was never awaited."""
    with pytest.raises(RuntimeError, match="never to wait"):
        run_without_suspending(waits())


def add_to(setup: BrokerSetup, name: str, function: Any) -> ExecutionBroker:
    """Another execution with one more capability."""
    setup.registry.capability(name)(function)
    return setup.execution(name)


async def test_what_a_call_sets_in_its_context_is_its_own() -> None:
    """Not the next call's, and not the host's."""
    tenant = contextvars.ContextVar("tenant", default="nobody")
    seen: list[str] = []

    async def remember() -> None:
        seen.append(tenant.get())
        tenant.set("somebody")

    calls = add_to(BrokerSetup(), "box.remember", remember)
    await answer_batch(
        calls, [make_request(None, "box.remember"), make_request(None, "box.remember")]
    )
    await answer_batch(calls, [make_request(None, "box.remember")])
    assert seen == ["nobody"] * 3
    assert tenant.get() == "nobody"


async def test_no_call_begins_after_the_end_of_the_executions_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if it was decided before: those before it may take long."""
    setup, begun, now = BrokerSetup(), [], [0.0]
    monkeypatch.setattr(usage, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def compute() -> None:
        begun.append(1)
        now[0] += 0.06

    setup.policy["limits"] = {"wall_ms": 100}
    calls = add_to(setup, "box.compute", compute)
    answers = await answer_batch(calls, [make_request(None, "box.compute") for _ in range(5)])
    assert len(begun) == 2
    assert [plain_answer(answer) for answer in answers[2:]] == ["limit_exceeded"] * 3
    reasons = [one.reason for one in setup.of(OutcomeRecorded)]
    assert reasons == [None, None, *["deadline_passed"] * 3]


async def test_a_long_batch_gives_way_and_can_be_cancelled() -> None:
    """What was done is recorded then, and that the rest was not begun."""
    setup, begun = BrokerSetup(), []

    async def compute() -> None:
        begun.append(1)
        ends = time.monotonic() + 0.05
        while time.monotonic() < ends:
            pass

    calls = add_to(setup, "box.compute", compute)
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                answer_batch, calls, [make_request(None, "box.compute") for _ in range(5)]
            )
            await anyio.lowlevel.checkpoint()
            while not begun:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    statuses = [one.status for one in setup.of(OutcomeRecorded)]
    assert statuses == [CallStatus.OK] * len(begun) + [CallStatus.CANCELLED] * (5 - len(begun))
    assert len(begun) < 5
    assert setup.count("caps_capability_requests_in_flight") == 0


async def test_a_provider_that_raises_what_only_hosts_raise_fails_alone() -> None:
    """The others of its batch have their outcomes, and it has one, too."""
    setup = BrokerSetup()

    async def close(word: str) -> str:
        if word == "bad":
            raise GeneratorExit
        return word

    calls = add_to(setup, "box.close", close)
    answers = await answer_batch(
        calls, [make_request(word, "box.close") for word in ("a", "bad", "b")]
    )
    assert [plain_answer(answer) for answer in answers] == ["a", "provider_error", "b"]
    assert len(setup.of(OutcomeRecorded)) == 3


@pytest.mark.skipif(
    not hasattr(inspect, "markcoroutinefunction"), reason="functions are marked from 3.12 on"
)
def test_a_plain_function_that_is_marked_as_a_coroutines_may_wait() -> None:
    """Its own code has no point to wait at; what it gives has."""

    def marked() -> Any:
        return waits()

    inspect.markcoroutinefunction(marked)  # type: ignore[attr-defined]
    assert not has_no_await(marked)


class PromptLog(BatchLog):
    """A log that appends the first `prompt` batches without waiting, and the others later."""

    def __init__(self, prompt: int, fails_at: int | None = None) -> None:
        super().__init__(fails_at)
        self.prompt = prompt

    def append_now(self, events: Sequence[AuditEvent]) -> bool:
        if len(self.batches) >= self.prompt:
            return False
        if len(self.batches) == self.fails_at:
            raise AuditError("the disk is full")
        self.batches.append(len(events))
        for event in events:
            run_without_suspending(self.append(event))
        return True


async def test_a_log_that_does_not_wait_leaves_nothing_to_a_task() -> None:
    """Both records are written, and the answer is there, in one step."""
    setup = BrokerSetup(PromptLog(2))
    batch = setup.calls.begin_batch([make_request("a"), make_request("b")])
    assert batch.step_sync()
    assert [plain_answer(answer) for answer in batch.answers] == ["a", "b"]
    batch.close()
    assert [type(event).__name__ for event in setup.audit.events] == [
        *["DecisionMade"] * 2,
        *["OutcomeRecorded"] * 2,
    ]


@pytest.mark.parametrize("prompt", [0, 1])
async def test_a_log_that_waits_is_waited_for_before_anything_goes_on(prompt: int) -> None:
    """No provider before the decision, no answer before the outcome."""
    setup = BrokerSetup(PromptLog(prompt))
    batch = setup.calls.begin_batch([make_request("a")])
    assert not batch.step_sync()
    assert setup.called == ["a"] * prompt
    assert batch.answers == [None]
    await batch.drive(send_nothing)
    assert [plain_answer(answer) for answer in batch.answers] == ["a"]
    batch.close()
    assert setup.called == ["a"]
    assert len(setup.audit.events) == 2


@pytest.mark.parametrize("fails_at", [0, 1])
async def test_without_evidence_there_is_no_answer_in_one_step_either(fails_at: int) -> None:
    """The effect may have happened, the result is withheld."""
    setup = BrokerSetup(PromptLog(2, fails_at=fails_at))
    batch = setup.calls.begin_batch([make_request("a")])
    assert batch.step_sync()
    assert [plain_answer(answer) for answer in batch.answers] == ["audit_error"]
    batch.close()
    assert setup.called == ["a"] * fails_at
    assert setup.calls.unrecorded is not None


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    ("prompt", "statuses"), [(0, [CallStatus.CANCELLED]), (1, [CallStatus.OK])]
)
async def test_what_nobody_goes_on_with_is_recorded_as_far_as_it_came(
    prompt: int, statuses: list[CallStatus]
) -> None:
    """A provider that was called has its outcome; one that was not is not called any more."""
    setup = BrokerSetup(PromptLog(prompt))
    batch = setup.calls.begin_batch([make_request("a")])
    assert not batch.step_sync()
    await batch.abandon()
    batch.close()
    assert [one.decision for one in setup.of(DecisionMade)] == ["allow"]
    assert len(setup.calls.evidence.decisions) == 1
    assert setup.called == ["a"] * prompt
    assert [one.status for one in setup.of(OutcomeRecorded)] == statuses
    assert batch.answers == [None]


async def test_who_gives_up_what_is_finished_changes_nothing() -> None:
    """It was answered already."""
    setup = BrokerSetup(PromptLog(2))
    batch = setup.calls.begin_batch([make_request("a")])
    assert batch.step_sync()
    await batch.abandon()
    batch.close()
    assert len(setup.audit.events) == 2


def test_a_provider_that_never_waits_needs_no_task() -> None:
    """Its own cancellation is its failure; nobody else could cancel it."""
    setup = BrokerSetup(PromptLog(2))

    async def cancel() -> None:
        raise asyncio.CancelledError

    batch = add_to(setup, "box.cancel", cancel).begin_batch([make_request(None, "box.cancel")])
    assert batch.step_sync()
    assert [plain_answer(answer) for answer in batch.answers] == ["provider_error"]
    batch.close()


async def test_a_provider_that_never_waits_has_no_task_to_cancel() -> None:
    """The one that serves it is the host's; afterwards the host has it again."""
    setup, seen = BrokerSetup(), []

    async def look() -> None:
        seen.append(asyncio.current_task())
        raise ProviderError("it fails")

    host = asyncio.current_task()
    await answer_batch(add_to(setup, "box.look", look), [make_request(None, "box.look")])
    assert seen == [None]
    assert asyncio.current_task() is host


@pytest.mark.parametrize("prompt", [0, 2])
async def test_a_cancellation_that_comes_during_a_call_is_not_lost(prompt: int) -> None:
    """It reaches the task that serves the call, and what was done is recorded."""
    setup = BrokerSetup(PromptLog(prompt))
    serving: list[asyncio.Task[Any]] = []

    async def cancel() -> None:
        serving[0].cancel()

    async def serve() -> None:
        await answer_batch(calls, [make_request(None, "box.cancel")])
        await anyio.lowlevel.checkpoint()

    calls = add_to(setup, "box.cancel", cancel)
    serving.append(asyncio.create_task(serve()))
    with pytest.raises(asyncio.CancelledError):
        await serving[0]
    assert [one.status for one in setup.of(OutcomeRecorded)] == [CallStatus.OK]


async def test_an_interrupt_of_the_host_is_not_the_providers() -> None:
    """It passes through."""
    setup = BrokerSetup(PromptLog(2))

    async def interrupt() -> None:
        raise KeyboardInterrupt

    batch = add_to(setup, "box.interrupt", interrupt).begin_batch(
        [make_request(None, "box.interrupt")]
    )
    with pytest.raises(KeyboardInterrupt):
        batch.step_sync()


async def test_what_was_handed_in_when_the_execution_ended_is_recorded_once() -> None:
    """The log was being written, and the record is not appended again."""
    log = PromptLog(1)
    setup = BrokerSetup(log)
    begun, release = anyio.Event(), anyio.Event()

    append_all = log.append_all

    async def slowly(events: Sequence[AuditEvent]) -> None:
        begun.set()
        await release.wait()
        await append_all(events)

    log.append_all = slowly  # type: ignore[method-assign]
    batch = setup.calls.begin_batch([make_request("a"), make_request("b")])
    assert not batch.step_sync()
    async with anyio.create_task_group() as tasks:

        async def drive() -> None:
            with anyio.CancelScope() as scope:
                tasks.start_soon(cancel, scope)
                await batch.drive(send_nothing)
            assert scope.cancelled_caught
            batch.close()

        async def cancel(scope: anyio.CancelScope) -> None:
            await begun.wait()
            scope.cancel()
            await anyio.wait_all_tasks_blocked()
            release.set()

        tasks.start_soon(drive)
    assert [one.status for one in setup.of(OutcomeRecorded)] == [CallStatus.OK] * 2


@pytest.mark.parametrize("prompt", [0, 1])
async def test_what_is_given_up_without_evidence_is_known_to_lack_it(prompt: int) -> None:
    """The log fails at the last moment, too: the execution is notified, and there is no answer."""
    setup = BrokerSetup(PromptLog(prompt, fails_at=prompt))
    batch = setup.calls.begin_batch([make_request("a")])
    assert not batch.step_sync()
    await batch.abandon()
    batch.close()
    assert setup.calls.unrecorded is not None
    assert [plain_answer(answer) for answer in batch.answers] == ["audit_error"]


class TestLargeResults:
    """A batch makes some, passes them on, and makes more: it never holds them all."""

    @pytest.fixture(autouse=True)
    def endless_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Else a slow machine ends them earlier."""
        monkeypatch.setattr(batch_module, "_TURN_SECONDS", math.inf)

    @staticmethod
    def setup(log: MemoryAuditLog | None = None) -> BrokerSetup:
        setup = BrokerSetup() if log is None else BrokerSetup(log)

        @setup.registry.capability("box.large")
        async def large(word: str) -> str:
            setup.called.append(word)
            return word * 600_000

        setup.calls = setup.execution("e1")
        return setup

    async def test_are_passed_on_in_parts(self) -> None:
        """Each once, and only when its outcome is on record."""
        setup = self.setup()
        batch = setup.calls.begin_batch([make_request(w, "box.large") for w in "abcde"])
        parts: list[list[int]] = []

        async def send(ready: list[CallResponse | None]) -> None:
            await anyio.lowlevel.checkpoint()
            present = [n for n, answer in enumerate(ready) if answer not in (None, SENT)]
            parts.append(present)
            assert len(setup.of(OutcomeRecorded)) == len(setup.called) == present[-1] + 1

        assert not batch.step_sync()
        await batch.drive(send)
        batch.close()
        assert parts == [[0, 1], [2, 3]]
        last = batch.answers
        assert last[:4] == [SENT] * 4
        assert plain_answer(last[4]) == "e" * 600_000

    async def test_leave_the_rest_to_be_recorded_if_the_execution_ends(self) -> None:
        """What was made has its outcome, and what was not says that it was not begun."""
        setup = self.setup()
        batch = setup.calls.begin_batch([make_request(w, "box.large") for w in "abcd"])

        async def send(_ready: list[CallResponse | None]) -> None:
            scope.cancel()
            await anyio.sleep_forever()

        batch.step_sync()
        with anyio.CancelScope() as scope:
            await batch.drive(send)
        batch.close()
        assert setup.called == ["a", "b"]
        outcomes = [(o.status, o.detail) for o in setup.of(OutcomeRecorded)]
        assert outcomes == [
            *[(CallStatus.OK, None)] * 2,
            *[(CallStatus.CANCELLED, "it was not begun")] * 2,
        ]

    async def test_keep_their_answers_if_a_later_record_is_missing(self) -> None:
        """Those that were passed on have their evidence; only the others fail."""
        setup = self.setup()
        answers: list[Any] = [None] * 4
        batch = setup.calls.begin_batch([make_request(w, "box.large") for w in "abcd"])

        async def send(ready: list[CallResponse | None]) -> None:
            await anyio.lowlevel.checkpoint()
            answers[:2] = ready[:2]
            setup.audit._capacity = len(setup.audit.lines)  # the disk is full from now on

        batch.step_sync()
        await batch.drive(send)
        batch.close()
        answers[2:] = batch.answers[2:]
        expected = ["a" * 600_000, "b" * 600_000, "audit_error", "audit_error"]
        assert [plain_answer(answer) for answer in answers] == expected
        assert setup.calls.unrecorded is not None
