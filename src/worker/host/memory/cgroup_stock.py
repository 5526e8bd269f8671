"""Memory groups created in advance, each with a file descriptor through which its worker enters.

Moving another process into a group waits until every processor has noticed, which takes up to a
tenth of a second; a process that moves itself does not wait. So a worker gets a file descriptor
when it is forked and enters by itself, before anything else. cgroup v1 has a file for that; where
there is none (v2), the host moves the worker after the fork.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from contextlib import suppress

import anyio
import anyio.to_thread
import msgspec

from caps.worker.host.memory.cgroup import CgroupRoot, MemoryGroup

logger = logging.getLogger(__name__)

# Several are created at a time: each time, a thread is woken and the event loop waits for it.
_AHEAD = 8


class PreparedGroup(msgspec.Struct, frozen=True):
    """An empty group, and the open file descriptor through which one process may enter it."""

    group: MemoryGroup
    entry_fd: int

    def close_entry(self) -> None:
        os.close(self.entry_fd)


class CgroupStock:
    """A few groups that are ready for workers."""

    def __init__(self, root: CgroupRoot, threads: anyio.CapacityLimiter) -> None:
        """Blocking work runs in a thread of `threads`, like all other work on groups."""
        self._root = root
        self._threads = threads
        self._waiting: deque[PreparedGroup] = deque()
        self._taken_some = anyio.Event()
        self._megabytes: int | None = None
        self._closed = False

    async def take(self, megabytes: int | None) -> PreparedGroup:
        """A group, most likely with the limit `megabytes`. Raises OSError."""
        self._megabytes = megabytes
        group = self._waiting.popleft() if self._waiting else None
        if len(self._waiting) <= _AHEAD // 2:
            self._taken_some.set()
        if group is not None:
            return group
        return await anyio.to_thread.run_sync(self._make, limiter=self._threads)

    async def keep_some(self) -> None:
        """Create more when few are left, until cancelled. A failure is tried again later."""
        while True:
            await self._taken_some.wait()
            self._taken_some = anyio.Event()
            try:
                await anyio.to_thread.run_sync(self._fill, limiter=self._threads)
            except OSError as error:
                logger.debug("no memory group was made ahead: %s", error)

    def close(self) -> None:
        """Close all file descriptors. The groups themselves are removed with their root."""
        self._closed = True
        self._close_entries()

    def _fill(self) -> None:
        """Runs in a thread."""
        while len(self._waiting) < _AHEAD and not self._closed:
            self._waiting.append(self._make())
        if self._closed:  # closed meanwhile by the event loop, which did not see the last one
            self._close_entries()

    def _close_entries(self) -> None:
        with suppress(IndexError):  # both threads may run this; each descriptor is popped once
            while True:
                self._waiting.popleft().close_entry()

    def _make(self) -> PreparedGroup:
        """Runs in a thread."""
        group = self._root.new_group()
        try:
            entry_fd = group.open_entry()
            if self._megabytes is not None:
                group.limit(self._megabytes)
        except OSError:
            group.remove()
            raise
        return PreparedGroup(group, entry_fd)
