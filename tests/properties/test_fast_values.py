"""The faster ways for usual values give what the general ones give, or nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from caps.capabilities.broker.outcomes import checked, encoded_flat
from caps.capabilities.grant import BoundCapability
from caps.capabilities.provider import CallContext
from caps.capabilities.schemas.schema import CompiledSchema
from caps.security.audit.model.records import CallStatus
from caps.security.audit.model.redaction import Redactor, is_simple_name

REDACTOR = Redactor(b"k" * 32)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 2**53 - 1, 2**53, -(2**53) + 1, -(2**53), 2**63, 2**64]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["", "é", "\0", '"', "\\", "\ud800", "a\nb"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(), SCALARS))
NAMES = st.one_of(
    st.sampled_from(
        ["a", "b", "aB", "a1", "a_", "A", "é", "a b", "a\\b", "", "x" * 128, "x" * 129]
    ),
    st.text(max_size=3),
)
PAYLOADS = st.dictionaries(NAMES, VALUES, max_size=5)


@given(PAYLOADS, st.frozensets(NAMES), st.frozensets(NAMES))
def test_hidden_fields_have_the_same_digests(
    payload: dict[str, Any], known: frozenset[str], shown: frozenset[str]
) -> None:
    """Whatever the names are that may be hidden as they are."""
    names = frozenset(filter(is_simple_name, known)) - shown
    try:
        found = REDACTOR.hidden_text(payload, names)
    except ValueError:  # a lone surrogate; the caller leaves it to the general way
        return
    assert found is None or found == split_as_text(payload, shown)


def test_most_payloads_are_hidden_the_fast_way() -> None:
    """Else the property compares nothing."""
    payload = {"a": 5, "b": "text", "c": None, "d": True}
    names = frozenset(payload)
    assert REDACTOR.hidden_text(payload, names) == split_as_text(payload, ())
    assert REDACTOR.hidden_text({}, names) == split_as_text({}, ())
    many = dict.fromkeys(map(str, range(65)))
    odd: list[dict[str, Any]] = [{"e": 5}, {"a": 2**53}, {"a": 0.5}, {"a": []}, many]
    for one in odd:
        assert REDACTOR.hidden_text(one, names) is None


def split_as_text(payload: dict[str, Any], shown: Collection[str]) -> tuple[str, str]:
    """What the general way hides, as a record has it; it must show nothing."""
    redacted = REDACTOR.split(payload, shown)
    assert redacted.shown == {}
    return msgspec.json.encode(redacted.hidden, order="sorted").decode(), redacted.args_hmac


class Text(str):
    """Text of a provider's own type."""


RESULTS = st.one_of(
    VALUES, PAYLOADS, st.just(Text("a")), st.just({"a": Text("b")}), st.just({1: 2})
)


@given(RESULTS, st.sampled_from([{}, {"type": "object"}, {"type": "string", "maxLength": 3}]))
def test_a_flat_result_is_encoded_as_any(result: Any, schema: dict[str, Any]) -> None:
    """If it fits its schema and the channel; all others are left to the general way."""
    compiled = CompiledSchema(schema, "schema_out")
    found = encoded_flat(result, compiled.fits)
    if found is None:
        return
    general = checked(
        cast("BoundCapability", msgspec.defstruct("Bound", ["schema_out"])(compiled)),
        cast("CallContext", None),  # only read for the text of an error
        result,
    )
    assert general.status is CallStatus.OK
    assert general.answer.result == msgspec.Raw(found)
    assert general.bytes_out == len(found)


def test_usual_results_are_encoded_the_fast_way() -> None:
    """Else the property compares nothing. Text of another class is not."""
    fits = CompiledSchema({}, "schema_out").fits
    usual: list[Any] = [5, "a", None, True, {}, {"a": 5, "b": None}]
    assert None not in [encoded_flat(result, fits) for result in usual]
    odd: list[Any] = [0.5, [], {"a": []}, {1: 2}, Text("a"), {"a": Text("b")}, "\ud800", 2**64]
    assert {encoded_flat(result, fits) for result in odd} == {None}
