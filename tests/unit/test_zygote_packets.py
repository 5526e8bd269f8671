"""What host and zygote say to each other, and what the host makes of a zygote that errs.

The zygote is played by the test on a real socket.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import anyio
import msgspec
import pytest

from caps.protocol.enforcement import LAYERS, Enforcement, Layer
from caps.protocol.errors import WorkerLostError
from caps.protocol.zygote import (
    MAX_PACKET_BYTES,
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.host import zygote_process
from caps.worker.host.process import Ending
from caps.worker.host.zygote_process import ForkedWorker, ZygoteProcess

pytestmark = pytest.mark.anyio

REPORT = [Layer(name=name, enforcement=Enforcement.FULLY, detail="x" * 200) for name in LAYERS]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestPackets:
    @pytest.mark.parametrize(
        "packet",
        [
            ZygoteReady(layers=REPORT),
            Forked(number=1),
            ForkRefused(number=2, reason="no"),
            WorkerExited(number=3, status=9, cpu_us=1, max_rss_kb=2),
        ],
    )
    def test_arrive_as_they_were_sent(self, packet: FromZygote) -> None:
        """And the largest of them fits."""
        data = msgspec.msgpack.encode(packet)
        assert msgspec.msgpack.decode(data, type=FromZygote) == packet
        assert len(data) < MAX_PACKET_BYTES // 8

    @pytest.mark.parametrize(
        "packet",
        [
            {"type": "Forked"},
            {"type": "Forked", "number": "1"},
            {"type": "Forked", "number": 1, "more": 1},
            {"type": "ForkOrder", "number": 1},
            {"type": "Unheard"},
            {"number": 1},
            [],
        ],
    )
    def test_of_any_other_form_are_refused(self, packet: object) -> None:
        """The set is closed, and no field is optional or extra."""
        with pytest.raises(msgspec.DecodeError):
            msgspec.msgpack.decode(msgspec.msgpack.encode(packet), type=FromZygote)


class Played:
    """The zygote's end of the control socket."""

    def __init__(self, control: socket.socket) -> None:
        control.setblocking(False)
        self.control = control

    def say(self, packet: FromZygote, *descriptors: int) -> None:
        socket.send_fds(self.control, [msgspec.msgpack.encode(packet)], list(descriptors))

    async def order(self) -> tuple[ForkOrder, socket.socket]:
        """The next order, and the channel that came with it."""
        await anyio.wait_readable(self.control)
        data, descriptors, _, _ = socket.recv_fds(self.control, MAX_PACKET_BYTES, 1)
        channel = socket.socket(fileno=descriptors[0])
        return msgspec.msgpack.decode(data, type=ForkOrder), channel


