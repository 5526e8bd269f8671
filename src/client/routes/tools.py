"""`/v1/tools`: signed tool cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caps.client.exchange import with_key
from caps.client.message import Request, Route, json_body, read_as
from caps.client.values import Page, ToolCard

PUBLISH = Route("POST", "/v1/tools")
LIST = Route("GET", "/v1/tools")
GET = Route("GET", "/v1/tools/{name}")
GET_VERSION = Route("GET", "/v1/tools/{name}/{version}")


def publish_tool(
    card: Mapping[str, Any], *, idempotency_key: str | None = None
) -> Request[ToolCard]:
    """Sign a card and keep it. Raises ConflictError if its version is another card."""
    made: Request[ToolCard] = Request(
        method=PUBLISH.method,
        path=PUBLISH.path(),
        body=json_body({"tool_card": card}),
        read=read_as(ToolCard),
        accepted=frozenset({200, 201}),
    )
    return with_key(made, idempotency_key)


def list_tools(*, limit: int = 200, cursor: str | None = None) -> Request[Page[ToolCard]]:
    """A page of cards by name and version; `tools` iterates over all."""
    return Request(
        method=LIST.method,
        path=LIST.path(),
        query={"limit": limit, "cursor": cursor},
        read=read_as(Page[ToolCard]),
        is_repeatable=True,
    )


def get_tool(name: str) -> Request[ToolCard]:
    """The version of a card that was published last."""
    path = GET.path(name=name)
    return Request(method=GET.method, path=path, read=read_as(ToolCard), is_repeatable=True)


def get_tool_version(name: str, version: str) -> Request[ToolCard]:
    """One version of a card."""
    return Request(
        method=GET_VERSION.method,
        path=GET_VERSION.path(name=name, version=version),
        read=read_as(ToolCard),
        is_repeatable=True,
    )
