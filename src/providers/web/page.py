"""What a caller gets: the answer to a fetch, made from the headers and the body of a response.

Everything in it that the server wrote is masked: a server may echo the value of a secret in its
body, before or after conversion, and in any header.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio

from caps.capabilities.provider import CallContext
from caps.capabilities.secrets.masking import Masker
from caps.providers.web.body import Body
from caps.providers.web.content import decoded, is_binary, is_html
from caps.providers.web.conversion.converters import CONVERSION_SECONDS, open_converters
from caps.providers.web.fetch import FetchedPage, Form
from caps.providers.web.headers import ResponseHeaders
from caps.providers.web.url import Url

TIMED_OUT: Final = "\n\n[..more content timed out...]"
TOO_LARGE: Final = "\n\n[..more content left out, the policy allows {} bytes...]"
BINARY: Final = "binary content is not supported, only its metadata is given"
_OFF_LOOP_BYTES: Final = 64 * 1024


def metadata(
    requested: str, url: Url, status: int, found: ResponseHeaders, masker: Masker
) -> FetchedPage:
    """The answer without content; its size is the declared one."""
    # Before a part of a header is taken, or it is cut: a part of a value could not be masked.
    found = found.changed(masker.masked)
    page: FetchedPage = {
        "url": requested,
        "status_code": status,
        "content_type": found.content_type,
        "size": found.declared_length,
        "format": "raw",
        "truncated": False,
    }
    modified, filename = found.get("last-modified"), found.filename(url)
    if modified is not None:
        page["last_modified"] = modified[:256]
    if filename is not None:
        page["filename"] = masker.masked(filename)
    return page


async def with_content(
    context: CallContext, page: FetchedPage, body: Body, form: Form, max_bytes: int, masker: Masker
) -> FetchedPage:
    """`page` with what `body` holds, as `form` if it is HTML. ProviderError if that fails."""
    page["size"], page["truncated"] = len(body.data), body.is_cut_off
    kind = page["content_type"]
    if is_binary(body.data):
        page["error"] = BINARY
        return page
    text = await _off_loop(context, body, _text, kind, body, masker)
    if form != "raw" and is_html(kind, body.data):
        converters = await context.resource(open_converters)
        left = anyio.current_effective_deadline() - anyio.current_time()
        text = await converters.convert(
            context.principal, text, form, min(CONVERSION_SECONDS, max(left, 0.1))
        )
        # Markup may have hidden a value, for example by a tag in the middle of it.
        text = await _off_loop(context, body, _masked, text, body, masker)
        page["format"] = form
    if body.is_cut_off:
        text += TIMED_OUT if body.timed_out else TOO_LARGE.format(max_bytes)
    page["content"] = text
    return page


async def _off_loop(
    context: CallContext, body: Body, function: Callable[..., str], *arguments: object
) -> str:
    """Run it in a thread if the body is large: it takes some milliseconds then."""
    if len(body.data) <= _OFF_LOOP_BYTES:
        return function(*arguments)
    return await context.run_in_thread(function, *arguments)


def _text(kind: str, body: Body, masker: Masker) -> str:
    return masker.masked(decoded(kind, body.data), cut_off=body.is_cut_off)


def _masked(text: str, body: Body, masker: Masker) -> str:
    return masker.masked(text, cut_off=body.is_cut_off)
