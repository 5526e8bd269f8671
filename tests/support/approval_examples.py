"""Approval requests that tests share."""

from __future__ import annotations

from typing import Any

from caps.security.approvals.model import ApprovalRequest, new_approval_id


def approval_request(approval_id: str | None = None, **changes: Any) -> ApprovalRequest:
    """A request to delete a file, with `changes` to its fields."""
    fields: dict[str, Any] = {
        "id": approval_id or new_approval_id(),
        "execution_id": "e1",
        "principal": "alice",
        "request_id": "r1",
        "capability": "files.delete",
        "rule": "files.delete",
        "policy_id": "p",
        "policy_sha256": "ab" * 32,
        "shown": {"path": "a.txt"},
        "hidden": [],
        "asked_at": "2025-01-01T00:00:00+00:00",
        "expires_at": "2025-01-01T00:05:00+00:00",
    }
    return ApprovalRequest(**{**fields, **changes})
