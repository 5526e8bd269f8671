"""`/v1/approvals`: calls that wait for a person."""

from __future__ import annotations

from caps.client.message import Request, Route, json_body, read_as
from caps.client.values import Approval, ApprovalAnswer, Page

LIST = Route("GET", "/v1/approvals")
ALLOW = Route("POST", "/v1/approvals/{approval_id}/allow")
DENY = Route("POST", "/v1/approvals/{approval_id}/deny")


def list_approvals(*, limit: int = 50, cursor: str | None = None) -> Request[Page[Approval]]:
    """A page of one's calls that wait, oldest first; `approvals` iterates over all."""
    return Request(
        method=LIST.method,
        path=LIST.path(),
        query={"limit": limit, "cursor": cursor},
        read=read_as(Page[Approval]),
        is_repeatable=True,
    )


def allow_call(
    approval_id: str,
    *,
    reason: str | None = None,
    calls: int | None = None,
    seconds: int | None = None,
    reach: str | None = None,
) -> Request[ApprovalAnswer]:
    """Let a call go on, and with `calls` or `seconds` further ones. Nobody answers their own."""
    fields = {"reason": reason, "calls": calls, "seconds": seconds, "reach": reach}
    return Request(
        method=ALLOW.method,
        path=ALLOW.path(approval_id=approval_id),
        body=json_body(fields),
        read=read_as(ApprovalAnswer),
    )


def deny_call(approval_id: str, *, reason: str | None = None) -> Request[ApprovalAnswer]:
    """Refuse a call. Raises ConflictError if it was answered already."""
    return Request(
        method=DENY.method,
        path=DENY.path(approval_id=approval_id),
        body=json_body({"reason": reason}),
        read=read_as(ApprovalAnswer),
    )
