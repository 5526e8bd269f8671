"""The memory bound of a source's workers, as the event loop holds it: groups, or rlimits alone.

Whatever blocks happens in a thread, but for the one write of a limit at the start of an execution,
and that is spared, too, when the limit is the one that was asked for last.
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
from caps.protocol.errors import ConfigurationError
from caps.worker.host.memory.cgroup import Home, MemoryGroup
from caps.worker.host.memory.cgroup_discovery import CGROUP_VARIABLE, find_places
from caps.worker.host.process.pidfd import process_id
from caps.worker.host.memory.cgroup_stock import PreparedGroup, PreparedGroups
from caps.worker.host.process.worker import OutOfMemory

logger = logging.getLogger(__name__)

# Groups of workers that ended are removed a moment later and together: no result waits for it.
_TIDY_SECONDS = 0.2
_LAST_TIDY_SECONDS = 1.0
_TRY_AGAIN_SECONDS = 0.01

_RLIMIT_ALONE = "rlimit only, on the address space of each worker"
_REMEDY = (
    "for a cgroup: systemd's Delegate=yes with DelegateSubgroup=, or "
    f"{CGROUP_VARIABLE}=<a group of our own with the memory controller and no process in it>"
)


class _Grouped(Protocol):
    """What of a worker concerns its group."""

    def descriptor(self) -> int: ...

    def join(self, membership: Membership) -> None: ...


class WorkerMemory:
    """Puts workers into groups of their own, if there can be any."""

    def __init__(self) -> None:
        self._home: Home | None = None
        self._prepared: PreparedGroups | None = None
        self._why_not = "not open"
        self._zygote_taken = False
        self._failures = 0
        self._last_failure = ""
        self._told: tuple[object, Layer] | None = None
        self._asked_last: int | None = None
        self._left: list[MemoryGroup] = []
        self._untidy = anyio.Event()
        # One at a time: while the kernel moves a process nobody can fork, and a crowd of movers
        # would starve the zygote. And a limit of our own, so that no provider waits for us.
        self._turn = anyio.CapacityLimiter(1)

    @property
    def layer(self) -> Layer:
        """Always in force: without a group, RLIMIT_AS holds the same number of bytes.

        The same object until there is something else to say: every execution asks.
        """
        state = (self._home, self._why_not, self._failures, self._last_failure)
        if self._told is None or self._told[0] != state:
            self._told = (state, self._described())
        return self._told[1]

    def _described(self) -> Layer:
        if self._home is None:
            detail, remedy = f"{_RLIMIT_ALONE} ({self._why_not})", _REMEDY
        else:
            detail, remedy = f"{self._home.place}, and rlimit", ""
        if self._failures:
            detail += f"; {self._failures} times rlimit only: {self._last_failure}"
        return Layer(name="memory", enforcement=Enforcement.FULLY, detail=detail, remedy=remedy)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Find a place, and leave nothing there. ConfigurationError if the one named is no good."""
        self._home = await anyio.to_thread.run_sync(self._find_home, limiter=self._turn)
        if self._home is not None and self._home.place.interface.entrance:
            self._prepared = PreparedGroups(self._home, self._turn)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._close, limiter=self._turn)

    async def take_in_zygote(self, pid: int) -> None:
        """Before the zygote forks anything. The first one proves that processes may be moved."""
        if self._home is None:
            return
        try:
            await anyio.to_thread.run_sync(self._home.zygotes.admit, pid, limiter=self._turn)
        except ProcessLookupError:
            return  # it has died, which its channel tells
        except OSError as error:
            if self._zygote_taken:
                logger.warning("a new zygote stays in the host's own group: %s", error.strerror)
                return
            place = self._home.place
            await anyio.to_thread.run_sync(self._close, limiter=self._turn)
            self._refuse([f"{place}: {error.strerror}"])
        self._zygote_taken = True

    async def prepare(self) -> PreparedGroup | None:
        """A group that the next worker can enter by itself; None if it has to be taken in.

        `enter` or `give_back` it. Raises nothing.
        """
        if self._prepared is None:
            return None
        try:
            return await self._prepared.take(self._asked_last)
        except OSError as error:
            self.failed(error)
            return None

    def enter(self, worker: _Grouped, prepared: PreparedGroup) -> None:
        """The worker was born with the entrance, and will not be ready before it is inside."""
        prepared.close_entrance()
        worker.join(Membership(self, prepared.group))

    def give_back(self, prepared: PreparedGroup) -> None:
        """There is no worker for it."""
        prepared.close_entrance()
        self.left(prepared.group)

    def entrance_refused(self) -> None:
        """A worker could not enter by itself: the later ones are moved."""
        if self._prepared is not None:
            logger.warning("workers cannot enter their memory groups by themselves; they are moved")
            self._prepared.close()
            self._prepared = None

    async def keep_some_prepared(self) -> None:
        """Make groups ahead of need, if they are of use, until cancelled."""
        if self._prepared is not None:
            await self._prepared.keep_some()

    async def take_in(self, worker: _Grouped) -> None:
        """Give a worker that nobody has used a group of its own. Raises nothing."""
        if self._home is None:
            return
        try:
            # A copy: the thread must not find another process behind the number.
            descriptor = worker.descriptor()
        except ProcessLookupError:
            return
        except OSError as error:
            self.failed(error)
            return
        try:
            group = await anyio.to_thread.run_sync(
                _admitted, self._home, descriptor, self._asked_last, limiter=self._turn
            )
        except ProcessLookupError:
            return  # it has died, which its channel tells
        except OSError as error:
            self.failed(error)
        else:
            worker.join(Membership(self, group))

    async def keep_tidy(self) -> None:
        """Remove the groups of workers that have ended, until cancelled."""
        while True:
            await self._untidy.wait()
            await anyio.sleep(_TIDY_SECONDS)
            self._untidy = anyio.Event()
            await anyio.to_thread.run_sync(self._tidy, limiter=self._turn)

    def asked(self, megabytes: int) -> None:
        """What the next worker will be limited to, most likely."""
        self._asked_last = megabytes

    def left(self, group: MemoryGroup) -> None:
        """Its worker has ended."""
        self._left.append(group)
        self._untidy.set()

    def failed(self, error: OSError) -> None:
        """A worker has to do with RLIMIT_AS, and people are told: once for each reason in a row."""
        self._failures += 1
        reason = error.strerror or str(error)
        if reason != self._last_failure:
            logger.warning("a worker's memory is bounded by rlimit alone: %s", reason)
        self._last_failure = reason

    def _find_home(self) -> Home | None:
        refused = []
        for place in find_places():
            try:
                home = Home(place)
            except OSError as error:
                refused.append(f"{place}: {error.strerror}")
                continue
            for failure in home.sweep():
                logger.warning("a group of an earlier host cannot be removed: %s", failure)
            return home
        self._refuse(refused or ["no memory hierarchy is mounted"])
        return None

    def _refuse(self, reasons: list[str]) -> None:
        """Do without groups, unless the operator named one."""
        self._why_not = "; ".join(reasons)
        named = os.environ.get(CGROUP_VARIABLE)
        if named:
            raise ConfigurationError(
                f"{CGROUP_VARIABLE} is `{named}`, where no worker can be given a memory limit "
                f"({self._why_not}); name another group, or none for rlimit only"
            )

    def _tidy(self) -> None:
        """Runs in a thread. What is busy is tried again with the next ones."""
        for _ in range(len(self._left)):
            group = self._left.pop(0)
            try:
                if not group.remove():
                    self._left.append(group)
            except OSError as error:
                logger.warning("the group %s is left behind: %s", group.directory, error)

    def _close(self) -> None:
        """Runs in a thread, when all processes have ended or are about to."""
        home, self._home = self._home, None
        prepared, self._prepared = self._prepared, None
        if home is None:
            return
        if prepared is not None:
            prepared.close()
        give_up = time.monotonic() + _LAST_TIDY_SECONDS
        try:
            while not home.remove():
                if time.monotonic() > give_up:
                    logger.warning("groups are left at %s; the next host removes them", home.place)
                    return
                time.sleep(_TRY_AGAIN_SECONDS)
        except OSError as error:
            logger.warning("groups are left at %s: %s", home.place, error)
        finally:
            home.release()


