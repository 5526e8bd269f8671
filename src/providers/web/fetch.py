"""(7) `web.fetch`, as callers see it: its parameters and its answer. `engine.py` does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, NotRequired

import msgspec
from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext
from caps.providers.web.headers import MAX_HEADERS
from caps.providers.web.url import MAX_URL_CHARACTERS, URL_PATTERN

if TYPE_CHECKING:
    from caps.providers.web.engine import Engine

Form = Literal["markdown", "text", "raw"]


class Timeouts(msgspec.Struct, frozen=True):
    """In seconds. A fetch ends earlier if its call does."""

    first_byte: float = 1.0
    body: float = 30.0


class FetchedPage(TypedDict):
    """What a server answered. `content` is missing for HEAD and for binary content."""

    url: str
    status_code: int
    content_type: str
    size: int
    format: Form
    truncated: bool
    last_modified: NotRequired[str]
    filename: NotRequired[str]
    content: NotRequired[str]
    error: NotRequired[str]
    final_url: NotRequired[str]


class WebFetcher:
    """The provider of `web.fetch`."""

    def __init__(self, engine: Engine | None = None) -> None:
        self._engine = engine

    async def fetch(
        self,
        context: CallContext,
        url: Annotated[
            str,
            Field(
                pattern=URL_PATTERN,
                max_length=MAX_URL_CHARACTERS,
                description="The URL to fetch, must start with http:// or https://",
            ),
        ],
        method: Annotated[Literal["GET", "HEAD"], Field(description="HTTP method")] = "GET",
        as_markdown: Annotated[
            bool, Field(description="Convert HTML response to markdown format")
        ] = False,
        as_text: Annotated[
            bool,
            Field(
                description="Convert HTML response to plain text (ignored if as_markdown is true)"
            ),
        ] = False,
        headers: Annotated[
            dict[str, str] | None,
            Field(
                max_length=MAX_HEADERS,
                description="Further headers; a value may have a handle of `secrets.handle`",
            ),
        ] = None,
    ) -> FetchedPage:
        """Fetch content from a URL; optionally convert HTML to markdown or plain text."""
        from caps.providers.web.engine import Engine
        from caps.providers.web.request import make_request

        form: Form = "markdown" if as_markdown else "text" if as_text else "raw"
        request = await make_request(context, url, method, form, headers or {})
        self._engine = self._engine or Engine()
        return await self._engine.fetch(request)
