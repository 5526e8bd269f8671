"""`search_capabilities`: the functions that fit a query, with their stubs.

So that a thousand functions cost a model nothing until it needs one of them. The score is plain:
how many words of the query are found, weighted by where.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

import msgspec
from mcp_types import CallToolResult, Tool, ToolAnnotations

from caps.capabilities.chain import PolicyChain
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.stubs.render import render
from caps.mcp.server.content import failed, text
from caps.mcp.server.limits import ServerLimits
from caps.mcp.server.tools import SEARCH, Offer

MAX_QUERY_CHARACTERS: Final = 500
_WORD: Final = re.compile(r"[a-z0-9]+")
_COMMON: Final = frozenset(
    "a an and as at by for from in into is it of on or that the to with".split()
)
_FOUND_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "matches": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "function": {"type": "string"},
                    "tool": {"type": ["string", "null"]},
                    "description": {"type": "string"},
                    "schema_in": {"type": "object"},
                },
                "required": ["function", "tool", "description", "schema_in"],
            },
        },
        "total": {"type": "integer"},
    },
    "required": ["matches", "total"],
}


def search_tool(limits: ServerLimits) -> Tool:
    return Tool(
        name=SEARCH,
        title="Search capabilities",
        description=(
            "Find functions by what they do. Returns their Python stubs, for use in "
            "`execute_code`, and the name of the tool of each. An empty query lists the first ones."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "maxLength": MAX_QUERY_CHARACTERS, "default": ""},
                "limit": {"type": "integer", "minimum": 1, "maximum": limits.found, "default": 5},
            },
            "additionalProperties": False,
        },
        output_schema=_FOUND_SCHEMA,
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


class _Query(msgspec.Struct, forbid_unknown_fields=True):
    query: str = ""
    limit: int = 5


def search(
    registry: CapabilityRegistry, offer: Offer, arguments: dict[str, Any], limits: ServerLimits
) -> CallToolResult:
    """What is offered and fits. A bad argument is told in the result."""
    try:
        wanted = msgspec.convert(arguments, _Query)
    except msgspec.ValidationError as error:
        return failed(f"ValidationError: {error}")
    if not 1 <= wanted.limit <= limits.found or len(wanted.query) > MAX_QUERY_CHARACTERS:
        return failed(
            f"ValidationError: `limit` is 1 to {limits.found}, and `query` has at most "
            f"{MAX_QUERY_CHARACTERS} characters"
        )
    names = offer.tool_names()
    ranked = _ranked(offer.chain, list(names), wanted.query)
    found = ranked[: wanted.limit]
    matches = [
        {
            "function": spec.name,
            "tool": names[spec.name],
            "description": spec.description or spec.title,
            "schema_in": {"type": "object", **spec.schema_in},
        }
        for spec in found
    ]
    shown = "nothing fits; try other words, or an empty query"
    if found:
        chain = replace(offer.chain, granted=tuple(sorted(spec.name for spec in found)))
        shown = (
            f"{len(found)} of {len(ranked)} that fit\n\n{render(chain, domains=registry.domains)}"
        )
    return CallToolResult(
        content=[text(shown)], structured_content={"matches": matches, "total": len(ranked)}
    )


def _ranked(chain: PolicyChain, functions: list[str], query: str) -> list[CapabilitySpec]:
    """The best first; of an empty query all, by name."""
    specs = [chain.terms[name].spec for name in sorted(functions)]
    words = _words(query) - _COMMON
    if not words:
        return specs
    scored = [(_score(spec, words), spec) for spec in specs]
    fitting = [each for each in scored if each[0] > 0]
    return [spec for _, spec in sorted(fitting, key=lambda each: -each[0])]


def _score(spec: CapabilitySpec, words: set[str]) -> float:
    places = (
        (_words(spec.name), 4.0),
        (_words(spec.title), 2.0),
        (_words(" ".join(spec.schema_in.get("properties", {}))), 1.0),
        (_words(spec.description), 1.0),
        (_words(" ".join(spec.tags)), 0.5),
    )
    return sum(weight * _hits(words, found) for found, weight in places)


def _hits(words: set[str], found: set[str]) -> float:
    """A whole word counts one, a word that begins with it, or begins it, one half."""
    total = 0.0
    for word in words:
        if word in found:
            total += 1
        elif len(word) > 2 and any(
            each.startswith(word) or (len(each) > 2 and word.startswith(each)) for each in found
        ):
            total += 0.5
    return total


def _words(content: str) -> set[str]:
    return set(_WORD.findall(content.lower()))
