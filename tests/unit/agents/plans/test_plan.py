"""The form of a plan: strict, bounded, and with all its problems in one error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caps.agents.plans.inputs import (
    Data,
    InputsTooLargeError,
    MalformedReferenceError,
    filled,
    template_of,
)
from caps.agents.plans.plan import MAX_PLAN_BYTES, MAX_STEPS, Plan, parse_plan, plan_of
from caps.agents.plans.problems import PlanInvalidError

STEP: dict[str, Any] = {"id": "now", "tool": "time.now"}


def plan(**changed: Any) -> dict[str, Any]:
    return {"version": 1, "id": "p", "steps": [STEP], **changed}


def problems(value: object) -> list[tuple[str, str | None]]:
    """The places of all problems, and their steps."""
    with pytest.raises(PlanInvalidError) as caught:
        plan_of(value)
    return [(each["path"], each["step"]) for each in caught.value.details["problems"]]


def test_a_plan_is_read_with_all_its_keys() -> None:
    """And its digest is that of its content, not of its text."""
    text = json.dumps(plan(description="d", budget=1, policy={"allow": []}))
    read = parse_plan(text.encode())
    assert (read.steps[0].tool, read.steps[0].inputs, read.budget) == ("time.now", {}, 1.0)
    assert read.sha256 == parse_plan(f"  {text}".encode()).sha256
    assert read.sha256 != plan_of(plan()).sha256


@pytest.mark.parametrize("version", [0, 2, True, 1.0, "1", None])
def test_another_version_is_refused(version: object) -> None:
    """Whatever converts to 1 is not 1."""
    assert problems(plan(version=version)) == [("version", None)]


def test_all_problems_of_the_form_are_listed_with_their_steps() -> None:
    """Unknown keys, wrong types, missing keys and values out of bounds."""
    steps = [
        STEP,
        {"id": "b", "tool": "x", "agent_type": "y"},
        {"id": "c c", "tool": "x", "input": {}},
        {"tool": "x", "inputs": []},
        {"id": "e"},
        7,
    ]
    found = problems(plan(steps=steps, budget=-1, policies=[]))
    assert found == [
        ("budget", None),
        ("steps[1]", "b"),
        ("steps[2].id", "c c"),
        ("steps[2].input", "c c"),
        ("steps[3].id", None),
        ("steps[3].inputs", None),
        ("steps[4]", "e"),
        ("steps[5]", None),
        ("policies", None),
    ]


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"steps": []}, "steps"),
        ({"steps": [STEP] * (MAX_STEPS + 1)}, "steps"),
        ({"steps": {"now": STEP}}, "steps"),
        ({"id": "a/b"}, "id"),
        ({"id": ""}, "id"),
        ({"budget": "1"}, "budget"),
        ({"budget": True}, "budget"),
        ({"budget": 1e10}, "budget"),
        ({"policy": []}, "policy"),
        ({"description": "d" * 1025}, "description"),
    ],
)
def test_a_value_out_of_bounds_is_refused(changed: dict[str, Any], place: str) -> None:
    """Each at its place."""
    assert problems(plan(**changed)) == [(place, None)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b'{"version": 1, "version": 1}', "key is given twice"),
        (b'{"version": 1', "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"version": NaN}', "finite"),
        (b'{"version": 9007199254740993}', "lose precision"),
        (b'"\\ud800"', "surrogate"),
        (b" " * (MAX_PLAN_BYTES + 1), "larger than"),
        (b"[]", "valid dictionary"),
    ],
)
def test_text_that_readers_could_understand_differently_is_refused(text: bytes, what: str) -> None:
    """As that of a policy is."""
    with pytest.raises(PlanInvalidError, match=what):
        parse_plan(text)


def test_references_are_told_from_data() -> None:
    """`$literal` lets data have any keys."""
    value = {
        "all": {"$from": "a"},
        "part": [{"$from": "a", "at": "/x~1y/1/~0"}],
        "data": {"$literal": {"$from": "a", "$literal": 1}},
        "plain": {"from": "a", "$ref": "#"},
    }
    outputs = {"a": {"x/y": [0, {"~": "found"}]}}
    assert filled(template_of(value, "inputs"), outputs, 1000) == {
        "all": outputs["a"],
        "part": ["found"],
        "data": {"$from": "a", "$literal": 1},
        "plain": {"from": "a", "$ref": "#"},
    }
    assert template_of({"a": [1, {"b": None}]}, "inputs") == Data({"a": [1, {"b": None}]})


@pytest.mark.parametrize(
    "value",
    [
        {"$from": 1},
        {"$from": "a", "at": None},
        {"$from": "a", "at": "x"},
        {"$from": "a", "at": "/~2"},
        {"$from": "a", "at": "/~"},
        {"$from": "a", "at": "/" + "x" * 1024},
        {"$from": "a", "At": "/x"},
        {"$from": "a", "$literal": 1},
        {"$literal": 1, "more": 2},
    ],
)
def test_what_looks_like_a_reference_must_be_one(value: object) -> None:
    """A misspelt one is never taken for data."""
    with pytest.raises(MalformedReferenceError) as caught:
        template_of({"a": [value]}, "inputs")
    assert caught.value.path.startswith("inputs.a[0]")


@pytest.mark.parametrize("at", ["/b", "/a/0", "/l/2", "/l/-", "/l/01", "/l/x", "/l/-1", "/l/1e0"])
def test_a_place_that_an_output_lacks_is_an_error(at: str) -> None:
    """The error names the place in the plan, and nothing of the output."""
    template = template_of({"x": {"$from": "s", "at": at}}, "inputs")
    with pytest.raises(LookupError, match=r"the output has no .* for inputs\.x"):
        filled(template, {"s": {"a": {}, "l": [1, 2]}}, 1000)


def test_outputs_that_are_referred_to_many_times_are_counted_as_often() -> None:
    """Before the inputs are made: few references could stand for gigabytes."""
    template = template_of({"x": [{"$from": "s"}] * 11}, "inputs")
    with pytest.raises(InputsTooLargeError, match="over 1000 bytes"):
        filled(template, {"s": "x" * 98}, 1000)
    assert filled(template, {"s": "x" * 80}, 1000) == {"x": ["x" * 80] * 11}


def test_a_plan_never_changes() -> None:
    """It is checked once and run as it was checked."""
    made = plan_of(plan())
    with pytest.raises(ValueError, match="frozen"):
        made.budget = 1.0
    assert isinstance(made, Plan)
