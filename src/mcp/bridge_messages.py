"""What the host and the bridge of an MCP server say to each other: frames of msgpack, both ways.

The bridge speaks with the server, so the host treats what it sends as untrusted: everything is
typed and bounded here, and a message that does not fit ends the bridge.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from caps.protocol.framing import FrameLimits

LIMITS: Final = FrameLimits(max_frame_bytes=8 * 1024 * 1024, max_depth=32, max_items=100_000)
MAX_TOOLS: Final = 512
MAX_CONTENT: Final = 1024
MAX_SHORT_CHARACTERS: Final = 4096

CallId = Annotated[int, Meta(ge=1, le=2**53)]
Short = Annotated[str, Meta(max_length=MAX_SHORT_CHARACTERS)]


class _Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class OpenServer(_Message, frozen=True, kw_only=True, tag="open"):
    """The first message to the bridge: connect. Without a `url`, the server is on descriptors."""

    url: str | None
    headers: dict[str, str]
    legacy: bool


class ListTools(_Message, frozen=True, kw_only=True, tag="list"):
    id: CallId


class CallTool(_Message, frozen=True, kw_only=True, tag="call"):
    id: CallId
    tool: str
    arguments: dict[str, Any]


class CancelCall(_Message, frozen=True, kw_only=True, tag="cancel"):
    id: CallId


ToBridge = OpenServer | ListTools | CallTool | CancelCall


class ServerOpened(_Message, frozen=True, kw_only=True, tag="opened"):
    """The bridge is connected, and says what it could lock down of itself."""

    name: Short
    version: Short
    protocol: Short
    confined: Short
    """Empty if the bridge is confined, else why not."""


class ListedTool(_Message, frozen=True, kw_only=True):
    """A tool as the server describes it; its schemas are not checked yet."""

    name: Short
    title: Short = ""
    description: Annotated[str, Meta(max_length=64 * 1024)] = ""
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] = {}


class ToolList(_Message, frozen=True, kw_only=True, tag="tools"):
    id: CallId
    tools: Annotated[list[ListedTool], Meta(max_length=MAX_TOOLS)]


class ContentItem(_Message, frozen=True, kw_only=True, omit_defaults=True):
    """A part of an answer. `data` is base64; `text` is that of a text or a resource."""

    type: Annotated[str, Meta(pattern="^(text|image|audio|resource|link)$")]
    text: str | None = None
    data: str | None = None
    media_type: Short | None = None
    uri: Short | None = None
    name: Short | None = None


class Answer(_Message, frozen=True, kw_only=True, tag="answer"):
    id: CallId
    content: Annotated[list[ContentItem], Meta(max_length=MAX_CONTENT)]
    structured: Any
    """Any JSON; None if there is none."""
    is_error: bool


class Failure(_Message, frozen=True, kw_only=True, tag="failed"):
    """A request failed; without an id the connection as a whole, and the bridge ends."""

    id: CallId | None
    message: Short


class Progress(_Message, frozen=True, kw_only=True, tag="progress"):
    id: CallId
    progress: float
    total: float | None
    message: Annotated[str, Meta(max_length=1024)]


class ToolsChanged(_Message, frozen=True, kw_only=True, tag="changed"):
    """The server says that its list of tools has changed."""


FromBridge = ServerOpened | ToolList | Answer | Failure | Progress | ToolsChanged
