"""A runtime whose processes a test can see, kill and wait for.

Code reports through a capability that it runs, so a test acts at that moment and needs no sleep.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import ExecutionEnded
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource
from support.processes import children, pid_of

TIMEOUT_SECONDS = 60
POLICY = {"allow": ["host.*"], "limits": {"output_bytes": 64 << 20}}


class ObservedRuntime:
    """An open runtime with the capabilities `host.meet` and `host.hold`."""

    def __init__(self, source: ZygoteSource) -> None:
        self.audit = MemoryAuditLog()
        self.source = source
        self.met = 0
        self.release = anyio.Event()
        self._meeting = anyio.Event()
        registry = CapabilityRegistry()
        registry.capability("host.meet")(self.meet)
        registry.capability("host.hold")(self.hold)
        self.runtime = Runtime(POLICY, registry=registry, audit=self.audit, workers=source)

    async def meet(self) -> None:
        """The code has reached this call."""
        self.met += 1
        self._meeting.set()

    async def hold(self) -> None:
        """The code has reached this call, and waits for `release`."""
        await self.meet()
        await self.release.wait()

    async def until_met(self, times: int = 1) -> None:
        """Wait until the code has made `times` calls."""
        while self.met < times:
            self._meeting = anyio.Event()
            await self._meeting.wait()

    @property
    def started_process(self) -> int:
        """The process that the host started; it is the parent of the zygote."""
        assert self.source._zygote is not None
        return self.source._zygote._process.pid

    @property
    def zygote(self) -> int:
        """The first process of the namespace."""
        (child,) = children(self.started_process)
        return child

    async def spare(self) -> int:
        """A process descriptor of the spare that the next execution will use."""
        while not self._stock():
            await anyio.lowlevel.checkpoint()
        return os.dup(self._stock()[0]._pidfd)

    def stock(self) -> set[int]:
        """The process ids of the spares."""
        return {pid_of(spare._pidfd) for spare in self._stock() if not spare.is_over}

    def _stock(self) -> list[ForkedWorker]:
        assert self.runtime._opened is not None
        workers = [spare.worker for spare in self.runtime._opened.pool._stock]
        return [worker for worker in workers if isinstance(worker, ForkedWorker)]

    async def works(self) -> bool:
        """Whether the runtime can run code."""
        return bool((await self.runtime.run("6 * 7")).value == 42)

    async def first_failure(self) -> ExecutionResult:
        """Run until the spares are used up; the first result that is not ok."""
        while (result := await self.runtime.run("1")).ok:
            pass
        return result

    def endings(self) -> list[str]:
        """The status of every execution whose end is on record."""
        ended = [event for event in self.audit.events if isinstance(event, ExecutionEnded)]
        return [event.status.value for event in ended]


@asynccontextmanager
async def observed_runtime(source: ZygoteSource | None = None) -> AsyncIterator[ObservedRuntime]:
    """An open runtime; a test that takes too long fails."""
    host = ObservedRuntime(ZygoteSource() if source is None else source)
    with anyio.fail_after(TIMEOUT_SECONDS):
        async with host.runtime:
            yield host


def worker_loss(result: ExecutionResult) -> tuple[str, bool, str]:
    """Status, whether the code had run, and the message of an execution whose worker was lost."""
    assert result.error is not None, result
    assert result.error.code == "worker_lost", result
    return result.status.value, result.started, result.error.message
