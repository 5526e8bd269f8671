"""Events are checked against what a record may contain, so that they can always be written."""

from __future__ import annotations

import typing
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from caps.protocol.errors import AuditError
from caps.security.audit import AuditEvent, CallStatus, ExecutionStarted, OutcomeRecorded, Withheld
from caps.security.audit.model.chain import ORIGIN, Link, check_link, decode, record_fields
from caps.security.audit.model.records import ENVELOPE_FIELDS, kind_of, timestamp, timestamps
from caps.security.audit.model.sanitize import (
    MAX_DETAIL_CHARS,
    MAX_INTEGER,
    MAX_TEXT_CHARS,
    encode_event,
)
from support.audit_examples import decision, seal


def written(event: AuditEvent) -> bytes:
    line, _ = seal(encode_event(event), timestamp(), ORIGIN)
    assert isinstance(check_link(line[:-1]), Link)
    return line[:-1]


def outcome(**changes: object) -> OutcomeRecorded:
    fields: dict[str, object] = {
        "execution_id": "e",
        "principal": "p",
        "request_id": "r",
        "capability": "files.read",
        "status": CallStatus.OK,
        "duration_us": 12,
        "bytes_out": 3,
    }
    return OutcomeRecorded(**{**fields, **changes})  # type: ignore[arg-type]


def test_no_event_has_a_field_of_the_envelope() -> None:
    """Event and envelope share one flat object, so their names must differ."""
    for event_class in typing.get_args(AuditEvent):
        assert not set(event_class.__struct_fields__) & set(ENVELOPE_FIELDS)


def test_kinds_are_distinct() -> None:
    """The field `kind` alone says which event a record holds."""
    tags = [event_class.__struct_config__.tag for event_class in typing.get_args(AuditEvent)]
    assert len(set(tags)) == len(tags) == 18


def test_a_record_reads_back_as_the_event_that_was_written() -> None:
    """Nothing is lost between an event and the record that is read."""
    event = decision(agent="planner", idempotency_key_hmac="hmac-sha256:00")
    record = decode(written(event))
    assert record.event == event
    assert (record.seq, record.v, kind_of(record.event)) == (1, 2, "decision_made")


def test_the_flat_form_of_a_record_is_its_line() -> None:
    """`record_fields` gives the object as on disk."""
    line = written(decision())
    assert record_fields(decode(line)) == msgspec.json.decode(line)


def test_absent_values_are_absent_fields() -> None:
    """None is not written."""
    fields = msgspec.json.decode(written(decision(rule=None)))
    assert not {"rule", "agent", "session", "nearest"} & set(fields)
    assert None not in fields.values()


def test_a_shown_null_stays() -> None:
    """An argument that is null is shown as null."""
    assert msgspec.json.decode(written(decision(shown={"path": None})))["shown"] == {"path": None}


@pytest.mark.parametrize(
    ("field", "limit"), [("detail", MAX_DETAIL_CHARS), ("reason", MAX_TEXT_CHARS)]
)
def test_a_long_text_is_cut_with_a_marker(field: str, limit: int) -> None:
    """The cut is visible, and says how much is missing."""
    event = decode(written(outcome(**{field: "x" * (limit + 7)}))).event
    assert getattr(event, field) == "x" * limit + "...[7 more characters]"


def test_a_text_at_its_limit_is_whole() -> None:
    """The limit itself is allowed."""
    event = decode(written(outcome(detail="x" * MAX_DETAIL_CHARS))).event
    assert isinstance(event, OutcomeRecorded)
    assert event.detail == "x" * MAX_DETAIL_CHARS


def test_a_long_shown_value_is_cut() -> None:
    """Shown arguments have the same limit as other strings."""
    shown = msgspec.json.decode(written(decision(shown={"path": "y" * 5000})))["shown"]
    assert shown["path"] == "y" * MAX_TEXT_CHARS + f"...[{5000 - MAX_TEXT_CHARS} more characters]"


@pytest.mark.parametrize("place", ["message", "shown"])
def test_a_lone_surrogate_is_escaped(place: str) -> None:
    """Text that is not Unicode can still be evidence."""
    bad = "a\ud800b"
    event = decision(shown={"path": bad}) if place == "shown" else decision(message=bad)
    assert b"a\\\\ud800b" in written(event)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**53, "9007199254740992"),
        (-(2**70), str(-(2**70))),
        (1.5, "1.5"),
        (float("nan"), "nan"),
        (True, True),
        (MAX_INTEGER, MAX_INTEGER),
    ],
)
def test_a_shown_number_is_exact_or_a_text(value: object, expected: object) -> None:
    """Numbers that JSON readers disagree on are written as text."""
    assert msgspec.json.decode(written(decision(shown={"n": value})))["shown"] == {"n": expected}


