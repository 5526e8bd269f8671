"""Fetching a page: what the decision, the records, the checks and the answer add to a client."""

from __future__ import annotations

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import HTTPX
from bench.rows import Effort, Row
from bench.sides import pages

_NEW = "httpx2, a connection each"
_KEPT = "httpx2, one connection"


async def _fetch(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", pages.caps_calls),
        Contender(_NEW, pages.httpx_gets(keep=False), HTTPX),
        Contender(_KEPT, pages.httpx_gets(keep=True), HTTPX),
    )
    return await take_turns(sides, Rounds(effort.of(40, 3), effort.of(20, 2), warm_up=2), progress)


ROWS = (
    Row(
        name="web_fetch",
        title="`web.fetch` of 20 kB from loopback, whole path with audit (durability `os`)",
        comparisons=(
            Comparison(name="web_fetch_vs_httpx", against=_NEW, goal=2.0),
            Comparison(name="web_fetch_vs_httpx_kept", against=_KEPT),
        ),
        measure=_fetch,
    ),
)
