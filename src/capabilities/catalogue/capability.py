"""(2) A capability, as its author writes it: what an agent can be given, and what that amounts to.

It is a class, a value, or a function under `@registry.resolver(...)`:

    class Audio(Capability):
        key = "audio"
        tools = (ToolDescriptor("transcribe", "Transcribe audio", "The text of a recording."),)

        def resolve(self, ctx, config):
            return ResolvedCapability()

Registering it takes a checked copy of everything but `resolve` (`declaration`), so that a later
change of the object has no effect.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

import msgspec
from pydantic import BaseModel, ConfigDict

from caps.capabilities.catalogue.context import ResolverContext
from caps.protocol.errors import ProviderError, RegistrationError
from caps.protocol.text import did_you_mean
from caps.security.policies.names import quoted

McpServerConfig = Mapping[str, Any]
"""How an MCP server is reached, as JSON. Nothing here starts one."""


class CapabilityStatus(enum.StrEnum):
    AVAILABLE = "available"
    COMING_SOON = "coming_soon"
    """Listed, and not yet implemented: it cannot be given to an agent."""
    DEPRECATED = "deprecated"
    """No longer recommended: an agent that has it gets a warning."""


class ToolDescriptor(msgspec.Struct, frozen=True):
    """A tool of a capability. `function` is `domain.function`; by default `<capability>.<key>`."""

    key: str
    name: str = ""
    description: str = ""
    function: str | None = None


class CapabilityConfig(BaseModel):
    """Base of the settings of a capability. This one has none. Unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


M = TypeVar("M", bound=BaseModel)


class ResolvedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent asked of one capability, checked: its tools, and its settings apart."""

    tools: tuple[str, ...]
    """The keys of the tools to offer: what the agent listed, or all of them."""
    settings: BaseModel
    """The capability's own configuration; the keys of the registry are never in it."""

    def settings_as(self, model: type[M]) -> M:
        """The settings as `model`; a `ProviderError` if the capability declared another one."""
        if not isinstance(self.settings, model):
            raise ProviderError(f"the settings are not a `{model.__name__}`")
        return self.settings


class ResolvedCapability(msgspec.Struct, frozen=True, kw_only=True):
    """What one capability amounts to, beyond the functions of its tools."""

    mcp_server: McpServerConfig | None = None
    """The server of its tools. It must offer only the tools that `ResolvedConfig` names."""
    scopes: Mapping[str, Mapping[str, Any]] = {}
    """`scopes.<domain>` of the policy, for domains that its tools belong to."""


Resolver = Callable[[ResolverContext, ResolvedConfig], ResolvedCapability | None]


class CapabilityFields(TypedDict, total=False):
    """What `Capability(...)` and `@registry.resolver(...)` take."""

    name: str
    description: str
    status: CapabilityStatus
    icon: str | None
    category: str | None
    version: str
    depends_on: Sequence[str]
    system_prompt: str | None
    tools: Sequence[ToolDescriptor]
    config_model: type[BaseModel]
    resolver: Resolver | None


class Capability:
    """A named unit that an agent is given: tools, settings, text for its prompt.

    Derive from it and set the attributes, or pass them. `depends_on` names capabilities that an
    agent must have with this one. Raises RegistrationError for an attribute that does not exist.
    """

    key: str = ""
    name: str = ""
    description: str = ""
    status: CapabilityStatus = CapabilityStatus.AVAILABLE
    icon: str | None = None
    category: str | None = None
    version: str = "1.0"
    depends_on: Sequence[str] = ()
    system_prompt: str | None = None
    tools: Sequence[ToolDescriptor] = ()
    config_model: type[BaseModel] = CapabilityConfig
    resolver: Resolver | None = None

    def __init__(self, key: str | None = None, **fields: Unpack[CapabilityFields]) -> None:
        if key is not None:
            self.key = key
        known = CapabilityFields.__annotations__
        for name, value in fields.items():
            if name not in known:
                raise RegistrationError(
                    f"a capability has no attribute {quoted(name)}{did_you_mean(name, known)}"
                )
            setattr(self, name, value)

    def resolve(self, ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability | None:
        """What the capability amounts to for this agent; None: not in this context, skip it.

        By default what `resolver` returns, and without one the functions of the tools alone.
        """
        return ResolvedCapability() if self.resolver is None else self.resolver(ctx, config)
