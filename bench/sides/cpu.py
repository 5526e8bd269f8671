"""CPU-bound programs: the same text everywhere; it times its own `main`, in CPU time.

`source` is always a program with its harness, `repeated` or `once`.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from bench.interleaving import Turn
from bench.sides.caps import open_runtime

_RESTRICTED = Path(__file__).with_name("restricted_runner.py")
_SMOLAGENTS = Path(__file__).with_name("smolagents_runner.py")
_LONGEST_SECONDS = 15
_MICROSECONDS = 1_000_000

# No name begins with an underscore: stock RestrictedPython refuses such names. In CPU time of the
# thread, as that of the process moves only at every tick, each 4 ms, under a limit. The shortest of
# the repetitions counts, for everybody: CPU time holds what the host of a virtual machine took.
_HARNESS = """
import time
bench_value = main()
bench_shortest = 1000.0
bench_end = time.thread_time() + {seconds}
while time.thread_time() < bench_end:
    bench_began = time.thread_time()
    main()
    bench_shortest = min(bench_shortest, time.thread_time() - bench_began)
"""
_ONCE = """
import time
bench_began = time.thread_time()
bench_value = main()
bench_shortest = time.thread_time() - bench_began
"""
_TELL = "print(repr(bench_value))\nprint(bench_shortest)\n"


def repeated(source: str, seconds: float) -> str:
    """`source`, its `main` run for so long; the shortest time of it is in `bench_shortest`."""
    return source + _HARNESS.format(seconds=seconds)


def once(source: str) -> str:
    """The same for those who are too slow to do it again."""
    return source + _ONCE


# What `main` gave, as text, and how many seconds it took.
Told = tuple[str, float]


def plain(source: str) -> Told:
    """In plain Python."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", source + _TELL],
        capture_output=True,
        text=True,
        check=True,
    )
    return _told(done.stdout)


def _told(printed: str) -> Told:
    value, seconds = printed.strip().splitlines()[-2:]
    return value, float(seconds)


def by_plain(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def run() -> Told:
            return plain(source)

        yield _checked(run, source)

    return opened


def by_caps(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime:

            async def run() -> Told:
                result = await runtime.run(source + _TELL)
                result.unwrap()
                return _told(result.stdout)

            yield _checked(run, source)

    return opened


def by_monty(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from pydantic_monty import CollectString, Monty

        with Monty(min_processes=1, max_processes=1) as pool:

            async def run() -> Told:
                printed = CollectString()
                with pool.checkout(os_policy={"process_time": "elapsed"}) as session:
                    session.feed_run(source + _TELL, print_callback=printed)
                return _told(printed.output)

            yield _checked(run, source)

    return opened


def by_smolagents(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Meant for `once`: it is hundreds of times slower."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def run() -> Told:
            return _by_a_runner(_SMOLAGENTS, source)

        yield _checked(run, source)

    return opened


def by_restrictedpython(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Stock RestrictedPython with the guards that it ships, in a process of its own."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def run() -> Told:
            return _by_a_runner(_RESTRICTED, source)

        yield _checked(run, source)

    return opened


def _by_a_runner(runner: Path, source: str) -> Told:
    """What a script of ours makes of `source`; RuntimeError if it cannot, or not in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(runner)],
            input=source,
            capture_output=True,
            text=True,
            check=True,
            timeout=_LONGEST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it takes longer than {_LONGEST_SECONDS} seconds") from None
    told = json.loads(done.stdout)
    if "refused" in told:
        raise RuntimeError(told["refused"])
    return told["value"], told["seconds"]


def _checked(run: Callable[[], Awaitable[Told]], source: str) -> Turn:
    """Who gets another result than plain Python has failed."""
    expected = _expected(source)

    async def turn() -> float:
        value, seconds = await run()
        if value != expected:
            raise RuntimeError(f"its result is `{value}`, that of plain Python `{expected}`")
        return seconds * _MICROSECONDS

    return turn


@functools.cache
def _expected(source: str) -> str:
    return plain(source)[0]
