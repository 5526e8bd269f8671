"""The supervisor: one execution on one channel, bounded from outside, whatever the worker does.

The worker's end is a real connection in the same process, so that each lie is exactly one.
"""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
from msgspec.structs import replace

from caps.protocol.connection import HostConnection, State, WorkerConnection
from caps.protocol.errors import (
    CapsError,
    LimitExceededError,
    ProtocolError,
    ProviderError,
    WorkerLostError,
)
from caps.protocol.framing import DEFAULT_LIMITS, FrameLimits, frame
from caps.protocol.messages import (
    CallFailure,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ErrorReport,
    ManifestEntry,
    ManifestMessage,
    OutputMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
    WorkerLimits,
)
from caps.protocol.transport import MemoryTransport, SocketTransport, Transport
from caps.protocol.zygote_messages import OUT_OF_MEMORY
from caps.worker.host.pool import pool as pool_module
from caps.worker.host.pool.pool import WorkerPool
from caps.worker.host.pool.spare import wait_until_ready
from caps.worker.host.process.worker import ExitStatus, ResourceUsage
from caps.worker.host.supervisor import exit_reasons, supervisor
from caps.worker.host.supervisor.interface import CallResponse, Job, RequestBatch
from caps.worker.host.supervisor.interruption import CodeInterruptedError
from caps.worker.host.supervisor.supervisor import Supervisor
from support.command_workers import CommandWorkerSource

pytestmark = pytest.mark.anyio

