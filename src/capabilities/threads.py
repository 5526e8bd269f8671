"""Threads for blocking work: each execution and each principal has a share of them.

Plain providers run in one set of threads, the runtime's own work in another one that no provider
can use. A thread cannot be stopped: when its caller gives up, it is abandoned, and counts towards
the shares until it ends. So slow providers hold up their own caller, and nobody else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, TypeVar

import anyio.lowlevel

from caps.worker.host.pool.thread_shares import ThreadShares

T = TypeVar("T")

PROVIDER_THREADS = 256
PROVIDER_THREADS_PER_PRINCIPAL = 64
PROVIDER_THREADS_PER_EXECUTION = 16
_RUNTIME_THREADS = 16
_RUNTIME_THREADS_PER_PRINCIPAL = 4

_TURN_SECONDS: Final = 0.005

_turn = threading.Lock()
# Held by the one that gets the next turn: a thread that ends its turn cannot take it again at once.
_next_turn = threading.Lock()


# One set for each event loop: its runtimes share it.
_provider_threads = anyio.lowlevel.RunVar[ThreadShares]("caps_provider_threads")
_runtime_threads = anyio.lowlevel.RunVar[ThreadShares]("caps_runtime_threads")


async def run_in_provider_thread(
    principal: str, execution_id: str, function: Callable[..., T], *arguments: Any
) -> T:
    """Run a provider, or blocking work of one, in a thread of its caller's share."""
    threads = _provider_threads.get(None)
    if threads is None:
        threads = ThreadShares(
            PROVIDER_THREADS,
            per_principal=PROVIDER_THREADS_PER_PRINCIPAL,
            per_execution=PROVIDER_THREADS_PER_EXECUTION,
        )
        _provider_threads.set(threads)
    return await threads.run(principal, execution_id, function, *arguments)


async def run_in_runtime_thread(
    principal: str, execution_id: str, function: Callable[..., T], *arguments: Any
) -> T:
    """Run the runtime's own work for an execution in a thread that no provider can take."""
    threads = _runtime_threads.get(None)
    if threads is None:
        threads = ThreadShares(
            _RUNTIME_THREADS,
            per_principal=_RUNTIME_THREADS_PER_PRINCIPAL,
            per_execution=_RUNTIME_THREADS_PER_PRINCIPAL,
        )
        _runtime_threads.set(threads)
    return await threads.run(principal, execution_id, function, *arguments)


def in_turns(items: Iterable[T]) -> Generator[T, None, None]:
    """Yield `items` for a loop in a provider thread that computes much, one such thread at a time.

    The event loop competes with every computing thread for the interpreter. Threads take turns of a
    few milliseconds each, so that it competes with one of them and not with dozens. No item is
    taken before it is wanted: a few of them may be all that fits into memory.
    """
    rest = iter(items)
    while True:
        with _next_turn:
            _turn.acquire()
        try:
            end = time.monotonic() + _TURN_SECONDS
            for item in rest:
                yield item
                if time.monotonic() > end:
                    break
            else:
                return
        finally:
            _turn.release()
