"""(2) A capability as the registry keeps it: a checked, frozen copy of what its author declared.

- A key has lowercase letters, digits, `_` and `-`, at most 50 of them.
- A tool's key is what models accept as a name: letters, digits, `_` and `-`, at most 64.
- Its settings are a Pydantic model that refuses unknown keys and has no field of a reserved name.
- A domain that nobody bundled is a capability as well: its functions are the tools, and its scope
  model is the settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from caps.capabilities.catalogue.capability import (
    Capability,
    CapabilityConfig,
    CapabilityStatus,
    ResolvedCapability,
    ResolvedConfig,
    Resolver,
    ToolDescriptor,
)
from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.registration import RegisteredDomain
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.errors import RegistrationError
from caps.security.policies.names import checked_capability, quoted

# Handled by the registry; a resolver never gets them as settings.
RESERVED: Final = ("tools", "prefix")
MAX_KEY_LENGTH: Final = 50
MAX_TOOL_LENGTH: Final = 64
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_LETTERS = _LOWER | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_KEY = _LOWER | frozenset("0123456789_-")
_TOOL = _KEY | _LETTERS


class _Described(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    name: str
    description: str
    status: CapabilityStatus
    icon: str | None
    category: str | None
    version: str
    depends_on: tuple[str, ...]
    system_prompt: str | None
    tools: tuple[ToolDescriptor, ...]


class CapabilityDescriptor(_Described, frozen=True, kw_only=True):
    """What is known of a capability without resolving it: for interfaces and documents."""

    config_schema: dict[str, Any] | None
    """JSON Schema of the settings, without the reserved keys; None: it takes none."""

    def as_item(self) -> dict[str, Any]:
        """Its entry in a listing: what an interface shows of it."""
        return {
            "id": self.key,
            "name": self.name,
            "description": self.description,
            "status": self.status.value,
            "icon": self.icon,
            "category": self.category,
        }

    def as_document(self) -> dict[str, Any]:
        """All of it as plain JSON, with `id` for the key."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return {"id": document.pop("key"), **document}


class DeclaredCapability(_Described, frozen=True, kw_only=True):
    """A capability that can be resolved."""

    config_model: type[BaseModel]
    resolve: Resolver

    @property
    def functions(self) -> frozenset[str]:
        return frozenset(each.function or "" for each in self.tools)

    @property
    def descriptor(self) -> CapabilityDescriptor:
        fields = {name: getattr(self, name) for name in _Described.__struct_fields__}
        return CapabilityDescriptor(**fields, config_schema=_config_schema(self.config_model))


def declare(capability: Capability) -> DeclaredCapability:
    """A checked copy. RegistrationError that names the capability and the attribute."""
    key = _checked_key(capability.key, "the key of a capability")
    _check_texts(key, capability)
    if not isinstance(capability.status, CapabilityStatus):
        raise _wrong(key, "status", "a `CapabilityStatus`", capability.status)
    return DeclaredCapability(
        key=key,
        name=capability.name or key,
        description=capability.description,
        status=capability.status,
        icon=capability.icon,
        category=capability.category,
        version=capability.version,
        depends_on=_dependencies(key, capability.depends_on),
        system_prompt=capability.system_prompt,
        tools=_tools(key, capability.tools),
        config_model=_config_model(key, capability.config_model),
        resolve=capability.resolve,
    )


