"""CPU-bound programs: the same source for every side; it times its own `main`, in CPU time.

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
_MAX_SECONDS = 15
_MICROSECONDS = 1_000_000

# No name begins with an underscore: unmodified RestrictedPython refuses such names. Measured in CPU
# time of the thread, because that of a process with a limit advances only in ticks of 4 ms. The
# shortest repetition counts, for every side: CPU time includes what the host of a virtual machine
# took away.
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
    """`source` with its `main` repeated for some time; the shortest time is in `bench_shortest`."""
    return source + _HARNESS.format(seconds=seconds)


def once(source: str) -> str:
    """The same with a single run, for sides that are too slow to repeat it."""
    return source + _ONCE


# The result of `main` as a string, and the seconds that it took.
Timed = tuple[str, float]


def plain(source: str) -> Timed:
    """In plain Python."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", source + _TELL],
        capture_output=True,
        text=True,
        check=True,
    )
    return _parse_output(done.stdout)


def _parse_output(printed: str) -> Timed:
    value, seconds = printed.strip().splitlines()[-2:]
    return value, float(seconds)


def by_plain(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def run() -> Timed:
            return plain(source)

        yield _checked(run, source)

    return opened


def by_caps(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime:

            async def run() -> Timed:
                result = await runtime.run(source + _TELL)
                result.unwrap()
                return _parse_output(result.stdout)

            yield _checked(run, source)

    return opened


def by_monty(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        from pydantic_monty import CollectString, Monty

        with Monty(min_processes=1, max_processes=1) as pool:

            async def run() -> Timed:
                printed = CollectString()
                with pool.checkout(os_policy={"process_time": "elapsed"}) as session:
                    session.feed_run(source + _TELL, print_callback=printed)
                return _parse_output(printed.output)

            yield _checked(run, source)

    return opened


def by_smolagents(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Meant for `once`: it is hundreds of times slower."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def run() -> Timed:
            return _by_a_runner(_SMOLAGENTS, source)

        yield _checked(run, source)

    return opened


def by_restrictedpython(source: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Unmodified RestrictedPython with its own guards, in a separate process."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async def run() -> Timed:
            return _by_a_runner(_RESTRICTED, source)

        yield _checked(run, source)

    return opened


def _by_a_runner(runner: Path, source: str) -> Timed:
    """Run `source` with one of our scripts. Raises RuntimeError if that fails or takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", str(runner)],
            input=source,
            capture_output=True,
            text=True,
            check=True,
            timeout=_MAX_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it takes longer than {_MAX_SECONDS} seconds") from None
    output = json.loads(done.stdout)
    if "refused" in output:
        raise RuntimeError(output["refused"])
    return output["value"], output["seconds"]


def _checked(run: Callable[[], Awaitable[Timed]], source: str) -> Turn:
    """Raise an error if the result differs from that of plain Python."""
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
