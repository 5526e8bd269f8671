"""The memory limit of a source's workers, for use in the event loop: groups, or rlimits only.

Blocking work runs in a thread, except for the one write of a limit at the start of an execution.
That write is skipped if the limit is the same as the last one.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Protocol

import anyio
import anyio.to_thread

from caps.protocol.enforcement import Enforcement, Layer
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.worker.host.memory.cgroup import CgroupRoot, MemoryGroup
from caps.worker.host.memory.cgroup_discovery import find_locations
from caps.worker.host.memory.cgroup_stock import CgroupStock
from caps.worker.host.memory.prepared_group import PreparedGroup
from caps.worker.host.process.pidfd import process_id
from caps.worker.host.process.worker import OutOfMemory

logger = logging.getLogger(__name__)

# Groups of workers that ended are removed a moment later, together, so that no result waits for it.
_REMOVE_DELAY_SECONDS = 0.2
_CLOSE_SECONDS = 1.0
_RETRY_SECONDS = 0.01

_RLIMIT_ONLY = "rlimit only, on the address space of each worker"
_REMEDY = (
    "for a cgroup: systemd's Delegate=yes with DelegateSubgroup=, or "
    f"{Variable.CGROUP.key}=<a group of our own with the memory controller and no process in it>"
)


class _GroupMember(Protocol):
    """The part of a worker that concerns its group."""

    def descriptor(self) -> int: ...

    def join(self, membership: CgroupMembership) -> None: ...


class MemoryLimiter:
    """Puts workers into groups of their own, if groups are available."""

    def __init__(self) -> None:
        self._root: CgroupRoot | None = None
        self._prepared: CgroupStock | None = None
        self._unavailable_because = "not open"
        self._zygote_moved = False
        self._failures = 0
        self._last_failure = ""
        self._cached_layer: tuple[object, Layer] | None = None
        self.expected_mb: int | None = None
        """The limit that the next worker will most likely have, as the last one had it."""
        self._released: list[MemoryGroup] = []
        self._release_pending = anyio.Event()
        # One at a time: while the kernel moves a process nothing can fork, and many moves at a time
        # would starve the zygote. It is a separate limiter, so that no provider waits for us.
        self._threads = anyio.CapacityLimiter(1)

    @property
    def layer(self) -> Layer:
        """Always in force: without a group, RLIMIT_AS limits the same number of bytes.

        The same object until its content changes, because every execution asks for it.
        """
        state = (self._root, self._unavailable_because, self._failures, self._last_failure)
        if self._cached_layer is None or self._cached_layer[0] != state:
            self._cached_layer = (state, self._describe())
        return self._cached_layer[1]

    def _describe(self) -> Layer:
        if self._root is None:
            detail, remedy = f"{_RLIMIT_ONLY} ({self._unavailable_because})", _REMEDY
        else:
            detail, remedy = f"{self._root.location}, and rlimit", ""
        if self._failures:
            detail += f"; {self._failures} times rlimit only: {self._last_failure}"
        return Layer(name="memory", enforcement=Enforcement.FULLY, detail=detail, remedy=remedy)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Find a location; leave nothing there. ConfigurationError if the named one is unusable."""
        self._root = await anyio.to_thread.run_sync(self._find_root, limiter=self._threads)
        if self._root is not None and self._root.location.interface.entry_file:
            self._prepared = CgroupStock(self._root, self._threads)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._close, limiter=self._threads)

    async def move_in_zygote(self, pid: int) -> None:
        """Called before the first order. The first zygote proves that processes may be moved.

        A zygote that was launched in advance may have its first child already, which forks workers.
        """
        if self._root is None:
            return
        admit = self._root.zygotes.admit_with_children
        try:
            await anyio.to_thread.run_sync(admit, pid, limiter=self._threads)
        except ProcessLookupError:
            return  # it has ended, which its channel shows
        except OSError as error:
            if self._zygote_moved:
                logger.warning("a new zygote stays in the host's own group: %s", error.strerror)
                return
            location = self._root.location
            await anyio.to_thread.run_sync(self._close, limiter=self._threads)
            self._do_without([f"{location}: {error.strerror}"])
        self._zygote_moved = True

    async def prepare(self) -> PreparedGroup | None:
        """A group that the next worker can enter by itself; None if it has to be moved in.

        The caller has to `enter` or `give_back` it. Raises nothing.
        """
        if self._prepared is None:
            return None
        try:
            return await self._prepared.take(self.expected_mb)
        except OSError as error:
            self.count_failure(error)
            return None

    def enter(self, worker: _GroupMember, prepared: PreparedGroup) -> None:
        """The worker was forked with the descriptor, and is not ready before it has entered."""
        if not prepared.renewable:
            prepared.close()
        again = prepared if prepared.renewable else None
        worker.join(CgroupMembership(self, prepared.group, again))

    def give_back(self, prepared: PreparedGroup) -> None:
        """No worker was forked for it yet. One may still be, and enter: it is not used again."""
        self._discard(prepared)

    def leave(self, prepared: PreparedGroup, *, reaped: bool) -> None:
        """The worker that entered it has ended. Only if it was reaped it may be used again."""
        stock = self._prepared
        if not reaped or stock is None or not stock.take_back(prepared):
            self._discard(prepared)

    def _discard(self, prepared: PreparedGroup) -> None:
        if self._prepared is None:
            prepared.close()
        else:
            self._prepared.discard(prepared)
        self.release(prepared.group)

    def entry_refused(self) -> None:
        """A worker could not enter by itself: the later ones are moved by the host."""
        if self._prepared is not None:
            logger.warning("workers cannot enter their memory groups by themselves; they are moved")
            self._prepared.close()
            self._prepared = None

    async def keep_prepared(self) -> None:
        """Create groups in advance, if they can be used, until cancelled."""
        if self._prepared is not None:
            await self._prepared.keep_some()

    async def move_in(self, worker: _GroupMember) -> None:
        """Move an unused worker into a group of its own. Raises nothing."""
        if self._root is None:
            return
        try:
            # A copy of the pidfd: the thread must not find another process under its number.
            descriptor = worker.descriptor()
        except ProcessLookupError:
            return
        except OSError as error:
            self.count_failure(error)
            return
        try:
            group = await anyio.to_thread.run_sync(
                _create_and_admit,
                self._root,
                descriptor,
                self.expected_mb,
                limiter=self._threads,
            )
        except ProcessLookupError:
            return  # it has ended, which its channel shows
        except OSError as error:
            self.count_failure(error)
        else:
            worker.join(CgroupMembership(self, group))

    async def keep_removing(self) -> None:
        """Remove the groups of workers that have ended, until cancelled."""
        while True:
            await self._release_pending.wait()
            await anyio.sleep(_REMOVE_DELAY_SECONDS)
            self._release_pending = anyio.Event()
            await anyio.to_thread.run_sync(self._remove_released, limiter=self._threads)

    def release(self, group: MemoryGroup) -> None:
        """The worker of this group has ended; the group is removed later."""
        self._released.append(group)
        self._release_pending.set()

    def count_failure(self, error: OSError) -> None:
        """A worker is bounded by RLIMIT_AS only. Logged once for equal reasons in a row."""
        self._failures += 1
        reason = error.strerror or str(error)
        if reason != self._last_failure:
            logger.warning("a worker's memory is bounded by rlimit alone: %s", reason)
        self._last_failure = reason

    def _find_root(self) -> CgroupRoot | None:
        refused = []
        for location in find_locations():
            try:
                root = CgroupRoot(location)
            except OSError as error:
                refused.append(f"{location}: {error.strerror}")
                continue
            for failure in root.sweep():
                logger.warning("a group of an earlier host cannot be removed: %s", failure)
            return root
        self._do_without(refused or ["no memory hierarchy is mounted"])
        return None

    def _do_without(self, reasons: list[str]) -> None:
        """Do without groups. ConfigurationError if the operator named one."""
        self._unavailable_because = "; ".join(reasons)
        named = Variable.CGROUP.read()
        if named:
            raise ConfigurationError(
                f"{Variable.CGROUP.key} is `{named}`, where no worker can be given a memory limit "
                f"({self._unavailable_because}); name another group, or none for rlimit only"
            )

    def _remove_released(self) -> None:
        """Runs in a thread. A busy group is tried again with the next ones."""
        for _ in range(len(self._released)):
            group = self._released.pop(0)
            try:
                if not group.remove():
                    self._released.append(group)
            except OSError as error:
                logger.warning("the group %s is left behind: %s", group.directory, error)

    def _close(self) -> None:
        """Runs in a thread, when all processes have ended or are about to."""
        root, self._root = self._root, None
        prepared, self._prepared = self._prepared, None
        if root is None:
            return
        if prepared is not None:
            prepared.close()
        give_up_at = time.monotonic() + _CLOSE_SECONDS
        try:
            while not root.remove():
                if time.monotonic() > give_up_at:
                    logger.warning(
                        "groups are left at %s; the next host removes them", root.location
                    )
                    return
                time.sleep(_RETRY_SECONDS)
        except OSError as error:
            logger.warning("groups are left at %s: %s", root.location, error)
        finally:
            root.release()


