"""A supervisor answers what never waits as its bytes arrive, and wakes its task for the rest."""

from __future__ import annotations

import contextvars
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from msgspec.structs import replace

from caps.protocol.connection import HostConnection, WorkerConnection
from caps.protocol.errors import ProtocolError
from caps.protocol.framing import FrameLimits
from caps.protocol.messages import (
    CapabilityRequestMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    WorkerLimits,
)
from caps.protocol.transport import SocketTransport
from caps.worker.host.pool.spare import wait_until_ready
from caps.worker.host.process.worker import ExitStatus, ResourceUsage
from caps.worker.host.supervisor.byte_budget import ByteBudget
from caps.worker.host.supervisor.interface import SENT, CallResponse, RequestBatch
from caps.worker.host.supervisor.supervisor import Supervisor
from support.fake_workers import JOB as POOLED

pytestmark = pytest.mark.anyio

JOB = replace(
    POOLED,
    wall_ms=20_000,
    output_bytes=1000,
    max_requests=1000,
    worker_limits=WorkerLimits(cpu_ms=20_000, memory_mb=64, concurrency=100),
)


class Batch(RequestBatch):
    """Answers each request with its payload, in as many steps as a test wants."""

    def __init__(self, calls: Calls, requests: Sequence[CapabilityRequestMessage]) -> None:
        super().__init__(len(requests))
        self.given: list[CallResponse | None] = [None] * len(requests)
        self.calls = calls
        self.requests = requests
        self.waits = calls.waits
        self.told: list[str] = []
        calls.batches.append(self)

    @property
    def answers(self) -> list[CallResponse | None]:
        return self.given

    def step_sync(self) -> bool:
        self.told.append("step_sync")
        if self.waits is not None:
            self.calls.at_a_wait()
            return False
        self._answer()
        return True

    async def drive(self, send: Callable[[list[CallResponse | None]], Awaitable[None]]) -> None:
        self.told.append("drive")
        assert self.waits is not None
        await self.waits.wait()
        self._answer()

    async def abandon(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.told.append("abandon")

    def close(self) -> None:
        self.told.append("close")

    def _answer(self) -> None:
        for index, request in enumerate(self.requests):
            if request.capability != "box.slow":
                self.given[index] = CallResponse(result=request.payload)


class Calls:
    """A handler that answers together what does not ask for `box.slow`."""

    def __init__(self, waits: anyio.Event | None = None) -> None:
        self.waits = waits
        self.batches: list[Batch] = []
        self.alone: list[str] = []
        self.at_a_wait: Callable[[], None] = lambda: None
        self.prepared_in: list[int] = []

    def begin(self) -> None:
        return

    def prepare(self, request: CapabilityRequestMessage) -> CapabilityRequestMessage:
        self.prepared_in.append(threading.get_ident())
        return request

    async def answer(
        self,
        request: CapabilityRequestMessage,
        _answered: frozenset[str] = frozenset(),
        sink: object = None,
    ) -> CallResponse:
        await anyio.lowlevel.checkpoint()
        self.alone.append(request.request_id)
        return CallResponse(result="late")

    def answer_one(
        self, request: CapabilityRequestMessage, keep: Callable[[RequestBatch], None]
    ) -> CallResponse | None:
        keep(self.begin_batch((request,)))
        return None

    def begin_batch(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        return Batch(self, requests)

    def end(self, used: ResourceUsage | None) -> None:
        return


class Held:
    """The worker as the host holds it."""

    def __init__(self, transport: SocketTransport) -> None:
        self.transport = transport
        self.killed = anyio.Event()

    @property
    def is_over(self) -> bool:
        return self.killed.is_set()

    def cpu_us(self) -> int | None:
        return 0

    def max_rss_kb(self) -> int | None:
        return None

    def kill(self) -> None:
        self.killed.set()

    def limit_memory(self, megabytes: int) -> None:
        return

    def interrupt(self) -> None:
        return

    def near(self, processor: int) -> bool:
        """It runs where the kernel puts it."""
        return False

    def apart(self) -> None:
        """It is never near."""

    def pause(self) -> None:
        return

    def resume(self) -> None:
        return

    def on_end(self, callback: Callable[[], None]) -> None:
        raise AssertionError("nothing here is notified of its end")

    async def ended(self) -> ExitStatus:
        await self.killed.wait()
        return ExitStatus(None, signal.SIGKILL)


class Peer:
    """The worker's end of the socket."""

    def __init__(self, end: socket.socket) -> None:
        self.transport = SocketTransport(end)
        self.connection = WorkerConnection()
        self.requests = 0

    def bytes_of(self, kind: type[Any], **fields: Any) -> bytes:
        return self.connection.send(kind(**self.connection.stamp(), **fields))

    def asking(self, capability: str = "box.quick", **payload: Any) -> bytes:
        self.requests += 1
        return self.bytes_of(
            CapabilityRequestMessage,
            request_id=f"r{self.requests}",
            capability=capability,
            payload=payload,
        )

    async def say(self, *data: bytes) -> None:
        await self.transport.send(b"".join(data))

    async def hear(self, number: int = 1) -> list[Any]:
        heard: list[Any] = []
        while len(heard) < number:
            data = await self.transport.receive()
            assert data, "the host closed the channel"
            heard += self.connection.receive(data)
        return heard


@asynccontextmanager
async def running(
    calls: Calls,
    ended: Callable[[ResultMessage], None] = lambda _: None,
    within: Callable[[Callable[[], Awaitable[None]]], Awaitable[None]] = lambda run: run(),
    first: dict[str, Any] = {"first": True},  # noqa: B006 - never changed
    budget: ByteBudget | None = None,
) -> AsyncIterator[tuple[Peer, Supervisor]]:
    """An execution whose code runs, and the end that plays it; both end with the block."""
    ours, raw = SocketTransport.pair()
    peer, held = Peer(raw), Held(ours)
    connection = HostConnection()
    execution = Supervisor(JOB, held, connection, calls, lambda _text: None)
    execution.budget = budget or execution.budget

    async def run() -> None:
        ended(await execution.run())

    async def get_ready_and_run() -> None:
        await wait_until_ready(ours, connection)  # by the pool, before anybody has the worker
        await within(run)

    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(get_ready_and_run)
                await peer.say(peer.bytes_of(ReadyMessage, protocol=1, python="3"))
                await peer.hear(2)
                await peer.say(peer.bytes_of(StartedMessage))
                # The first call is served by the task itself.
                calls.waits, waits = None, calls.waits
                await peer.say(peer.asking(**first))
                await peer.hear()
                calls.waits = waits
                yield peer, execution
                group.cancel_scope.cancel()
    finally:
        ours.close()
        peer.transport.close()


async def until(reached: Callable[[], object]) -> None:
    """Turn the loop until something is so."""
    while not reached():
        await anyio.lowlevel.checkpoint()


async def test_a_call_that_never_waits_is_answered_as_it_arrives() -> None:
    """No task is woken for it, however often that happens."""
    calls = Calls()
    async with running(calls) as (peer, _):
        for number in range(50):
            await peer.say(peer.asking(number=number))
            (answer,) = await peer.hear()
            assert answer.result == {"number": number}
        assert all(batch.told == ["step_sync", "close"] for batch in calls.batches[1:])


async def test_a_large_request_is_prepared_in_a_thread_and_answered_in_its_turn() -> None:
    """The event loop does not decode, check or hash it; what follows it is answered after it."""
    calls = Calls()
    async with running(calls) as (peer, _):
        items = list(range(5000))
        await peer.say(peer.asking(items=items), peer.asking(small=True))
        large, small = await peer.hear(2)
        assert (large.result, small.result) == ({"items": items}, {"small": True})
        assert calls.prepared_in
        assert threading.get_ident() not in calls.prepared_in


async def test_a_large_first_request_is_prepared_in_a_thread_too() -> None:
    """Before the first call, another function reads the channel."""
    calls = Calls()
    async with running(calls, first={"text": "x" * 100_000}) as (peer, _):
        assert len(calls.prepared_in) == 1
        assert threading.get_ident() not in calls.prepared_in
        await peer.say(peer.asking(small=True))
        (answer,) = await peer.hear()
        assert answer.result == {"small": True}


async def test_a_large_lie_ends_the_execution() -> None:
    """What the thread finds is raised in the execution, as if it had been found in the loop."""
    with pytest.raises(ExceptionGroup) as caught:
        async with running(Calls()) as (peer, _):
            peer.connection._limits = FrameLimits(max_items=1_000_000)
            await peer.say(peer.asking(items=[0] * 200_000))
            await anyio.sleep_forever()  # until the execution ends
    assert caught.group_contains(ProtocolError, match="more than 10")


async def test_what_has_to_wait_for_its_evidence_is_finished_by_the_task() -> None:
    """It is answered then, and concluded once."""
    waits = anyio.Event()
    calls = Calls(waits)
    async with running(calls) as (peer, _):
        await peer.say(peer.asking(a=1))
        await until(lambda: len(calls.batches) == 2 and "drive" in calls.batches[1].told)
        assert calls.batches[1].told == ["step_sync", "step_sync", "drive"]
        waits.set()
        (answer,) = await peer.hear()
        assert answer.result == {"a": 1}
        assert calls.batches[1].told[3:] == ["close"]


async def test_what_waits_beside_what_does_not_has_a_task_of_its_own() -> None:
    """All three are answered, each once."""
    calls = Calls()
    async with running(calls) as (peer, _):
        await peer.say(peer.asking(a=1), peer.asking("box.slow"), peer.asking(b=2))
        answers = await peer.hear(3)
        assert sorted(answer.request_id for answer in answers) == ["r2", "r3", "r4"]
        assert calls.alone == ["r3"]
        assert calls.batches[1].told.count("close") == 1


async def test_answers_that_find_no_room_are_sent_when_there_is_some() -> None:
    """The channel is full until the worker reads; nothing is torn, nothing lost."""
    calls = Calls()
    async with running(calls) as (peer, execution):
        ours = execution.worker.transport
        assert isinstance(ours, SocketTransport)
        ours._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        before = len(calls.batches)
        for n in range(20):
            await peer.say(peer.asking(text="x" * 1000, n=n))
            while len(calls.batches) <= before + n and not ours._unsent:
                await anyio.lowlevel.checkpoint()
        assert ours._unsent  # the host found no room, and reads no more until there is some
        answers = await peer.hear(20)
        assert [answer.result["n"] for answer in answers] == list(range(20))


async def test_what_is_called_as_bytes_arrive_has_the_context_of_its_execution() -> None:
    """And not of the previous reader of the channel."""
    tenant = contextvars.ContextVar("tenant", default="nobody")
    seen: list[str] = []

    class Noting(Calls):
        def begin_batch(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
            seen.append(tenant.get())
            return super().begin_batch(requests)

    async def as_bob(run: Callable[[], Awaitable[None]]) -> None:
        tenant.set("bob")
        await run()

    async with running(Noting(), within=as_bob) as (peer, _):
        for _ in range(3):
            await peer.say(peer.asking())
            await peer.hear()
    assert seen == ["bob"] * 4


async def test_a_result_that_comes_with_a_call_ends_the_execution() -> None:
    """The call is answered before that."""
    calls, ended = Calls(), list[ResultMessage]()
    async with running(calls, ended.append) as (peer, _):
        await peer.say(peer.asking(a=1), peer.bytes_of(ResultMessage, value=b"\x01"))
        (answer,) = await peer.hear()
        assert answer.result == {"a": 1}
        await until(lambda: ended)
    assert ended[0].value == b"\x01"


async def test_what_is_cancelled_while_it_is_finished_is_concluded() -> None:
    """Also if there is no answer."""
    calls = Calls(anyio.Event())
    async with running(calls) as (peer, _):
        await peer.say(peer.asking(a=1))
        await until(lambda: len(calls.batches) == 2 and "drive" in calls.batches[1].told)
    assert calls.batches[1].told[-2:] == ["drive", "close"]


async def test_what_was_taken_up_when_the_execution_is_over_is_given_up() -> None:
    """It ends in the same turn, so that the task never continues with it."""
    calls = Calls(anyio.Event())
    with anyio.CancelScope() as scope:
        async with running(calls) as (peer, _):
            calls.at_a_wait = scope.cancel
            await peer.say(peer.asking(a=1))
            await anyio.sleep_forever()
    assert calls.batches[1].told == ["step_sync", "abandon", "close"]


async def test_a_lie_that_arrives_between_calls_ends_the_execution() -> None:
    """What is raised as bytes arrive is raised by the execution."""
    with pytest.raises(ExceptionGroup) as caught:
        async with running(Calls()) as (peer, _):
            await peer.say(b"\xff\xff\xff\xff")
            await anyio.sleep_forever()  # until the execution ends
    assert caught.group_contains(ProtocolError, match="announces")


async def test_a_large_message_waits_until_there_is_room_for_it() -> None:
    """What came before it in the same bytes is answered meanwhile; it is decoded after that."""
    calls, budget, held = Calls(), ByteBudget(400_000), []
    release = anyio.Event()

    async def answer(
        request: CapabilityRequestMessage,
        _answered: frozenset[str] = frozenset(),
        sink: object = None,
    ) -> CallResponse:
        held.append((request.request_id, budget.held > 60_000))
        await release.wait()
        return CallResponse(result="late")

    calls.answer = answer  # type: ignore[method-assign]
    async with running(calls, budget=budget) as (peer, _):
        text = "x" * 60_000
        large = peer.asking("box.slow", text=text) + peer.asking("box.slow", text=text)
        await peer.say(large, peer.asking("box.slow", keys=dict.fromkeys(map(str, range(5_000)))))
        await until(lambda: len(held) == 2)
        await anyio.wait_all_tasks_blocked()
        assert held == [("r2", True), ("r3", True)]
        release.set()
        answers = await peer.hear(3)
    assert sorted(answer.request_id for answer in answers) == ["r2", "r3", "r4"]
    assert budget.was_large is False


async def test_a_result_never_waits_for_calls_that_end_with_it() -> None:
    """However much they hold."""
    results: list[ResultMessage] = []
    calls, budget, begun = Calls(), ByteBudget(100_000), anyio.Event()

    async def answer(
        request: CapabilityRequestMessage,
        _answered: frozenset[str] = frozenset(),
        sink: object = None,
    ) -> CallResponse:
        begun.set()
        await anyio.sleep_forever()
        raise AssertionError

    calls.answer = answer  # type: ignore[method-assign]
    async with running(calls, results.append, budget=budget) as (peer, _):
        await peer.say(peer.asking("box.slow", text="x" * 90_000))
        await begun.wait()
        await peer.say(peer.bytes_of(ResultMessage, value=b"x" * 50_000))
        await until(lambda: results)
    assert len(results[0].value) == 50_000


async def test_answers_that_a_batch_passes_on_are_sent_once() -> None:
    """In their order, and the rest when it is done."""

    class InParts(Batch):
        def step_sync(self) -> bool:
            return False

        async def drive(self, send: Callable[[list[CallResponse | None]], Awaitable[None]]) -> None:
            await send([CallResponse(result="first"), None])
            self.given = [SENT, CallResponse(result="second")]

    calls = Calls()
    async with running(calls) as (peer, _):
        calls.begin_batch = lambda requests: InParts(calls, requests)  # type: ignore[method-assign]
        await peer.say(peer.asking(), peer.asking())
        answers = await peer.hear(2)
    assert [answer.result for answer in answers] == ["first", "second"]
    assert calls.batches[-1].told == ["close"]
