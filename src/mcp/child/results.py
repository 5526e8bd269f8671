"""What a server answers, as the host's messages have it. Runs in the bridge."""

from __future__ import annotations

from typing import Any, Final

import mcp_types
from pydantic import TypeAdapter

from caps.mcp.bridge_messages import (
    MAX_CONTENT,
    MAX_SHORT_CHARACTERS,
    Answer,
    ContentItem,
    Failure,
    FromBridge,
    ListedTool,
)

ANSWER: Final[TypeAdapter[Any]] = TypeAdapter(
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)


def short(text: str, limit: int = MAX_SHORT_CHARACTERS) -> str:
    """`text`, cut, and without what cannot be encoded."""
    return text[:limit].encode("utf-8", "replace").decode()


def listed_tool(tool: mcp_types.Tool) -> ListedTool:
    """A tool of a list. Its schemas are passed on as they are."""
    annotations = tool.annotations
    return ListedTool(
        name=short(tool.name),
        title=short(tool.title or ""),
        description=short(tool.description or "", 64 * 1024),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations={} if annotations is None else annotations.model_dump(exclude_none=True),
    )


def answer_of(number: int, result: Any) -> FromBridge:
    """The answer to a call."""
    if not isinstance(result, mcp_types.CallToolResult):
        what = "the server asks for more input, which its caller cannot give"
        return Failure(id=number, message=what)
    if len(result.content) > MAX_CONTENT:
        return Failure(id=number, message=f"the answer has more than {MAX_CONTENT} parts")
    return Answer(
        id=number,
        content=[_item(each) for each in result.content],
        structured=result.structured_content,
        is_error=bool(result.is_error),
    )


def _item(part: Any) -> ContentItem:
    match part:
        case mcp_types.TextContent():
            return ContentItem(type="text", text=part.text)
        case mcp_types.ImageContent():
            return ContentItem(type="image", data=part.data, media_type=short(part.mime_type))
        case mcp_types.AudioContent():
            return ContentItem(type="audio", data=part.data, media_type=short(part.mime_type))
        case mcp_types.ResourceLink():
            media_type = None if part.mime_type is None else short(part.mime_type)
            uri, name = short(str(part.uri)), short(part.name)
            return ContentItem(type="link", uri=uri, name=name, media_type=media_type)
        case mcp_types.EmbeddedResource():
            held = part.resource
            return ContentItem(
                type="resource",
                uri=short(str(held.uri)),
                media_type=None if held.mime_type is None else short(held.mime_type),
                text=getattr(held, "text", None),
                data=getattr(held, "blob", None),
            )
        case _:
            raise ValueError("the answer has content of an unknown kind")
