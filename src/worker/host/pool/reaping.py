"""Workers that have sent their results: they are killed, and reaped while nobody waits for them.

A worker is killed one turn of the event loop after its result was passed on. When the zygote
reports that it is reaped, its slot is free: the report does that itself, and wakes no task. A
report that does not come is not waited for without an end.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable

import anyio

from caps.worker.host.pool.spare import Spare

logger = logging.getLogger(__name__)

_REAP_SECONDS = 5.0


class Reaping:
    """The workers that are to be killed, or were killed and are not known to be reaped.

    Each one is finished exactly once: by `finish` or, if the pool closes before, by its closing.
    """

    def __init__(
        self, finish: Callable[[Spare], None], on_kill: Callable[[], None] | None = None
    ) -> None:
        """`finish` closes the channel of a worker that is gone, and frees its slot.

        `on_kill` is called after workers were killed.
        """
        self._finish = finish
        self._on_kill = on_kill
        self._used: deque[Spare] = deque()
        self._has_used = anyio.Event()
        # By the number of the worker's object, in the order of the kills, with the deadline.
        self._dying: dict[int, tuple[Spare, float]] = {}
        self._has_dying = anyio.Event()

    def kill_soon(self, spare: Spare) -> None:
        """Kill it in the next turn of the event loop, and finish it as soon as it is reaped."""
        self._used.append(spare)
        self._has_used.set()

    async def kill_used(self) -> None:
        """Kill the workers that have sent their results, until cancelled."""
        while True:
            await self._has_used.wait()
            self._has_used = anyio.Event()
            while self._used:
                self._kill(self._used.popleft())
            if self._on_kill is not None:
                self._on_kill()

    def _kill(self, spare: Spare) -> None:
        key = id(spare.worker)
        self._dying[key] = (spare, time.monotonic() + _REAP_SECONDS)
        self._has_dying.set()
        spare.worker.kill()
        spare.worker.transport.close()  # its end would wake the event loop for nothing
        spare.worker.on_end(lambda: self._reaped(key))

    def _reaped(self, key: int) -> None:
        found = self._dying.pop(key, None)
        if found is not None:
            self._finish(found[0])

    async def watch(self) -> None:
        """Finish those whose report does not come in time, until cancelled."""
        while True:
            await self._has_dying.wait()
            while self._dying:
                key, (_, deadline) = next(iter(self._dying.items()))
                left = deadline - time.monotonic()
                if left > 0:
                    await anyio.sleep(left)
                else:
                    logger.warning("the zygote did not reap a worker in %s seconds", _REAP_SECONDS)
                    self._reaped(key)
            self._has_dying = anyio.Event()

    def take_one(self) -> Spare | None:
        """One that is not finished; the caller kills it, waits for it and finishes it."""
        if self._used:
            return self._used.popleft()
        return self._dying.popitem()[1][0] if self._dying else None
