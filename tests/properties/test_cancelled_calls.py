"""Wherever a call is cancelled, an allowed decision that is on record has exactly one outcome."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from caps import AuditError, MemoryAuditLog
from caps.capabilities.broker.approvals import ApprovalQueue
from caps.capabilities.broker.broker import ExecutionBroker
from caps.protocol.messages import CapabilityRequestMessage
from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest
from caps.security.audit import (
    ApprovalRequested,
    ApprovalSettled,
    AuditEvent,
    AuditLog,
    DecisionMade,
    Durability,
    OutcomeRecorded,
    UndeliveredError,
    read_records,
)
from support.broker_setup import BrokerSetup, answer_batch, make_request

Requests = list[CapabilityRequestMessage]


class WaitingLog(MemoryAuditLog):
    """Like the log on disk: what it was given is recorded, and the caller waits for that."""

    turns = 3

    async def append(self, event: AuditEvent) -> None:
        await super().append(event)
        for _ in range(self.turns):
            await anyio.lowlevel.checkpoint()

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        for event in events:
            await super().append(event)
        for _ in range(self.turns):
            await anyio.lowlevel.checkpoint()


class LateLog(MemoryAuditLog):
    """Waits before it records: without a shield, a cancelled append leaves nothing."""

    async def append(self, event: AuditEvent) -> None:
        await anyio.lowlevel.checkpoint()
        await super().append(event)
        await anyio.lowlevel.checkpoint()


class DownSinkLog(WaitingLog):
    """Records what it is given, and a required sink misses the appends from `first` to `last`."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self._down = range(first, last + 1)
        self.appends = 0

    async def append(self, event: AuditEvent) -> None:
        await self.append_all((event,))

    async def append_all(self, events: Sequence[AuditEvent]) -> None:
        self.appends += 1
        number = self.appends
        for event in events:
            await MemoryAuditLog.append(self, event)
        await anyio.lowlevel.checkpoint()
        if number in self._down:
            raise UndeliveredError("the sink is down")


async def approve(_request: ApprovalRequest) -> ApprovalAnswer:
    """Say yes, after a turn."""
    await anyio.lowlevel.checkpoint()
    return ApprovalAnswer(allowed=True, by="somebody")


def make_setup(audit: Any) -> BrokerSetup:
    """A broker with a capability that must be approved, and an approver."""
    setup = BrokerSetup(audit)

    @setup.registry.capability("box.asked")
    async def asked(word: str) -> str:
        await anyio.lowlevel.checkpoint()
        return word

    approvals = ApprovalQueue(audit, setup.broker.metrics, approve)
    setup.broker = dataclasses.replace(setup.broker, approvals=approvals)
    setup.policy = {"approve": ["box.asked"]}
    setup.calls = setup.execution("e1")
    return setup


async def waiting(calls: ExecutionBroker, requests: Requests) -> None:
    """The driver of calls that may wait, a task for each as a supervisor has it."""
    async with anyio.create_task_group() as group:
        for request in requests:
            group.start_soon(calls.answer, request)


async def inline(calls: ExecutionBroker, requests: Requests) -> None:
    """The driver of calls that cannot."""
    await answer_batch(calls, requests)


SCENARIOS: dict[str, tuple[Any, Callable[[int], Requests]]] = {
    "waiting": (
        waiting,
        lambda _: [make_request(None, "box.slow"), make_request(None, "box.slow")],
    ),
    "refused": (waiting, lambda _: [make_request("a", "box.none"), make_request(None, "box.slow")]),
    "approved": (
        waiting,
        lambda _: [make_request("a", "box.asked"), make_request("b", "box.asked")],
    ),
    "keyed": (
        waiting,
        lambda n: [make_request(None, "box.slow", idempotency_key=f"k{n}") for _ in range(3)],
    ),
    "keyed and approved": (
        waiting,
        lambda n: [make_request("a", "box.asked", idempotency_key=f"k{n}") for _ in range(3)],
    ),
    "inline": (inline, lambda _: [make_request(word) for word in ("a", "bad", "broken")]),
    "inline with a key": (
        waiting,
        lambda n: [make_request("a", idempotency_key=f"i{n}") for _ in range(2)],
    ),
}


def assert_every_decision_has_its_end(events: Sequence[AuditEvent]) -> None:
    allowed = Counter(
        one.request_id
        for one in events
        if isinstance(one, DecisionMade) and one.decision == "allow"
    )
    ended = Counter(one.request_id for one in events if isinstance(one, OutcomeRecorded))
    assert ended == allowed
    assert set(allowed.values()) <= {1}
    asked = Counter(one.approval for one in events if isinstance(one, ApprovalRequested))
    settled = Counter(one.approval for one in events if isinstance(one, ApprovalSettled))
    assert settled == asked


