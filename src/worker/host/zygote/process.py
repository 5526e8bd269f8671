"""One zygote process as the host holds it, and the workers that it forked.

One task reads what the zygote says. A worker's process descriptor comes with the answer to its
order, so that a kill always hits the process that it was meant for. A zygote that is silent for too
long is as good as dead, and is ended.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import signal
import socket
import subprocess
from contextlib import suppress

import anyio
import msgspec

from caps.protocol.enforcement import Layer
from caps.protocol.errors import WorkerLostError
from caps.protocol.transport import SocketTransport
from caps.protocol.zygote_messages import (
    GROUP_REFUSED,
    MAX_PACKET_BYTES,
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    ModuleRefused,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.host.process.cpu_clock import CpuClock
from caps.worker.host.zygote.launch import Launched
from caps.worker.host.process.peak_memory import PeakMemory
from caps.worker.host.process.pidfd import process_id
from caps.worker.host.process.worker import Ending
from caps.worker.host.memory.limiter import Membership

logger = logging.getLogger(__name__)

_ANSWER_SECONDS = 10
_LEAVE_SECONDS = 1
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE})
_GONE = Ending(exit_code=None, signal=signal.SIGKILL)


class ForkedWorker:
    """A worker that the zygote forked."""

    def __init__(self, transport: SocketTransport, pidfd: int) -> None:
        """Raises OSError if its number cannot be told, by which its CPU time is watched."""
        self.transport = transport
        self._pidfd = pidfd
        pid = process_id(pidfd)
        self._clock = CpuClock.of(pidfd, pid)
        self._peak = PeakMemory(pidfd, pid)
        self._ending: Ending | None = None
        self._over = anyio.Event()
        self._membership: Membership | None = None
        self._killed = False
        # Once it has code, its exit status is whatever the code makes of it.
        self._in_use = False

    @property
    def is_over(self) -> bool:
        return self._ending is not None

    def cpu_us(self) -> int | None:
        return self._clock.used_us() if self._ending is None else None

    def max_rss_kb(self) -> int | None:
        return self._peak.kilobytes() if self._ending is None else None

    def join(self, membership: Membership) -> None:
        """It is in a group of its own now, which is left when it ends."""
        if self._ending is None:
            self._membership = membership
        else:
            membership.leave()

    def descriptor(self) -> int:
        """A copy of its process descriptor, for the caller to close; OSError if it has ended."""
        if self._ending is not None:
            raise ProcessLookupError
        return os.dup(self._pidfd)

    def limit_memory(self, megabytes: int) -> None:
        self._in_use = True
        if self._membership is not None:
            self._membership.limit(megabytes)

    def kill(self) -> None:
        if not self._killed:  # once is enough: nobody can hold it up
            self._signal(signal.SIGKILL)
            self._killed = True

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._ending is None:
            try:
                signal.pidfd_send_signal(self._pidfd, number)
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
            self._ending = self._explained(ending)
            os.close(self._pidfd)
            self._peak.close()
            if self._membership is not None:
                if ending.exit_code == GROUP_REFUSED and not self._in_use:
                    self._membership.entrance_refused()
                self._membership.leave()
            self._over.set()

    def _explained(self, ending: Ending) -> Ending:
        """With the group's word on a SIGKILL that was not the host's."""
        if self._membership is None or self._killed or ending.signal != signal.SIGKILL:
            return ending
        return msgspec.structs.replace(ending, out_of_memory=self._membership.out_of_memory())


class _Order:
    """A fork that was asked for and not answered yet."""

    def __init__(self, transport: SocketTransport, *, grouped: bool) -> None:
        self.transport = transport
        self.grouped = grouped
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
        # An event loop lets one task wait for a socket, and a zygote that is busy may have more
        # orders than its socket holds.
        self._waiting_for_room = anyio.Lock()
        self._numbers = itertools.count(1)
        self._orders: dict[int, _Order] = {}
        self._workers: dict[int, ForkedWorker] = {}
        self._packets = msgspec.msgpack.Decoder(FromZygote)
        self._heard = 0.0

    @property
    def pid(self) -> int:
        """The process that was started."""
        return self._process.pid

    async def fork(self, *, entrance: int | None = None) -> ForkedWorker:
        """Order a fork; a WorkerLostError if it is refused. `entrance` leads into its group."""
        try:
            transport, theirs = SocketTransport.pair()
        except OSError as error:
            raise no_worker(str(error.strerror)) from None
        number = next(self._numbers)
        order = self._orders[number] = _Order(transport, grouped=entrance is not None)
        try:
            packet = ForkOrder(number=number, grouped=entrance is not None)
            with theirs:
                await self._ask(order, packet, theirs, entrance)
            if order.worker is None:
                raise no_worker(order.reason)
        except BaseException:
            # Whoever asked is gone; a worker that still comes finds its channel closed and leaves.
            transport.close()
            raise
        finally:
            self._orders.pop(number, None)
        return order.worker

    async def _ask(
        self, order: _Order, packet: ForkOrder, theirs: socket.socket, entrance: int | None
    ) -> None:
        """Hand it over and wait for its answer, as long as the zygote says anything at all.

        One that answers others is busy; silence is as good as death.
        """
        begun = anyio.current_time()
        while self.is_alive and not order.answered.is_set():
            with anyio.move_on_at(max(begun, self._heard) + _ANSWER_SECONDS) as patience:
                if theirs.fileno() >= 0:  # not sent yet
                    own = [theirs.fileno()] if entrance is None else [theirs.fileno(), entrance]
                    await self._send(packet, own)
                    theirs.close()
                await order.answered.wait()
            silent_since = max(begun, self._heard)
            if patience.cancelled_caught and anyio.current_time() >= silent_since + _ANSWER_SECONDS:
                order.reason = f"the zygote did not answer for {_ANSWER_SECONDS} seconds"
                self.end()

    async def _send(self, order: ForkOrder, descriptors: list[int]) -> None:
        """Hand the order over, unless the zygote is gone."""
        while self.is_alive:
            try:
                socket.send_fds(self._control, [msgspec.msgpack.encode(order)], descriptors)
            except BlockingIOError:
                await self._until_there_is_room()
            except ConnectionError:
                self.end()  # at once: whoever tries again must not find it alive
            except OSError as error:
                raise no_worker(str(error.strerror)) from None
            else:
                return

    async def _until_there_is_room(self) -> None:
        async with self._waiting_for_room:
            if self.is_alive:
                with suppress(anyio.ClosedResourceError):
                    await anyio.wait_writable(self._control)

    async def read(self) -> None:
        """Take what the zygote says, until it is gone."""
        try:
            while True:
                try:
                    data, descriptors, _, _ = socket.recv_fds(self._control, MAX_PACKET_BYTES, 1)
                except BlockingIOError:
                    await anyio.wait_readable(self._control)
                    continue
                for descriptor in descriptors:
                    # No program that the host starts may have it; recv_fds drops such a flag.
                    os.set_inheritable(descriptor, False)
                if not data:
                    return
                self._heard = anyio.current_time()
                self._take(self._packets.decode(data), descriptors)
        except anyio.ClosedResourceError:
            return
        except (OSError, msgspec.DecodeError) as error:
            if self.is_alive:
                logger.warning("the zygote's channel broke: %s", error)
        finally:
            self.end()

    def _take(self, packet: FromZygote, descriptors: list[int]) -> None:
        match packet:
            case ZygoteReady():
                self.layers = tuple(packet.layers)
                self.ready.set()
            case ModuleRefused():
                self.refused = packet
                self.ready.set()
            case Forked():
                self._take_worker(packet.number, descriptors)
            case ForkRefused():
                order = self._orders.get(packet.number)
                if order is not None:
                    order.reason = packet.reason
                    order.answered.set()
            case WorkerExited():
                worker = self._workers.pop(packet.number, None)
                if worker is not None:
                    worker.end(_ending(packet))

    def _take_worker(self, number: int, descriptors: list[int]) -> None:
        order = self._orders.get(number)
        if order is None:
            for pidfd in descriptors:
                os.close(pidfd)
            return
        # Where there is no worker to show for it, its channel will be closed, so it leaves.
        if descriptors:
            try:
                order.worker = self._workers[number] = ForkedWorker(order.transport, descriptors[0])
            except OSError as error:
                os.close(descriptors[0])
                if error.errno in _NO_ROOM:
                    order.reason = os.strerror(errno.EMFILE)  # as below: it says nothing of it
                else:
                    order.reason = f"its cpu time cannot be watched: {error.strerror}"
                    # Gone so soon: most likely it could not enter its group. The next is moved.
                    self.group_refused = self.group_refused or order.grouped
        else:
            # The kernel drops what there is no room for.
            order.reason = os.strerror(errno.EMFILE)
        order.answered.set()

    def end(self) -> None:
        """End it if it still lives; its workers die with it. Idempotent."""
        if not self.is_alive:
            return
        self.is_alive = False
        anyio.notify_closing(self._control)
        self._control.close()
        said = self._last_words()
        if said:
            logger.error("the zygote said: %s", said[-4096:].decode("utf-8", "replace").strip())
        self.ready.set()
        for order in self._orders.values():
            order.answered.set()
        for worker in self._workers.values():
            worker.end(_GONE)
        self._workers.clear()

    def _last_words(self) -> bytes:
        """Wait until it is gone; what it wrote to its standard error."""
        # A closed channel makes it leave in good order: the process that was started waits for the
        # first one of the namespace, and no zombie is left to whoever adopts orphans here.
        if self.layers:
            try:
                return self._process.communicate(timeout=_LEAVE_SECONDS)[1]
            except subprocess.TimeoutExpired:
                logger.warning("the zygote did not leave; it is killed")
        self._process.kill()
        return self._process.communicate()[1]


def no_worker(reason: str) -> WorkerLostError:
    return WorkerLostError(f"no worker could be forked: {reason}", started=False)


def _ending(packet: WorkerExited) -> Ending:
    code = os.waitstatus_to_exitcode(packet.status)
    return Ending(
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        cpu_us=packet.cpu_us,
        max_rss_kb=packet.max_rss_kb,
    )
