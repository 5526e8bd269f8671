"""Workers inside the test process that use the real protocol; each test chooses their behaviour."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from caps.protocol.connection import WorkerConnection
from caps.protocol.enforcement import Layer
from caps.protocol.messages import (
    PROTOCOL_VERSION,
    CapabilityRequestMessage,
    FromHost,
    FromWorker,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    WorkerLimits,
)
from caps.protocol.transport import ChannelClosedError, MemoryTransport
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.process.worker import ExitStatus, ResourceUsage
from caps.worker.host.supervisor.interface import CallResponse, Job, RequestBatch

JOB = Job(
    execution_id="e1",
    namespace="caps",
    policy_id="reader",
    manifest=(),
    source="1",
    filename="<agent>",
    wall_ms=60_000,
    output_bytes=100,
    max_requests=5,
    worker_limits=WorkerLimits(cpu_ms=1000, memory_mb=64, concurrency=2),
)


class FakeWorker:
    """A worker as the host sees it, and the other end of its channel."""

    def __init__(self) -> None:
        self.transport, self.theirs = MemoryTransport.pair()
        self.connection = WorkerConnection()
        self.received: list[FromHost] = []
        self.ending: ExitStatus | None = None
        self.works = False
        self.used_us = 0
        self.interrupts = 0
        self._over = anyio.Event()
        self._on_end: Callable[[], None] | None = None

    @property
    def is_over(self) -> bool:
        return self.ending is not None

    def cpu_us(self) -> int | None:
        self.used_us += self.works  # by the next poll
        return None if self.is_over else self.used_us

    def max_rss_kb(self) -> int | None:
        """Unknown while it runs."""
        return None

    def limit_memory(self, megabytes: int) -> None:
        """Not bounded from outside."""

    def kill(self) -> None:
        self.die(ExitStatus(None, signal.SIGKILL))

    def interrupt(self) -> None:
        """It goes on; a test that needs another behaviour overrides this."""
        self.interrupts += 1

    def near(self, processor: int) -> bool:
        """It runs where the kernel puts it."""
        return False

    def apart(self) -> None:
        """It is never near."""

    def pause(self) -> None:
        """It runs in this process; there is nothing to stop."""

    def resume(self) -> None:
        """The same."""

    def die(self, ending: ExitStatus) -> None:
        """End as a process does: its channel closes with it."""
        self.ending = self.ending or ending
        self.theirs.close()
        self._over.set()
        on_end, self._on_end = self._on_end, None
        if on_end is not None:
            on_end()

    def on_end(self, callback: Callable[[], None]) -> None:
        if self.is_over:
            callback()
        else:
            self._on_end = callback

    async def ended(self) -> ExitStatus:
        await self._over.wait()
        assert self.ending is not None
        return self.ending

    async def say(self, kind: type[FromWorker], **fields: object) -> None:
        message = kind(**self.connection.stamp(), **fields)  # type: ignore[arg-type]
        await self.theirs.send(self.connection.send(message))

    async def take_code(self) -> None:
        """Report ready, and wait for manifest and code."""
        await self.say(ReadyMessage, protocol=PROTOCOL_VERSION, python="3")
        while len(self.received) < 2:
            data = await self.theirs.receive()
            if not data:
                raise ChannelClosedError
            self.received += self.connection.receive(data)


Behaviour = Callable[[FakeWorker], Awaitable[None]]


async def honest(worker: FakeWorker) -> None:
    """Run the code and send its result."""
    await worker.take_code()
    await worker.say(StartedMessage)
    await worker.say(ResultMessage, value=b"\x07")


class FakeWorkerSource:
    """A source of workers that all have one behaviour; `gate` delays every start."""

    def __init__(self, behaviour: Behaviour = honest) -> None:
        self.behaviour = behaviour
        self.workers: list[FakeWorker] = []
        self.gate = anyio.Event()
        self.gate.set()
        self.waiting = 0
        self._tasks: TaskGroup | None = None

    @property
    def layers(self) -> tuple[Layer, ...]:
        return ()

    def with_modules(self, modules: tuple[str, ...]) -> FakeWorkerSource:
        """The same source: these workers load no modules."""
        return self

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                for worker in self.workers:
                    worker.kill()
                tasks.cancel_scope.cancel()

    async def start(self) -> FakeWorker:
        self.waiting += 1
        try:
            await self.gate.wait()
        finally:
            self.waiting -= 1
        worker = FakeWorker()
        self.workers.append(worker)
        assert self._tasks is not None
        self._tasks.start_soon(self._play, worker)
        return worker

    async def _play(self, worker: FakeWorker) -> None:
        try:
            await self.behaviour(worker)
        except ChannelClosedError:
            worker.kill()


class UnansweredCalls:
    """A handler that answers no request."""

    def begin(self) -> None:
        return

    def prepare(self, request: CapabilityRequestMessage) -> CapabilityRequestMessage:
        return request

    async def answer(
        self,
        request: CapabilityRequestMessage,
        _answered: frozenset[str] = frozenset(),
        sink: object = None,
    ) -> CallResponse:
        await anyio.sleep_forever()
        raise AssertionError(request)

    def answer_one(
        self, request: CapabilityRequestMessage, keep: Callable[[RequestBatch], None]
    ) -> CallResponse | None:
        keep(self.begin_batch((request,)))
        return None

    def begin_batch(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        return RequestBatch(len(requests))

    def end(self, used: ResourceUsage | None) -> None:
        assert used is None or used.max_rss_kb is None  # a fake worker has no usage to report


class PoolSetup:
    """A pool with its source, and the number of its live workers."""

    def __init__(self, source: FakeWorkerSource, most: int) -> None:
        self.source = source
        self.alive = 0
        self.pool = WorkerPool(source, most, self._count)

    def _count(self, change: int) -> None:
        self.alive += change

    async def run(self, job: Job = JOB) -> ResultMessage:
        return await self.pool.run(job, UnansweredCalls(), print)

    @property
    def stock(self) -> list[FakeWorker]:
        workers = [spare.worker for spare in self.pool._stock]
        return [worker for worker in workers if isinstance(worker, FakeWorker)]

    async def until_stocked(self, number: int) -> list[FakeWorker]:
        """Wait until the stock has exactly `number` spares."""
        while len(self.stock) != number:
            await anyio.lowlevel.checkpoint()
        return self.stock
