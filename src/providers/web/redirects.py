"""Following a redirect: a call of `web.fetch` of its own, nested in the one that was redirected.

So every hop is decided by the policies, limited and in the audit log, and a redirect reaches
nothing that its URL could not have reached directly. The method stays, since it is GET or HEAD. To
another origin only harmless headers go along, and those whose secrets allow the new host.
"""

from __future__ import annotations

from typing import Any, Final, cast

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.capabilities.secrets.handles import has_handle
from caps.providers.web.fetch import FetchedPage
from caps.providers.web.headers import ResponseHeaders, is_harmless
from caps.providers.web.request import FetchRequest
from caps.providers.web.url import Url, UrlError, parse_url, redirect_target

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})


def is_redirect(status: int, found: ResponseHeaders) -> bool:
    """Whether the response names another place; one without a place is an answer."""
    return status in _STATUSES and bool(found.get("location"))


async def follow(request: FetchRequest, found: ResponseHeaders) -> FetchedPage:
    """The answer of where the server redirects to.

    Raises ProviderError, ScopeViolationError, and what the nested call raises.
    """
    context = request.context
    if context.depth >= request.redirects:
        scope = min(request.scopes, key=lambda each: each.redirects)
        raise ScopeViolationError(
            "redirects", f"more than {request.redirects} redirects in a row", scope=scope
        )
    location = found.get("location") or ""
    if request.masker().is_in(location):
        raise ProviderError("the server redirects to a url with a secret in it; it is not followed")
    try:
        target = redirect_target(request.url, location)
    except UrlError as error:
        raise ProviderError(str(error)) from None
    payload: dict[str, Any] = {
        "url": target,
        "method": request.method,
        "as_markdown": request.form == "markdown",
        "as_text": request.form == "text",
        "headers": _headers_for(request, parse_url(target)),
    }
    page = cast(FetchedPage, await context.call(context.capability, payload))
    return {**page, "url": request.text, "final_url": page.get("final_url", page["url"])}


def _headers_for(request: FetchRequest, target: Url) -> dict[str, str]:
    """The headers that may go along."""
    if target.origin == request.url.origin:
        return dict(request.headers)
    secure = target.scheme == "https" or request.url.scheme == "http"
    return {
        name: value
        for name, value in request.headers.items()
        if (
            secure and request.handles.may_fill(request.context, value, target.host)
            if has_handle(value)
            else is_harmless(name)
        )
    }
