"""The tools that the conformance suite of MCP asks for, as functions of an ordinary registry.

`caps mcp serve --registry support.conformance_registry:registry --agent support/conformance.json`
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import anyio.lowlevel

from caps import CapabilityRegistry, CapabilitySpec
from caps.capabilities.artifacts import Artifact
from caps.capabilities.catalogue.capability import Capability, ToolDescriptor
from caps.capabilities.provider import CallContext, ProviderError
from caps.providers.session_files import register_session_files

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
registry = CapabilityRegistry()
register_session_files(registry)


def hand_out(context: CallContext, name: str, media_type: str, content: bytes) -> None:
    context.add_artifact(Artifact(name=name, media_type=media_type, content=content))


@registry.capability("conformance.test_simple_text")
async def simple_text() -> str:
    """Return text."""
    return "This is a simple text response for testing."


@registry.capability("conformance.test_image_content")
async def image(context: CallContext) -> None:
    """Hand out a picture."""
    hand_out(context, "red.png", "image/png", PNG)


@registry.capability("conformance.test_audio_content")
async def audio(context: CallContext) -> None:
    """Hand out sound."""
    hand_out(context, "silence.wav", "audio/wav", WAV)


@registry.capability("conformance.test_embedded_resource")
async def resource(context: CallContext) -> None:
    """Hand out a text."""
    hand_out(context, "note.txt", "text/plain", b"This is an embedded resource content.")


@registry.capability("conformance.test_multiple_content_types")
async def mixed(context: CallContext) -> str:
    """Hand out a picture and data."""
    hand_out(context, "red.png", "image/png", PNG)
    hand_out(context, "data.json", "application/json", b'{"test":"data","value":123}')
    return "Multiple content types test:"


@registry.capability("conformance.test_tool_with_logging")
async def logging() -> str:
    """Be called, which the server logs."""
    return "logged"


@registry.capability("conformance.test_logging_tool")
async def logging_tool() -> str:
    """Be called, which the server logs for a client that has asked for it."""
    return "logged"


@registry.capability("conformance.test_error_handling")
async def error() -> str:
    """Fail."""
    raise ProviderError("This tool intentionally returns an error for testing")


@registry.capability("conformance.test_tool_with_progress")
async def progress(context: CallContext) -> str:
    """Report progress."""
    for done in (0, 50, 100):
        context.report_progress(done, 100)
        await anyio.lowlevel.checkpoint()
    return "done"


async def echo(_context: CallContext, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return payload


registry.register(
    CapabilitySpec(
        name="conformance.json_schema_2020_12_tool",
        description="Tool with JSON Schema 2020-12 features",
        schema_in=JSON_SCHEMA,
    ),
    echo,
)
registry.register(
    CapabilitySpec(
        name="conformance.test_x_mcp_header",
        description="Take an argument that is also in a header.",
        schema_in={
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "query": {"type": "string"},
            },
        },
    ),
    echo,
)


@registry.register
class Conformance(Capability):
    key = "conformance"
    name = "Conformance"
    tools = tuple(
        ToolDescriptor(name, name, "A tool of the conformance suite.", f"conformance.{name}")
        for name in (
            "test_simple_text",
            "test_image_content",
            "test_audio_content",
            "test_embedded_resource",
            "test_multiple_content_types",
            "test_tool_with_logging",
            "test_logging_tool",
            "test_error_handling",
            "test_tool_with_progress",
            "test_x_mcp_header",
            "json_schema_2020_12_tool",
        )
    )
