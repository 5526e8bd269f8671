"""A tool of an external MCP server: what bridge, decision and records add to a client."""

from __future__ import annotations

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import MCP
from bench.rows import Effort, Row
from bench.sides import mcp, mcp_in

_CLIENT = "the SDK's client"
_TIMES = 20


async def _calls(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", mcp_in.calls(_TIMES), MCP),
        Contender(_CLIENT, mcp.calls(_TIMES, concurrent=False), MCP),
    )
    return await take_turns(sides, Rounds(effort.of(40, 3), effort.of(15, 2), warm_up=2), progress)


ROWS = (
    Row(
        name="mcp_in",
        title="a tool of an external MCP server, whole path with audit (durability `os`)",
        comparisons=(Comparison(name="mcp_in_vs_client", against=_CLIENT),),
        measure=_calls,
    ),
)
