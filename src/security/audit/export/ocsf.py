"""(8) Records as events of the Open Cybersecurity Schema Framework, class API Activity (6003).

Every record becomes one event, so that the export is complete. The decision and the outcome of a
call are two events with the same `api.request.uid`. A record that is not about a capability has its
kind as the operation. Decisions carry the profile `security_control`: a denial has action Denied
and disposition Blocked. Whether a capability creates, reads, updates or deletes is not known here,
so the activity is Other, named after the kind. Fields without a place in the schema are in
`unmapped`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from caps.security.audit.model.records import (
    AdminAction,
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    AuditRecord,
    CallStatus,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    GrantRevoked,
    KeyRotated,
    LimitReached,
    LogOpened,
    LogRecovered,
    OutcomeRecorded,
    PolicyLoaded,
    ProtocolViolated,
    SegmentClosed,
    SegmentOpened,
    SinkFailed,
    SinkRecovered,
    kind_of,
)

SCHEMA_VERSION: Final = "1.6.0"
CLASS_UID: Final = 6003
CATEGORY_UID: Final = 6
_OTHER_ACTIVITY: Final = 99

_SUCCESS: Final = (1, "Success")
_FAILURE: Final = (2, "Failure")
_UNKNOWN: Final = (0, "Unknown")

_SETTLED: Final = {
    ApprovalOutcome.GIVEN: _SUCCESS,
    ApprovalOutcome.DENIED: _FAILURE,
    ApprovalOutcome.TIMED_OUT: _FAILURE,
    ApprovalOutcome.WITHDRAWN: _UNKNOWN,
}

_ADMINISTERED: Final = {"begun": _UNKNOWN, "done": _SUCCESS, "failed": _FAILURE}

_INFORMATIONAL: Final = (1, "Informational")
_LOW: Final = (2, "Low")
_MEDIUM: Final = (3, "Medium")
_HIGH: Final = (4, "High")

_ALLOWED: Final = {
    "action_id": 1,
    "action": "Allowed",
    "disposition_id": 1,
    "disposition": "Allowed",
}
_BLOCKED: Final = {
    "action_id": 2,
    "action": "Denied",
    "disposition_id": 2,
    "disposition": "Blocked",
}

# Fields that have their own place in the event, and so are not repeated in `unmapped`.
_MAPPED: Final = frozenset(
    "kind execution_id principal agent session capability request_id message status policy_id "
    "policy_sha256 error_code error_message note duration_us".split()
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def ocsf_event(record: AuditRecord, product_version: str = "unknown") -> dict[str, Any]:
    """Return a record as one API Activity event."""
    event = record.event
    kind = kind_of(event)
    fields: dict[str, Any] = msgspec.to_builtins(event)
    status_id, status = _status(record)
    severity_id, severity = _severity(record)
    found: dict[str, Any] = {
        "class_uid": CLASS_UID,
        "class_name": "API Activity",
        "category_uid": CATEGORY_UID,
        "category_name": "Application Activity",
        "activity_id": _OTHER_ACTIVITY,
        "activity_name": kind,
        "type_uid": CLASS_UID * 100 + _OTHER_ACTIVITY,
        "type_name": f"API Activity: {kind}",
        "time": _milliseconds(record.ts),
        "severity_id": severity_id,
        "severity": severity,
        "status_id": status_id,
        "status": status,
        "metadata": _metadata(record, kind, product_version),
        "actor": _actor(fields),
        "api": _api(fields, kind),
        "src_endpoint": _source(fields),
        **_control(record),
        "unmapped": _unmapped(record, fields),
    }
    if message := fields.get("message") or fields.get("error_message") or fields.get("note"):
        found["message"] = message
    if detail := fields.get("reason") or fields.get("error_code"):
        found["status_detail"] = detail
    if "duration_us" in fields:
        found["duration"] = fields["duration_us"] // 1000
    return found


def _metadata(record: AuditRecord, kind: str, product_version: str) -> dict[str, Any]:
    controlled = isinstance(record.event, DecisionMade)
    return {
        "version": SCHEMA_VERSION,
        "product": {"name": "Caps", "vendor_name": "Caps", "version": product_version},
        "profiles": ["security_control"] if controlled else [],
        "uid": record.hash,
        "sequence": record.seq,
        "event_code": kind,
        "log_name": "caps.audit",
        "log_version": str(record.v),
        "original_time": record.ts,
    }


def _actor(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the caller and the agent that acted for it, or the host itself if there is none."""
    if "principal" not in fields:
        return {"app_name": "caps"}
    actor: dict[str, Any] = {
        "app_name": fields.get("agent") or "caps",
        "user": {"name": fields["principal"], "uid": fields["principal"]},
    }
    if "session" in fields:
        actor["session"] = {"uid": fields["session"]}
    return actor


