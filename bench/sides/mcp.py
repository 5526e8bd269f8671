"""A tool over MCP: a real server in its own process, over stdin and stdout, in one session."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from bench.interleaving import Stopwatch, Turn

SERVER = Path(__file__).with_name("mcp_server.py")
_CAPS = "from caps.cli.main import main; main()"


def calls(how_many: int, *, concurrent: bool) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """Several calls of `add`; the time of one, or of all if they are sent concurrently."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        async with _calling("add", ["-I", str(SERVER)]) as call:
            yield _together(call, how_many) if concurrent else _in_turn(call, how_many)

    return opened


def calls_of_caps(how_many: int) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    """The same tool, served by `caps mcp serve`: decided, and on record twice."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        with tempfile.TemporaryDirectory() as place:
            policy = Path(place) / "policy.json"
            policy.write_text('{"version": 1, "id": "bench", "allow": ["math.add"], "limits": {}}')
            command = ["-c", _CAPS, "mcp", "serve", "--policy", str(policy), "--audit", place]
            async with _calling("math_add", command) as call:
                yield _in_turn(call, how_many)

    return opened


@asynccontextmanager
async def _calling(tool: str, arguments: list[str]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """What calls the tool of a server, in one session of the handshake."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    server = StdioServerParameters(command=sys.executable, args=arguments)
    async with (
        stdio_client(server) as (reading, writing),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()

        async def call() -> None:
            _check(await session.call_tool(tool, {"a": 2, "b": 3}))

        yield call


def _check(answer: Any) -> None:
    if answer.is_error:
        raise RuntimeError("the tool failed")


def _in_turn(call: Callable[[], Any], how_many: int) -> Turn:
    async def turn() -> float:
        with Stopwatch() as watch:
            for _ in range(how_many):
                await call()
        return watch.microseconds / how_many

    return turn


def _together(call: Callable[[], Any], how_many: int) -> Turn:
    async def turn() -> float:
        with Stopwatch() as watch:
            async with anyio.create_task_group() as tasks:
                for _ in range(how_many):
                    tasks.start_soon(call)
        return watch.microseconds

    return turn
