"""`/v1/audit`: records of the audit log of the service, and whether it is sound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caps.client.message import Request, Route, read_as
from caps.client.values import AuditReport, Page

QUERY = Route("GET", "/v1/audit")
VERIFY = Route("POST", "/v1/audit/verify")

# A log is read to its end, which may take a while.
_VERIFY_SECONDS = 600.0


def query_audit(
    *,
    execution: str | None = None,
    agent: str | None = None,
    principal: str | None = None,
    session: str | None = None,
    via: str | None = None,
    capability: str | None = None,
    decision: str | None = None,
    reason: str | None = None,
    kinds: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    value_hash: str | None = None,
    limit: int = 200,
    cursor: str | None = None,
) -> Request[Page[dict[str, Any]]]:
    """A page of records that match, oldest first, as documents; `audit_records` iterates over all.

    The filters are those of `caps audit query`. Who is not an admin finds their own records.
    """
    return Request(
        method=QUERY.method,
        path=QUERY.path(),
        query={
            "execution": execution,
            "agent": agent,
            "principal": principal,
            "session": session,
            "via": via,
            "capability": capability,
            "decision": decision,
            "reason": reason,
            "kind": tuple(kinds) or None,
            "since": since,
            "until": until,
            "value_hash": value_hash,
            "limit": limit,
            "cursor": cursor,
        },
        read=read_as(Page[dict[str, Any]]),
        is_repeatable=True,
    )


def verify_audit() -> Request[AuditReport]:
    """Verify the whole log there. Raises ConflictError if it is being verified already."""
    return Request(
        method=VERIFY.method,
        path=VERIFY.path(),
        read=read_as(AuditReport),
        seconds=_VERIFY_SECONDS,
    )