class CgroupMembership:
    """One worker's membership in its group. Its methods raise nothing."""

    def __init__(
        self, memory: MemoryLimiter, group: MemoryGroup, prepared: PreparedGroup | None = None
    ) -> None:
        """`prepared` is the group with its files, if it may be used again."""
        self._memory = memory
        self._group = group
        self._prepared = prepared

    def limit(self, megabytes: int) -> None:
        """Limit the worker to this much memory."""
        self._memory.expected_mb = megabytes
        if self._group.limit_mb == megabytes:  # as it was expected
            return
        try:
            self._group.limit(megabytes)
        except OSError as error:
            self._memory.count_failure(error)

    def out_of_memory(self) -> OutOfMemory | None:
        """Whether the OOM killer killed it, and because of whose limit."""
        try:
            return self._group.out_of_memory()
        except OSError as error:
            logger.warning("a group does not tell how its worker ended: %s", error)
            return None

    def entry_refused(self) -> None:
        """The worker ended because it could not enter."""
        self._memory.entry_refused()

    def leave(self, *, reaped: bool) -> None:
        """The worker has ended. `reaped`: no process is left of it, nor can one appear. Once."""
        prepared, self._prepared = self._prepared, None
        if prepared is None:
            self._memory.release(self._group)
        else:
            self._memory.leave(prepared, reaped=reaped)


def _create_and_admit(root: CgroupRoot, descriptor: int, megabytes: int | None) -> MemoryGroup:
    """A new group with the process in it. Runs in a thread; closes `descriptor`. Raises OSError."""
    try:
        pid = process_id(descriptor)
        group = root.new_group()
        try:
            group.admit(pid)
            # If it has ended by now, the pid may have been another's, whose group gets no limit.
            process_id(descriptor)
        except OSError:
            group.remove()
            raise
        if megabytes is not None:
            with suppress(OSError):  # the start of the execution tries again, and counts a failure
                group.limit(megabytes)
        return group
    finally:
        os.close(descriptor)
