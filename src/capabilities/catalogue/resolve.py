"""(2) From an agent's object to what it amounts to.

Everything that the agent wrote is checked before the first resolver is called, so that bad input
has no effect. A resolver is code of the capability's author: its failure is an error of its own,
and what it returns is checked like any other data.

The policy follows from the tools and settings alone. Two rules keep it from granting more than the
capabilities do one by one:

- a capability sets scopes only for domains of its own tools;
- capabilities that share a domain must agree about its scope. Otherwise a function of one could be
  used under the scope of the other.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from caps.capabilities.catalogue.agent_object import (
    AgentEntry,
    RequestedCapability,
    check_entry,
    invalid,
    read_entries,
)
from caps.capabilities.catalogue.capability import (
    CapabilityStatus,
    McpServerConfig,
    ResolvedCapability,
    ResolvedConfig,
)
from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.catalogue.declaration import DeclaredCapability
from caps.capabilities.catalogue.dependencies import in_dependency_order
from caps.capabilities.catalogue.injections import Injection
from caps.capabilities.catalogue.result import ResolvedCapabilities, ResolvedTool
from caps.capabilities.registration import RegisteredCapability, RegisteredDomain
from caps.protocol.errors import CapsError, ProviderError
from caps.protocol.text import did_you_mean
from caps.security.policies.load import json_place, load_policy
from caps.security.policies.names import domain_of, quoted
from caps.security.policies.plain_json import NotJsonError, plain_json

POLICY_ID: Final = "agent-capabilities"
# The number of capabilities that an error lists if none has a similar key.
_MAX_SHOWN: Final = 16


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is registered, at the time of one resolution."""

    capabilities: Mapping[str, DeclaredCapability]
    injections: Sequence[Injection]
    """Those of the mode."""
    injected: frozenset[str]
    """The keys of the injections of all modes."""
    unavailable: Mapping[str, str]
    """Keys that are known and cannot be given to an agent, and why."""
    functions: Mapping[str, RegisteredCapability]
    domains: Mapping[str, RegisteredDomain]


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """One resolved capability: what it adds to the result."""

    request: RequestedCapability
    tools: tuple[ResolvedTool, ...]
    mcp_server: McpServerConfig | None
    scopes: Mapping[str, Mapping[str, Any]]

    @property
    def key(self) -> str:
        return self.request.declared.key


def resolve(known: Known, capabilities: object, ctx: ResolverContext) -> ResolvedCapabilities:
    """Raises AgentInvalidError, or ProviderError if a capability itself is at fault."""
    requested = _requested(known, capabilities)
    parts: dict[str, _Part] = {}
    for request in in_dependency_order(requested, known.capabilities.get):
        if all(key in parts for key in request.declared.depends_on):
            _add(parts, _resolved(known, request, ctx))
    ordered = [parts[key] for key in requested if key in parts]
    injected = [_resolved(known, _injection(each), ctx) for each in known.injections]
    return _merged(known, requested, [*ordered, *(part for part in injected if part is not None)])


def _add(parts: dict[str, _Part], part: _Part | None) -> None:
    if part is not None:
        parts[part.key] = part


def _requested(known: Known, capabilities: object) -> dict[str, RequestedCapability]:
    requested = {}
    for entry in read_entries(capabilities):
        declared = known.capabilities.get(entry.key)
        if declared is None:
            what = f"there is no capability {quoted(entry.key)}"
            raise invalid(what, entry.path, _unknown_hint(known, entry))
        if declared.status is CapabilityStatus.COMING_SOON:
            what = f"capability `{entry.key}` is coming soon and cannot be given to an agent yet"
            raise invalid(what, entry.path)
        requested[entry.key] = check_entry(entry, declared)
    return requested


def _unknown_hint(known: Known, entry: AgentEntry) -> str:
    key = entry.key
    if key in known.unavailable:
        return f": {known.unavailable[key]}"
    if "mcp" in entry.value:
        hint = did_you_mean(key, known.capabilities)
        return f"{hint or ';'} an agent may use only the MCP servers that the operator configured"
    if key in known.injected:
        return "; the mode of an execution adds it, and no agent lists it"
    bundled = [
        each.key
        for each in known.capabilities.values()
        if any(domain_of(function) == key for function in each.functions)
    ]
    if key in known.domains and bundled:
        return f"; functions of this domain are tools of `{bundled[0]}`"
    shown = list(known.capabilities)[:_MAX_SHOWN]
    more = ", …" if len(known.capabilities) > _MAX_SHOWN else ""
    listed = f"; there are {', '.join(f'`{each}`' for each in shown)}{more}" if shown else ""
    return did_you_mean(key, known.capabilities) or listed


def _injection(injection: Injection) -> RequestedCapability:
    return RequestedCapability(
        declared=injection.declared,
        path=(),
        tools=tuple(tool.key for tool in injection.declared.tools),
        prefix="",
        settings=injection.settings,
    )


