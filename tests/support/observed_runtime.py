"""A runtime whose processes a test can see, kill and wait for.

Code tells through a capability that it runs, so that a test acts at a moment and never after a
while.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import anyio.lowlevel

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.capabilities.runtime.result import ExecutionResult
from caps.security.audit import ExecutionEnded
from caps.worker.host.zygote.source import ForkedWorker, ZygoteSource

PATIENCE_SECONDS = 60
POLICY = {"allow": ["host.*"], "limits": {"output_bytes": 64 << 20}}


class WatchedHost:
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
        """The code is here."""
        self.met += 1
        self._meeting.set()

    async def hold(self) -> None:
        """The code is here, and waits for `release`."""
        await self.meet()
        await self.release.wait()

    async def until_met(self, times: int = 1) -> None:
        """Until that many calls have come."""
        while self.met < times:
            self._meeting = anyio.Event()
            await self._meeting.wait()

    @property
    def started_process(self) -> int:
        """The process that the host started; it waits for the zygote."""
        assert self.source._zygote is not None
        return self.source._zygote._process.pid

    @property
    def zygote(self) -> int:
        """The first process of the namespace."""
        (child,) = children(self.started_process)
        return child

    async def spare(self) -> int:
        """A process descriptor of the worker that the next execution will get."""
        while not self._stock():
            await anyio.lowlevel.checkpoint()
        return os.dup(self._stock()[0]._pidfd)

    def stock(self) -> set[int]:
        """The spares."""
        return {pid_of(spare._pidfd) for spare in self._stock() if not spare.is_over}

    def _stock(self) -> list[ForkedWorker]:
        assert self.runtime._opened is not None
        workers = [spare.worker for spare in self.runtime._opened.pool._stock]
        return [worker for worker in workers if isinstance(worker, ForkedWorker)]

    async def works(self) -> bool:
        """Whether code runs."""
        return bool((await self.runtime.run("6 * 7")).value == 42)

    async def first_failure(self) -> ExecutionResult:
        """Run until the spares are used up and nothing replaces them."""
        while (result := await self.runtime.run("1")).ok:
            pass
        return result

    def endings(self) -> list[str]:
        """The status of every execution that the log knows the end of."""
        ended = [event for event in self.audit.events if isinstance(event, ExecutionEnded)]
        return [event.status.value for event in ended]


@asynccontextmanager
async def opened(source: ZygoteSource | None = None) -> AsyncIterator[WatchedHost]:
    """A host, and the patience to wait for it."""
    host = WatchedHost(ZygoteSource() if source is None else source)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with host.runtime:
            yield host


def children(parent: int) -> list[int]:
    """The processes whose parent is `parent`."""
    return [pid for pid, (_, above) in _everyone().items() if above == parent]


def descendants(root: int) -> dict[int, str]:
    """The state of every process below `root`."""
    everyone, found, layer = _everyone(), dict[int, str](), {root}
    while layer:
        layer = {pid for pid, (_, parent) in everyone.items() if parent in layer}
        found |= {pid: everyone[pid][0] for pid in layer}
    return found


def _everyone() -> dict[int, tuple[str, int]]:
    """State and parent of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[int(entry.name)] = (fields[0], int(fields[1]))
    return found


@contextmanager
def watched(*pids: int) -> Iterator[list[int]]:
    """Descriptors that tell when these processes have ended, but for those that have already."""
    descriptors: list[int] = []
    for pid in pids:
        with suppress(ProcessLookupError):
            descriptors.append(os.pidfd_open(pid))
    try:
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def has_ended(pidfd: int, *, within_seconds: float = 0) -> bool:
    """Whether the process is over; blocks until it is, or the time is up."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(within_seconds * 1000))


def pid_of(pidfd: int) -> int:
    """The process behind a descriptor; -1 if it has been reaped."""
    info = Path(f"/proc/self/fdinfo/{pidfd}").read_text()
    return next(int(line.split()[1]) for line in info.splitlines() if line.startswith("Pid:"))


def kill(pidfd: int) -> None:
    """SIGKILL."""
    signal.pidfd_send_signal(pidfd, signal.SIGKILL)


@contextmanager
def limited(pid: int, kind: int, most: int) -> Iterator[None]:
    """Lower a resource limit of a live process."""
    before = _set_limit(pid, kind, most)
    try:
        yield
    finally:
        _set_limit(pid, kind, before)


# Without CAP_SYS_RESOURCE only the process's own user may do this, not even root.
_LIMITER = """
import os, resource, sys
pid, kind, most, user = map(int, sys.argv[1:])
if os.geteuid() == 0:
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
soft, hard = resource.prlimit(pid, kind)
resource.prlimit(pid, kind, (most, hard))
print(soft)
"""


def _set_limit(pid: int, kind: int, most: int) -> int:
    """Set the soft limit; what it was before."""
    status = Path(f"/proc/{pid}/status").read_text()
    user = next(line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
    command = (sys.executable, "-c", _LIMITER, str(pid), str(kind), str(most), user)
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def loss(result: ExecutionResult) -> tuple[str, bool, str]:
    """Status, whether the code had run, and the message of an execution whose worker was lost."""
    assert result.error is not None, result
    assert result.error.code == "worker_lost", result
    return result.status.value, result.started, result.error.message