def declare_domain(
    domain: RegisteredDomain, functions: Iterable[CapabilitySpec]
) -> DeclaredCapability:
    """The capability that a domain is by itself."""

    def resolve(_ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        # A scope that is not given reaches nothing; one made of defaults might reach something.
        given = config.settings.model_dump(mode="json", exclude_unset=True)
        return ResolvedCapability(scopes={domain.name: given} if given else {})

    return DeclaredCapability(
        key=domain.name,
        name=domain.title or domain.name,
        description=domain.description,
        status=CapabilityStatus.AVAILABLE,
        icon=None,
        category=None,
        version=Capability.version,
        depends_on=(),
        system_prompt=None,
        tools=tuple(
            ToolDescriptor(spec.function, spec.title or spec.function, spec.description, spec.name)
            for spec in functions
        ),
        config_model=domain.scope or CapabilityConfig,
        resolve=resolve,
    )


def is_tool_key(text: str, max_length: int = MAX_TOOL_LENGTH) -> bool:
    """Whether models take `text` as the name of a tool."""
    fits = _TOOL.issuperset(text) and text[:1] in _LETTERS
    return fits and len(text) <= max_length


def known_settings(model: type[BaseModel]) -> list[str]:
    """The keys that the settings may have, as an agent writes them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _config_schema(model: type[BaseModel]) -> dict[str, Any] | None:
    if not model.model_fields:
        return None
    schema = model.model_json_schema()
    schema["properties"] = {
        key: value for key, value in schema["properties"].items() if key not in RESERVED
    }
    return schema


def _checked_key(key: object, what: str) -> str:
    if not isinstance(key, str):
        raise RegistrationError(f"{what} must be a `str`, not `{type(key).__name__}`")
    fits = _KEY.issuperset(key) and key[:1] in _LOWER
    if not fits or len(key) > MAX_KEY_LENGTH:
        raise RegistrationError(
            f"{quoted(key)} is not valid as {what}; use lowercase letters, digits, `_` and `-`, "
            f"at most {MAX_KEY_LENGTH} of them"
        )
    return key


def _wrong(key: str, attribute: str, expected: str, value: object) -> RegistrationError:
    kind = type(value).__name__
    return RegistrationError(f"capability `{key}`: {attribute} must be {expected}, not `{kind}`")


def _check_texts(key: str, capability: Capability) -> None:
    for name in ("name", "description", "version"):
        if not isinstance(getattr(capability, name), str):
            raise _wrong(key, name, "a `str`", getattr(capability, name))
    for name in ("icon", "category", "system_prompt"):
        if not isinstance(getattr(capability, name), str | None):
            raise _wrong(key, name, "a `str` or None", getattr(capability, name))


def _dependencies(key: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise _wrong(key, "depends_on", "a tuple of keys", given)
    keys = tuple(_checked_key(each, f"a dependency of `{key}`") for each in given)
    return tuple(dict.fromkeys(keys))


def _tools(key: str, given: object) -> tuple[ToolDescriptor, ...]:
    if not isinstance(given, list | tuple):
        raise _wrong(key, "tools", "a tuple of `ToolDescriptor`s", given)
    tools = tuple(_tool(key, f"tools[{index}]", each) for index, each in enumerate(given))
    seen: set[str] = set()
    for tool in tools:
        if tool.key in seen:
            raise RegistrationError(f"capability `{key}`: tool `{tool.key}` is declared twice")
        seen.add(tool.key)
    return tools


def _tool(key: str, place: str, tool: object) -> ToolDescriptor:
    if not isinstance(tool, ToolDescriptor):
        raise _wrong(key, place, "a `ToolDescriptor`", tool)
    for name in ("key", "name", "description"):
        if not isinstance(getattr(tool, name), str):
            raise _wrong(key, f"{place}.{name}", "a `str`", getattr(tool, name))
    if not is_tool_key(tool.key):
        raise RegistrationError(
            f"capability `{key}`: {quoted(tool.key)} is not valid as the key of a tool; use "
            f"letters, digits, `_` and `-`, at most {MAX_TOOL_LENGTH} of them"
        )
    function = tool.function
    if function is None:
        function = f"{key}.{tool.key}".replace("-", "_")
    elif not isinstance(function, str):
        raise _wrong(key, f"{place}.function", "a `str` or None", function)
    else:
        try:
            checked_capability(function)
        except ValueError as error:
            raise RegistrationError(f"capability `{key}`: {place}.function: {error}") from None
    return msgspec.structs.replace(tool, name=tool.name or tool.key, function=function)


def _config_model(key: str, model: object) -> type[BaseModel]:
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise _wrong(key, "config_model", "a class derived from `CapabilityConfig`", model)
    if model.model_config.get("extra") != "forbid":
        raise RegistrationError(
            f"capability `{key}`: `{model.__name__}` must refuse unknown keys; derive it from "
            "`CapabilityConfig`, or set `extra` to `forbid`"
        )
    names = {*model.model_fields, *known_settings(model)}
    for reserved in RESERVED:
        if reserved in names:
            raise RegistrationError(
                f"capability `{key}`: `{model.__name__}` has a field `{reserved}`, which is "
                "reserved for the registry"
            )
    return model


def listing(descriptors: Sequence[CapabilityDescriptor]) -> Mapping[str, Any]:
    """All capabilities as one document: `items` and `total`."""
    return {"items": [each.as_item() for each in descriptors], "total": len(descriptors)}
