"""(4) What a wrapper checks before it sends: a payload that fits, and early reports of mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from caps.worker.inside.caps_api.payload_check import bind, in_words, problems_in

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "mode": {"enum": ["r", "w"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "where": {"$ref": "#/$defs/Where"},
    },
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {
        "Where": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "inner": {"$ref": "#/$defs/Where"}},
        }
    },
}


def told(payload: Any, schema: dict[str, Any] = SCHEMA) -> list[tuple[str, str]]:
    return [(found["path"], found["expected"]) for found in problems_in(schema, payload, schema)]


class TestBind:
    def test_positional_arguments_take_the_properties_in_order(self) -> None:
        """The order of the schema is the order of the call."""
        assert bind(SCHEMA, ("a", 2), {"mode": "r"}) == {"path": "a", "count": 2, "mode": "r"}

    def test_no_arguments_make_an_empty_payload(self) -> None:
        """Defaults are the provider's business."""
        assert bind(SCHEMA, (), {}) == {}
        assert bind({}, (), {"anything": 1}) == {"anything": 1}

    def test_too_many_arguments_are_a_type_error(self) -> None:
        """As in a Python call."""
        with pytest.raises(TypeError, match="at most 5 positional arguments, 6 given"):
            bind(SCHEMA, tuple("abcdef"), {})
        with pytest.raises(TypeError, match="at most 0 positional"):
            bind({}, ("a",), {})

    def test_two_values_for_one_name_are_a_type_error(self) -> None:
        """As in a Python call."""
        with pytest.raises(TypeError, match="two values for `path`"):
            bind(SCHEMA, ("a",), {"path": "b"})

    def test_unknown_names_are_left_to_the_schema(self) -> None:
        """The check names them, with the ones that are known."""
        assert bind(SCHEMA, (), {"nope": 1}) == {"nope": 1}


class TestProblems:
    @pytest.mark.parametrize(
        "payload",
        [
            {"path": "a"},
            {"path": "abcde", "count": 9, "mode": "w", "tags": ["x"], "where": {"x": 1.5}},
            {"path": "a", "count": 3.0},
            {"path": "a", "tags": ()},
            {"path": "a", "where": {"inner": {"inner": {"x": 1}}, "more": object()}},
        ],
    )
    def test_what_fits_passes(self, payload: dict[str, Any]) -> None:
        """A payload that the broker would take is not held up."""
        assert told(payload) == []

    @pytest.mark.parametrize(
        ("payload", "path", "expected"),
        [
            ({}, "$", "required property `path`"),
            ({"path": 1}, "$.path", "type string"),
            ({"path": ""}, "$.path", "minLength 1"),
            ({"path": "abcdef"}, "$.path", "maxLength 5"),
            ({"path": "a", "count": 0}, "$.count", "minimum 1"),
            ({"path": "a", "count": 10}, "$.count", "maximum 9"),
            ({"path": "a", "count": True}, "$.count", "type integer"),
            ({"path": "a", "count": 1.5}, "$.count", "type integer"),
            ({"path": "a", "count": float("nan")}, "$.count", "type integer"),
            ({"path": "a", "count": float("inf")}, "$.count", "type integer"),
            ({"path": "a", "mode": "x"}, "$.mode", "one of ['r', 'w']"),
            ({"path": "a", "tags": "x"}, "$.tags", "type array"),
            ({"path": "a", "tags": ["x", 1]}, "$.tags[1]", "type string"),
            ({"path": "a", "where": {"inner": {"x": "1"}}}, "$.where.inner.x", "type number"),
            (
                {"path": "a", "no": 1},
                "$",
                "no property `no`; known: path, count, mode, tags, where",
            ),
        ],
    )
    def test_a_slip_is_reported_with_its_place(
        self, payload: dict[str, Any], path: str, expected: str
    ) -> None:
        """Path and expectation say what to correct."""
        assert told(payload) == [(path, expected)]

    @pytest.mark.parametrize(
        ("payload", "words"),
        [
            ({}, "lacks `path`"),
            (
                {"path": "a", "no": 1},
                "has no argument `no`; known: path, count, mode, tags, where",
            ),
            ({"path": ""}, "$.path: expected at least 1 characters, got ''"),
            ({"path": "abcdef"}, "$.path: expected at most 5 characters, got 'abcdef'"),
            ({"path": "a", "count": 0}, "$.count: expected at least 1, got 0"),
            ({"path": "a", "count": 10}, "$.count: expected at most 9, got 10"),
            ({"path": 1}, "$.path: expected type string, got 1"),
        ],
    )
    def test_the_message_speaks_of_arguments(self, payload: dict[str, Any], words: str) -> None:
        """The keywords of a schema are for those who read the details."""
        assert [in_words(one) for one in problems_in(SCHEMA, payload, SCHEMA)] == [words]

    def test_all_slips_are_reported_together(self) -> None:
        """The caller need not try again for each."""
        assert len(told({"count": 0, "mode": "x"})) == 3

    def test_what_was_got_is_shown_in_brief(self) -> None:
        """A long value is cut."""
        (problem,) = problems_in(SCHEMA, {"path": "x" * 1000}, SCHEMA)
        assert len(problem["got"]) == 80
        assert problem["got"].endswith("…")

    def test_any_of_several_types_will_do(self) -> None:
        """`type` may be a list."""
        schema = {"type": ["string", "null"]}
        assert (told(None, schema), told("x", schema)) == ([], [])
        assert told(1, schema) == [("$", "type string or null")]

    @pytest.mark.parametrize(
        "schema", [{}, {"pattern": "^a$"}, {"$ref": "#/$defs/Absent"}, {"anyOf": [{}]}, {"not": {}}]
    )
    def test_what_is_not_known_here_passes(self, schema: dict[str, Any]) -> None:
        """The broker decides, with the full schema."""
        assert told({"x": [1]}, schema) == []

    def test_data_that_holds_itself_comes_to_an_end(self) -> None:
        """A recursive schema and a recursive value do not chase each other for ever."""
        knot: dict[str, Any] = {}
        knot["inner"] = knot
        assert told({"path": "a", "where": knot}) == []
