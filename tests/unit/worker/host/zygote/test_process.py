"""What host and zygote say to each other, and what the host makes of a zygote that errs.

The zygote is played by the test on a real socket.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import msgspec
import pytest

from caps.protocol.enforcement import LAYERS, Enforcement, Layer
from caps.protocol.errors import WorkerLostError
from caps.protocol.zygote_messages import (
    MAX_PACKET_BYTES,
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.host.process.worker import ExitStatus
from caps.worker.host.zygote import forked_worker
from caps.worker.host.zygote import process as zygote_process
from caps.worker.host.zygote.forked_worker import ForkedWorker
from caps.worker.host.zygote.launch import Launched
from caps.worker.host.zygote.process import ZygoteProcess

pytestmark = pytest.mark.anyio

# A socket has room for fewer packets with a descriptor.
MORE_THAN_FIT = 300
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

    def say_forked(self, number: int, pid: int) -> None:
        descriptor = os.pidfd_open(pid)
        self.say(Forked(number=number), descriptor)
        os.close(descriptor)

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
        self.host = ZygoteProcess(Launched(process, ours))
        self.zygote = Played(theirs)
        self.channel: socket.socket
        self.outcome: ForkedWorker | WorkerLostError | None = None

    async def fork(self, entry_fd: int | None = None) -> None:
        try:
            self.outcome = await self.host.fork(entry_fd=entry_fd)
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


@asynccontextmanager
async def staged(answer: Callable[[Played, int], None]) -> AsyncIterator[Stage]:
    """A fork was ordered, and `answer` was the zygote's answer to its number."""
    stage = Stage()
    with stage.zygote.control, anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.host.read)
            async with anyio.create_task_group() as ordering:
                ordering.start_soon(stage.fork)
                order, stage.channel = await stage.zygote.order()
                answer(stage.zygote, order.number)
            yield stage
            stage.host.end()


@asynccontextmanager
async def crowded() -> AsyncIterator[Stage]:
    """More forks were ordered than its socket has room for; at the end all have their answer."""
    stage = Stage()
    with stage.zygote.control, anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(MORE_THAN_FIT):
                tasks.start_soon(stage.fork)
            await anyio.wait_all_tasks_blocked()
            yield stage


