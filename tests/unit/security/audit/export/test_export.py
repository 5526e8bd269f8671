"""Exports are what their standards ask for, and lose no record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import jsonschema_rs
import pytest
from click.testing import CliRunner, Result

from caps.cli.audit import audit
from caps.security.audit import (
    AdminAction,
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    AuditEvent,
    AuditLog,
    CallStatus,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    GrantRevoked,
    KeyRotated,
    LimitReached,
    LogRecovered,
    OutcomeRecorded,
    PolicyLoaded,
    ProtocolViolated,
    SegmentClosed,
    SegmentOpened,
    SinkFailed,
    SinkRecovered,
    Withheld,
)
from caps.security.audit.query.filters import KINDS
from support.audit_examples import decision

WHO: dict[str, Any] = {"execution_id": "exec-0001", "principal": "local"}

EVENTS: list[AuditEvent] = [
    PolicyLoaded(
        policy_id="p", policy_sha256="0", source="p.json", status="refused", message="not JSON"
    ),
    ExecutionStarted(
        **WHO,
        agent="planner",
        session="s1",
        policy_id="reader",
        policy_sha256="0",
        source_sha256="0",
        granted=["files.read"],
        withheld=[Withheld(capability="files.write", reason="not_allowed")],
        isolation={"kernel": "fully"},
        degraded="kernel",
    ),
    decision("r1", agent="planner", session="s1"),
    OutcomeRecorded(
        **WHO,
        request_id="r1",
        capability="files.read",
        status=CallStatus.PROVIDER_ERROR,
        reason="gone",
        duration_us=12_345,
        bytes_out=5,
    ),
    decision("r2", decision="deny", reason="scope_violation", rule=None, message="not beneath it"),
    LimitReached(**WHO, limit="calls", allowed=5, message="too many"),
    ProtocolViolated(**WHO, violation="bad_frame", message="\x1b[2Jgarbage"),
    AdminAction(
        principal="ada", action="signing_key_revoke", subject="k1", status="failed", message="gone"
    ),
    SegmentClosed(reason="age"),
    SegmentOpened(log="l", segment=2, previous="a", previous_seq=1, previous_hash="0"),
    KeyRotated(old_key_id="a", new_key_id="b", new_public_key="c", signature="d"),
    SinkFailed(sink="syslog", mode="required", message="late"),
    SinkRecovered(sink="syslog", mode="required", dropped=0, resent=3),
    LogRecovered(dropped_bytes=3, dropped_sha256="0"),
    GrantRevoked(**WHO, rule="files.*", capabilities=["files.read"], by="ada", note="too much"),
    ApprovalRequested(
        **WHO,
        approval="a1",
        request_id="r3",
        capability="files.delete",
        rule="files.delete",
        policy_id="reader",
        policy_sha256="0",
        args_hmac="0",
        shown={},
        hidden={},
        timeout_ms=5,
    ),
    ApprovalSettled(
        **WHO,
        approval="a1",
        request_id="r3",
        capability="files.delete",
        outcome=ApprovalOutcome.DENIED,
        by="ada",
        note="not today",
    ),
    ExecutionEnded(
        **WHO,
        status=ExecutionStatus.CODE_FAILED,
        error_code="execution_error",
        error_message="boom",
        duration_us=99,
        calls=1,
        output_bytes=0,
    ),
]

TEXT = {"type": "string", "minLength": 1}
# What OCSF 1.6 requires of API Activity, with the constraints of the objects in it.
OCSF = {
    "type": "object",
    "required": "activity_id category_uid class_uid type_uid time severity_id metadata actor api "
    "src_endpoint".split(),
    "properties": {
        "class_uid": {"const": 6003},
        "category_uid": {"const": 6},
        "activity_id": {"enum": [0, 1, 2, 3, 4, 99]},
        "activity_name": TEXT,
        "type_uid": {"const": 600399},
        "time": {"type": "integer", "minimum": 1_500_000_000_000, "maximum": 9_999_999_999_999},
        "severity_id": {"enum": [0, 1, 2, 3, 4, 5, 6, 99]},
        "status_id": {"enum": [0, 1, 2, 99]},
        "action_id": {"enum": [0, 1, 2]},
        "disposition_id": {"type": "integer"},
        "duration": {"type": "integer"},
        "message": {"type": "string"},
        "metadata": {
            "type": "object",
            "required": ["version", "product"],
            "properties": {
                "version": {"type": "string", "pattern": r"^1\.\d+\.\d+$"},
                "product": {
                    "type": "object",
                    "required": ["name", "vendor_name"],
                    "properties": {"name": TEXT, "vendor_name": TEXT, "version": TEXT},
                },
                "profiles": {"type": "array", "items": {"enum": ["security_control"]}},
                "sequence": {"type": "integer"},
                "uid": TEXT,
            },
        },
        "actor": {
            "type": "object",
            "anyOf": [{"required": ["user"]}, {"required": ["app_name"]}],
            "properties": {
                "user": {"type": "object", "anyOf": [{"required": ["uid"]}, {"required": ["name"]}]}
            },
        },
        "api": {
            "type": "object",
            "required": ["operation"],
            "properties": {
                "operation": TEXT,
                "request": {"type": "object", "required": ["uid"]},
                "service": {"type": "object", "anyOf": [{"required": ["name"]}]},
            },
        },
        "src_endpoint": {
            "type": "object",
            "anyOf": [{"required": ["instance_uid"]}, {"required": ["svc_name"]}],
        },
        "unmapped": {"type": "object"},
    },
    "dependentRequired": {"disposition_id": ["action_id"], "action_id": ["disposition_id"]},
}
# CloudEvents 1.0, structured mode in JSON.
CLOUD_EVENT = {
    "type": "object",
    "required": "specversion id source type".split(),
    "properties": {
        "specversion": {"const": "1.0"},
        "id": TEXT,
        "source": {**TEXT, "format": "uri-reference"},
        "type": {"type": "string", "pattern": "^caps\\.audit\\.[a-z_]+\\.v[0-9]+$"},
        "subject": TEXT,
        "time": {"type": "string", "format": "date-time"},
        "datacontenttype": {"const": "application/json"},
        "sequence": TEXT,
        "data": {"type": "object", "required": ["seq", "prev", "hash", "kind"]},
    },
    "propertyNames": {"pattern": "^[a-z0-9]{1,20}$"},
    "additionalProperties": False,
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    async def write() -> None:
        async with AuditLog.open(tmp_path / "log") as log:
            for event in EVENTS:
                await log.append(event)

    anyio.run(write)
    return tmp_path / "log"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(audit, [str(item) for item in arguments])


def exported(log: Path, form: str, *options: object) -> list[dict[str, Any]]:
    result = run("export", "--audit", log, "--format", form, *options)
    assert result.exit_code == 0, result.output
    assert result.output.isascii()
    return [json.loads(line) for line in result.output.splitlines()]


def recorded(log: Path) -> list[dict[str, Any]]:
    output = run("show", "--audit", log, "--json").output
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize(("form", "schema"), [("ocsf", OCSF), ("cloudevents", CLOUD_EVENT)])
def test_every_record_is_exported_as_its_standard_asks(
    log: Path, form: str, schema: dict[str, Any]
) -> None:
    """Whatever its kind."""
    validator = jsonschema_rs.validator_for(schema, validate_formats=True)
    events = exported(log, form)
    assert len(events) == len(EVENTS) + 1
    assert {record["kind"] for record in recorded(log)} == set(KINDS)
    for event in events:
        assert [error.message for error in validator.iter_errors(event)] == []


def test_a_cloud_event_carries_the_record(log: Path) -> None:
    """Known by its hash, about its execution, from where the operator says."""
    records = recorded(log)
    events = exported(log, "cloudevents", "--source", "https://example.org/caps")
    assert [event["data"] for event in events] == records
    assert [event["id"] for event in events] == [record["hash"] for record in records]
    assert "subject" not in events[0]
    assert events[3]["subject"] == "exec-0001"
    assert events[3]["type"] == "caps.audit.decision_made.v2"
    assert {event["source"] for event in events} == {"https://example.org/caps"}
    numbers = [event["sequence"] for event in events]
    assert numbers == sorted(numbers)


def by_kind(log: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for event in exported(log, "ocsf"):
        found.setdefault(event["activity_name"], []).append(event)
    return found


def test_an_ocsf_denial_is_blocked(log: Path) -> None:
    """With the profile that has dispositions, the policy and the reason."""
    allowed, denied = by_kind(log)["decision_made"]
    assert (denied["action_id"], denied["disposition_id"], denied["status_id"]) == (2, 2, 2)
    assert denied["disposition"] == "Blocked"
    assert denied["status_detail"] == "scope_violation"
    assert denied["message"] == "not beneath it"
    assert denied["metadata"]["profiles"] == ["security_control"]
    assert denied["policy"] == {"uid": "ab" * 32, "name": "reader"}
    assert denied["severity_id"] > allowed["severity_id"]
    assert (allowed["action_id"], allowed["disposition_id"], allowed["status_id"]) == (1, 1, 1)


def test_ocsf_says_who_did_what(log: Path) -> None:
    """Actor, operation and request; the outcome is tied to its decision."""
    kinds = by_kind(log)
    call, outcome = kinds["decision_made"][0], kinds["outcome_recorded"][0]
    assert call["actor"]["user"]["name"] == "local"
    assert (call["actor"]["app_name"], call["actor"]["session"]) == ("planner", {"uid": "s1"})
    assert call["api"]["operation"] == "files.read"
    assert call["api"]["service"] == {"name": "files"}
    assert call["api"]["request"] == outcome["api"]["request"] == {"uid": "exec-0001/r1"}
    assert (outcome["status_id"], outcome["duration"]) == (2, 12)
    assert call["unmapped"]["shown"] == {"path": "./sandbox/a.txt"}
    assert kinds["execution_ended"][0]["api"]["response"] == {
        "error": "execution_error",
        "error_message": "boom",
    }
    assert kinds["log_opened"][0]["actor"] == {"app_name": "caps"}


def test_ocsf_weighs_what_happened(log: Path) -> None:
    """A broken protocol is worse than a refusal, and that is worse than a failure."""
    severity = {kind: events[-1]["severity_id"] for kind, events in by_kind(log).items()}
    assert severity == {
        "log_opened": 1,
        "policy_loaded": 3,
        "execution_started": 3,
        "decision_made": 3,
        "outcome_recorded": 2,
        "limit_reached": 3,
        "protocol_violated": 4,
        "admin_action": 2,
        "segment_closed": 1,
        "segment_opened": 1,
        "key_rotated": 1,
        "sink_failed": 3,
        "sink_recovered": 1,
        "log_recovered": 1,
        "grant_revoked": 3,
        "approval_requested": 1,
        "approval_settled": 2,
        "execution_ended": 2,
    }


def test_ocsf_time_is_that_of_the_record(log: Path) -> None:
    """In milliseconds, in addition to the signed text."""
    for event, record in zip(exported(log, "ocsf"), recorded(log), strict=True):
        assert event["metadata"]["original_time"] == record["ts"]
        assert f"{event['time'] % 1000:03d}" == record["ts"][20:23]


def test_filters_and_a_file(log: Path, tmp_path: Path) -> None:
    """The file appears whole, for its owner only, and nothing is printed."""
    target = tmp_path / "out.jsonl"
    options = ["--format", "ocsf", "--decision", "deny", "-o", target]
    result = run("export", "--audit", log, *options)
    assert (result.exit_code, result.output) == (0, "")
    assert len(target.read_text().splitlines()) == 1
    assert target.stat().st_mode & 0o777 == 0o600


def test_an_export_that_fails_leaves_the_file_as_it_was(log: Path, tmp_path: Path) -> None:
    """An incomplete export does not replace a file."""
    target = tmp_path / "out.jsonl"
    target.write_text("before")
    with (log / "audit-000001.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    result = run("export", "--audit", log, "--format", "ocsf", "-o", target)
    assert (result.exit_code, result.output.count("\n")) == (6, 1)
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "ocsf", "--source", "x"], "is the URI of CloudEvents"),
        (["--format", "cloudevents", "--source", ""], "and not empty"),
        (["--format", "ocsf", "-o", "/nowhere/at/all"], "cannot write `/nowhere/at/all`"),
    ],
)
def test_what_cannot_be_exported_is_bad_usage(log: Path, options: list[str], message: str) -> None:
    """One line."""
    result = run("export", "--audit", log, *options)
    assert (result.exit_code, result.output.count("\n")) == (2, 1)
    assert message in result.output
