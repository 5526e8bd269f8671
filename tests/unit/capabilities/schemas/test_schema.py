"""JSON Schema as it is compiled and used: offline, linear, and with structured answers."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.schemas.schema import CompiledSchema
from caps.protocol.errors import RegistrationError
from caps.security.reasons import Problem


def compiled(schema: dict[str, Any]) -> CompiledSchema:
    return CompiledSchema(schema, "schema_in of `box.put`")


def test_what_fits_has_no_problems() -> None:
    """An empty tuple, which is what the decision compares to."""
    schema = compiled({"type": "object", "properties": {"size": {"type": "integer"}}})
    assert schema.problems({"size": 5}) == ()


CLOSED = {"additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ({"type": "string"}, 5, Problem("$", "type string", "5")),
        ({"type": ["string", "null"]}, 5, Problem("$", "type null or string", "5")),
        ({"required": ["path"]}, {}, Problem("$", "required property `path`", "{}")),
        (
            {"properties": {}, "additionalProperties": False},
            {"extra": 1},
            Problem("$", "no property `extra`; known: none", "{'extra': 1}"),
        ),
        (
            {
                "properties": {"of": {"$ref": "#/$defs/Order"}},
                "$defs": {
                    "Order": {"properties": {"a": {}, "b": {}}, "additionalProperties": False}
                },
            },
            {"of": {"c": 1}},
            Problem("$.of", "no property `c`; known: a, b", "{'c': 1}"),
        ),
        ({"enum": ["a", "b"]}, "c", Problem("$", "one of ['a', 'b']", "'c'")),
        ({"minimum": 3}, 1, Problem("$", "minimum 3", "1")),
        ({"maxLength": 2}, "abc", Problem("$", "maxLength 2", "'abc'")),
        ({"pattern": "^x"}, "abc", Problem("$", "pattern '^x'", "'abc'")),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            1,
            Problem("$", "type string or type null", "1"),
        ),
        (
            {"oneOf": [{"properties": {"a": {"type": "null"}}}, {"type": "string"}]},
            {"a": 1},
            Problem("$", "type null at `$.a` or type string", "{'a': 1}"),
        ),
        ({"oneOf": [{}, {}]}, 1, Problem("$", "only one of several", "1")),
        ({"properties": {"a": False}}, {"a": 1}, Problem("$.a", "nothing", "1")),
        ({"items": {"type": "integer"}}, [1, "a"], Problem("$[1]", "type integer", "'a'")),
        (
            {"properties": {"a": {"properties": {"b": {"type": "null"}}}}},
            {"a": {"b": 1}},
            Problem("$.a.b", "type null", "1"),
        ),
    ],
)
def test_a_problem_says_where_what_was_expected_and_what_was_there(
    schema: dict[str, Any], value: Any, problem: Problem
) -> None:
    """One line each, for people and for models."""
    assert compiled(schema).problems(value) == (problem,)


def test_all_problems_are_reported_up_to_sixteen() -> None:
    """A caller can correct several together, and nobody gets a million."""
    schema = compiled({"items": {"type": "integer"}})
    assert [problem.path for problem in schema.problems(["a", 1, "b"])] == ["$[0]", "$[2]"]
    assert len(schema.problems(["a"] * 1000)) == 16


@pytest.mark.parametrize("value", [["a"] * 2001, {"a": [["a"] * 1000] * 3}])
def test_the_problems_of_a_large_value_are_not_searched(value: Any) -> None:
    """Each would be copied with the whole value; that it does not fit is reported anyway."""
    schema = compiled({"items": {"type": "integer"}, "additionalProperties": {"type": "integer"}})
    (problem,) = schema.problems(value)
    assert (problem.path, problem.got) == ("$", "more than 2000 items")
    assert compiled({}).problems(value) == ()


def test_a_problem_is_short_however_long_its_value() -> None:
    """Values, paths and names of properties are cut."""
    long = "a" * 100_000
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"type": "integer"}, long),
        ({"properties": {}, "additionalProperties": False}, {long: 1}),
        ({"additionalProperties": {"type": "string"}}, {long: 1}),
    ]
    for schema, value in cases:
        (problem,) = compiled(schema).problems(value)
        assert len(problem.path) + len(problem.expected) + len(problem.got) < 600


@pytest.mark.parametrize("value", [b"bytes", {1: "a"}, {1, 2}, object(), "\ud800"])
def test_what_is_not_json_is_a_problem_and_no_error(value: Any) -> None:
    """A value that no schema can describe does not fit any."""
    (problem,) = compiled({}).problems(value)
    assert (problem.path, problem.expected) == ("$", "json-like data")


@pytest.mark.parametrize("key", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("target", ["https://example.org/s.json", "other.json", "file:///etc/s"])
def test_a_reference_out_of_the_schema_is_refused(key: str, target: str) -> None:
    """Nothing is ever fetched, at no depth."""
    schema = {"properties": {"a": {"items": [{key: target}]}}}
    with pytest.raises(RegistrationError, match=r"may refer only to itself") as caught:
        compiled(schema)
    assert f"`{target}`" in caught.value.message
    assert "schema_in of `box.put`" in caught.value.message


def test_a_reference_into_the_schema_works() -> None:
    """Its own definitions may be used."""
    schema = {"$defs": {"name": {"type": "string"}}, "items": {"$ref": "#/$defs/name"}}
    assert compiled(schema).problems(["a"]) == ()
    assert compiled(schema).problems([1]) == (Problem("$[0]", "type string", "1"),)


def test_a_reference_to_nothing_is_refused() -> None:
    """When it is registered, not when it is first used."""
    with pytest.raises(RegistrationError, match="not a valid JSON schema"):
        compiled({"$ref": "#/$defs/missing"})


@pytest.mark.parametrize("pattern", [r"(a)\1", r"(?=a)a", r"(?!a)b", r"(?<=a)b"])
def test_a_pattern_that_needs_backtracking_is_refused(pattern: str) -> None:
    """The engine is linear and has neither look-around nor back-references."""
    with pytest.raises(RegistrationError, match="not a valid JSON schema"):
        compiled({"pattern": pattern})


def test_a_pattern_that_would_blow_up_elsewhere_is_linear() -> None:
    """Nested repetition over a long text is answered, and not in the age of the universe."""
    (problem,) = compiled({"pattern": "^(a+)+$"}).problems("a" * 100_000 + "!")
    assert problem.expected == "pattern '^(a+)+$'"


@pytest.mark.parametrize("schema", [{"type": "no such type"}, {"minimum": "three"}])
def test_what_is_no_schema_is_refused_in_one_line(schema: dict[str, Any]) -> None:
    """The message says which schema of which capability."""
    with pytest.raises(RegistrationError) as caught:
        compiled(schema)
    assert caught.value.message.startswith("schema_in of `box.put` is not a valid JSON schema: ")
    assert "\n" not in caught.value.message
