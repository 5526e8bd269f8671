"""What operators see: approvals, the audit log, policies, tool cards."""

from __future__ import annotations

from typing import Any

import msgspec


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a person."""

    id: str
    execution_id: str
    principal: str
    agent: str | None = None
    session: str | None = None
    request_id: str
    capability: str
    title: str = ""
    rule: str
    policy_id: str
    policy_sha256: str
    shown: dict[str, Any]
    hidden: tuple[str, ...]
    """The names of the arguments that are not shown."""
    asked_at: str
    expires_at: str


class ApprovalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How a waiting call was answered."""

    id: str
    allowed: bool
    by: str
    reason: str | None = None


class AuditReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an audit log is sound (`status` is `ok`), and if not, where it breaks."""

    status: str
    message: str
    records: int = 0
    segments: int = 0
    head_seq: int = 0
    head_hash: str = ""
    checkpoints: int = 0
    signed_seq: int = 0
    bad_file: str | None = None
    bad_line: int | None = None
    bad_seq: int | None = None


class PolicyInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One of the operator's policies. `sha256` names it when it is replaced."""

    id: str
    sha256: str
    terms_sha256: str
    can_be_replaced: bool
    policy: dict[str, Any]


class ToolCard(msgspec.Struct, frozen=True, kw_only=True):
    """The signed description of one version of a tool. `problem` says why one is not valid."""

    name: str
    version: str
    description: str | None = None
    agent_type: str | None = None
    input_schema: dict[str, Any] | None = None
    output_schema: dict[str, Any] | None = None
    cost_estimate: float | None = None
    side_effects: Any = None
    checksum: str | None = None
    signature: str | None = None
    key_id: str | None = None
    alg: str | None = None
    problem: str | None = None
