"""A registry with the capabilities of specification 000's example, and resolvers that tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caps import (
    Capability,
    CapabilityConfig,
    CapabilityRegistry,
    ResolvedCapability,
    ResolvedConfig,
    ResolverContext,
    ToolDescriptor,
    builtin_registry,
)

AUDIO_TOOLS: Sequence[ToolDescriptor] = (
    ToolDescriptor("transcribe", "Transcribe Audio", "The text of a recording."),
    ToolDescriptor("speak", "Speak", "A recording of a text."),
)


class AudioConfig(CapabilityConfig):
    """Settings with a default."""

    language: str = "en"


class Audio(Capability):
    """Remembers what its resolver was called with; offers its tools by an MCP server, too."""

    key = "audio"
    name = "Audio"
    description = "Recordings to text and back."
    icon = "mic"
    category = "Media"
    system_prompt = "You can listen."
    tools = AUDIO_TOOLS
    config_model = AudioConfig

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[ResolverContext, ResolvedConfig]] = []

    def resolve(self, ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        self.calls.append((ctx, config))
        return ResolvedCapability(mcp_server={"command": "audio", "tools": list(config.tools)})


def value(key: str, *tools: str, **fields: Any) -> Capability:
    """A capability as a value, with these tools."""
    return Capability(key, tools=tuple(ToolDescriptor(tool) for tool in tools), **fields)


def add_functions(registry: CapabilityRegistry, *names: str) -> None:
    """Functions that answer nothing."""

    async def answer() -> None: ...

    for name in names:
        registry.capability(name)(answer)


def example_registry(audio: Capability | None = None) -> CapabilityRegistry:
    """The built-in domains, and `memory`, `history`, `tasks` and `audio`."""
    registry = builtin_registry(plugins="off")
    add_functions(registry, "audio.transcribe", "audio.speak")
    for key in ("memory", "history", "tasks"):
        add_functions(registry, f"{key}.search_{key}", f"{key}.add_{key}")
        registry.register(value(key, f"search_{key}", f"add_{key}"))
    registry.register(Audio() if audio is None else audio)
    return registry
