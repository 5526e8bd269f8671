"""Compiling for the cache: each source in a worker of its own, which runs nothing and then dies.

The worker is made like any other, confined the same, and is told to compile in the place of a
manifest; the connection knows no step from there to running code. One source a process: a source
that overcame the compiler could spoil what is filed under itself and nothing else. It happens in
the background, one at a time, and whatever goes wrong costs nobody more than the time that the
cache would have saved.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable

import anyio

from caps.protocol.connection import State
from caps.protocol.errors import CapsError, WorkerLostError
from caps.protocol.messages import CompiledMessage, CompileMessage, WorkerLimits
from caps.protocol.transport import ChannelClosedError
from caps.worker.host.pool.program_cache import CompiledPrograms, ProgramKey
from caps.worker.host.process.worker import Worker
from caps.worker.host.spare import Spare

logger = logging.getLogger(__name__)

_LIMITS = WorkerLimits(cpu_ms=5000, memory_mb=512, concurrency=1)
_SECONDS = 10
_MOST_WAITING = 64


class Compiler:
    """Takes orders, and fills `programs` with what comes of them."""

    def __init__(
        self,
        programs: CompiledPrograms,
        prepare: Callable[[], Awaitable[Spare]],
        dispose: Callable[[Worker], Awaitable[object]],
    ) -> None:
        """`prepare` makes a worker that nobody has used, and `dispose` ends it."""
        self._programs = programs
        self._prepare = prepare
        self._dispose = dispose
        self._orders: deque[ProgramKey] = deque()
        self._ordered = anyio.Event()

    def order(self, key: ProgramKey) -> None:
        """Compile this when there is time; with too many waiting it is left to be asked again."""
        if len(self._orders) < _MOST_WAITING and key not in self._orders:
            self._orders.append(key)
            self._ordered.set()

    async def keep_compiling(self) -> None:
        """Do what is ordered, until cancelled."""
        while True:
            await self._ordered.wait()
            self._ordered = anyio.Event()
            while self._orders:
                key = self._orders[0]
                program = await self._compiled(key)
                if program is not None:
                    self._programs.keep(key, program)
                self._orders.popleft()

    async def _compiled(self, key: ProgramKey) -> bytes | None:
        """The program; empty if there is none to be had, None if nobody could try."""
        try:
            spare = await self._prepare()
        except CapsError as error:
            logger.debug("nobody to compile: %s", error)
            return None
        try:
            if (spare.ready.language, spare.ready.python) != (key.language, key.python):
                return None  # of another zygote than the one that this was asked of
            spare.worker.limit_memory(_LIMITS.memory_mb)
            with anyio.move_on_after(_SECONDS):
                return await _ask(spare, key)
        except (CapsError, ChannelClosedError) as error:
            logger.debug("a source was not compiled: %s", error)
        finally:
            await self._dispose(spare.worker)
        return b""


async def _ask(spare: Spare, key: ProgramKey) -> bytes:
    connection, transport = spare.connection, spare.worker.transport
    order = CompileMessage(
        source=key.source, filename=key.filename, limits=_LIMITS, **connection.stamp()
    )
    await transport.send(connection.send(order))
    while connection.state is State.COMPILING:
        data = await transport.receive()
        if not data:
            raise WorkerLostError("the compiler closed its channel", started=False)
        for message in connection.receive(data):
            if isinstance(message, CompiledMessage):
                return message.program
    return b""
