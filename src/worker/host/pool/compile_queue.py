"""Compiles sources for the cache: each in a worker of its own, which runs no code and then exits.

The worker is started and confined like any other. It receives an order to compile instead of a
manifest, and the connection has no transition from there to running code. One source per process:
a source that exploits the compiler could corrupt its own cache entry and nothing else. Compiling
happens in the background, one source at a time. A failure costs no more than the time that the
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
from caps.worker.host.pool.program_cache import ProgramCache, ProgramKey
from caps.worker.host.pool.spare import Spare
from caps.worker.host.process.worker import Worker

logger = logging.getLogger(__name__)

_LIMITS = WorkerLimits(cpu_ms=5000, memory_mb=512, concurrency=1)
_SECONDS = 10
_MAX_WAITING = 64


class CompileQueue:
    """Takes orders to compile, and stores the results in `programs`."""

    def __init__(
        self,
        programs: ProgramCache,
        prepare: Callable[[], Awaitable[Spare]],
        dispose: Callable[[Worker], Awaitable[object]],
    ) -> None:
        """`prepare` starts an unused worker, and `dispose` ends it."""
        self._programs = programs
        self._prepare = prepare
        self._dispose = dispose
        self._orders: deque[ProgramKey] = deque()
        self._ordered = anyio.Event()

    def order(self, key: ProgramKey) -> None:
        """Queue this source. Dropped if the queue is full: the next run of it orders it again."""
        if len(self._orders) < _MAX_WAITING and key not in self._orders:
            self._orders.append(key)
            self._ordered.set()

    async def keep_compiling(self) -> None:
        """Compile what is ordered, until cancelled."""
        while True:
            await self._ordered.wait()
            self._ordered = anyio.Event()
            while self._orders:
                key = self._orders[0]
                program = await self._compile(key)
                if program is not None:
                    self._programs.store(key, program)
                self._orders.popleft()

    async def _compile(self, key: ProgramKey) -> bytes | None:
        """The program; empty if the source does not compile, None if it could not be tried."""
        try:
            spare = await self._prepare()
        except CapsError as error:
            logger.debug("no worker to compile: %s", error)
            return None
        try:
            if (spare.ready.language, spare.ready.python) != (key.language, key.python):
                return None  # not of the zygote whose worker ran the source
            spare.worker.limit_memory(_LIMITS.memory_mb)
            with anyio.move_on_after(_SECONDS):
                return await _request_program(spare, key)
        except (CapsError, ChannelClosedError) as error:
            logger.debug("a source was not compiled: %s", error)
        finally:
            await self._dispose(spare.worker)
        return b""


async def _request_program(spare: Spare, key: ProgramKey) -> bytes:
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
