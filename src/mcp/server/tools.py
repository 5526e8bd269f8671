"""What a caller is offered: the tools of its agent, or all functions that its policies grant.

Only what the policies grant together is offered. A tool has the schemas of its function. Results of
MCP tools are objects, so a function that returns anything else gives an object with a `result`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from mcp_types import Tool, ToolAnnotations

from caps.capabilities.catalogue.result import ResolvedTool
from caps.capabilities.chain import PolicyChain
from caps.capabilities.runtime.runtime import Runtime
from caps.capabilities.spec import CapabilitySpec
from caps.mcp.server.caller import Caller

EXECUTE_CODE: Final = "execute_code"
SEARCH: Final = "search_capabilities"
RESULT: Final = "result"
_OWN: Final = frozenset({EXECUTE_CODE, SEARCH})
_KEPT: Final = 64
_UNTRUSTED: Final = "untrusted"


class ServedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A function as a tool."""

    tool: Tool
    function: str
    is_wrapped: bool
    """The result is an object with a `result`."""


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller may use now."""

    chain: PolicyChain
    tools: Mapping[str, ServedTool]
    """By name, in the order in which they are listed."""

    def tool_names(self) -> dict[str, str]:
        """The tool of each function."""
        return {each.function: name for name, each in self.tools.items()}


class Offers:
    """Makes offers, and keeps those that were made for the same policies and tools."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._made: OrderedDict[tuple[int, int], tuple[Offer, object]] = OrderedDict()

    def of(self, caller: Caller) -> Offer:
        """Under the policies that are in force now."""
        chain = self._runtime.registry.chain((*self._runtime.policies, *caller.policies))
        key = (id(chain), id(caller.tools))
        found = self._made.get(key)
        if found is None:
            # What the ids belong to is kept with the offer, so that neither can be used again.
            found = (Offer(chain=chain, tools=_served(chain, caller.tools)), caller.tools)
            self._made[key] = found
        self._made.move_to_end(key)
        while len(self._made) > _KEPT:
            self._made.popitem(last=False)
        return found[0]


def function_named(name: str, functions: Iterable[str]) -> str | None:
    """The registered function that a tool of this name would have, if there is one."""
    return next((each for each in functions if name in (each, tool_name(each))), None)


def tool_name(function: str) -> str:
    """`files_read` for `files.read`: many clients refuse a dot."""
    return function.replace(".", "_")


def _served(chain: PolicyChain, tools: tuple[ResolvedTool, ...] | None) -> Mapping[str, ServedTool]:
    found: dict[str, ServedTool] = {}
    granted = frozenset(chain.granted)
    if tools is not None:
        for each in tools:
            if each.function in granted and each.key not in _OWN:
                spec = chain.terms[each.function].spec
                found[each.key] = _tool(each.key, spec, each.name, each.description)
        return found
    for function in chain.granted:
        spec, name = chain.terms[function].spec, tool_name(function)
        if name in found or name in _OWN:  # `a_b.c` and `a.b_c`
            name = function
        found[name] = _tool(name, spec, spec.title, spec.description)
    return found


def _tool(name: str, spec: CapabilitySpec, title: str, description: str) -> ServedTool:
    schema, is_wrapped = output_schema(spec)
    tool = Tool(
        name=name,
        title=title or None,
        description=description or title or f"Call `{spec.name}`.",
        input_schema={"type": "object", **spec.schema_in},
        output_schema=schema,
        annotations=_annotations(spec),
    )
    return ServedTool(tool=tool, function=spec.name, is_wrapped=is_wrapped)


def output_schema(spec: CapabilitySpec) -> tuple[dict[str, Any] | None, bool]:
    """The schema of the structured result, and whether the result is wrapped in an object."""
    schema = dict(spec.schema_out)
    if spec.streams:
        schema = {"type": "array", "items": {k: v for k, v in schema.items() if k != "$defs"}}
        if "$defs" in spec.schema_out:
            schema["$defs"] = spec.schema_out["$defs"]
    if not schema:
        return None, False
    schema = _without_root_reference(schema)
    if schema.get("type") == "object":
        return schema, False
    definitions = schema.pop("$defs", None)
    wrapped: dict[str, Any] = {
        "type": "object",
        "properties": {RESULT: schema},
        "required": [RESULT],
    }
    if definitions is not None:  # references are to the root
        wrapped["$defs"] = definitions
    return wrapped, True


def _without_root_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with its own keys at the root: clients look for a `type` there."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return schema
    named = definitions.get(reference.removeprefix("#/$defs/"))
    return {**named, "$defs": definitions} if isinstance(named, dict) else schema


def _annotations(spec: CapabilitySpec) -> ToolAnnotations:
    """What the specification knows; anything else stays open, and MCP assumes the worst of it."""
    reads_only = True if spec.tags & {"pure", "reads"} else None
    if "changes" in spec.tags:
        reads_only = False
    is_open = True if spec.egress or _UNTRUSTED in spec.labels else None
    if "pure" in spec.tags and is_open is None:
        is_open = False
    return ToolAnnotations(
        title=spec.title or None,
        read_only_hint=reads_only,
        idempotent_hint=True if spec.idempotent else None,
        open_world_hint=is_open,
    )
