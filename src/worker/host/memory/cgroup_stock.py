"""Memory groups made ahead of need, each with a way in for the worker that will live in it.

A process that another moves into a group waits until every processor has taken notice, which takes
up to a tenth of a second; one that moves itself does not wait. So a worker is handed a descriptor
at its birth and enters by itself, before anything else. cgroup v1 has such an entrance; where there
is none (v2), the host moves the worker as before.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from contextlib import suppress

import anyio
import anyio.to_thread
import msgspec

from caps.worker.host.memory.cgroup import Home, MemoryGroup

logger = logging.getLogger(__name__)

# Several at a time: for each time a thread has to be woken, and the event loop waits for it.
_AHEAD = 8


class PreparedGroup(msgspec.Struct, frozen=True):
    """An empty group, and the open descriptor through which one process may enter it."""

    group: MemoryGroup
    entrance: int

    def close_entrance(self) -> None:
        os.close(self.entrance)


class PreparedGroups:
    """A few groups that wait for workers."""

    def __init__(self, home: Home, turn: anyio.CapacityLimiter) -> None:
        """Whatever blocks happens in a thread, in `turn` with all else that concerns groups."""
        self._home = home
        self._turn = turn
        self._waiting: deque[PreparedGroup] = deque()
        self._taken = anyio.Event()
        self._megabytes: int | None = None
        self._closed = False

    async def take(self, megabytes: int | None) -> PreparedGroup:
        """A group, limited to `megabytes` most likely, as the last one was. OSError."""
        self._megabytes = megabytes
        group = self._waiting.popleft() if self._waiting else None
        if len(self._waiting) <= _AHEAD // 2:
            self._taken.set()
        if group is not None:
            return group
        return await anyio.to_thread.run_sync(self._make, limiter=self._turn)

    async def keep_some(self) -> None:
        """Make more when few are left, until cancelled; what cannot be made is made later."""
        while True:
            await self._taken.wait()
            self._taken = anyio.Event()
            try:
                await anyio.to_thread.run_sync(self._fill, limiter=self._turn)
            except OSError as error:
                logger.debug("no memory group was made ahead: %s", error)

    def close(self) -> None:
        """No worker enters any more; the groups themselves go with their home."""
        self._closed = True
        self._close_entrances()

    def _fill(self) -> None:
        """Runs in a thread."""
        while len(self._waiting) < _AHEAD and not self._closed:
            self._waiting.append(self._make())
        if self._closed:  # meanwhile, by the event loop, which did not see the last one
            self._close_entrances()

    def _close_entrances(self) -> None:
        with suppress(IndexError):  # both threads may be here, and each entrance is one's only
            while True:
                self._waiting.popleft().close_entrance()

    def _make(self) -> PreparedGroup:
        """Runs in a thread."""
        group = self._home.new_group()
        try:
            entrance = group.open_entrance()
            if self._megabytes is not None:
                group.limit(self._megabytes)
        except OSError:
            group.remove()
            raise
        return PreparedGroup(group, entrance)