class Stage:
    """A zygote that is played, and one order to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        process = subprocess.Popen(("/bin/sleep", "600"), stderr=subprocess.PIPE)
        self.host = ZygoteProcess(process, ours)
        self.zygote = Played(theirs)
        self.outcome: ForkedWorker | WorkerLostError | None = None

    async def fork(self) -> None:
        try:
            self.outcome = await self.host.fork()
        except WorkerLostError as error:
            self.outcome = error

    @property
    def refusal(self) -> str:
        assert isinstance(self.outcome, WorkerLostError), self.outcome
        assert self.outcome.started is False
        return self.outcome.message

    @property
    def worker(self) -> ForkedWorker:
        assert isinstance(self.outcome, ForkedWorker), self.outcome
        return self.outcome


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    stage.host.end()
    stage.zygote.control.close()


async def answered(stage: Stage, answer: Callable[[int], None]) -> socket.socket:
    """Order a fork, let the zygote answer it; the channel that the zygote was given."""
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.host.read)
            async with anyio.create_task_group() as ordering:
                ordering.start_soon(stage.fork)
                order, channel = await stage.zygote.order()
                answer(order.number)
            tasks.cancel_scope.cancel()
    return channel


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def is_closed(channel: socket.socket) -> bool:
    with channel:
        channel.setblocking(False)
        try:
            return channel.recv(1) == b""
        except BlockingIOError:
            return False


class TestAFork:
    async def test_gives_a_worker_that_can_be_killed_and_waited_for(self, stage: Stage) -> None:
        """The descriptor is its own and no program inherits it; the exit tells how it ended."""
        child = subprocess.Popen(("/bin/sleep", "600"))
        pidfd = os.pidfd_open(child.pid)
        packet = WorkerExited(number=1, status=signal.SIGKILL, cpu_us=5, max_rss_kb=7)

        def answer(number: int) -> None:
            stage.zygote.say(Forked(number=number), pidfd)

        channel = await answered(stage, answer)
        worker = stage.worker
        assert os.get_inheritable(worker._pidfd) is False
        worker.kill()
        assert child.wait() == -signal.SIGKILL
        assert not worker.is_over
        stage.host._take(packet, [])
        assert await worker.ended() == Ending(None, signal.SIGKILL, cpu_us=5, max_rss_kb=7)
        worker.transport.close()
        assert is_closed(channel)
        os.close(pidfd)

    async def test_that_is_refused_says_why(self, stage: Stage) -> None:
        """And closes its channel."""
        channel = await answered(
            stage, lambda number: stage.zygote.say(ForkRefused(number=number, reason="no room"))
        )
        assert stage.refusal == "no worker could be forked: no room"
        assert is_closed(channel)

    async def test_whose_descriptor_got_lost_is_refused(self, stage: Stage) -> None:
        """A worker that nobody could kill is not used; its closed channel makes it leave."""
        channel = await answered(stage, lambda number: stage.zygote.say(Forked(number=number)))
        assert "no descriptor left" in stage.refusal
        assert is_closed(channel)

    async def test_that_nobody_waits_for_any_more_leaves_nothing(self, stage: Stage) -> None:
        """Cancelled while it is forked: channel and descriptor are closed, the exit is ignored."""
        pidfd = os.pidfd_open(os.getpid())
        before = open_descriptors()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.fork)
            order, channel = await stage.zygote.order()
            tasks.cancel_scope.cancel()
        assert is_closed(channel)
        stage.host._take(Forked(number=order.number), [os.dup(pidfd)])
        stage.host._take(WorkerExited(number=order.number, status=0, cpu_us=0, max_rss_kb=0), [])
        assert open_descriptors() == before
        os.close(pidfd)

    async def test_without_an_answer_ends_the_zygote(
        self, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Silence is as good as death."""
        monkeypatch.setattr(zygote_process, "_ANSWER_SECONDS", 0.01)
        channel = await answered(stage, lambda _number: None)
        assert "did not answer" in stage.refusal
        assert stage.host.is_alive is False
        assert is_closed(channel)

    async def test_of_a_dead_zygote_fails_at_once(self, stage: Stage) -> None:
        """Found out by sending: the next one who asks must not find it alive."""
        stage.zygote.control.close()
        await stage.fork()
        assert stage.refusal == "no worker could be forked: the zygote died"
        assert stage.host.is_alive is False
        await stage.fork()
        assert stage.refusal == "no worker could be forked: the zygote died"


class TestAZygoteThatErrs:
    @pytest.mark.parametrize("data", [b"\xc1", b"{}", msgspec.msgpack.encode({"type": "Unheard"})])
    async def test_is_ended(
        self, stage: Stage, data: bytes, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whoever waits for it is told, and its workers count as killed."""
        monkeypatch.setattr(zygote_process, "_LEAVE_SECONDS", 0.01)
        stage.host._take(ZygoteReady(layers=REPORT), [])
        worker = ForkedWorker(*_channel_and_process())
        stage.host._workers[7] = worker
        channel = await answered(stage, lambda _number: stage.zygote.control.send(data) and None)
        assert stage.refusal == "no worker could be forked: the zygote died"
        assert stage.host._process.returncode == -signal.SIGKILL
        assert await worker.ended() == Ending(None, signal.SIGKILL)
        worker.transport.close()
        channel.close()

    async def test_is_ended_once(self, stage: Stage) -> None:
        """Ending it again is harmless."""
        stage.host.end()
        stage.host.end()
        assert stage.host.ready.is_set()
        assert stage.host._process.returncode == -signal.SIGKILL


def _channel_and_process() -> tuple[zygote_process.SocketTransport, int]:
    transport, theirs = zygote_process.SocketTransport.pair()
    theirs.close()
    return transport, os.pidfd_open(os.getpid())
