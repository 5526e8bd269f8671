"""Requests a second of the HTTP service, beside the library that it calls and a bare route."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from bench.figures import Comparison, Form, Samples, median
from bench.interleaving import Contender, Progress, Rounds, take_turns
from bench.peers import FASTAPI
from bench.rows import Effort, Row
from bench.sides import service
from caps import Runtime

_LIBRARY = "the library"
_BARE = "bare FastAPI route"
_CODE = "x = 2\ny = 3\nx * y"

_CAPABILITIES = service.Load(
    method="GET", path="/v1/capabilities", body=None, status=200, times=160, concurrent=8
)
_CALLS = service.Load(
    method="POST",
    path="/v1/calls",
    body=json.dumps({"function": "math.add", "payload": {"a": 2, "b": 3}}).encode(),
    status=200,
    times=160,
    concurrent=8,
)
_EXECUTIONS = service.Load(
    method="POST",
    path="/v1/executions",
    body=json.dumps({"code": _CODE}).encode(),
    status=201,
    times=24,
    concurrent=4,
)


async def _list(runtime: Runtime) -> None:
    service.listed(runtime.registry)


async def _call(runtime: Runtime) -> None:
    (await runtime.call("math.add", {"a": 2, "b": 3})).unwrap()


async def _run(runtime: Runtime) -> None:
    (await runtime.run(_CODE)).unwrap()


def _measure(
    load: service.Load, ask: Callable[[Runtime], Awaitable[Any]]
) -> Callable[[Effort, Progress], Awaitable[Samples]]:
    async def measure(effort: Effort, progress: Progress) -> Samples:
        sides = (
            Contender("caps", service.of_service(load), FASTAPI),
            Contender(_LIBRARY, service.of_library(load, ask)),
            Contender(_BARE, service.of_bare_route(load), FASTAPI),
        )
        rounds = Rounds(effort.of(30, 2), effort.of(20, 2), warm_up=1)
        found = await take_turns(sides, rounds, progress)
        rates = (
            f"{name}: {1_000_000 / median(values):,.0f} a second"
            for name, values in found.values.items()
        )
        return replace(found, notes=("; ".join(rates),))

    return measure


def _row(name: str, load: service.Load, ask: Callable[[Runtime], Awaitable[Any]]) -> Row:
    what = f"{load.method} {load.path}"
    return Row(
        name=name,
        title=f"{what}, {load.concurrent} at a time; ratios of requests a second",
        comparisons=(
            Comparison(name=f"{name}_vs_library", against=_LIBRARY, form=Form.RATE),
            Comparison(name=f"{name}_vs_bare_route", against=_BARE, form=Form.RATE),
        ),
        measure=_measure(load, ask),
    )


ROWS = (
    _row("http_capabilities", _CAPABILITIES, _list),
    _row("http_calls", _CALLS, _call),
    _row("http_executions", _EXECUTIONS, _run),
)
