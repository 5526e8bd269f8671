"""The writer's bytes and the verifier's bytes are the same, for every event there can be."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any, get_args

import msgspec
import pytest
import rfc8785
from hypothesis import assume, example, given
from hypothesis import strategies as st

from caps.protocol.errors import AuditError
from caps.security.audit import (
    ArtifactRecord,
    AuditEvent,
    CallStatus,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    LimitReached,
    OutcomeRecorded,
    Withheld,
)
from caps.security.audit.files.reader import Line
from caps.security.audit.model.chain import ORIGIN, Flaw, Head, Link, check_link, decode
from caps.security.audit.model.sanitize import encode_all, encode_event, encode_sanitized
from caps.security.audit.verify.verify import VerifyStatus, verify_lines
from support.audit_examples import REDACTOR, decision, seal

# Any code point, lone surrogates too, and often the ones that encoders like to disagree on.
texts = st.text(
    st.one_of(
        st.sampled_from("\x00\x08\t\n\x0c\r\x1b\x1f\"\\/<>&'\x7f\x80\x9f\u2028\u2029\ufeff\uffff"),
        st.sampled_from("\ud800\udfff\U0001f600\U0010ffff\ue000"),
        st.characters(exclude_categories=()),
    ),
    max_size=40,
)
optional_texts = st.none() | texts
names = st.dictionaries(texts, texts, max_size=4)
counters = st.integers(0, 2**63)
shown = st.dictionaries(
    texts, texts | st.integers() | st.booleans() | st.none() | st.floats(), max_size=4
)
who = {
    "execution_id": texts,
    "principal": texts,
    "agent": optional_texts,
    "session": optional_texts,
}

events: st.SearchStrategy[AuditEvent] = st.one_of(
    st.builds(
        DecisionMade,
        **who,
        request_id=texts,
        capability=texts,
        decision=st.sampled_from(["allow", "deny"]),
        reason=texts,
        rule=optional_texts,
        message=texts,
        nearest=optional_texts,
        policy_id=texts,
        policy_sha256=texts,
        args_hmac=texts,
        shown=shown,
        hidden=names,
        idempotency_key_hmac=optional_texts,
    ),
    st.builds(
        OutcomeRecorded,
        **who,
        request_id=texts,
        capability=texts,
        status=st.sampled_from(CallStatus),
        reason=optional_texts,
        detail=optional_texts,
        duration_us=counters,
        bytes_out=counters,
        artifacts=st.lists(
            st.builds(ArtifactRecord, name=texts, media_type=texts, size=counters, sha256=texts),
            max_size=2,
        ),
    ),
    st.builds(
        ExecutionStarted,
        **who,
        policy_id=texts,
        policy_sha256=texts,
        source_sha256=texts,
        granted=st.lists(texts, max_size=3),
        withheld=st.lists(st.builds(Withheld, capability=texts, reason=texts), max_size=3),
        isolation=names,
    ),
    st.builds(
        ExecutionEnded,
        **who,
        status=st.sampled_from(ExecutionStatus),
        error_code=optional_texts,
        error_message=optional_texts,
        duration_us=counters,
        calls=counters,
        output_bytes=counters,
    ),
    st.builds(LimitReached, **who, limit=texts, allowed=st.integers(), message=texts),
)

WHO: dict[str, Any] = {"execution_id": "0" * 32, "principal": "user:test"}

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(events, st.text("0123456789abcdef", min_size=64, max_size=64), st.integers(0, 2**40))
def test_the_writer_spells_as_rfc_8785_does(event: AuditEvent, prev: str, seq: int) -> None:
    """Every line that is written is canonical, by an independent library."""
    line, head = seal(encode_event(event), "2025-01-01T00:00:00.000000Z", Head(seq, prev))
    assert rfc8785.dumps(msgspec.json.decode(line)) + b"\n" == line
    assert check_link(line[:-1]) == Link(seq + 1, prev, head.hash)


@given(events)
def test_what_needs_no_mending_is_spelt_as_if_it_were_mended(event: AuditEvent) -> None:
    """The fast path and the careful one give the same text."""
    assert encode_event(event) == encode_sanitized(event)


@given(events)
def test_every_record_can_be_read(event: AuditEvent) -> None:
    """What was sanitized to be written still fits its type."""
    line, head = seal(encode_event(event), "2025-01-01T00:00:00.000000Z", ORIGIN)
    record = decode(line[:-1])
    assert (type(record.event), record.hash) == (type(event), head.hash)


def of_every_kind(values: Callable[[Any], st.SearchStrategy[Any]]) -> st.SearchStrategy[AuditEvent]:
    """Events of all kinds, with what `values` gives for the type of each field."""
    strategies: list[st.SearchStrategy[AuditEvent]] = [
        st.builds(
            kind, **{field.name: values(field.type) for field in msgspec.structs.fields(kind)}
        )
        for kind in get_args(AuditEvent)
    ]
    return st.one_of(strategies)


@given(of_every_kind(st.from_type))
def test_an_event_of_any_kind_becomes_a_record_of_that_kind(event: AuditEvent) -> None:
    """Whatever of its class's own types it has."""
    line, _ = seal(encode_event(event), "2025-01-01T00:00:00.000000Z", ORIGIN)
    assert type(decode(line[:-1]).event) is type(event)


