"""A capability call, end to end: check, encode, send, decide, record, provide, record, reply.

The code times its own calls, so that the time does not include its start. Peers do the same.
"""

from __future__ import annotations

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import MCP, MONTY
from bench.rows import Effort, Row
from bench.sides import caps, echo, mcp, monty

_ECHO = "raw echo"
_SYNC = "monty, sync call"
_ASYNC = "monty, async call"
_MCP = "MCP over stdio"
_GATHER = "monty, gather"

_IN_A_ROW = """\
import time
began = time.perf_counter()
for _ in range({times}):
    {call}
(time.perf_counter() - began) * 1_000_000 / {times}
"""
_AT_ONCE = """\
import asyncio, time
began = time.perf_counter()
await asyncio.gather(*[{call} for _ in range(100)])
(time.perf_counter() - began) * 1_000_000
"""
_CALLS_ALONE = """\
for _ in range({times}):
    await caps.math.add(a=2, b=3)
"""
_TIMES = 200
_CPU_TIMES = 400
_GOAL_MICROSECONDS = 120.0
_MCP_TIMES = 20


def _in_a_row(call: str) -> str:
    return _IN_A_ROW.format(times=_TIMES, call=call)


async def _call(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", caps.times_itself(_in_a_row("await caps.math.add(a=2, b=3)"))),
        Contender(_ECHO, echo.echoes),
        Contender(_SYNC, monty.times_itself(_in_a_row("add(2, 3)")), MONTY),
        Contender(_ASYNC, monty.times_itself_async(_in_a_row("await add(2, 3)")), MONTY),
        Contender(_MCP, mcp.calls(_MCP_TIMES, concurrent=False), MCP),
    )
    return await take_turns(sides, Rounds(effort.of(60, 3), effort.of(20, 2), warm_up=1), progress)


async def _call_cpu(effort: Effort, progress: Progress) -> Samples:
    code = _CALLS_ALONE.format(times=_CPU_TIMES)
    sides = (Contender("caps", caps.cpu_of_calls(code, _CPU_TIMES)),)
    rounds = Rounds(effort.of(40, 5), effort.of(10, 2), warm_up=2, settle=False)
    return await take_turns(sides, rounds, progress)


async def _gather(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", caps.times_itself(_AT_ONCE.format(call="caps.math.add(a=2, b=3)"))),
        Contender(_GATHER, monty.times_itself_async(_AT_ONCE.format(call="add(2, 3)")), MONTY),
        Contender(_MCP, mcp.calls(100, concurrent=True), MCP),
    )
    return await take_turns(sides, Rounds(effort.of(60, 3), effort.of(20, 2), warm_up=1), progress)


async def _served(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", mcp.calls_of_caps(_MCP_TIMES), MCP),
        Contender(_MCP, mcp.calls(_MCP_TIMES, concurrent=False), MCP),
    )
    return await take_turns(sides, Rounds(effort.of(60, 3), effort.of(20, 2), warm_up=1), progress)


ROWS = (
    Row(
        name="call",
        title="capability call, whole path with audit (durability `os`)",
        comparisons=(
            Comparison(name="call_vs_monty", against=_SYNC, goal=2.2),
            Comparison(name="call_vs_mcp", against=_MCP, goal=0.12),
            Comparison(name="call_vs_echo", against=_ECHO),
            Comparison(name="call_vs_monty_async", against=_ASYNC),
        ),
        measure=_call,
    ),
    Row(
        name="call_cpu",
        title="CPU of one call, host and worker together",
        comparisons=(
            Comparison(name="call_cpu", against="120 µs", figure=_GOAL_MICROSECONDS, goal=1.0),
        ),
        measure=_call_cpu,
    ),
    Row(
        name="gather",
        title="gather of 100 calls",
        comparisons=(
            Comparison(name="gather_vs_monty", against=_GATHER, goal=0.28),
            Comparison(name="gather_vs_mcp", against=_MCP, goal=0.04),
        ),
        measure=_gather,
    ),
    Row(
        name="mcp_serve",
        title="tool call through `caps mcp serve`, with audit, beside the SDK's own server",
        comparisons=(Comparison(name="mcp_serve_vs_sdk", against=_MCP),),
        measure=_served,
    ),
)