def _api(fields: dict[str, Any], kind: str) -> dict[str, Any]:
    capability: str | None = fields.get("capability")
    domain = "caps" if capability is None else capability.partition(".")[0]
    api: dict[str, Any] = {
        "operation": kind if capability is None else capability,
        "service": {"name": domain},
    }
    if "request_id" in fields:
        # A request id is unique within its execution only.
        api["request"] = {"uid": f"{fields['execution_id']}/{fields['request_id']}"}
    if "error_code" in fields:
        api["response"] = {
            "error": fields["error_code"],
            "error_message": fields.get("error_message", ""),
        }
    return api


def _source(fields: dict[str, Any]) -> dict[str, Any]:
    if "execution_id" not in fields:
        return {"svc_name": "caps"}
    return {"svc_name": "caps worker", "instance_uid": fields["execution_id"]}


def _control(record: AuditRecord) -> dict[str, Any]:
    event = record.event
    if not isinstance(event, DecisionMade):
        return {}
    policy = {"uid": event.policy_sha256, "name": event.policy_id}
    return {**(_BLOCKED if event.decision == "deny" else _ALLOWED), "policy": policy}


def _status(record: AuditRecord) -> tuple[int, str]:
    match record.event:
        case DecisionMade(decision="deny") | LimitReached() | ProtocolViolated() | SinkFailed():
            return _FAILURE
        case ApprovalSettled(outcome=outcome):
            return _SETTLED[outcome]
        case AdminAction(status=action):
            return _ADMINISTERED[action]
        case OutcomeRecorded(status=call):
            return _SUCCESS if call in (CallStatus.OK, CallStatus.REPLAYED) else _FAILURE
        case ExecutionEnded(status=execution):
            return _SUCCESS if execution is ExecutionStatus.OK else _FAILURE
        case PolicyLoaded(status=loaded):
            return _SUCCESS if loaded == "accepted" else _FAILURE
        case DecisionMade() | ExecutionStarted() | GrantRevoked():
            return _SUCCESS
        case LogOpened() | SegmentClosed() | SegmentOpened() | KeyRotated() | SinkRecovered():
            return _SUCCESS
        case ApprovalRequested() | LogRecovered():
            return _UNKNOWN


def _severity(record: AuditRecord) -> tuple[int, str]:
    match record.event:
        case ProtocolViolated():
            return _HIGH  # an honest worker never does that
        case DecisionMade(decision="deny") | LimitReached() | PolicyLoaded(status="refused"):
            return _MEDIUM
        case ExecutionStarted(degraded=str()) | GrantRevoked() | SinkFailed():
            return _MEDIUM
        case _:
            return _LOW if _status(record) == _FAILURE else _INFORMATIONAL


def _unmapped(record: AuditRecord, fields: dict[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in fields.items() if name not in _MAPPED}
    if not isinstance(record.event, DecisionMade):
        rest |= {name: fields[name] for name in ("policy_id", "policy_sha256") if name in fields}
    if "status" in fields:
        rest["status"] = fields["status"]
    return {**rest, "prev": record.prev}


def _milliseconds(ts: str) -> int:
    return (datetime.fromisoformat(ts) - _EPOCH) // timedelta(milliseconds=1)