@given(of_every_kind(lambda fitting: st.from_type(fitting) | json_values | st.binary()))
def test_what_no_reader_could_read_is_not_written(event: AuditEvent) -> None:
    """Values of foreign types make an event impossible, never a record that does not decode."""
    try:
        record = encode_event(event)
    except AuditError:
        return
    line, _ = seal(record, "2025-01-01T00:00:00.000000Z", ORIGIN)
    assert isinstance(check_link(line[:-1]), Link)
    assert type(decode(line[:-1]).event) is type(event)


@given(st.lists(of_every_kind(st.from_type) | events, max_size=6))
@example([decision("a"), decision("b")])
@example([decision(*"\0"), decision("},{")])
@example([decision("a"), LimitReached(**WHO, limit="memory", allowed=1, message="\0,\0")])
@example([decision("a"), LimitReached(**WHO, limit="é", allowed=2**60, message="x" * 2000)])
@example([LimitReached(**WHO, limit="x", allowed=n, message="x" * 1000) for n in range(1100)])
def test_events_that_are_encoded_together_become_the_same_records(batch: list[AuditEvent]) -> None:
    """In their order, and whether or not one of them needs mending."""
    assert encode_all(batch) == [encode_event(event) for event in batch]


@given(st.lists(of_every_kind(lambda fitting: st.from_type(fitting) | json_values), max_size=3))
def test_a_batch_is_refused_only_for_an_event_that_is(batch: list[AuditEvent]) -> None:
    """An event that cannot be recorded fails both ways, and no other event does."""
    try:
        expected = [encode_event(event) for event in batch]
    except AuditError:
        with pytest.raises(AuditError):
            encode_all(batch)
    else:
        assert encode_all(batch) == expected


@given(json_values)
def test_every_value_has_a_digest_and_one_only(value: Any) -> None:
    """Redaction never fails for JSON-like data; a copy through the wire has the same digest."""
    assert REDACTOR.digest(value) == REDACTOR.digest(_copied(value))


@given(json_values)
@example({"\U0001f600": 1, "\uffff": 2})
def test_a_digest_is_over_canonical_bytes_where_there_are_any(value: Any) -> None:
    """Whichever encoder was used, the bytes are those of RFC 8785."""
    try:
        canonical = rfc8785.dumps(value)
    except ValueError:
        assume(False)
    mac = hmac.digest(b"k" * 32, canonical, "sha256")
    assert REDACTOR.digest(value) == f"hmac-sha256:{mac.hex()}"


def _copied(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copied(value[key]) for key in reversed(value)}
        case list():
            return [_copied(item) for item in value]
        case _:
            return value


def chain(count: int) -> list[bytes]:
    lines, head = [], ORIGIN
    for number in range(count):
        line, head = seal(encode_event(decision(f"r{number}")), "2025-01-01T00:00:00.000000Z", head)
        lines.append(line[:-1])
    return lines


CHAIN = chain(6)


def verdict(lines: list[bytes]) -> VerifyStatus:
    return verify_lines(Line(n, data, torn=False) for n, data in enumerate(lines, 1)).status


@given(st.integers(0, 5), st.data())
def test_every_changed_byte_is_found(index: int, data: st.DataObject) -> None:
    """No byte of a line can change unnoticed, not even to another encoding of the same record."""
    line = bytearray(CHAIN[index])
    place = data.draw(st.integers(0, len(line) - 1))
    line[place] ^= data.draw(st.integers(1, 255))
    assert isinstance(check_link(bytes(line)), Flaw)
    assert verdict([*CHAIN[:index], bytes(line), *CHAIN[index + 1 :]]) is VerifyStatus.EDITED


@given(st.lists(st.sampled_from(CHAIN), max_size=8))
def test_only_a_prefix_of_the_chain_is_sound(lines: list[bytes]) -> None:
    """However lines are dropped, copied or moved, the result is sound only if it is a prefix."""
    if not lines:
        expected = {VerifyStatus.EMPTY}
    elif lines == CHAIN[: len(lines)]:
        expected = {VerifyStatus.OK}
    else:
        expected = {VerifyStatus.GAP, VerifyStatus.REORDERED, VerifyStatus.DUPLICATED}
    assert verdict(lines) in expected
