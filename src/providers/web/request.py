"""What is fetched, for whom and under which scopes: the arguments of a call, all checked."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from caps.capabilities.provider import CallContext, ProviderError, ScopeViolationError
from caps.capabilities.secrets.handles import HandleTable, has_handle, open_handles
from caps.capabilities.secrets.masking import Masker
from caps.protocol.errors import ValidationError
from caps.protocol.text import printable
from caps.providers.web.fetch import Form
from caps.providers.web.headers import checked_headers
from caps.providers.web.scope import WebScope
from caps.providers.web.url import Url, UrlError, parse_url


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One fetch. `make_request` makes it."""

    context: CallContext
    scopes: tuple[WebScope, ...]
    text: str
    """The URL as the caller gave it."""
    url: Url
    method: str
    form: Form
    headers: Mapping[str, str]
    """Those of the caller, with handles and without values."""
    handles: HandleTable

    @property
    def max_bytes(self) -> int:
        return min(scope.max_bytes for scope in self.scopes)

    @property
    def redirects(self) -> int:
        return min(scope.redirects for scope in self.scopes)

    def masker(self) -> Masker:
        """Masks every secret that the caller has a handle of."""
        return self.handles.masker(self.context)

    async def filled(self, value: str, *, secure: bool) -> str:
        """`value` with the secrets that it names. Raises ProviderError, ScopeViolationError."""
        if not has_handle(value):
            return value
        if not secure:
            raise ProviderError("a secret is sent by `https` only, or within this machine")
        return await self.handles.filled(self.context, value, self.url.host)


async def make_request(
    context: CallContext, text: str, method: str, form: Form, headers: Mapping[str, str]
) -> FetchRequest:
    """The request. Raises ValidationError, and ScopeViolationError as the broker would deny it."""
    try:
        url = parse_url(text)
    except UrlError as error:
        problem = {"path": "$.url", "expected": str(error), "got": printable(text, 80)}
        raise ValidationError(
            f"the payload of `web.fetch` is not valid: {error}",
            capability=context.capability,
            problems=[problem],
        ) from None
    scopes = context.scopes_as(WebScope)
    for scope in scopes:
        violation = scope.violation("fetch", {"url": text, "method": method})
        if violation is not None:
            raise ScopeViolationError(violation.rule, violation.message, scope=scope)
    return FetchRequest(
        context=context,
        scopes=scopes,
        text=text,
        url=url,
        method=method,
        form=form,
        headers=checked_headers(headers),
        handles=await context.resource(open_handles),
    )
