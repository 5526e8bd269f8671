"""`/v1/audit`: what was decided and done. Everybody finds their own records; an admin finds all.

Hints for the operator (the nearest rule that would have allowed a call) are for admins only.
"""

from __future__ import annotations

import functools
from dataclasses import fields
from typing import Annotated, Any, Final, Literal

import anyio
import anyio.to_thread
from fastapi import APIRouter, Query
from starlette.responses import Response

from caps.protocol.ways import Via
from caps.security.audit.model.chain import record_fields
from caps.security.audit.query.filters import RecordFilter, parse_digest, parse_moment
from caps.security.audit.query.pages import Place, read_page
from caps.service.bodies import Cursor, Limit, answer
from caps.service.description.shapes import named, page_of
from caps.service.problems import Problem
from caps.service.secured_route import SecuredRoute, needs
from caps.service.service import Caller, ServiceGiven
from caps.service.signin.roles import Principal, Role

router = APIRouter(route_class=SecuredRoute, tags=["audit"])

_FOR_OPERATORS: Final = ("nearest",)
_MAX_DIGITS: Final = 15
Word = Annotated[str | None, Query(min_length=1, max_length=256)]
Kinds = Annotated[list[str], Query(max_length=32)]
Moment = Annotated[str | None, Query(min_length=1, max_length=64)]


@router.get("/v1/audit", openapi_extra=needs(Role.VIEWER, answers={200: page_of("AuditRecord")}))
async def query_audit(
    service: ServiceGiven,
    caller: Caller,
    limit: Limit = 50,
    cursor: Cursor = None,
    execution: Word = None,
    agent: Word = None,
    principal: Word = None,
    session: Word = None,
    via: Via | None = None,
    capability: Word = None,
    decision: Literal["allow", "deny"] | None = None,
    reason: Word = None,
    kind: Kinds = [],  # noqa: B006 - it is the default of the description, and not changed
    since: Moment = None,
    until: Moment = None,
    value_hash: Word = None,
) -> Response:
    """Records of the log of this instance that match, oldest first.

    A page reads a bounded part of the log: it may be empty and still have a `next_cursor`.
    """
    record_filter = RecordFilter(
        execution=execution,
        agent=agent,
        principal=_visible(caller, principal),
        session=session,
        via=via,
        capability=capability,
        decision=decision,
        reason=reason,
        kinds=frozenset(kind),
        since=None if since is None else parse_moment(since),
        until=None if until is None else parse_moment(until),
        value_hash=None if value_hash is None else parse_digest(value_hash),
    )
    read = functools.partial(
        read_page,
        service.audit_directory,
        record_filter.matches,
        after=_place(cursor),
        limit=limit,
    )
    found = await anyio.to_thread.run_sync(read, limiter=service.audit_readers)
    following = None if found.next is None else f"{found.next.segment:x}-{found.next.offset:x}"
    items = [record_fields(record) for record in found.records]
    if caller.role is not Role.ADMIN:
        for item in items:
            for name in _FOR_OPERATORS:
                item.pop(name, None)
    return answer({"items": items, "next_cursor": following})


@router.post(
    "/v1/audit/verify", openapi_extra=needs(Role.ADMIN, 409, answers={200: named("AuditReport")})
)
async def verify_audit(service: ServiceGiven) -> Response:
    """Verify the whole log of this instance; one verification at a time."""
    from caps.security.audit.verify.verify import verify_log

    try:
        service.verifying.acquire_nowait()
    except anyio.WouldBlock:
        raise Problem(409, "verification_under_way", "the log is being verified already") from None
    try:
        report = await anyio.to_thread.run_sync(
            verify_log, service.audit_directory, limiter=service.audit_readers
        )
    finally:
        service.verifying.release()
    document: dict[str, Any] = {each.name: getattr(report, each.name) for each in fields(report)}
    return answer({**document, "status": report.status.value})


def _visible(caller: Principal, principal: str | None) -> str | None:
    """Whose records are read."""
    if caller.role is Role.ADMIN:
        return principal
    if principal not in (None, caller.name):
        raise Problem(403, "role_too_low", "only an admin reads the records of others")
    return caller.name


def _place(cursor: str | None) -> Place:
    if cursor is None:
        return Place()
    parts = cursor.split("-")
    if len(parts) != 2 or not all(0 < len(part) <= _MAX_DIGITS for part in parts):
        raise Problem(422, "cursor_invalid", "use the `next_cursor` of a page", path="query.cursor")
    return Place(int(parts[0], 16), int(parts[1], 16))  # hexadecimal digits, by its pattern
