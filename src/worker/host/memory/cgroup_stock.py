"""Memory groups that are ready, each with a file descriptor through which its worker enters.

They are created in advance, and some of them come back when their worker has been reaped.

Moving another process into a group waits until every processor has noticed, which takes up to a
tenth of a second; a process that moves itself does not wait. So a worker gets a file descriptor
when it is forked and enters by itself, before anything else. cgroup v1 has a file for that; where
there is none (v2), the host moves the worker after the fork.
"""

from __future__ import annotations

import logging
import resource
from collections import deque
from contextlib import suppress

import anyio
import anyio.to_thread

from caps.worker.host.memory.cgroup import CgroupRoot
from caps.worker.host.memory.prepared_group import PreparedGroup

logger = logging.getLogger(__name__)

# Several are created at a time: each time, a thread is woken and the event loop waits for it.
_AHEAD = 8
# How many groups are used again. Each keeps five files open; more workers do without. One for so
# many files that this process may open, so that workers are not short of them.
_MOST_RENEWABLE = 16
_FILES_FOR_ONE = 128


class CgroupStock:
    """A few groups that are ready for workers."""

    def __init__(self, root: CgroupRoot, threads: anyio.CapacityLimiter) -> None:
        """Blocking work runs in a thread of `threads`, like all other work on groups."""
        self._root = root
        self._threads = threads
        self._waiting: deque[PreparedGroup] = deque()
        # Those that exist, waiting or in use.
        self._renewable: set[PreparedGroup] = set()
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_renewable = min(_MOST_RENEWABLE, files // _FILES_FOR_ONE)
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

    def take_back(self, prepared: PreparedGroup) -> bool:
        """The worker of this group was reaped. False if the caller has to discard the group."""
        if self._closed or not prepared.renew():
            return False
        self._waiting.appendleft(prepared)  # what was used last is in the caches
        return True

    def discard(self, prepared: PreparedGroup) -> None:
        """This group will not be used again; the caller removes it."""
        self._renewable.discard(prepared)
        prepared.close()

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
        """Close the file descriptors of all groups that wait. All are removed with their root."""
        self._closed = True
        self._close_waiting()

    def _fill(self) -> None:
        """Runs in a thread."""
        while len(self._waiting) < _AHEAD and not self._closed:
            self._waiting.append(self._make())
        if self._closed:  # closed meanwhile by the event loop, which did not see the last one
            self._close_waiting()

    def _close_waiting(self) -> None:
        with suppress(IndexError):  # both threads may run this; each descriptor is popped once
            while True:
                self._waiting.popleft().close()

    def _make(self) -> PreparedGroup:
        """Runs in a thread."""
        group = self._root.new_group()
        try:
            prepared = PreparedGroup(group, renewable=len(self._renewable) < self._most_renewable)
            if prepared.renewable:
                self._renewable.add(prepared)
            if self._megabytes is not None:
                self._limit(prepared, self._megabytes)
        except OSError:
            group.remove()
            raise
        return prepared

    def _limit(self, prepared: PreparedGroup, megabytes: int) -> None:
        try:
            prepared.group.limit(megabytes)
        except OSError:
            self.discard(prepared)
            raise