def _resolved(known: Known, request: RequestedCapability, ctx: ResolverContext) -> _Part | None:
    key = request.declared.key
    config = ResolvedConfig(tools=request.tools, settings=request.settings)
    try:
        answer: object = request.declared.resolve(ctx, config)
    except CapsError:
        raise
    except (Exception, SystemExit) as error:
        kind = type(error).__name__
        raise ProviderError(f"the resolver of capability `{key}` failed with `{kind}`") from error
    if answer is None:
        return None
    if not isinstance(answer, ResolvedCapability):
        raise _faulty(key, f"returned a `{type(answer).__name__}`, not a `ResolvedCapability`")
    server = None if answer.mcp_server is None else _json(key, "mcp_server", answer.mcp_server)
    return _Part(
        request=request,
        tools=tuple(_tool(known, request, tool, server) for tool in request.tools),
        mcp_server=server,
        scopes=_checked_scopes(known, request.declared, answer),
    )


def _faulty(key: str, what: str) -> ProviderError:
    return ProviderError(f"the resolver of capability `{key}` {what}")


def _json(key: str, name: str, value: object) -> dict[str, Any]:
    try:
        plain = plain_json(value)
    except NotJsonError as error:
        place = json_place((name, *error.path))
        raise _faulty(key, f"returned what is not JSON at `{place}`: {error}") from None
    if not isinstance(plain, dict):
        raise _faulty(key, f"returned a `{name}` that is not an object")
    return plain


def _tool(
    known: Known, request: RequestedCapability, key: str, server: McpServerConfig | None
) -> ResolvedTool:
    declared = request.declared
    tool = next(each for each in declared.tools if each.key == key)
    function = tool.function or ""
    registered = known.functions.get(function)
    if registered is None and server is None:
        raise _faulty(
            declared.key,
            f"has a tool `{key}` without a function: `{function}` is not registered, and there is "
            "no MCP server",
        )
    return ResolvedTool(
        key=request.prefix + key,
        name=tool.name,
        description=tool.description,
        capability=declared.key,
        function=function,
        schema=None if registered is None else copy.deepcopy(registered.spec.schema_in),
    )


def _checked_scopes(
    known: Known, declared: DeclaredCapability, answer: ResolvedCapability
) -> dict[str, dict[str, Any]]:
    scopes = _json(declared.key, "scopes", answer.scopes)
    own = {domain_of(function) for function in declared.functions}
    for domain, scope in scopes.items():
        if domain not in own:
            what = f"sets a scope for {quoted(domain)}, and none of its tools is of that domain"
            raise _faulty(declared.key, what)
        registered = known.domains.get(domain)
        if registered is None or registered.scope is None:
            raise _faulty(declared.key, f"sets a scope for `{domain}`, which takes no scope")
        if not isinstance(scope, dict):
            raise _faulty(declared.key, f"returned a scope of `{domain}` that is not an object")
    return scopes


def _merged(
    known: Known, requested: Mapping[str, RequestedCapability], parts: Sequence[_Part]
) -> ResolvedCapabilities:
    tools = _merged_tools(parts)
    functions = sorted({tool.function for tool in tools if tool.function in known.functions})
    scopes, unscoped = _merged_scopes(known, parts)
    policy = load_policy({"id": POLICY_ID, "allow": functions, "scopes": scopes}).policy
    resolved = {part.key for part in parts}
    deprecated = [
        f"capability `{part.key}` is deprecated"
        for part in parts
        if part.request.declared.status is CapabilityStatus.DEPRECATED
    ]
    prompts = (part.request.declared.system_prompt for part in parts)
    return ResolvedCapabilities(
        tools=tools,
        mcp_servers={part.key: part.mcp_server for part in parts if part.mcp_server is not None},
        prompt_additions=tuple(text for text in prompts if text),
        policy=policy,
        versions={part.key: part.request.declared.version for part in parts},
        skipped=tuple(key for key in requested if key not in resolved),
        warnings=(*deprecated, *unscoped),
    )


def _merged_tools(parts: Sequence[_Part]) -> tuple[ResolvedTool, ...]:
    owners: dict[str, _Part] = {}
    for part in parts:
        for tool in part.tools:
            other = owners.setdefault(tool.key, part)
            if other is not part:
                what = f"capabilities `{other.key}` and `{part.key}` both have a tool `{tool.key}`"
                hint = "; set a `prefix` for one of them, or leave the tool out of its `tools`"
                raise invalid(what, part.request.path or other.request.path, hint)
    return tuple(tool for part in parts for tool in part.tools)


def _merged_scopes(
    known: Known, parts: Sequence[_Part]
) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """The scope of each domain, and a warning for each domain that is given none."""
    owners: dict[str, _Part] = {}
    for part in parts:
        used = [tool.function for tool in part.tools if tool.function in known.functions]
        for domain in dict.fromkeys(map(domain_of, used)):
            other = owners.setdefault(domain, part)
            if other.scopes.get(domain) != part.scopes.get(domain):
                what = (
                    f"capabilities `{other.key}` and `{part.key}` both use the domain `{domain}`, "
                    "under different scopes,"
                )
                raise invalid(what, part.request.path or other.request.path)
    scopes = {
        domain: part.scopes[domain] for domain, part in owners.items() if domain in part.scopes
    }
    unscoped = [
        f"capability `{part.key}` sets no scope for `{domain}`, so its tools there reach nothing"
        for domain, part in owners.items()
        if known.domains[domain].scope is not None and domain not in scopes
    ]
    return scopes, unscoped
