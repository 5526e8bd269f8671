"""The zygote at work: it forks on order, and reaps what it forked.

After each fork, the zygote copies every page that it writes to, and Python writes to every object
that it uses. So what is used for each order is looked up once, and used again.
"""

from __future__ import annotations

import _socket
import errno
import os
import select
import signal
from array import array
from os import close, pidfd_open, wait4
from typing import Any, Final, NoReturn

import msgspec

from caps.protocol.enforcement import Layer
from caps.protocol.zygote_messages import (
    MAX_ORDER_BYTES,
    Forked,
    ForkOrder,
    ForkRefused,
    FromZygote,
    WorkerExited,
    ZygoteReady,
)
from caps.worker.inside.zygote.fork import WorkerSetup, become_worker

fork_process = os.fork  # workers with real modules get one that refuses

CONTROL: Final = 0
HOST: Final = 1
# An order has at most two descriptors: a channel, and the entry of a group.
_FDS_BUFFER_BYTES: Final = _socket.CMSG_SPACE(2 * array("i").itemsize)


class Zygote:
    """Forks on order and reaps what it forked."""

    def __init__(self, control: _socket.socket, setup: WorkerSetup) -> None:
        self._control = control
        self._setup = setup
        self._workers: dict[int, tuple[int, int]] = {}
        self._poll = select.poll()
        self._poll.register(CONTROL, select.POLLIN)
        self._poll.register(HOST, select.POLLIN)
        self._decode = msgspec.msgpack.Decoder(ForkOrder).decode
        self._encode = msgspec.msgpack.Encoder().encode
        self._sent_descriptor = array("i", [0])
        self._with_descriptor: list[tuple[int, int, Any]] = [
            (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, self._sent_descriptor)
        ]

    def serve(self, layers: list[Layer]) -> NoReturn:
        """Report the layers, then wait for orders and for exits of workers."""
        self._send(ZygoteReady(layers=layers))
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == CONTROL:
                    self._handle_order()
                elif descriptor == HOST:
                    os._exit(0)  # process 1 exits, so the kernel kills all workers
                else:
                    self._reap(descriptor)

    def _handle_order(self) -> None:
        data, ancillary, _, _ = self._control.recvmsg(MAX_ORDER_BYTES, _FDS_BUFFER_BYTES)
        if not data:
            os._exit(0)  # the host has closed the socket; as above
        order = self._decode(data)
        fds = array("i", ancillary[0][2] if ancillary else b"").tolist()
        if len(fds) != 1 + order.grouped:
            # The kernel drops descriptors for which this process has no free number.
            self._refuse(order.number, fds, errno.EMFILE)
            return
        channel, group = fds[0], fds[1] if order.grouped else None
        try:
            worker = fork_process()
        except OSError as error:
            self._refuse(order.number, fds, error.errno)
            return
        if worker == 0:
            become_worker(self._setup, channel, group)
        close(channel)
        if group is not None:
            close(group)
        self._announce(order.number, worker)

    def _refuse(self, number: int, fds: list[int], reason: int | None) -> None:
        for descriptor in fds:
            close(descriptor)
        self._send(ForkRefused(number=number, reason=os.strerror(reason or 0)))

    def _announce(self, number: int, worker: int) -> None:
        try:
            descriptor = pidfd_open(worker)
        except OSError as error:
            # The host could not kill it later, so it is killed now; it has seen no code yet.
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
            self._refuse(number, [], error.errno)
            return
        self._workers[descriptor] = (number, worker)
        self._poll.register(descriptor, select.POLLIN)
        self._sent_descriptor[0] = descriptor
        self._send(Forked(number=number), self._with_descriptor)

    def _reap(self, descriptor: int) -> None:
        number, worker = self._workers.pop(descriptor)
        self._poll.unregister(descriptor)
        close(descriptor)
        _, status, usage = wait4(worker, 0)
        self._send(
            WorkerExited(
                number=number,
                status=status,
                cpu_us=int((usage.ru_utime + usage.ru_stime) * 1_000_000),
                max_rss_kb=usage.ru_maxrss,
            )
        )

    def _send(self, packet: FromZygote, ancillary: Any = ()) -> None:
        try:
            self._control.sendmsg((self._encode(packet),), ancillary)
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)
