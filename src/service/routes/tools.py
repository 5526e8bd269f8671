"""`/v1/tools` and `/api/tools`: signed tool cards. A published version never changes."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Path, Query, Request
from sqlalchemy import Connection
from starlette.responses import Response

from caps.agents.tool_cards.card import MAX_CARD_BYTES, GivenCard, card_of
from caps.agents.tool_cards.tool_cards import CheckedCard
from caps.security.policies.load import json_place
from caps.security.policies.plain_json import NotJsonError
from caps.security.policies.strict_json import strict_json
from caps.service.bodies import REPLAYED, Key, Limit, answer, fingerprint, is_replay
from caps.service.description.shapes import named, page_of
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, ServiceGiven
from caps.service.signin.roles import Role
from caps.store.repositories.idempotency_keys import IdempotencyKeys

router = APIRouter(route_class=SecuredRoute, tags=["tools"])

# The card itself and what is around it.
_MAX_BODY: Final = MAX_CARD_BYTES + 64
_SCHEMA: Final = {
    "type": "object",
    "required": ["tool_card"],
    "additionalProperties": False,
    "properties": {"tool_card": {"type": "object"}},
}
_BODY: Final = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _SCHEMA}}}
}
CardCursor = Annotated[str | None, Query(max_length=400, pattern="^([0-9a-f]{2})+$")]
CardName = Annotated[str, Path(max_length=140)]
CardVersion = Annotated[str, Path(max_length=70)]


@router.post(
    "/api/tools",
    status_code=201,
    openapi_extra={
        **needs(Role.PUBLISHER, 409, answers={200: named("ToolCard"), 201: named("ToolCard")}),
        **_BODY,
    },
)
@router.post(
    "/v1/tools",
    status_code=201,
    openapi_extra={
        **needs(Role.PUBLISHER, 409, answers={200: named("ToolCard"), 201: named("ToolCard")}),
        **_BODY,
    },
)
async def publish_tool(
    request: Request, service: ServiceGiven, caller: Caller, key: Key = None
) -> Response:
    """Sign a card and keep it, as `{"tool_card": {…}}`; the same card again changes nothing."""
    card = _given(await request.body())
    digest, resource = await fingerprint(request), f"{card.name} {card.version}"

    def claim(connection: Connection) -> None:
        if key is not None:
            claimed = IdempotencyKeys(connection).claim(caller.name, key, digest, resource)
            is_replay(claimed, digest, resource)

    administration = service.cards.administration(service.administrator(caller))
    published = await administration.publish(card, claim)
    await service.cards.watch.check()
    headers = {
        "Location": f"/v1/tools/{published.card.name}/{published.card.version}",
        REPLAYED: None if published.is_new else "true",
    }
    document = msgspec.to_builtins(published.card)
    return answer(document, 201 if published.is_new else 200, headers)


@router.get("/api/tools", openapi_extra=needs(Role.VIEWER, answers={200: page_of("CheckedCard")}))
@router.get("/v1/tools", openapi_extra=needs(Role.VIEWER, answers={200: page_of("CheckedCard")}))
async def list_tools(
    service: ServiceGiven, limit: Limit = 200, cursor: CardCursor = None
) -> Response:
    """Cards by name and version; `problem` says why one is not valid."""
    found = await service.cards.cards.page(_after(cursor), limit + 1)
    items, more = found[:limit], len(found) > limit
    last = items[-1].row if more else None
    following = None if last is None else f"{last.name} {last.version}".encode().hex()
    return answer({"items": [_document(each) for each in items], "next_cursor": following})


@router.get(
    "/v1/tools/{name}", openapi_extra=needs(Role.VIEWER, answers={200: named("CheckedCard")})
)
async def get_tool(name: CardName, service: ServiceGiven) -> Response:
    """The version of a card that was published last."""
    return answer(_document(await service.cards.cards.find(name)))


@router.get(
    "/v1/tools/{name}/{version}",
    openapi_extra=needs(Role.VIEWER, answers={200: named("CheckedCard")}),
)
async def get_tool_version(name: CardName, version: CardVersion, service: ServiceGiven) -> Response:
    """One version of a card."""
    return answer(_document(await service.cards.cards.find(name, version)))


def _given(body: bytes) -> GivenCard:
    """The card in the body. It is read more strictly than other bodies: it is signed."""
    if len(body) > _MAX_BODY:
        raise Problem(413, "body_too_large", f"a card has at most {MAX_CARD_BYTES} bytes")
    try:
        value = strict_json(body.decode())
    except NotJsonError as error:
        raise Problem(400, "json_invalid", str(error), path=json_place(error.path)) from None
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise Problem(400, "json_invalid", "the body is not valid JSON") from None
    if not isinstance(value, dict) or list(value) != ["tool_card"]:
        raise Problem(422, "request_invalid", 'the body should be `{"tool_card": {…}}`', path="$")
    card = value["tool_card"]
    if not isinstance(card, dict):
        raise Problem(422, "request_invalid", "the card should be an object", path="tool_card")
    return card_of(card)


def _after(cursor: str | None) -> tuple[str, str] | None:
    if cursor is None:
        return None
    try:
        name, found, version = bytes.fromhex(cursor).decode().partition(" ")
    except UnicodeDecodeError:
        found = ""
    if not found or "\0" in name + version:
        raise Problem(422, "cursor_invalid", "use the `next_cursor` of a page", path="query.cursor")
    return name, version


def _document(each: CheckedCard) -> dict[str, Any]:
    card = {} if each.card is None else msgspec.to_builtins(each.card)
    return {
        "name": each.row.name,
        "version": each.row.version,
        **card,
        "problem": each.problem,
        "created_at": each.row.created_at,
        "updated_at": each.row.updated_at,
    }