def test_an_enormous_shown_integer_can_be_written() -> None:
    """Python refuses to print it in decimal; the log does not."""
    shown = msgspec.json.decode(written(decision(shown={"n": 1 << 100_000})))["shown"]
    assert shown["n"].startswith("0x1000")


def test_a_counter_stays_at_the_bound() -> None:
    """A counter beyond 2**53 is recorded as the bound, since its field is a number."""
    event = decode(written(outcome(bytes_out=2**60))).event
    assert isinstance(event, OutcomeRecorded)
    assert event.bytes_out == MAX_INTEGER


def test_names_are_made_ascii() -> None:
    """Beyond ASCII the two encoders could order names differently."""
    event = decision(shown={"\U0001f600": 1, "\uffff": 2})
    assert msgspec.json.decode(written(event))["shown"] == {"\\U0001f600": 1, "\\uffff": 2}


def started(capability: str, count: int) -> ExecutionStarted:
    return ExecutionStarted(
        execution_id="e",
        principal="p",
        policy_id="reader",
        policy_sha256="0" * 64,
        source_sha256="0" * 64,
        granted=[capability] * count,
        withheld=[Withheld(capability="files.write", reason="not_allowed")],
        isolation={"kernel": "fully"},
    )


def test_a_large_grant_is_recorded_whole() -> None:
    """A thousand granted capabilities fit."""
    event = started("files.read", 1000)
    assert decode(written(event)).event == event


def test_an_event_that_cannot_fit_is_an_audit_error() -> None:
    """A record longer than the longest line is refused, and by name."""
    with pytest.raises(AuditError, match="`execution_started` is over 1048576 bytes"):
        encode_event(started("x" * 1024, 2000))


@pytest.mark.parametrize("item", ["", "x"])
def test_too_many_of_the_smallest_values_are_refused_as_well(item: str) -> None:
    """The size counts, not what it is made of."""
    with pytest.raises(AuditError, match="over 1048576 bytes"):
        encode_event(started(item, 400_000))


def test_an_event_with_a_foreign_value_is_an_audit_error() -> None:
    """What JSON cannot express is refused before it joins a batch."""
    with pytest.raises(AuditError, match="cannot be recorded"):
        encode_event(decision(shown={"path": object()}))


def test_timestamps_are_rfc_3339_in_utc_with_microseconds() -> None:
    """They sort as text."""
    now = timestamp()
    assert len(now) == len("2025-01-01T00:00:00.000000Z")
    assert now.endswith("Z")
    assert abs(datetime.now(UTC) - datetime.fromisoformat(now)) < timedelta(minutes=1)


def test_times_that_are_formatted_later_look_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log takes the time of an append, and formats those of a batch together."""
    moments = [1, 999_999_999, 1_700_000_000_999_999_999, 1_700_000_001_000_000_000]
    expected = []
    for moment in moments:
        monkeypatch.setattr("time.time_ns", lambda moment=moment: moment + 10**18)
        expected.append(timestamp())
    assert timestamps([moment + 10**18 for moment in moments]) == expected
    assert expected[0] == "2001-09-09T01:46:40.000000Z"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"principal": 42}, "principal"),
        ({"shown": {"path": ["a"]}}, "shown"),
        ({"decision": "perhaps"}, "decision"),
        ({"hidden": None}, "hidden"),
    ],
)
def test_a_value_of_another_type_is_refused(changes: dict[str, Any], named: str) -> None:
    """Nobody could read the record, so there is none; the error says which field it is."""
    with pytest.raises(AuditError, match=f"`decision_made` .*{named}"):
        encode_event(decision(**changes))


@pytest.mark.parametrize(
    "kind", [float, tuple[int, ...], bytes, set[str], list[float], int | float]
)
def test_a_kind_with_a_type_that_has_no_bounds_is_refused(kind: Any) -> None:
    """The types of a record are a closed set; a new one is given its bounds first."""
    unbounded: Any = msgspec.defstruct("Unbounded", [("value", kind)], tag="unbounded")
    with pytest.raises(TypeError, match="no bounds are known"):
        encode_event(unbounded(1))
