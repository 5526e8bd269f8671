"""Results as MCP content: text for the model, the same as data, and what was handed out."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from caps.capabilities.artifacts import Artifact
from caps.capabilities.runtime.call import CallResult
from caps.capabilities.runtime.result import Failure
from caps.mcp.server.tools import RESULT, ServedTool

ARTIFACTS: Final = "caps-artifact:"
_TEXT_TYPES: Final = frozenset({"application/json", "application/xml", "image/svg+xml"})


def text(content: str) -> TextContent:
    return TextContent(type="text", text=content)


def failed(message: str) -> CallToolResult:
    """A result that tells the model what was wrong."""
    return CallToolResult(content=[text(message)], is_error=True)


def call_result(served: ServedTool, result: CallResult) -> CallToolResult:
    """The end of one call."""
    handed_out = artifact_blocks(result.execution_id, result.artifacts)
    if result.error is not None:
        return CallToolResult(content=[text(error_text(result.error)), *handed_out], is_error=True)
    value = result.value
    structured: dict[str, Any] | None = value if isinstance(value, dict) else None
    if served.is_wrapped:
        structured = {RESULT: value}
    shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return CallToolResult(content=[text(shown), *handed_out], structured_content=structured)


def error_text(failure: Failure) -> str:
    """The class is part of it: a refusal differs from a failure."""
    return f"{failure.type}: {failure.message}"


def artifact_blocks(execution_id: str, artifacts: Sequence[Artifact]) -> list[ContentBlock]:
    """Pictures and sound as such, anything else as an embedded resource."""
    return [_block(execution_id, each) for each in artifacts]


def _block(execution_id: str, artifact: Artifact) -> ContentBlock:
    kind, _, _ = artifact.media_type.partition("/")
    if kind == "image" and artifact.media_type not in _TEXT_TYPES:
        return ImageContent(
            type="image", data=_base64(artifact.content), mime_type=artifact.media_type
        )
    if kind == "audio":
        return AudioContent(
            type="audio", data=_base64(artifact.content), mime_type=artifact.media_type
        )
    uri = f"{ARTIFACTS}//{execution_id}/{quote(artifact.name)}"
    return EmbeddedResource(
        type="resource", resource=contents(uri, artifact.media_type, artifact.content)
    )


def contents(
    uri: str, media_type: str, content: bytes
) -> TextResourceContents | BlobResourceContents:
    """A file; as text if it is one."""
    if media_type.startswith("text/") or media_type in _TEXT_TYPES:
        try:
            shown = content.decode()
        except UnicodeDecodeError:
            pass  # as bytes
        else:
            return TextResourceContents(uri=uri, mime_type=media_type, text=shown)
    return BlobResourceContents(uri=uri, mime_type=media_type, blob=_base64(content))


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
