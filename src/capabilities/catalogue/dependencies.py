"""The order in which an agent's capabilities are resolved: dependencies first, then its own order.

Nothing is included that the agent does not list, so a dependency that is not listed is an error.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Mapping, Sequence

from caps.capabilities.catalogue.agent_object import RequestedCapability, invalid
from caps.capabilities.catalogue.declaration import DeclaredCapability
from caps.protocol.errors import AgentInvalidError

Lookup = Callable[[str], DeclaredCapability | None]


def in_dependency_order(
    requested: Mapping[str, RequestedCapability], lookup: Lookup
) -> tuple[RequestedCapability, ...]:
    """Raises AgentInvalidError for a cycle, and for a dependency that the agent does not list."""
    _refuse_cycles(requested, lookup)
    done: dict[str, RequestedCapability] = {}
    for request in requested.values():
        _visit(request, requested, lookup, done)
    return tuple(done.values())


def _refuse_cycles(requested: Mapping[str, RequestedCapability], lookup: Lookup) -> None:
    graph: dict[str, Sequence[str]] = {}
    waiting = list(requested)
    while waiting:
        key = waiting.pop()
        declared = None if key in graph else lookup(key)
        if declared is not None:
            graph[key] = declared.depends_on
            waiting += declared.depends_on
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        raise _cycle(error.args[1][:0:-1], requested) from None


def _cycle(cycle: list[str], requested: Mapping[str, RequestedCapability]) -> AgentInvalidError:
    """The error that shows the cycle, from the first capability in it that the agent lists."""
    first = next((key for key in requested if key in cycle), cycle[0])
    start = cycle.index(first)
    shown = " -> ".join(f"`{key}`" for key in (*cycle[start:], *cycle[:start], first))
    path = requested[first].path if first in requested else ()
    return invalid(f"dependencies form a cycle, {shown},", path)


def _visit(
    request: RequestedCapability,
    requested: Mapping[str, RequestedCapability],
    lookup: Lookup,
    done: dict[str, RequestedCapability],
) -> None:
    for key in request.declared.depends_on:
        if key not in requested:
            known = lookup(key) is not None
            what, hint = ("listed", f"; add `{key}`") if known else ("registered", "")
            message = f"`{request.declared.key}` depends on `{key}`, which is not {what},"
            raise invalid(f"capability {message}", request.path, hint)
        if key not in done:
            _visit(requested[key], requested, lookup, done)
    done.setdefault(request.declared.key, request)
