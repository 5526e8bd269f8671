"""What `web.fetch` does. Imported on the first fetch, with everything that it needs.

    check -> look up -> check the addresses -> fill in secrets -> connect, send -> redirect or read

The broker has checked the scope already; it is checked again here, so that nothing depends on the
caller. A redirect is followed by a call of `web.fetch` that is nested in this one: it has its own
decision and its own records, and nothing of it is decided here.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from caps.capabilities.provider import ProviderError, ResourceFactory
from caps.providers.web.addresses import LOOPBACK, Address, kind_of
from caps.providers.web.body import ACCEPTED_ENCODINGS, Body, Reader, decoder_of
from caps.providers.web.content import is_declared_binary
from caps.providers.web.fetch import FetchedPage, Timeouts
from caps.providers.web.headers import ResponseHeaders, is_sendable
from caps.providers.web.lookup import Resolver, checked_addresses, system_resolver
from caps.providers.web.page import BINARY, metadata, with_content
from caps.providers.web.redirects import follow, is_redirect
from caps.providers.web.request import FetchRequest
from caps.worker.host.pool.fair_slots import FairSlots

if TYPE_CHECKING:
    import httpcore2

_USER_AGENT: Final = "caps-web-fetch/1"
# What is left of a call's time for the last steps, so that a partial body is still an answer.
_FINISH_SECONDS: Final = 0.5
_CONVERT_SECONDS: Final = 2.5
_MAX_FETCHES: Final = 64
_MAX_FETCHES_OF_PRINCIPAL: Final = 16


@asynccontextmanager
async def open_tls() -> AsyncIterator[ssl.SSLContext]:
    """The certificates that this host trusts: read once per runtime, in a thread."""
    yield await anyio.to_thread.run_sync(ssl.create_default_context)


@asynccontextmanager
async def open_slots() -> AsyncIterator[FairSlots]:
    """Limits the fetches in flight: each holds a body, in several forms."""
    yield FairSlots(_MAX_FETCHES, _MAX_FETCHES_OF_PRINCIPAL)


class Engine(msgspec.Struct, frozen=True, kw_only=True):
    """How fetches are made. It has no state: a runtime holds what they share."""

    resolver: Resolver = system_resolver
    tls: ResourceFactory[ssl.SSLContext] = open_tls
    timeouts: Timeouts = Timeouts()

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """The answer. Raises ProviderError, ScopeViolationError, and what a redirect raises."""
        _check_installed()
        tls = await request.context.resource(self.tls)
        slots = await request.context.resource(open_slots)
        await slots.acquire(request.context.principal)
        try:
            async with self._response(request, tls) as response:
                found = ResponseHeaders(response.headers)
                if not is_redirect(response.status, found):
                    return await self._page(request, response, found)
        finally:
            slots.release(request.context.principal)
        return await follow(request, found)

    @asynccontextmanager
    async def _response(
        self, request: FetchRequest, tls: ssl.SSLContext
    ) -> AsyncIterator[httpcore2.Response]:
        """The response, once its headers are there. ProviderError, ScopeViolationError."""
        from caps.providers.web.transport import exchange  # the extra `web`

        context, url = request.context, request.url
        began, seconds = anyio.current_time(), self.timeouts.first_byte
        with _respond_within(seconds, seconds):
            addresses = await checked_addresses(context, request.scopes, url, self.resolver)
        looked_up = anyio.current_time() - began
        headers = await _sent_headers(request, addresses)  # not the server's time
        texts = list(map(str, addresses))
        async with AsyncExitStack() as stack:
            with _respond_within(seconds - looked_up, seconds):
                response = await stack.enter_async_context(
                    exchange(url, texts, request.method, headers, tls)
                )
            yield response

    async def _page(
        self, request: FetchRequest, response: httpcore2.Response, found: ResponseHeaders
    ) -> FetchedPage:
        masker = request.masker()
        page = metadata(request.text, request.url, response.status, found, masker)
        if request.method == "HEAD":
            return page
        if is_declared_binary(found.content_type):
            page["error"] = BINARY
            return page
        body = await self._body(request, response, found)
        return await with_content(
            request.context, page, body, request.form, request.max_bytes, masker
        )

    async def _body(
        self, request: FetchRequest, response: httpcore2.Response, found: ResponseHeaders
    ) -> Body:
        reader = Reader(decoder_of(found.get("content-encoding")), request.max_bytes)
        left = anyio.current_effective_deadline() - anyio.current_time()
        kept = _FINISH_SECONDS if request.form == "raw" else _CONVERT_SECONDS
        # Of a short call, half is for the body.
        seconds = min(self.timeouts.body, max(left - kept, left / 2))
        async with aclosing(response.aiter_stream()) as chunks:
            return await reader.read(chunks, seconds)


def _check_installed() -> None:
    """ProviderError if the extra is missing: everything else of Caps works without it."""
    if any(find_spec(name) is None for name in ("httpcore2", "html_to_markdown")):
        raise ProviderError("`web.fetch` needs the extra `web`; install `caps-runtime[web]`")


@contextmanager
def _respond_within(seconds: float, named: float) -> Iterator[None]:
    """ProviderError if the block takes longer; `named` is the time of the message."""
    with anyio.move_on_after(seconds) as clock:
        yield
    if clock.cancelled_caught:
        unit = "second" if named == 1 else "seconds"
        raise ProviderError(f"server did not respond within {named:g} {unit}")


async def _sent_headers(
    request: FetchRequest, addresses: Sequence[Address]
) -> list[tuple[str, str]]:
    """All headers of the request, with secrets filled in. Nothing before had their values."""
    ours = {
        "Host": request.url.authority,
        "User-Agent": _USER_AGENT,
        "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.8",
        "Accept-Encoding": ACCEPTED_ENCODINGS,
        "Connection": "close",
    }
    given = {name.lower() for name in request.headers}
    sent = [(name, value) for name, value in ours.items() if name.lower() not in given]
    secure = request.url.scheme == "https" or all(kind_of(each) == LOOPBACK for each in addresses)
    for name, value in request.headers.items():
        filled = await request.filled(value, secure=secure)
        if not is_sendable(filled):
            raise ProviderError(f"the secret in the header `{name}` is not printable ASCII")
        sent.append((name, filled))
    return sent