@contextmanager
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that serves as a worker in a test; killed afterwards, however the test ends."""
    with subprocess.Popen(("/bin/sleep", "600")) as child:
        try:
            yield child
        finally:
            child.kill()


def nothing(_zygote: Played, _number: int) -> None:
    """No answer."""


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
    @pytest.mark.process
    async def test_gives_a_worker_that_can_be_killed_and_waited_for(self) -> None:
        """The descriptor is its own and no program inherits it; the exit tells how it ended."""
        with sleeper() as child:
            async with staged(lambda zygote, n: zygote.say_forked(n, child.pid)) as stage:
                worker = stage.worker
                assert os.get_inheritable(worker._pidfd) is False
                worker.kill()
                assert child.wait() == -signal.SIGKILL
                before = worker.is_over
                stage.zygote.say(WorkerExited(number=1, status=9, cpu_us=5, max_rss_kb=7))
                assert await worker.ended() == ExitStatus(None, 9, cpu_us=5, max_rss_kb=7)
                assert (before, worker.is_over) == (False, True)
                worker.kill()
                worker.transport.close()
                assert is_closed(stage.channel)

    @pytest.mark.process
    async def test_that_is_refused_says_why(self) -> None:
        """And closes its channel."""
        async with staged(
            lambda zygote, n: zygote.say(ForkRefused(number=n, reason="no"))
        ) as stage:
            assert stage.refusal == "no worker could be forked: no"
            assert is_closed(stage.channel)

    @pytest.mark.process
    async def test_whose_descriptor_got_lost_is_refused(self) -> None:
        """A worker that could not be killed is not used; it exits when its channel is closed."""
        async with staged(lambda zygote, n: zygote.say(Forked(number=n))) as stage:
            assert "Too many open files" in stage.refusal
            assert is_closed(stage.channel)

    @pytest.mark.process
    @pytest.mark.parametrize(
        ("error", "reason", "blamed"),
        [
            (errno.EMFILE, "Too many open files", False),
            (errno.ESRCH, "its cpu time cannot be watched: No such process", True),
        ],
    )
    async def test_that_cannot_be_looked_at_blames_its_group_only_if_it_is_gone(
        self, monkeypatch: pytest.MonkeyPatch, error: int, reason: str, blamed: bool
    ) -> None:
        """A host without descriptors would have all later workers moved, which takes long."""

        def fails(_pidfd: int) -> int:
            raise OSError(error, os.strerror(error))

        monkeypatch.setattr(forked_worker, "process_id", fails)
        with sleeper() as process:
            stage = Stage()
            entry_fd = os.open("/dev/null", os.O_WRONLY)
            with stage.zygote.control, anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(stage.host.read)
                    async with anyio.create_task_group() as ordering:
                        ordering.start_soon(stage.fork, entry_fd)
                        order, stage.channel = await stage.zygote.order()
                        stage.zygote.say_forked(order.number, process.pid)
                    assert stage.refusal == f"no worker could be forked: {reason}"
                    assert is_closed(stage.channel)
                    assert stage.host.group_refused is blamed
                    stage.host.end()
            os.close(entry_fd)

    @pytest.mark.process
    async def test_that_nobody_waits_for_any_more_leaves_nothing(self) -> None:
        """Cancelled while it is forked: channel and descriptor are closed, the exit is ignored."""
        stage = Stage()
        with stage.zygote.control:
            before = open_descriptors()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stage.fork)
                order, channel = await stage.zygote.order()
                tasks.cancel_scope.cancel()
            assert is_closed(channel)
            number = order.number
            stage.host._handle(Forked(number=number), [os.pidfd_open(os.getpid())])
            stage.host._handle(WorkerExited(number=number, status=0, cpu_us=0, max_rss_kb=0), [])
            assert open_descriptors() == before
            stage.host.end()

    @pytest.mark.process
    async def test_without_an_answer_ends_the_zygote(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Silence is as good as death."""
        monkeypatch.setattr(zygote_process, "_ANSWER_SECONDS", 0.01)
        async with staged(nothing) as stage:
            assert "did not answer" in stage.refusal
            assert stage.host.is_alive is False
            assert is_closed(stage.channel)

    @pytest.mark.process
    async def test_waits_for_a_zygote_that_answers_others(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Busy is not exited: any packet from it shows that it runs."""
        monkeypatch.setattr(zygote_process, "_ANSWER_SECONDS", 0.05)
        stage = Stage()
        send = stage.host._send

        async def send_and_hear_of_it(order: ForkOrder, descriptors: list[int]) -> None:
            await send(order, descriptors)
            stage.host._last_packet_at = anyio.current_time() + 60  # it talks to others

        monkeypatch.setattr(stage.host, "_send", send_and_hear_of_it)
        with stage.zygote.control:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stage.fork)
                order, channel = await stage.zygote.order()
                with channel:
                    until = anyio.current_time() + 0.1  # longer than one that is silent gets
                    while anyio.current_time() < until:
                        await anyio.lowlevel.checkpoint()
                    assert stage.host.is_alive
                    stage.host._handle(ForkRefused(number=order.number, reason="enough"), [])
            assert "enough" in stage.refusal
            stage.host.end()

    @pytest.mark.process
    async def test_that_finds_no_room_waits_with_others(self) -> None:
        """More orders than the socket of a busy zygote holds: all of them come."""
        async with crowded() as stage:
            come: set[int] = set()
            while len(come) < MORE_THAN_FIT:
                order, channel = await stage.zygote.order()
                channel.close()
                come.add(order.number)
                stage.host._handle(ForkRefused(number=order.number, reason="enough"), [])
        assert "enough" in stage.refusal
        stage.host.end()

    @pytest.mark.process
    async def test_that_waits_for_room_fails_with_the_zygote(self) -> None:
        """All waiting callers get the error, not only the first."""
        async with crowded() as stage:
            stage.host.end()
        assert stage.refusal == "no worker could be forked: the zygote died"

    @pytest.mark.process
    async def test_of_a_dead_zygote_fails_at_once(self) -> None:
        """Found out by sending: the next one who asks must not find it alive."""
        stage = Stage()
        stage.zygote.control.close()
        for _ in range(2):
            await stage.fork()
            assert stage.refusal == "no worker could be forked: the zygote died"
            assert stage.host.is_alive is False


class TestAZygoteThatErrs:
    @pytest.mark.process
    @pytest.mark.parametrize("data", [b"\xc1", b"{}", msgspec.msgpack.encode({"type": "Unheard"})])
    async def test_is_ended(self, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        """Waiting callers get an error, and its workers count as killed."""
        monkeypatch.setattr(zygote_process, "_LEAVE_SECONDS", 0.01)
        worker: list[ForkedWorker] = []

        async with staged(lambda zygote, n: zygote.say_forked(n, os.getpid())) as stage:
            stage.zygote.say(ZygoteReady(layers=REPORT))
            await stage.host.ready.wait()
            worker.append(stage.worker)
            async with anyio.create_task_group() as ordering:
                ordering.start_soon(stage.fork)
                _, channel = await stage.zygote.order()
                stage.zygote.control.send(data)
            assert stage.refusal == "no worker could be forked: the zygote died"
            assert stage.host._process.returncode == -signal.SIGKILL
            assert await worker[0].ended() == ExitStatus(None, signal.SIGKILL)
            worker[0].transport.close()
            assert is_closed(channel)
            stage.channel.close()

    @pytest.mark.process
    async def test_is_ended_without_a_free_descriptor(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nothing more is opened to wait for its end, so nothing can be lacking."""

        def refuse(_pid: int, _seconds: float) -> bool:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        monkeypatch.setattr(zygote_process, "_LEAVE_SECONDS", 0.01)
        monkeypatch.setattr(zygote_process, "has_ended", refuse)
        stage = Stage()
        stage.host.layers = tuple(REPORT)
        stage.zygote.control.close()
        stage.host.end()
        assert stage.host._process.returncode == -signal.SIGKILL

    @pytest.mark.process
    async def test_is_ended_once(self) -> None:
        """Ending it again is harmless."""
        stage = Stage()
        stage.zygote.control.close()
        stage.host.end()
        stage.host.end()
        assert stage.host.ready.is_set()
        assert stage.host._process.returncode == -signal.SIGKILL
