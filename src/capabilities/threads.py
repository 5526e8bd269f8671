"""Threads for blocking work: each execution and each principal has a share of them.

Plain providers run in one set of threads, the runtime's own work in another one that no provider
can use. A thread cannot be stopped: when its caller gives up, it is abandoned, and counts towards
the shares until it ends. So slow providers hold up their own caller, and nobody else.
"""

from __future__ import annotations

import itertools
import threading
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

_TURN_ITEMS: Final = 256

_turn = threading.Lock()


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

    The event loop competes with every computing thread for the interpreter. Threads take turns of
    some items each, so that it competes with one of them and not with dozens.
    """
    rest = iter(items)
    while True:
        with _turn:
            some = list(itertools.islice(rest, _TURN_ITEMS))
            if not some:
                return
            yield from some
