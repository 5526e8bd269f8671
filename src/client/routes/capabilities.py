"""`/v1/capabilities`."""

from __future__ import annotations

from caps.client.message import Request, Route, read_as
from caps.client.values import Capability, Page

LIST = Route("GET", "/v1/capabilities")
GET = Route("GET", "/v1/capabilities/{capability_id}")


def list_capabilities() -> Request[Page[Capability]]:
    """All capabilities, by id."""
    return Request(
        method=LIST.method, path=LIST.path(), read=read_as(Page[Capability]), is_repeatable=True
    )


def get_capability(capability_id: str) -> Request[Capability]:
    """One capability with its tools and the schema of its settings."""
    path = GET.path(capability_id=capability_id)
    return Request(method=GET.method, path=path, read=read_as(Capability), is_repeatable=True)