JOB = Job(
    execution_id="e1",
    namespace="caps",
    policy_id="reader",
    manifest=(ManifestEntry.of(name="files.read", schema_in={}),),
    source="await caps.files.read()",
    filename="<agent>",
    wall_ms=60_000,
    output_bytes=100,
    max_requests=5,
    worker_limits=WorkerLimits(cpu_ms=1000, memory_mb=64, concurrency=2),
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@dataclass
class Calls:
    """A handler whose answer each test chooses; it notes what it saw."""

    respond: Callable[[CapabilityRequestMessage], Awaitable[CallResponse]] | None = None
    begun: int = 0
    handled: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    used: ResourceUsage | None = None

    def begin(self) -> None:
        self.begun += 1

    def prepare(self, request: CapabilityRequestMessage) -> CapabilityRequestMessage:
        return request

    async def answer(
        self,
        request: CapabilityRequestMessage,
        _answered: frozenset[str] = frozenset(),
        sink: object = None,
    ) -> CallResponse:
        self.handled.append(request.request_id)
        if self.respond is None:
            return CallResponse(result=request.payload)
        try:
            return await self.respond(request)
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(request.request_id)
            raise

    def answer_one(
        self, request: CapabilityRequestMessage, keep: Callable[[RequestBatch], None]
    ) -> CallResponse | None:
        keep(self.begin_batch((request,)))
        return None

    def begin_batch(self, requests: Sequence[CapabilityRequestMessage]) -> RequestBatch:
        return RequestBatch(len(requests))

    def end(self, used: ResourceUsage | None) -> None:
        self.used = used


class Held:
    """The worker as the host holds it; its CPU clock shows what a test sets."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.cpu = 0
        self.looks = 0
        self.interrupts = 0
        self.killed = anyio.Event()

    @property
    def is_over(self) -> bool:
        return self.killed.is_set()

    def cpu_us(self) -> int | None:
        self.looks += 1
        return None if self.is_over else self.cpu

    def kill(self) -> None:
        self.killed.set()

    def max_rss_kb(self) -> int | None:
        """Not to be seen while it lives."""
        return None

    def limit_memory(self, megabytes: int) -> None:
        """Not bounded from outside."""

    def interrupt(self) -> None:
        """Its code goes on."""
        self.interrupts += 1

    def near(self, processor: int) -> bool:
        """It runs where the kernel puts it."""
        return False

    def apart(self) -> None:
        """It is never near."""

    def pause(self) -> None:
        raise AssertionError("nothing here pauses a worker")

    def resume(self) -> None:
        raise AssertionError("nothing here resumes a worker")

    async def ended(self) -> ExitStatus:
        await self.killed.wait()
        return ExitStatus(None, signal.SIGKILL)

    def on_end(self, callback: Callable[[], None]) -> None:
        raise AssertionError("nothing here is notified of its end")


class Worker:
    """The other end: says what the protocol allows, or any bytes at all."""

    def __init__(self, transport: Transport, held: Held) -> None:
        self.transport = transport
        self.held = held
        self.connection = WorkerConnection()
        self.received: list[Any] = []

    async def say(self, kind: type[Any], **fields: Any) -> None:
        message = kind(**{**self.connection.stamp(), **fields})
        await self.transport.send(self.connection.send(message))

    async def raw(self, data: bytes) -> None:
        await self.transport.send(data)

    async def lie(self, kind: type[Any], **fields: Any) -> None:
        """A message that our own state machine would refuse to send."""
        message = kind(**{**self.connection.stamp(), **fields})
        await self.raw(frame(msgspec.msgpack.encode(message)))

    async def hear(self) -> Any:
        while not self.received:
            data = await self.transport.receive()
            assert data, "the host closed the channel"
            self.received += self.connection.receive(data)
        return self.received.pop(0)

    async def ready(self) -> None:
        await self.say(ReadyMessage, protocol=1, python="3")

    async def start(self) -> None:
        await self.ready()
        assert isinstance(await self.hear(), ManifestMessage)
        assert isinstance(await self.hear(), StartMessage)
        await self.say(StartedMessage)

    async def ask(self, request_id: str, **payload: Any) -> None:
        await self.say(
            CapabilityRequestMessage,
            request_id=request_id,
            capability="files.read",
            payload=payload,
        )


async def time_is_up() -> None:
    """The wall limit of `JOB` is reached when all that was said is dealt with; nothing follows."""
    await time_is_nearly_up()
    await anyio.sleep_forever()


async def time_is_nearly_up() -> None:
    """The same, but the worker goes on."""
    await anyio.wait_all_tasks_blocked()
    assert JOB.clock._scope is not None
    JOB.clock._scope.deadline = anyio.current_time()


Script = Callable[[Worker], Awaitable[None]]


@dataclass
class Ended:
    """How an execution ended, and what it left behind."""

    execution: Supervisor
    calls: Calls
    printed: list[str]
    long: int
    """How often it was notified that it takes long."""
    outcome: ResultMessage | Exception

    @property
    def error(self) -> CapsError:
        assert isinstance(self.outcome, CapsError), self.outcome
        return self.outcome


async def execute(
    script: Script,
    *,
    calls: Calls | None = None,
    job: Job = JOB,
    limits: FrameLimits = DEFAULT_LIMITS,
    ends: tuple[Transport, Transport] | None = None,
) -> Ended:
    """Run one execution against a worker that follows `script` and then closes its end."""
    ours, theirs = MemoryTransport.pair() if ends is None else ends
    handler, printed, held = calls or Calls(), list[str](), Held(ours)
    connection = HostConnection(limits)
    long = list[None]()
    execution = Supervisor(
        job, held, connection, handler, printed.append, on_slow=lambda: long.append(None)
    )
    outcome: ResultMessage | Exception
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:

            async def work() -> None:
                await script(Worker(theirs, held))
                theirs.close()

            group.start_soon(work)
            try:
                await wait_until_ready(ours, connection)
                outcome = await execution.run()
            except (CapsError, ExceptionGroup) as error:
                outcome = error
            ours.close()
            theirs.close()
            group.cancel_scope.cancel()
    return Ended(execution, handler, printed, len(long), outcome)


def violation(ended: Ended) -> str:
    assert isinstance(ended.outcome, ProtocolError), ended.outcome
    return str(ended.outcome.violation)


async def forever(_worker: object = None) -> CallResponse:
    await anyio.sleep_forever()
    raise AssertionError


class TestAnHonestWorker:
    async def test_gets_manifest_and_code_and_gives_a_result(self) -> None:
        """The whole path, with a request and a print in it."""
        heard: list[Any] = []

        async def script(worker: Worker) -> None:
            await worker.ready()
            heard.extend([await worker.hear(), await worker.hear()])
            await worker.say(StartedMessage)
            await worker.say(OutputMessage, text="hello ")
            await worker.ask("r1", path="a")
            heard.append(await worker.hear())
            await worker.say(OutputMessage, text="world")
            await worker.say(ResultMessage, value=b"\x07")

        ended = await execute(script)
        manifest, start, response = heard
        assert (manifest.execution_id, manifest.policy_id) == ("e1", "reader")
        assert [entry.name for entry in manifest.capabilities] == ["files.read"]
        assert (start.source, start.limits) == (JOB.source, JOB.worker_limits)
        assert (response.request_id, response.result) == ("r1", {"path": "a"})
        assert isinstance(ended.outcome, ResultMessage)
        assert (ended.outcome.value, ended.printed) == (b"\x07", ["hello ", "world"])
        assert (ended.execution.started, ended.calls.begun) == (True, 1)

    async def test_is_answered_out_of_order(self) -> None:
        """A slow call does not hold up a quick one."""
        release = anyio.Event()
        heard: list[str] = []

        async def answer(
            request: CapabilityRequestMessage,
            _answered: frozenset[str] = frozenset(),
            sink: object = None,
        ) -> CallResponse:
            if request.request_id == "slow":
                await release.wait()
            return CallResponse()

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("slow")
            await worker.ask("quick")
            heard.append((await worker.hear()).request_id)
            release.set()
            heard.append((await worker.hear()).request_id)
            await worker.say(ResultMessage)

        await execute(script, calls=Calls(answer))
        assert heard == ["quick", "slow"]

    async def test_whose_code_did_not_compile_never_started(self) -> None:
        """A result without a start is not a violation, and `started` stays False."""

        async def script(worker: Worker) -> None:
            await worker.ready()
            await worker.hear()
            await worker.hear()
            await worker.say(ResultMessage, never_ran=True)

        ended = await execute(script)
        assert isinstance(ended.outcome, ResultMessage)
        assert ended.execution.started is False

    async def test_that_is_over_at_once_does_not_take_long(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only its result is visible to others."""
        monkeypatch.setattr(supervisor, "SHORT_RUN_SECONDS", 20)

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.say(ResultMessage)

        limits = replace(JOB.worker_limits, cpu_ms=JOB.wall_ms)
        ended = await execute(script, job=replace(JOB, worker_limits=limits))
        assert (isinstance(ended.outcome, ResultMessage), ended.long) == (True, 0)

    @pytest.mark.parametrize("at_once_s", [0, 20], ids=["and computes", "and waits for a call"])
    async def test_that_takes_long_is_told_once(
        self, monkeypatch: pytest.MonkeyPatch, at_once_s: float
    ) -> None:
        """Whichever of the two it is first, and whatever it does later."""
        monkeypatch.setattr(supervisor, "SHORT_RUN_SECONDS", at_once_s)

        async def script(worker: Worker) -> None:
            await worker.start()
            await anyio.wait_all_tasks_blocked()
            for number in range(2):
                await worker.ask(f"r{number}")
                await worker.hear()
            await worker.say(ResultMessage)

        limits = replace(JOB.worker_limits, cpu_ms=JOB.wall_ms)
        ended = await execute(script, job=replace(JOB, worker_limits=limits))
        assert (isinstance(ended.outcome, ResultMessage), ended.long) == (True, 1)

    async def test_leaves_no_call_behind(self) -> None:
        """The result ends the execution: calls in flight are cancelled."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await worker.ask("r2")
            await anyio.wait_all_tasks_blocked()
            await worker.say(ResultMessage)

        ended = await execute(script, calls=Calls(forever))
        assert isinstance(ended.outcome, ResultMessage)
        assert sorted(ended.calls.cancelled) == ["r1", "r2"]

    @pytest.mark.parametrize(
        "answer",
        [
            CallResponse(result=object()),
            CallResponse(result=2**80),
            CallResponse(result="x" * (17 << 20)),
            CallResponse(result="\ud800"),
            CallResponse(
                failure=CallFailure(code="provider_error", message="", details={"x": len})
            ),
        ],
        ids=["object", "integer", "large", "surrogate", "details"],
    )
    async def test_is_told_when_an_answer_cannot_be_sent(self, answer: CallResponse) -> None:
        """One call fails; the execution continues."""
        heard: list[CapabilityResponseMessage] = []

        async def answered(_request: CapabilityRequestMessage) -> CallResponse:
            return answer

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            heard.append(await worker.hear())
            await worker.say(ResultMessage)

        ended = await execute(script, calls=Calls(answered))
        assert isinstance(ended.outcome, ResultMessage)
        assert heard[0].failure is not None
        assert heard[0].failure.code == ProviderError.code


class TestALiar:
    @pytest.mark.parametrize(
        ("lie", "expected"),
        [
            (lambda worker: worker.lie(StartedMessage), "out_of_turn"),
            (lambda worker: worker.lie(ReadyMessage, protocol=1, python="3"), "out_of_turn"),
            (lambda worker: worker.raw(frame(b"\xc1" * 9)), "garbage"),
            (lambda worker: worker.raw(b"\xff" * 9), "frame_too_large"),
            (lambda worker: worker.raw(b"\x00\x00\x00\x09half"), "truncated_frame"),
            (lambda worker: worker.lie(OutputMessage, id="e2:2", text="x"), "forged_id"),
            (lambda worker: worker.lie(OutputMessage, id="e1:9", text="x"), "forged_id"),
            (lambda worker: worker.lie(ResultMessage, never_ran=True), "contradiction"),
        ],
    )
    async def test_ends_its_own_execution(
        self, lie: Callable[[Worker], Awaitable[None]], expected: str
    ) -> None:
        """Each violation is a ProtocolError with its name; requests in flight are cancelled."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await anyio.wait_all_tasks_blocked()
            await lie(worker)

        ended = await execute(script, calls=Calls(forever))
        assert violation(ended) == expected
        assert ended.calls.cancelled == ["r1"]

    async def test_cannot_use_a_request_id_twice(self) -> None:
        """The second one never reaches the handler."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await worker.hear()
            await worker.ask("r1")

        ended = await execute(script)
        assert (violation(ended), ended.calls.handled) == ("replayed_request", ["r1"])

    async def test_that_floods_is_ended(self) -> None:
        """Requests are counted, refused ones too, and one over the most ends it."""

        async def script(worker: Worker) -> None:
            await worker.start()
            for number in range(100):
                await worker.ask(f"r{number}")
                await anyio.lowlevel.checkpoint()

        ended = await execute(script)
        assert violation(ended) == "flood"
        assert len(ended.calls.handled) <= JOB.max_requests

    async def test_before_it_is_ready_is_refused(self) -> None:
        """Nothing but `ready` may come first."""

        async def script(worker: Worker) -> None:
            await worker.lie(OutputMessage, text="x")

        ended = await execute(script)
        assert (violation(ended), ended.calls.begun) == ("out_of_turn", 0)

    async def test_of_another_version_is_refused(self) -> None:
        """Both sides must have the same protocol version."""

        async def script(worker: Worker) -> None:
            await worker.say(ReadyMessage, protocol=2, python="3")

        assert violation(await execute(script)) == "version"

    async def test_is_not_believed_that_its_code_never_ran(self) -> None:
        """`started` and garbage in one chunk: the start is dropped, the doubt is not."""

        async def script(worker: Worker) -> None:
            await worker.ready()
            await worker.hear()
            await worker.hear()
            started = worker.connection.send(StartedMessage(**worker.connection.stamp()))
            await worker.raw(started + frame(b"\xc1"))

        ended = await execute(script)
        assert (violation(ended), ended.execution.started) == ("garbage", True)

    async def test_caught_just_as_an_answer_is_ready_is_still_just_a_liar(self) -> None:
        """The answer is dropped; the violation is what is raised, and it is not wrapped."""
        release = anyio.Event()

        async def answer(
            _request: CapabilityRequestMessage,
            _answered: frozenset[str] = frozenset(),
            sink: object = None,
        ) -> CallResponse:
            await release.wait()
            return CallResponse()

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await anyio.wait_all_tasks_blocked()
            await worker.raw(frame(b"\xc1"))
            release.set()

        ended = await execute(script, calls=Calls(answer))
        assert violation(ended) == "garbage"
        assert ended.execution.connection.state is State.FAILED


class TestBounds:
    async def test_output_is_cut_off_at_its_limit(self) -> None:
        """What fits is passed on, what does not ends the execution."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.say(OutputMessage, text="é" * 50)
            await worker.say(OutputMessage, text="x")

        ended = await execute(script)
        assert isinstance(ended.outcome, LimitExceededError)
        assert (ended.error.limit, ended.error.allowed) == ("output_bytes", 100)
        assert (ended.printed, ended.execution.started) == (["é" * 50], True)

    async def test_empty_output_counts_too(self) -> None:
        """A worker cannot send empty output without end."""

        async def script(worker: Worker) -> None:
            await worker.start()
            for _ in range(101):
                await worker.say(OutputMessage, text="")

        ended = await execute(script)
        assert ended.error.limit == "output_bytes"

    @pytest.mark.parametrize("started", [True, False])
    async def test_the_wall_limit_ends_a_worker_that_says_nothing(self, started: bool) -> None:
        """And its calls; `started` says whether the code had begun."""

        async def script(worker: Worker) -> None:
            if started:
                await worker.start()
                await worker.ask("r1")
                await time_is_up()
            await worker.ready()
            await forever()

        job = JOB if started else replace(JOB, wall_ms=50)
        ended = await execute(script, calls=Calls(forever), job=job)
        assert isinstance(ended.outcome, LimitExceededError)
        assert (ended.error.limit, ended.error.allowed) == ("wall_ms", job.wall_ms)
        assert ended.execution.started is started
        assert ended.calls.cancelled == (["r1"] if started else [])

    async def test_the_wall_limit_starts_when_the_code_is_handed_over(self) -> None:
        """The time a worker needs to get ready is not the code's."""
        calls = Calls()

        async def script(worker: Worker) -> None:
            assert calls.begun == 0
            await worker.ready()
            await worker.hear()
            assert calls.begun == 1

        await execute(script, calls=calls)

    async def test_the_wall_limit_counts_what_passed_before_the_first_call(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Code that computes and then asks has no more time than code that asks immediately."""
        now, left = [0.0], list[float]()
        clock = SimpleNamespace(monotonic=lambda: now[0])
        monkeypatch.setattr(supervisor, "time", clock)

        async def script(worker: Worker) -> None:
            await worker.start()
            now[0] = JOB.wall_ms / 1000 - 1
            await worker.ask("r1")
            await anyio.wait_all_tasks_blocked()
            assert JOB.clock._scope is not None
            left.append(JOB.clock._scope.deadline - anyio.current_time())
            await time_is_up()

        ended = await execute(script, calls=Calls(forever))
        assert ended.error.limit == "wall_ms"
        assert left[0] <= 1


class TestInterrupts:
    """Code that is out of time is asked to stop before it is killed."""

    async def test_a_worker_that_goes_on_is_interrupted_several_times_and_killed(self) -> None:
        """The kill does not depend on anything that the worker does."""
        held = []

        async def script(worker: Worker) -> None:
            held.append(worker.held)
            await worker.start()
            await worker.ask("r1")
            await time_is_up()

        ended = await execute(script, calls=Calls(forever))
        assert isinstance(ended.outcome, LimitExceededError)
        assert not isinstance(ended.outcome, CodeInterruptedError)
        assert (held[0].interrupts, held[0].is_over) == (4, True)

    @pytest.mark.parametrize("session", [True, False])
    async def test_a_result_that_comes_in_time_says_where_the_code_was(self, session: bool) -> None:
        """The limit counts, whatever the result is; only a session keeps its worker."""
        report = ErrorReport(type="KeyboardInterrupt", code="interrupted", message="", line=7)
        held = []

        async def script(worker: Worker) -> None:
            held.append(worker.held)
            await worker.start()
            await worker.ask("r1")
            await time_is_nearly_up()
            while not worker.held.interrupts:
                await anyio.lowlevel.checkpoint()
            await worker.say(ResultMessage, error=report)
            await anyio.sleep_forever()

        job = replace(JOB, session=session)
        ended = await execute(script, calls=Calls(forever), job=job)
        assert isinstance(ended.outcome, CodeInterruptedError)
        assert (ended.outcome.report, ended.error.limit) == (report, "wall_ms")
        assert (held[0].interrupts, held[0].is_over) == (1, not session)
        assert ended.calls.cancelled == ["r1"]

    async def test_a_value_that_comes_too_late_does_not_count(self) -> None:
        """Code that catches the interrupt cannot have a result."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await time_is_nearly_up()
            while not worker.held.interrupts:
                await anyio.lowlevel.checkpoint()
            await worker.say(ResultMessage, value=b"\x07")
            await anyio.sleep_forever()

        ended = await execute(script, calls=Calls(forever))
        assert isinstance(ended.outcome, CodeInterruptedError)
        assert ended.outcome.report is None

    async def test_a_worker_that_exits_meanwhile_has_reached_the_limit(self) -> None:
        """Not lost for an unknown reason."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await time_is_nearly_up()
            while not worker.held.interrupts:
                await anyio.lowlevel.checkpoint()
            worker.transport.close()
            await anyio.sleep_forever()

        ended = await execute(script, calls=Calls(forever))
        assert isinstance(ended.outcome, LimitExceededError)
        assert ended.error.limit == "wall_ms"


class TestTheCpuLimit:
    """The clock of these workers shows what the test sets; real ones are in `test_limits.py`."""

    async def test_ends_a_worker_that_has_used_it_up(self) -> None:
        """Whatever its calls are waiting for; it counts from the moment the code is sent."""

        async def script(worker: Worker) -> None:
            worker.held.cpu = 7_000_000
            await worker.start()
            await worker.ask("r1")
            await anyio.wait_all_tasks_blocked()
            worker.held.cpu += 30_000
            await worker.held.killed.wait()

        limits = WorkerLimits(cpu_ms=30, memory_mb=64, concurrency=2)
        ended = await execute(script, calls=Calls(forever), job=replace(JOB, worker_limits=limits))
        assert isinstance(ended.outcome, LimitExceededError)
        assert (ended.error.limit, ended.error.allowed) == ("cpu_ms", 30)
        assert (ended.execution.started, ended.calls.cancelled) == (True, ["r1"])

    async def test_leaves_alone_a_worker_that_waits(self) -> None:
        """It is polled now and then, and what it used before the start does not count."""

        async def script(worker: Worker) -> None:
            worker.held.cpu = 7_000_000
            await worker.start()
            worker.held.cpu += 29_999
            while worker.held.looks < 4:
                await anyio.lowlevel.checkpoint()
            await worker.say(ResultMessage)

        limits = WorkerLimits(cpu_ms=30, memory_mb=64, concurrency=2)
        ended = await execute(script, job=replace(JOB, worker_limits=limits))
        assert isinstance(ended.outcome, ResultMessage)

    async def test_counts_only_what_the_code_used(self) -> None:
        """And nothing at all if the end could not be measured."""

        async def script(worker: Worker) -> None:
            worker.held.cpu = 500
            await worker.start()
            await worker.say(ResultMessage)

        execution = (await execute(script)).execution
        ending = ExitStatus(0, None, cpu_us=1700, max_rss_kb=9)
        assert execution.used(ending) == ResourceUsage(cpu_us=1200, max_rss_kb=9)
        assert execution.used(ExitStatus(None, signal.SIGKILL)) is None


class TestBytesInFlight:
    LIMITS = FrameLimits(max_bytes_in_flight=5000)  # a request takes 3 KB with its records
    TEXT = "x" * 600

    async def test_beyond_their_limit_nothing_more_is_read(self) -> None:
        """Two requests pass it; the third is read when one of them has its answer."""
        release = anyio.Event()
        held: list[int] = []

        async def answer(
            _request: CapabilityRequestMessage,
            _answered: frozenset[str] = frozenset(),
            sink: object = None,
        ) -> CallResponse:
            await release.wait()
            return CallResponse()

        calls = Calls(answer)

        async def script(worker: Worker) -> None:
            await worker.start()
            for number in range(5):
                await worker.ask(f"r{number}", text=self.TEXT)
            await worker.say(OutputMessage, text="printed meanwhile")
            await anyio.wait_all_tasks_blocked()
            held.append(len(calls.handled))
            release.set()
            for _ in range(5):
                await worker.hear()
            await worker.say(ResultMessage)

        ended = await execute(script, calls=calls, limits=self.LIMITS)
        assert isinstance(ended.outcome, ResultMessage)
        assert (held, len(calls.handled), ended.printed) == ([2], 5, ["printed meanwhile"])

    async def test_one_request_passes_whatever_its_size(self) -> None:
        """Each is over the limit by itself, and each is answered in its turn."""

        async def script(worker: Worker) -> None:
            await worker.start()
            for number in range(3):
                await worker.ask(f"r{number}", text=self.TEXT * 10)
            for number in range(3):
                assert (await worker.hear()).request_id == f"r{number}"
            await worker.say(ResultMessage)

        ended = await execute(script, limits=self.LIMITS)
        assert isinstance(ended.outcome, ResultMessage)

    async def test_answers_that_are_not_taken_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A worker that asks and never listens cannot make the host keep more and more answers."""
        taken = anyio.Event()
        sent: list[int] = []

        async def answer(
            _request: CapabilityRequestMessage,
            _answered: frozenset[str] = frozenset(),
            sink: object = None,
        ) -> CallResponse:
            return CallResponse(result=self.TEXT)

        calls = Calls(answer)

        async def script(worker: Worker) -> None:
            await worker.start()
            send = worker.held.transport.send

            async def slow(data: bytes) -> None:
                await taken.wait()
                await send(data)

            monkeypatch.setattr(worker.held.transport, "send", slow)
            for number in range(5):
                await worker.ask(f"r{number}")
            await anyio.wait_all_tasks_blocked()
            sent.append(len(calls.handled))
            taken.set()
            for _ in range(5):
                await worker.hear()
            await worker.say(ResultMessage)

        ended = await execute(script, calls=calls, limits=self.LIMITS)
        assert isinstance(ended.outcome, ResultMessage)
        assert sent[0] < 5  # one may be read while the answer to the one before is made
        assert len(calls.handled) == 5

    async def test_the_wall_limit_ends_a_worker_that_is_not_read(self) -> None:
        """Nothing is answered, so nothing more is read; time passes anyway."""

        async def script(worker: Worker) -> None:
            await worker.start()
            for number in range(5):
                await worker.ask(f"r{number}", text=self.TEXT)
            await time_is_up()

        ended = await execute(script, calls=Calls(forever), limits=self.LIMITS)
        assert ended.error.limit == "wall_ms"
        assert sorted(ended.calls.cancelled) == ["r0", "r1"]


@pytest.mark.parametrize("by_wall", [True, False])
async def test_the_code_is_killed_before_its_calls_are_over(by_wall: bool) -> None:
    """A call may have to wait for its evidence; the code must not run on meanwhile."""
    held: list[Held] = []

    async def answer(
        _request: CapabilityRequestMessage,
        _answered: frozenset[str] = frozenset(),
        sink: object = None,
    ) -> CallResponse:
        with anyio.fail_after(10, shield=True):
            await held[0].killed.wait()
        return CallResponse()

    async def script(worker: Worker) -> None:
        held.append(worker.held)
        await worker.start()
        await worker.ask("r1")
        await anyio.wait_all_tasks_blocked()
        if by_wall:
            await time_is_up()
        await worker.raw(frame(b"\xc1"))
        await worker.held.killed.wait()

    ended = await execute(script, calls=Calls(answer))
    assert isinstance(ended.outcome, LimitExceededError if by_wall else ProtocolError)


class TestCodeThatTheChannelHasNoRoomFor:
    JOB = replace(JOB, source="x" * 4_000_000)

    @staticmethod
    def sockets() -> tuple[Transport, Transport]:
        ours, raw = SocketTransport.pair()
        return ours, SocketTransport(raw)

    async def test_is_handed_over_piece_by_piece(self) -> None:
        """The worker gets all of it, and its result counts."""
        heard: list[Any] = []

        async def script(worker: Worker) -> None:
            await worker.ready()
            await anyio.wait_all_tasks_blocked()
            heard.extend([await worker.hear(), await worker.hear()])
            await worker.say(StartedMessage)
            await worker.say(ResultMessage, value=b"\x07")

        ended = await execute(script, job=self.JOB, ends=self.sockets())
        assert isinstance(ended.outcome, ResultMessage)
        assert (heard[1].source, ended.long) == (self.JOB.source, 1)

    async def test_is_not_waited_for_longer_than_the_wall_limit(self) -> None:
        """A worker that does not read blocks no other."""

        async def script(worker: Worker) -> None:
            await worker.ready()
            await forever()

        job = replace(self.JOB, wall_ms=50)
        ended = await execute(script, job=job, ends=self.sockets())
        assert (ended.error.limit, ended.execution.started) == ("wall_ms", False)

    async def test_and_whose_worker_hangs_up_meanwhile_never_ran(self) -> None:
        """A failing read tells how the worker ended, and it is reported as any other end."""

        async def script(worker: Worker) -> None:
            await worker.ready()
            await anyio.wait_all_tasks_blocked()

        ended = await execute(script, job=self.JOB, ends=self.sockets())
        assert isinstance(ended.outcome, WorkerLostError)
        assert ended.error.started is False


class TestASession:
    async def test_the_next_cell_gets_code_and_no_manifest_and_no_late_answer(self) -> None:
        """Requests that the first cell did not wait for are cancelled and never answered."""
        ours, theirs = MemoryTransport.pair()
        held = Held(ours)
        worker, connection = Worker(theirs, held), HostConnection()
        first, second = Calls(forever), Calls()
        heard: list[Any] = []

        async def script() -> None:
            await worker.start()
            await worker.ask("r1")
            await worker.say(ResultMessage, value=b"\x01")
            heard.append(await worker.hear())
            await worker.say(StartedMessage)
            await worker.ask("r2")
            heard.append(await worker.hear())
            await worker.say(ResultMessage, value=b"\x02")

        job = replace(JOB, session=True, max_requests=1)
        values = []
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(script)
                await wait_until_ready(ours, connection)
                for calls in (first, second):
                    execution = Supervisor(job, held, connection, calls, print)
                    values.append((await execution.run()).value)
        ours.close()
        theirs.close()
        start, response = heard
        assert isinstance(start, StartMessage)
        assert (response.request_id, values) == ("r2", [b"\x01", b"\x02"])
        assert (first.handled, second.handled) == (["r1"], ["r2"])
        assert not held.is_over


class TestALostWorker:
    async def test_before_it_was_ready(self) -> None:
        """It never ran."""

        async def script(_worker: Worker) -> None:
            return

        ended = await execute(script)
        assert isinstance(ended.outcome, WorkerLostError)
        assert ended.error.started is False

    @pytest.mark.parametrize("started", [True, False])
    async def test_says_whether_its_code_had_started(self, started: bool) -> None:
        """`never ran` differs from `ran, result lost`."""

        async def script(worker: Worker) -> None:
            if started:
                await worker.start()
                return
            await worker.ready()
            await worker.hear()

        ended = await execute(script)
        assert isinstance(ended.outcome, WorkerLostError)
        assert ended.error.started is started

    async def test_whose_channel_the_host_closed_is_lost_like_any_other(self) -> None:
        """While its code computes: a reader of the first message gets a documented error."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await anyio.wait_all_tasks_blocked()
            worker.held.transport.close()
            await forever()

        ended = await execute(script)
        assert isinstance(ended.outcome, WorkerLostError)
        assert ended.error.started is True

    async def test_cancels_its_calls(self) -> None:
        """Nobody is there to receive the answer."""

        async def script(worker: Worker) -> None:
            await worker.start()
            await worker.ask("r1")
            await anyio.wait_all_tasks_blocked()

        ended = await execute(script, calls=Calls(forever))
        assert isinstance(ended.outcome, WorkerLostError)
        assert ended.calls.cancelled == ["r1"]


async def test_an_error_of_the_callers_output_handler_comes_out_as_it_is() -> None:
    """It is the embedding program's own error, and not ours to wrap."""
    ours, theirs = MemoryTransport.pair()
    held = Held(ours)

    def fail(_text: str) -> None:
        raise ZeroDivisionError

    async def script() -> None:
        worker = Worker(theirs, held)
        await worker.start()
        await worker.say(OutputMessage, text="x")

    connection = HostConnection()
    execution = Supervisor(JOB, held, connection, Calls(), fail)
    async with anyio.create_task_group() as group:
        group.start_soon(script)
        await wait_until_ready(ours, connection)
        with pytest.raises(ZeroDivisionError):
            await execution.run()
    ours.close()
    theirs.close()


class TestProcess:
    @pytest.mark.parametrize(
        ("ending", "text"),
        [
            (ExitStatus(3, None), "exit status 3"),
            (ExitStatus(None, signal.SIGKILL), "killed by SIGKILL"),
            (ExitStatus(None, 40), "killed by signal 40"),
        ],
    )
    def test_an_ending_reads_well(self, ending: ExitStatus, text: str) -> None:
        """Even for signals that have no name."""
        assert str(ending) == text


class TestPool:
    @pytest.mark.process
    async def test_a_worker_that_dies_of_a_nameless_signal_is_told(self) -> None:
        """An escaped worker can choose how it exits; the host is not affected."""
        pool = WorkerPool(CommandWorkerSource(("/bin/sh", "-c", "kill -40 $$")), 1, lambda _: None)
        with pytest.raises(WorkerLostError, match="signal 40"):
            await pool.run(JOB, Calls(), print)

    @pytest.mark.process
    async def test_a_worker_that_dies_at_once_is_tried_again_once_and_counted(self) -> None:
        """Nothing ran, so a retry is harmless; its status is reported, and its slot is free."""
        alive: list[int] = []
        pool = WorkerPool(CommandWorkerSource(("/bin/sh", "-c", "exit 7")), 1, alive.append)
        with pytest.raises(WorkerLostError, match="exit status 7") as error:
            await pool.run(JOB, Calls(), print)
        assert (error.value.started, alive) == (False, [1, -1, 1, -1])

    @pytest.mark.process
    async def test_a_dead_worker_leaves_no_descriptor(self) -> None:
        """Its channel and its handle are closed when it is disposed of."""
        before = len(list(Path("/proc/self/fd").iterdir()))
        pool = WorkerPool(CommandWorkerSource(("/bin/sh", "-c", "exit 7")), 1, lambda _: None)
        with pytest.raises(WorkerLostError):
            await pool.run(JOB, Calls(), print)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before

    @pytest.mark.parametrize("started", [True, False])
    def test_a_worker_out_of_cpu_time_reached_a_limit(self, started: bool) -> None:
        """The kernel's signal is the policy's limit, and says whether the code had begun."""
        lost = WorkerLostError("lost", started=started)
        error = exit_reasons._error_for_status(lost, ExitStatus(None, signal.SIGXCPU), JOB)
        assert isinstance(error, LimitExceededError)
        assert (error.limit, error.allowed, error.started) == ("cpu_ms", 1000, started)

    @pytest.mark.parametrize("started", [True, False])
    def test_a_worker_that_exits_for_want_of_memory_reached_a_limit(self, started: bool) -> None:
        """It could not send a result any more; its exit status says why."""
        lost = WorkerLostError("lost", started=started)
        error = exit_reasons._error_for_status(lost, ExitStatus(OUT_OF_MEMORY, None), JOB)
        assert isinstance(error, LimitExceededError)
        assert (error.limit, error.started) == ("memory_mb", started)

    @pytest.mark.process
    async def test_a_worker_that_never_gets_ready_is_given_up(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And killed, whatever it is doing."""
        monkeypatch.setattr(pool_module, "_READY_SECONDS", 0.05)
        pool = WorkerPool(CommandWorkerSource(("/bin/sleep", "600")), 1, lambda _: None)
        with anyio.fail_after(20):
            with pytest.raises(WorkerLostError, match="not ready") as error:
                await pool.run(JOB, Calls(), print)
        assert error.value.started is False
