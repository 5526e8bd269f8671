"""The host's end of the zygote: orders forks, learns of exits, starts it again when it is gone.

One task reads what the zygote says. A worker's process descriptor comes with the answer to its
order, so that a kill always hits the process that it was meant for.
"""

from __future__ import annotations

import itertools
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import msgspec
from anyio.abc import TaskGroup

from caps.protocol.enforcement import Layer
from caps.protocol.errors import WorkerLostError
from caps.protocol.transport import SocketTransport
from caps.protocol.zygote import (
    MAX_PACKET_BYTES,
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.host.process import Ending

logger = logging.getLogger(__name__)

ZYGOTE_COMMAND = (sys.executable, "-I", "-m", "caps.worker.inside")

_START_SECONDS = 30
_GONE = Ending(exit_code=None, signal=signal.SIGKILL)


class ForkedWorker:
    """A worker that the zygote forked."""

    def __init__(self, transport: SocketTransport, pidfd: int) -> None:
        self.transport = transport
        self._pidfd = pidfd
        self._ending: Ending | None = None
        self._over = anyio.Event()

    @property
    def is_over(self) -> bool:
        return self._ending is not None

    def kill(self) -> None:
        if self._ending is None:
            try:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            except ProcessLookupError:
                return

    async def ended(self) -> Ending:
        await self._over.wait()
        assert self._ending is not None
        return self._ending

    def end(self, ending: Ending) -> None:
        """The zygote reaped it, or is gone itself and has taken it along.

        The channel stays open: what the worker said last may still lie in it, unread.
        """
        if self._ending is None:
            self._ending = ending
            os.close(self._pidfd)
            self._over.set()


class _Order:
    """A fork that was asked for and not answered yet."""

    def __init__(self, transport: SocketTransport) -> None:
        self.transport = transport
        self.answered = anyio.Event()
        self.worker: ForkedWorker | None = None
        self.reason = "the zygote died"


class _Zygote:
    """One zygote process, from its start to its end."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket) -> None:
        self.layers: tuple[Layer, ...] = ()
        self.ready = anyio.Event()
        self.is_alive = True
        self._process = process
        self._control = control
        self._numbers = itertools.count(1)
        self._orders: dict[int, _Order] = {}
        self._workers: dict[int, ForkedWorker] = {}
        self._packets = msgspec.msgpack.Decoder(FromZygote)

    @classmethod
    def start(cls, arguments: tuple[str, ...]) -> _Zygote:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                (*ZYGOTE_COMMAND, *arguments),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={},
                cwd="/",
                start_new_session=True,
            )
        ours.setblocking(False)
        return cls(process, ours)

    async def fork(self) -> ForkedWorker:
        """Order a fork; a WorkerLostError if it is refused."""
        transport, theirs = SocketTransport.pair()
        number = next(self._numbers)
        order = self._orders[number] = _Order(transport)
        try:
            with theirs:
                await self._send(ForkOrder(number=number), theirs.fileno())
            await order.answered.wait()
        except BaseException:
            # Whoever asked is gone; a worker that still comes finds its channel closed and leaves.
            transport.close()
            raise
        finally:
            self._orders.pop(number, None)
        if order.worker is None:
            transport.close()
            raise WorkerLostError(f"no worker could be forked: {order.reason}", started=False)
        return order.worker

    async def _send(self, order: ForkOrder, descriptor: int) -> None:
        while self.is_alive:
            try:
                socket.send_fds(self._control, [msgspec.msgpack.encode(order)], [descriptor])
            except BlockingIOError:
                await anyio.wait_writable(self._control)
            except OSError as error:
                raise WorkerLostError(
                    f"the zygote cannot be reached: {error.strerror}", started=False
                ) from None
            else:
                return

    async def read(self) -> None:
        """Take what the zygote says, until it is gone."""
        try:
            while True:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self._control, MAX_PACKET_BYTES, 1)
                except BlockingIOError:
                    await anyio.wait_readable(self._control)
                    continue
                if not data:
                    return
                self._take(self._packets.decode(data), descriptors)
        except anyio.ClosedResourceError:
            return
        except OSError as error:
            logger.warning("the zygote's channel broke: %s", error)
        finally:
            self.end()

    def _take(self, packet: FromZygote, descriptors: list[int]) -> None:
        match packet:
            case ZygoteReady():
                self.layers = tuple(packet.layers)
                self.ready.set()
            case Forked():
                self._take_worker(packet.number, descriptors[0])
            case ForkRefused():
                order = self._orders.get(packet.number)
                if order is not None:
                    order.reason = packet.reason
                    order.answered.set()
            case WorkerExited():
                worker = self._workers.pop(packet.number, None)
                if worker is not None:
                    worker.end(_ending(packet))

    def _take_worker(self, number: int, pidfd: int) -> None:
        order = self._orders.get(number)
        if order is None:
            os.close(pidfd)
            return
        order.worker = self._workers[number] = ForkedWorker(order.transport, pidfd)
        order.answered.set()

    def end(self) -> None:
        """Kill it if it still lives; its workers die with it. Idempotent."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._process.kill()
        said = self._process.communicate()[1]
        if said:
            logger.error("the zygote said: %s", said[-4096:].decode("utf-8", "replace").strip())
        anyio.notify_closing(self._control)
        self._control.close()
        self.ready.set()
        for order in self._orders.values():
            order.answered.set()
        for worker in self._workers.values():
            worker.end(_GONE)
        self._workers.clear()


def _ending(packet: WorkerExited) -> Ending:
    code = os.waitstatus_to_exitcode(packet.status)
    return Ending(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        cpu_us=packet.cpu_us,
        max_rss_kb=packet.max_rss_kb,
    )


class ZygoteSource:
    """Workers forked by a zygote, which is started again if it dies."""

    def __init__(self, *, arguments: tuple[str, ...] = ()) -> None:
        self._arguments = arguments
        self._zygote: _Zygote | None = None
        self._starting = anyio.Lock()
        self._tasks: TaskGroup | None = None

    @property
    def layers(self) -> tuple[Layer, ...]:
        return () if self._zygote is None else self._zygote.layers

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        failure = None
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                await self._living()
                yield
            except WorkerLostError as error:
                failure = error  # raised below, outside the group, which would wrap it
            finally:
                if self._zygote is not None:
                    self._zygote.end()
                tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def start(self) -> ForkedWorker:
        zygote = await self._living()
        return await zygote.fork()

    async def _living(self) -> _Zygote:
        async with self._starting:
            if self._zygote is not None and self._zygote.is_alive:
                return self._zygote
            assert self._tasks is not None
            try:
                zygote = self._zygote = _Zygote.start(self._arguments)
            except OSError as error:
                raise WorkerLostError(
                    f"the zygote cannot be started: {error.strerror}", started=False
                ) from None
            self._tasks.start_soon(zygote.read)
            with anyio.move_on_after(_START_SECONDS):
                await zygote.ready.wait()
            if not zygote.layers:
                zygote.end()
                raise WorkerLostError("the zygote did not start; the log says why", started=False)
            return zygote
