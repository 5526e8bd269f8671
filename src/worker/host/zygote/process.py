"""One zygote process as the host holds it, and the workers that it forked.

One task reads the packets of the zygote. A worker's pidfd comes with the answer to its order, so
that a kill always hits the intended process. A zygote that sends nothing for too long while an
order is unanswered is treated as dead, and is ended; one task watches that for all orders.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import signal
import socket
import subprocess
import time
from contextlib import suppress

import anyio
import msgspec

from caps.protocol.enforcement import Layer
from caps.protocol.errors import WorkerLostError
from caps.protocol.transport import SocketTransport
from caps.protocol.zygote_messages import (
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    ModuleRefused,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.host.process.pidfd import has_ended
from caps.worker.host.process.worker import ExitStatus
from caps.worker.host.zygote.forked_worker import ForkedWorker
from caps.worker.host.zygote.launch import Launched
from caps.worker.host.zygote.packet_reader import PacketReader

logger = logging.getLogger(__name__)

_ANSWER_SECONDS = 10
_LEAVE_SECONDS = 1
_TOO_MANY_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_GONE = ExitStatus(exit_code=None, signal=signal.SIGKILL)


class _Order:
    """A fork that was ordered and is not answered yet."""

    def __init__(self, transport: SocketTransport, *, grouped: bool) -> None:
        self.transport = transport
        self.grouped = grouped
        self.ordered_at = time.monotonic()
        self.answered = anyio.Event()
        self.worker: ForkedWorker | None = None
        self.reason = "the zygote died"


class ZygoteProcess:
    """One zygote process, from its start to its end."""

    def __init__(self, launched: Launched) -> None:
        self.layers: tuple[Layer, ...] = ()
        self.refused: ModuleRefused | None = None
        self.ready = anyio.Event()
        self.is_alive = True
        self.group_refused = False
        self._process = launched.process
        self._control = launched.control
        # An event loop lets only one task wait for a socket, and a busy zygote may have more orders
        # than its socket can buffer.
        self._write_lock = anyio.Lock()
        self._numbers = itertools.count(1)
        self._orders: dict[int, _Order] = {}
        self._ordered = anyio.Event()
        self._workers: dict[int, ForkedWorker] = {}
        self._reader = PacketReader(launched.control)
        self._packets = msgspec.msgpack.Decoder(FromZygote)
        self._last_packet_at = 0.0

    @property
    def pid(self) -> int:
        """The process id of the process that the host started."""
        return self._process.pid

    async def fork(self, *, entry_fd: int | None = None) -> ForkedWorker:
        """Order a fork. Raises WorkerLostError if it is refused.

        `entry_fd` is the descriptor through which the worker enters its group.
        """
        try:
            transport, theirs = SocketTransport.pair()
        except OSError as error:
            raise no_worker_error(str(error.strerror)) from None
        theirs.setblocking(False)  # for the worker, too: it is a flag of the socket itself
        number = next(self._numbers)
        order = self._orders[number] = _Order(transport, grouped=entry_fd is not None)
        try:
            packet = ForkOrder(number=number, grouped=entry_fd is not None)
            self._ordered.set()
            with theirs:
                fds = [theirs.fileno()] if entry_fd is None else [theirs.fileno(), entry_fd]
                await self._send(packet, fds)
            if self.is_alive:
                await order.answered.wait()
            if order.worker is None:
                raise no_worker_error(order.reason)
        except BaseException:
            # The caller is gone; a worker that still starts finds its channel closed and exits.
            transport.close()
            raise
        finally:
            self._orders.pop(number, None)
        return order.worker

    async def _send(self, order: ForkOrder, descriptors: list[int]) -> None:
        """Send the order, unless the zygote has ended."""
        while self.is_alive:
            try:
                socket.send_fds(self._control, [msgspec.msgpack.encode(order)], descriptors)
            except BlockingIOError:
                await self._wait_writable()
            except ConnectionError:
                self.end()  # immediately: a caller that tries again must not find it alive
            except OSError as error:
                raise no_worker_error(str(error.strerror)) from None
            else:
                return

    async def _wait_writable(self) -> None:
        async with self._write_lock:
            if self.is_alive:
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._control)

    async def read(self) -> None:
        """Read and handle the packets of the zygote, until it ends or says nothing for too long."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_for_silence)
            try:
                await self._handle_packets()
            finally:
                self.end()
                tasks.cancel_scope.cancel()

    async def _handle_packets(self) -> None:
        try:
            while True:
                packet = await self._reader.receive()
                if not packet.data:
                    return
                self._last_packet_at = time.monotonic()
                self._handle(self._packets.decode(packet.data), packet.descriptors)
        except anyio.ClosedResourceError:
            return
        except (OSError, msgspec.DecodeError) as error:
            if self.is_alive:
                logger.warning("the zygote's channel broke: %s", error)

    async def _watch_for_silence(self) -> None:
        """End a zygote that sends nothing while an order waits. One that answers others is busy."""
        while self.is_alive:
            await self._ordered.wait()
            while self._orders:
                oldest = next(iter(self._orders.values()))
                deadline = max(oldest.ordered_at, self._last_packet_at) + _ANSWER_SECONDS
                left = deadline - time.monotonic()
                if left <= 0:
                    for order in self._orders.values():
                        order.reason = f"the zygote did not answer for {_ANSWER_SECONDS} seconds"
                    self.end()
                    return
                await anyio.sleep(left)
            self._ordered = anyio.Event()

    def _handle(self, packet: FromZygote, descriptors: list[int]) -> None:
        match packet:
            case ZygoteReady():
                self.layers = tuple(packet.layers)
                self.ready.set()
            case ModuleRefused():
                self.refused = packet
                self.ready.set()
            case Forked():
                self._handle_forked(packet.number, descriptors)
            case ForkRefused():
                order = self._orders.get(packet.number)
                if order is not None:
                    order.reason = packet.reason
                    order.answered.set()
            case WorkerExited():
                worker = self._workers.pop(packet.number, None)
                if worker is not None:
                    worker.end(_exit_status(packet))

    def _handle_forked(self, number: int, descriptors: list[int]) -> None:
        order = self._orders.get(number)
        if order is None:
            for pidfd in descriptors:
                os.close(pidfd)
            return
        # If no ForkedWorker is made here, the channel will be closed, so that the worker exits.
        if descriptors:
            try:
                order.worker = self._workers[number] = ForkedWorker(order.transport, descriptors[0])
            except OSError as error:
                os.close(descriptors[0])
                if error.errno in _TOO_MANY_FILES:
                    order.reason = os.strerror(errno.EMFILE)  # as below: the host's own shortage
                else:
                    order.reason = f"its cpu time cannot be watched: {error.strerror}"
                    # It ended so soon: most likely it could not enter its group. The next worker is
                    # moved by the host.
                    self.group_refused = self.group_refused or order.grouped
        else:
            # The kernel drops descriptors for which this process has no free number.
            order.reason = os.strerror(errno.EMFILE)
        order.answered.set()

    def end(self) -> None:
        """End it if it still runs; its workers are killed with it. Idempotent."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._reader.close()
        anyio.notify_closing(self._control)
        self._control.close()
        stderr = self._drain_stderr()
        if stderr:
            logger.error("the zygote said: %s", stderr[-4096:].decode("utf-8", "replace").strip())
        self.ready.set()
        for order in self._orders.values():
            order.answered.set()
        for worker in self._workers.values():
            worker.end(_GONE, reaped=False)
        self._workers.clear()

    def _drain_stderr(self) -> bytes:
        """Wait until it has ended, and return what it wrote to its standard error."""
        # A closed channel makes it exit in good order: the process that the host started waits for
        # the first process of the namespace, so no zombie is left for init to reap.
        if not self.layers:
            self._process.kill()
        elif not self._has_left():
            logger.warning("the zygote did not leave; it is killed")
            self._process.kill()
        return self._process.communicate()[1]

    def _has_left(self) -> bool:
        """Whether it ends within the time that it has for that; a pipe holds what it may say."""
        try:
            return has_ended(self._process.pid, _LEAVE_SECONDS)
        except OSError:  # there is no free descriptor; this needs none
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE_SECONDS)
            return self._process.returncode is not None


def no_worker_error(reason: str) -> WorkerLostError:
    """The error for a fork that failed. No code ran."""
    return WorkerLostError(f"no worker could be forked: {reason}", started=False)


def _exit_status(packet: WorkerExited) -> ExitStatus:
    code = os.waitstatus_to_exitcode(packet.status)
    return ExitStatus(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        cpu_us=packet.cpu_us,
        max_rss_kb=packet.max_rss_kb,
    )
