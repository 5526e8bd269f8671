"""An agent's capabilities as data: read, bounded and checked before any resolver is called.

An object gives each capability its entry; an array lists keys, each with an empty entry. The order
is the priority. Two keys of an entry belong to the registry and are never settings:

- `tools`: the tools that the agent gets, by their keys; without it all of them. No wildcards.
- `prefix`: put before the names of its tools, to settle a clash with another capability.

Everything else in an entry is checked by the capability's own model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import pydantic
from pydantic import BaseModel

from caps.capabilities.catalogue.declaration import (
    MAX_TOOL_LENGTH,
    RESERVED,
    DeclaredCapability,
    is_tool_key,
    known_settings,
)
from caps.protocol.errors import AgentInvalidError, ProviderError
from caps.protocol.text import did_you_mean
from caps.security.policies.load import first_error, json_kind, json_place, json_problem
from caps.security.policies.names import quoted
from caps.security.policies.plain_json import NotJsonError, plain_json
from caps.security.scopes import Scope

MAX_ENTRIES: Final = 256
MAX_PREFIX_LENGTH: Final = 32
ROOT: Final = "capabilities"

_Path = tuple[str | int, ...]


class AgentEntry(msgspec.Struct, frozen=True):
    """One capability of an agent's object, not yet set against the registry."""

    key: str
    value: Mapping[str, Any]
    path: _Path


class RequestedCapability(msgspec.Struct, frozen=True, kw_only=True):
    """One capability of an agent: what it is, and what of it is asked for."""

    declared: DeclaredCapability
    path: _Path
    """Its place in the agent's object."""
    tools: tuple[str, ...]
    prefix: str
    settings: BaseModel


def invalid(what: str, path: _Path, hint: str = "") -> AgentInvalidError:
    """The error that names the place in the agent's object."""
    place = json_place((ROOT, *path))
    return AgentInvalidError(f"{what} at {quoted(place)}{hint}", place=place)


def read_entries(given: object) -> tuple[AgentEntry, ...]:
    """The entries of an object or array, in order. Raises AgentInvalidError."""
    try:
        plain = plain_json(given)
    except NotJsonError as error:
        raise invalid(str(error), error.path) from None
    if isinstance(plain, list):
        entries = _listed(plain)
    elif isinstance(plain, dict):
        entries = [_entry(key, value) for key, value in plain.items()]
    else:
        raise invalid(f"should be an object or an array, got {json_kind(plain)}", ())
    if len(entries) > MAX_ENTRIES:
        raise invalid(f"should have at most {MAX_ENTRIES} capabilities", ())
    return tuple(entries)


def _listed(keys: list[Any]) -> list[AgentEntry]:
    entries: dict[str, AgentEntry] = {}
    for index, key in enumerate(keys):
        if not isinstance(key, str):
            hint = "; use an object to give a capability settings"
            raise invalid(f"should be a string, got {json_kind(key)}", (index,), hint)
        if key in entries:
            raise invalid(f"capability {quoted(key)} is listed twice", (index,))
        entries[key] = AgentEntry(key, {}, (index,))
    return list(entries.values())


def _entry(key: str, value: Any) -> AgentEntry:
    entry = AgentEntry(key, {}, (key,))
    if not isinstance(value, dict):
        hint = "; write `{}` for a capability without settings"
        raise _wrong(entry, f"should be an object, got {json_kind(value)}", (), hint)
    return AgentEntry(key, value, (key,))


def _wrong(entry: AgentEntry, what: str, path: _Path, hint: str = "") -> AgentInvalidError:
    return invalid(f"capability {quoted(entry.key)}: {what}", (*entry.path, *path), hint)


def check_entry(entry: AgentEntry, declared: DeclaredCapability) -> RequestedCapability:
    """`entry` set against its capability. Raises AgentInvalidError."""
    tools = _tools(entry, declared)
    return RequestedCapability(
        declared=declared,
        path=entry.path,
        tools=tools,
        prefix=_prefix(entry, tools),
        settings=_settings(entry, declared),
    )


def _tools(entry: AgentEntry, declared: DeclaredCapability) -> tuple[str, ...]:
    known = [tool.key for tool in declared.tools]
    if "tools" not in entry.value:
        return tuple(known)
    given = entry.value["tools"]
    if not isinstance(given, list):
        raise _wrong(entry, f"should be an array of tools, got {json_kind(given)}", ("tools",))
    for index, tool in enumerate(given):
        path = ("tools", index)
        if not isinstance(tool, str):
            raise _wrong(entry, f"should be a string, got {json_kind(tool)}", path)
        if tool not in known:
            raise _wrong(entry, f"has no tool {quoted(tool)}", path, _tool_hint(tool, known))
        if tool in given[:index]:
            raise _wrong(entry, f"tool `{tool}` is listed twice", path)
    return tuple(given)


def _tool_hint(tool: str, known: list[str]) -> str:
    if "*" in tool:
        return "; there are no wildcards: name each tool, or leave `tools` out for all of them"
    if not known:
        return "; it has no tools"
    return did_you_mean(tool, known) or f"; it has {_enumerated(known)}"


def _enumerated(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _prefix(entry: AgentEntry, tools: tuple[str, ...]) -> str:
    if "prefix" not in entry.value:
        return ""
    prefix, path = entry.value["prefix"], ("prefix",)
    if not isinstance(prefix, str):
        raise _wrong(entry, f"should be a string, got {json_kind(prefix)}", path)
    if not is_tool_key(prefix, MAX_PREFIX_LENGTH):
        what = "is not a prefix: a letter, then letters, digits, `_` and `-`, at most"
        raise _wrong(entry, f"{quoted(prefix)} {what} {MAX_PREFIX_LENGTH} in all", path)
    for tool in tools:
        if len(prefix + tool) > MAX_TOOL_LENGTH:
            what = f"`{prefix}{tool}` is longer than {MAX_TOOL_LENGTH} characters"
            raise _wrong(entry, what, path, "; use a shorter prefix")
    return prefix


def _settings(entry: AgentEntry, declared: DeclaredCapability) -> BaseModel:
    given = {key: value for key, value in entry.value.items() if key not in RESERVED}
    try:
        return read_settings(declared.config_model, given)
    except pydantic.ValidationError as error:
        raise _bad_setting(entry, declared, first_error(error)) from None
    except Exception as error:
        raise ProviderError(
            f"the settings of capability `{declared.key}` could not be checked: its model failed "
            f"with `{type(error).__name__}`"
        ) from error


def read_settings(model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    """`given` as `model`. Raises pydantic's ValidationError."""
    if issubclass(model, Scope):  # as a policy's scope is read, so that both accept the same
        return model.model_validate(dict(given))
    return model.model_validate_json(msgspec.json.encode(given))


def _bad_setting(entry: AgentEntry, declared: DeclaredCapability, error: Any) -> AgentInvalidError:
    path: _Path = error["loc"]
    if error["type"] != "extra_forbidden":
        return _wrong(entry, json_problem(error), path)
    what, hint = f"has no setting {quoted(str(path[-1]))}", ""
    if len(path) == 1:
        known = [*known_settings(declared.config_model), *RESERVED]
        hint = did_you_mean(str(path[0]), known) or f"; it takes {_enumerated(known)}"
    return _wrong(entry, what, path, hint)