async def cancelled_after(turns: int, act: Callable[[], Awaitable[None]]) -> bool:
    """Run `act`, and cancel it after `turns` turns of the loop; whether it was cancelled."""
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def strike() -> None:
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                scope.cancel()

            group.start_soon(strike)
            await act()
            group.cancel_scope.cancel()
    return scope.cancelled_caught


async def cancelled_natively_after(turns: int, act: Callable[[], Awaitable[None]]) -> bool:
    """The same by the task's own `cancel`, which no shield holds off."""

    async def run() -> None:
        await act()

    task = asyncio.ensure_future(run())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("log", [WaitingLog, LateLog])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_wherever_it_is_cancelled(scenario: str, log: type[MemoryAuditLog], backend: str) -> None:
    """At each turn of the loop, from the first to the one at which it is done."""
    drive, make = SCENARIOS[scenario]

    async def main() -> int:
        turns, was_cancelled = 0, True
        while was_cancelled:
            setup = make_setup(log())
            requests = make(turns)
            was_cancelled = await cancelled_after(turns, partial(drive, setup.calls, requests))
            assert_every_decision_has_its_end(setup.audit.events)
            turns += 1
        return turns

    assert anyio.run(main, backend=backend) > 3


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_wherever_its_task_is_cancelled_by_asyncio(scenario: str) -> None:
    """As an embedding program does it, without a scope."""
    drive, make = SCENARIOS[scenario]

    async def main() -> int:
        turns, was_cancelled = 0, True
        while was_cancelled:
            setup = make_setup(WaitingLog())
            requests = make(turns)

            async def act(calls: ExecutionBroker = setup.calls, made: Requests = requests) -> None:
                if drive is inline:
                    await inline(calls, made)
                    return
                await calls.answer(made[0])

            was_cancelled = await cancelled_natively_after(turns, act)
            assert_every_decision_has_its_end(setup.audit.events)
            turns += 1
        return turns

    assert asyncio.run(main()) > 3


@pytest.mark.parametrize("durability", list(Durability))
def test_calls_of_a_real_log_that_are_cancelled_at_random(
    tmp_path: Path, durability: Durability
) -> None:
    """Of all kinds, several concurrently; every decision in the file has its outcome there."""
    chance = random.Random(13)

    async def main() -> None:
        async with AuditLog.open(tmp_path, durability=durability, checkpoint_every=50) as log:
            setup = make_setup(cast("MemoryAuditLog", log))
            for number in range(120):
                drive, make = SCENARIOS[chance.choice(list(SCENARIOS))]
                requests = make(number)
                turns = chance.choice((chance.randrange(12), chance.randrange(300)))
                calls = setup.execution(f"e{number}")
                await cancelled_after(turns, partial(drive, calls, requests))

    anyio.run(main)
    events = [record.event for record in read_records(tmp_path)]
    assert_every_decision_has_its_end(events)
    assert any(isinstance(one, OutcomeRecorded) for one in events)


@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_wherever_a_required_sink_fails(scenario: str, lasting: bool) -> None:
    """At each append, the decision's or the outcome's, from then on or once."""
    drive, make = SCENARIOS[scenario]

    async def main() -> int:
        first, failed = 1, True
        while failed:
            log = DownSinkLog(first, 10**6 if lasting else first)
            setup = make_setup(log)
            await drive(setup.calls, make(first))
            assert_every_decision_has_its_end(log.events)
            failed = log.appends >= first
            assert (setup.calls.unrecorded is not None) is failed
            if first == 1 and lasting:
                assert setup.called == []
                assert {one.detail for one in setup.of(OutcomeRecorded)} <= {"it was not begun"}
            first += 1
        return first

    assert anyio.run(main) > 3


def test_a_required_sink_that_fails_while_a_call_is_cancelled() -> None:
    """Neither hides the other: each allowed decision has one outcome."""

    async def main() -> None:
        for (drive, make), first, turns in product(SCENARIOS.values(), range(1, 5), range(20)):
            setup = make_setup(DownSinkLog(first, 10**6))
            await cancelled_after(turns, partial(drive, setup.calls, make(turns)))
            assert_every_decision_has_its_end(setup.audit.events)

    anyio.run(main)


def test_a_log_that_fails_as_well_ends_the_call_all_the_same() -> None:
    """The cancellation is not replaced by the error of the log, which is marked."""

    class Full(WaitingLog):
        async def append(self, event: AuditEvent) -> None:
            if isinstance(event, OutcomeRecorded):
                raise AuditError("the disk is full")
            await super().append(event)

    async def main() -> None:
        setup = make_setup(Full())
        request = make_request(None, "box.slow")

        async def act() -> None:
            await setup.calls.answer(request)

        assert await cancelled_after(1, act)
        assert setup.calls.unrecorded is not None

    anyio.run(main)
