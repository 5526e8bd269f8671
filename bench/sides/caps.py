"""Caps, through its public API, with the audit log written to a file.

Durability is `os` unless a row says otherwise: the kernel has the record before the effect.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from bench.interleaving import Stopwatch, Turn
from caps import (
    AuditLog,
    CapabilityRegistry,
    Durability,
    ExecutionResult,
    Runtime,
    builtin_registry,
)
from caps.protocol.enforcement import Layer
from caps.worker.host.process.worker import Worker
from caps.worker.host.zygote.source import ZygoteSource

LIMITS = {
    "wall_ms": 60_000,
    "cpu_ms": 60_000,
    "calls": 1_000_000,
    "concurrency": 1000,
}
POLICY = {"id": "bench", "allow": ["math.*"], "limits": LIMITS}


@asynccontextmanager
async def open_runtime(
    *,
    durability: Durability = Durability.OS,
    workers: ZygoteSource | None = None,
    policy: Mapping[str, Any] = POLICY,
    registry: CapabilityRegistry | None = None,
) -> AsyncIterator[Runtime]:
    """A runtime with its own audit log on disk; by default with the built-in registry."""
    known = builtin_registry() if registry is None else registry
    with tempfile.TemporaryDirectory() as directory:
        async with (
            AuditLog.open(Path(directory, "audit"), durability=durability) as audit,
            Runtime(dict(policy), registry=known, audit=audit, workers=workers) as runtime,
        ):
            yield runtime


def runs(code: Callable[[], str]) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Start to result, with a spare available."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime:
            yield timed_run(runtime, code)

    return opened


def runs_without_spares(
    code: Callable[[], str],
) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Start to result without a spare: the time includes the fork."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        source = StocklessSource()
        async with open_runtime(workers=source) as runtime:
            await source.keeper_waits.wait()
            turn = timed_run(runtime, code)

            async def with_a_fork() -> float:
                before = source.started
                taken = await turn()
                if source.started != before + 1:
                    raise RuntimeError("a run without a spare did not fork exactly one worker")
                return taken

            yield with_a_fork

    return opened


@asynccontextmanager
async def cells() -> AsyncIterator[Turn]:
    """The next cell of an open session."""
    async with open_runtime() as runtime, runtime.session(max_runs=1_000_000) as session:

        async def turn() -> float:
            with Stopwatch() as watch:
                result = await session.run("x = 2\ny = 3\nx * y")
            result.unwrap()
            return watch.microseconds

        yield turn


def times_itself(code: str) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Code whose result is the time of its own work, in microseconds."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime:

            async def turn() -> float:
                result = await runtime.run(code)
                return float(result.unwrap())

            yield turn

    return opened


def cpu_of_calls(code: str, calls: int) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The CPU time of one of the `calls` that `code` makes: of all threads here and of the worker.

    The code is a cell of a session, so that no worker is started or made ready meanwhile.
    """

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with open_runtime() as runtime, runtime.session(max_runs=1_000_000) as session:

            async def turn() -> float:
                before = time.process_time_ns()
                result = await session.run(code)
                host_us = (time.process_time_ns() - before) / 1000
                result.unwrap()
                if result.usage.cpu_ms is None:
                    raise RuntimeError("the CPU time of the worker cannot be measured")
                return (host_us + result.usage.cpu_ms * 1000) / calls

            yield turn

    return opened


def timed_run(runtime: Runtime, code: Callable[[], str]) -> Turn:
    """One execution, from passing the code to receiving the result."""

    async def turn() -> float:
        source = code()
        with Stopwatch() as watch:
            result: ExecutionResult = await runtime.run(source)
        result.unwrap()
        return watch.microseconds

    return turn


class StocklessSource(ZygoteSource):
    """Starts workers for callers that have code to run, and none for the stock.

    One task fills the stock. It is the first to ask for a worker, and it is left waiting.
    """

    def __init__(self) -> None:
        super().__init__()
        self.keeper_waits = anyio.Event()
        self.started = 0

    async def start(self) -> Worker:  # type: ignore[override]
        if not self.keeper_waits.is_set():
            self.keeper_waits.set()
            await anyio.sleep_forever()
        self.started += 1
        return await super().start()

    @property
    def layers(self) -> tuple[Layer, ...]:
        return super().layers
