"""What routes share: the base of bodies, answers in JSON, pages with cursors, idempotency keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from fastapi import Header, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema
from starlette.responses import Response

from caps.service.problems import Problem
from caps.store.repositories.idempotency_keys import IdempotencyKey

MAX_PAGE: Final = 200
REPLAYED: Final = "Idempotent-Replayed"


class Body(BaseModel):
    """Unknown keys are refused, and no value is converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("should have no NUL character")
    return text


StoredText = Annotated[str, AfterValidator(without_nul)]
JsonObject = Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query(max_length=64, pattern="^[0-9a-f-]+$")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]


def answer(
    document: Any, status: int = 200, headers: Mapping[str, str | None] | None = None
) -> Response:
    """A JSON answer; a header without a value is left out."""
    given = {name: value for name, value in (headers or {}).items() if value is not None}
    content = msgspec.json.encode(document)
    return Response(content, status, headers=given, media_type="application/json")


def page(items: list[dict[str, Any]], limit: int) -> Response:
    """A page of items that each have an `id`; `next_cursor` is null on the last one.

    `items` may have one more than `limit`, which says that there is another page.
    """
    shown = items[:limit]
    more = len(items) > limit
    return answer({"items": shown, "next_cursor": shown[-1]["id"] if more else None})


async def fingerprint(request: Request) -> str:
    """The digest of a request, by which its repeat is known."""
    digest = hashlib.sha256(f"{request.method} {request.url.path}\n".encode())
    digest.update(await request.body())
    return digest.hexdigest()


def is_replay(claimed: IdempotencyKey, digest: str, resource: str) -> bool:
    """Whether the key was claimed before, by the same request. Problem (422) if by another."""
    if claimed.fingerprint != digest:
        raise Problem(
            422,
            "idempotency_key_reused",
            "the key belongs to another request; use a new one",
            path="header.Idempotency-Key",
        )
    return claimed.resource != resource
