"""Where the host works on large messages and results: threads that no provider can take.

The work is Python code, so that more threads would not finish earlier, and the event loop would
have to wait for each of them. There are two in each event loop, one for what is small enough to be
done soon, so that it never waits for the rest. In each of them executions take turns. While they
work, the interpreter passes from thread to thread more often than usual.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar, TypeVarTuple

import anyio.lowlevel

from caps.worker.host.pool.thread_shares import ThreadShares

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")

# Checking and hashing a message of this size takes a few milliseconds even in the worst case.
LARGE_BYTES = 4 * 1024

_SOON_BYTES = 64 * 1024
_SWITCH_SECONDS = 0.0005

_threads = anyio.lowlevel.RunVar[tuple[ThreadShares, ThreadShares]]("caps_off_loop")


async def run_off_loop(
    owner: str, size: int, work: Callable[[*Arguments], T], *arguments: *Arguments
) -> T:
    """What `work` returns, which has to do with about `size` bytes of the execution `owner`.

    It may change only what it is given: it runs on when the caller is cancelled.
    """
    threads = _threads.get(None)
    if threads is None:
        threads = (_one_thread(), _one_thread())
        _threads.set(threads)

    def run() -> T:
        with _brief_turns:
            return work(*arguments)

    return await threads[size > _SOON_BYTES].run(owner, owner, run)


def _one_thread() -> ThreadShares:
    return ThreadShares(1, per_principal=1, per_execution=1)


class _BriefTurns:
    """While it is entered, a thread that waits for the interpreter gets it sooner."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entered = 0
        self._usual = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._entered += 1
            if self._entered == 1:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, _SWITCH_SECONDS))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._entered -= 1
            if not self._entered:
                sys.setswitchinterval(self._usual)


_brief_turns = _BriefTurns()
