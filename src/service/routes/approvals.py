"""`/v1/approvals`: calls that wait for a person. Nobody answers a request of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec
from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import Response

from caps.security.approvals.model import (
    MAX_CALLS,
    MAX_NAME_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_SECONDS,
    ApprovalAnswer,
    ApprovalScope,
    is_approval_id,
)
from caps.service.bodies import Body, Cursor, Limit, StoredText, answer
from caps.service.description.shapes import named, page_of
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, Service, ServiceGiven
from caps.service.signin.roles import Principal, Role
from caps.store.repositories.approvals import Approvals, StoredApproval

router = APIRouter(route_class=SecuredRoute, tags=["approvals"])

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
Reason = Annotated[StoredText, Field(max_length=MAX_REASON_CHARACTERS)]


class Allowance(Body):
    """What an approval covers: by default the one call."""

    reason: Reason | None = None
    calls: Annotated[int, Field(ge=1, le=MAX_CALLS)] | None = None
    seconds: Annotated[int, Field(ge=1, le=MAX_SECONDS)] | None = None
    reach: Literal["execution", "principal"] = "execution"


class Refusal(Body):
    """Why not."""

    reason: Reason | None = None


@router.get("/v1/approvals", openapi_extra=needs(Role.VIEWER, answers={200: page_of("Approval")}))
async def list_approvals(
    service: ServiceGiven, caller: Caller, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    """The caller's calls that wait, oldest first; those of everybody for an admin."""
    principal = None if caller.role is Role.ADMIN else caller.name
    after = None if cursor is None else _after(cursor)
    found = await service.store.read(
        lambda connection: Approvals(connection).pending(principal, after=after, limit=limit + 1)
    )
    last = found[limit - 1] if len(found) > limit else None
    items = [msgspec.Raw(each.request.encode()) for each in found[:limit]]
    return answer({"items": items, "next_cursor": None if last is None else _cursor(last)})


@router.post(
    "/v1/approvals/{approval_id}/allow",
    openapi_extra=needs(Role.ADMIN, 409, answers={200: named("ApprovalAnswer")}),
)
async def allow_call(
    approval_id: str, body: Allowance, service: ServiceGiven, caller: Caller
) -> Response:
    """Let the call go on."""
    covered = {"calls": body.calls, "seconds": body.seconds, "reach": ApprovalScope(body.reach)}
    return await _answered(service, caller, approval_id, body.reason, allowed=True, **covered)


@router.post(
    "/v1/approvals/{approval_id}/deny",
    openapi_extra=needs(Role.ADMIN, 409, answers={200: named("ApprovalAnswer")}),
)
async def deny_call(
    approval_id: str, body: Refusal, service: ServiceGiven, caller: Caller
) -> Response:
    """Refuse the call."""
    return await _answered(service, caller, approval_id, body.reason, allowed=False)


async def _answered(
    service: Service, caller: Principal, approval_id: str, reason: str | None, **fields: Any
) -> Response:
    if len(caller.name) > MAX_NAME_CHARACTERS:
        what = f"only principals with at most {MAX_NAME_CHARACTERS} characters can answer"
        raise Problem(403, "principal_too_long", what)
    try:
        given = ApprovalAnswer(by=caller.name, reason=reason, **fields)
    except ValueError as error:
        raise Problem(422, "request_invalid", str(error), path="$") from None
    text = msgspec.json.encode(given).decode()

    def work(connection: Connection) -> StoredApproval | None:
        approvals = Approvals(connection)
        found = approvals.find(approval_id) if is_approval_id(approval_id) else None
        if found is None:
            raise Problem(404, "approval_unknown", "no call waits for this approval")
        if found.principal == caller.name:
            raise Problem(403, "approval_own", "somebody else must answer a request of your own")
        return found if approvals.answer(approval_id, text) else None

    if await service.store.write(work) is None:
        raise Problem(409, "approval_answered", "it was answered already")
    return answer({"id": approval_id, **msgspec.to_builtins(given)})


def _cursor(last: StoredApproval) -> str:
    return f"{(last.asked_at - _EPOCH) // _MICROSECOND:x}-{last.id}"


def _after(cursor: str) -> tuple[datetime, str]:
    at, _, last = cursor.partition("-")
    try:
        if not is_approval_id(last):
            raise ValueError
        return _EPOCH + int(at, 16) * _MICROSECOND, last
    except (ValueError, OverflowError):
        raise Problem(
            422, "cursor_invalid", "use the `next_cursor` of a page", path="query.cursor"
        ) from None
