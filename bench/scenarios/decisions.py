"""The decision alone: one request against a grant, rules, limits and schema; no IO, no record.

Measured in CPU time: it never waits, and the goal is a figure and not a ratio.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from bench.figures import Comparison, Samples
from bench.interleaving import Contender, CpuStopwatch, Progress, Rounds, Turn, take_turns
from bench.peers import CEDAR
from bench.rows import Effort, Row
from caps import builtin_registry
from caps.security.decision import decide
from caps.security.request import NOTHING_USED, Request

_CEDAR = "cedarpy, policies parsed before"
_CEDAR_TEXT = "cedarpy, policies as text"
_GOAL_MICROSECONDS = 3.0

_POLICY = {
    "id": "bench",
    "allow": ["math.add", "math.subtract", "files.read"],
    "deny": ["files.delete"],
    "scopes": {"files": {"allowlist": ["./sandbox"]}},
}
# The same in Cedar. Its `when` corresponds to our schema: both check the arguments.
_CEDAR_POLICY = """
permit(
    principal, action in [Action::"math.add", Action::"math.subtract"], resource == Domain::"math"
) when { context.a < 1000000000 && context.b < 1000000000 };
permit(principal, action == Action::"files.read", resource == Domain::"files")
    when { context.path like "./sandbox/*" };
forbid(principal, action == Action::"files.delete", resource);
"""
_CEDAR_REQUEST = {
    "principal": 'Agent::"bench"',
    "action": 'Action::"math.add"',
    "resource": 'Domain::"math"',
    "context": {"a": 2, "b": 3},
}


def _repeated(work: Callable[[], Any], times: int) -> Turn:
    async def turn() -> float:
        with CpuStopwatch() as watch:
            for _ in range(times):
                work()
        return watch.microseconds / times

    return turn


@asynccontextmanager
async def _caps() -> AsyncIterator[Turn]:
    grant = builtin_registry().inject("caps", "bench", _POLICY)
    request = Request("math.add", {"a": 2, "b": 3})

    def work() -> None:
        if not decide(grant, request, NOTHING_USED).allowed:
            raise RuntimeError("the request was refused")

    yield _repeated(work, 2000)


def _cedar(*, parsed: bool) -> Callable[[], AbstractAsyncContextManager[Turn]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        import cedarpy

        policies = cedarpy.PolicySet.from_str(_CEDAR_POLICY) if parsed else _CEDAR_POLICY
        entities = cedarpy.Entities.from_json_str("[]") if parsed else []

        def work() -> None:
            if not cedarpy.is_authorized(_CEDAR_REQUEST, policies, entities).allowed:
                raise RuntimeError("the request was refused")

        yield _repeated(work, 100)

    return opened


async def _decision(effort: Effort, progress: Progress) -> Samples:
    sides = (
        Contender("caps", _caps),
        Contender(_CEDAR, _cedar(parsed=True), CEDAR),
        Contender(_CEDAR_TEXT, _cedar(parsed=False), CEDAR),
    )
    return await take_turns(sides, Rounds(effort.of(60, 10), effort.of(10, 1)), progress)


ROWS = (
    Row(
        name="decision",
        title="decision alone",
        comparisons=(
            Comparison(name="decision", against="3 µs", figure=_GOAL_MICROSECONDS, goal=1.0),
            Comparison(name="decision_vs_cedar", against=_CEDAR, goal=1 / 30),
            Comparison(name="decision_vs_cedar_text", against=_CEDAR_TEXT),
        ),
        measure=_decision,
    ),
)