class Membership:
    """One worker's place in its group. Nothing here raises."""

    def __init__(self, memory: WorkerMemory, group: MemoryGroup) -> None:
        self._memory = memory
        self._group = group

    def limit(self, megabytes: int) -> None:
        """Let it use so much and no more."""
        self._memory.asked(megabytes)
        try:
            self._group.limit(megabytes)
        except OSError as error:
            self._memory.failed(error)

    def out_of_memory(self) -> OutOfMemory | None:
        """Whether the kernel killed it for want of memory."""
        try:
            return self._group.out_of_memory()
        except OSError as error:
            logger.warning("a group does not tell how its worker ended: %s", error)
            return None

    def entrance_refused(self) -> None:
        """The worker ended because it could not enter."""
        self._memory.entrance_refused()

    def leave(self) -> None:
        """The worker has ended."""
        self._memory.left(self._group)


def _admitted(home: Home, descriptor: int, megabytes: int | None) -> MemoryGroup:
    """A new group with the process in it. Runs in a thread, and closes `descriptor`. OSError."""
    try:
        pid = process_id(descriptor)
        group = home.new_group()
        try:
            group.admit(pid)
            # If it has died by now the number may have been another's: its group gets no limit.
            process_id(descriptor)
        except OSError:
            group.remove()
            raise
        if megabytes is not None:
            with suppress(OSError):  # the start tries again, and counts it
                group.limit(megabytes)
        return group
    finally:
        os.close(descriptor)
