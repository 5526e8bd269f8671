"""Typed functions get and give what pydantic would make of the same values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, Optional

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError
from typing_extensions import TypedDict

from caps.capabilities import signature
from caps.capabilities.plain_values import plain_arguments, plain_result
from caps.capabilities.provider import CallContext, run_without_suspending
from caps.protocol.errors import ValidationError
from support.hypothesis_examples import examples

EXAMPLES = examples(300)


class Row(TypedDict):
    """What many functions return."""

    count: int
    name: str | None


class Loose(TypedDict):
    """One member may be missing."""

    count: int
    name: NotRequired[str]


class Renamed(TypedDict):
    """The name outside is another one."""

    count: Annotated[int, pydantic.Field(serialization_alias="n")]


class Shouting(TypedDict):
    """A member that is changed on its way out."""

    name: Annotated[str, pydantic.PlainSerializer(str.upper)]


@pydantic.with_config(pydantic.ConfigDict(str_to_upper=True))
class Settled(TypedDict):
    """A setting of its own, for all members."""

    name: str


class Tree(pydantic.BaseModel):
    """It contains itself."""

    branches: list[Tree] = []


class Pair(TypedDict):
    """One type, used twice: its schema has definitions."""

    a: Row
    b: Row


@dataclasses.dataclass
class Twice:
    """The same for a dataclass."""

    a: Settled
    b: Settled


HINTS: list[Any] = [
    int,
    str,
    bool,
    float,
    None,
    int | float,
    int | None,
    str | bool | None,
    Literal["a", "b"],
    bytes,
    list[int],
    dict[str, int],
    Annotated[int, pydantic.Field(description="a number")],
    Annotated[int | str, pydantic.Field(union_mode="left_to_right")],
    Annotated[bool | int, pydantic.Field(union_mode="left_to_right")],
    Annotated[float | int, pydantic.Field(union_mode="left_to_right")],
    Annotated[int, pydantic.Field(ge=1)],
    Annotated[int, pydantic.Field(strict=True)],
    Annotated[str, pydantic.StringConstraints(strip_whitespace=True)],
    Annotated[str, pydantic.BeforeValidator(str)],
    Annotated[str, pydantic.AfterValidator(str.upper)],
    Annotated[int, pydantic.PlainSerializer(str)],
    pydantic.SecretStr,
]
RESULTS = [*HINTS, Row, Loose, Renamed, Shouting, Settled, Tree, Pair, Twice]
SCALARS = st.one_of(
    st.integers(-(2**65), 2**65),
    st.sampled_from([0, 1, -1, True, False, None, "", " a ", "a", "1", 1.0, 1.5, float("inf")]),
    st.text(max_size=4),
    st.floats(allow_nan=False),
)
VALUES = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=2),
    st.dictionaries(st.sampled_from(["count", "name", "n", "x"]), SCALARS, max_size=3),
)


def is_same(one: Any, other: Any) -> bool:
    """Equal, and of the same types throughout: `1 == True == 1.0`."""
    return repr(one) == repr(other)


@EXAMPLES
@given(
    st.sampled_from(HINTS), st.sampled_from(HINTS), st.dictionaries(st.sampled_from("abc"), VALUES)
)
def test_arguments_that_are_plain_come_out_of_pydantic_unchanged(
    first: Any, second: Any, payload: dict[str, Any]
) -> None:
    """Also with a parameter that has a default, and whatever else is in the payload."""
    model: Any = pydantic.create_model(
        "Payload",
        __config__=pydantic.ConfigDict(extra="forbid"),
        one=(first, pydantic.Field(alias="a", validation_alias="a")),
        two=(second, pydantic.Field(None, alias="b", validation_alias="b")),
    )
    if plain_arguments(model.__pydantic_core_schema__, ["a"])(payload):
        typed = model.model_validate(payload)
        for name, value in (("a", typed.one), ("b", typed.two)):
            assert is_same(value, payload.get(name))


@EXAMPLES
@given(st.sampled_from(RESULTS), VALUES)
def test_results_that_are_plain_come_out_of_pydantic_unchanged(hint: Any, value: Any) -> None:
    """Serialised to JSON-like data by the names that they have outside."""
    adapter: Any = pydantic.TypeAdapter(hint)
    if plain_result(adapter.core_schema)(value):
        found = adapter.serializer.to_python(value, mode="json", by_alias=True, warnings="none")
        assert is_same(found, value)


CONTEXT = CallContext(
    execution_id="e1",
    request_id="r1",
    capability="box.put",
    principal="alice",
    agent=None,
    session=None,
    scope=None,
    timeout_ms=1000,
)


def called(hints: tuple[Any, Any, Any], payload: dict[str, Any], result: Any) -> Any:
    """What a derived function gets, and what its caller gets of `result`."""
    seen: list[Any] = []

    def put(a: Any, context: Any, b: Any = None) -> Any:
        seen.append((a, context is CONTEXT, b))
        return result

    first, second, returned = hints
    put.__annotations__ = {"a": first, "context": CallContext, "return": returned}
    put.__annotations__["b"] = Optional[second]  # noqa: UP045 - `None | None` is none
    provider: Any = signature.derive(put).provider
    try:
        return seen, provider(CONTEXT, payload)
    except (ValidationError, PydanticSerializationError, OverflowError) as error:
        return seen, error


@examples(150)
@given(
    st.tuples(st.sampled_from(HINTS), st.sampled_from(HINTS), st.sampled_from(RESULTS)),
    st.one_of(
        st.fixed_dictionaries({"a": SCALARS}, optional={"b": SCALARS}),
        st.dictionaries(st.sampled_from("abc"), VALUES),
    ),
    VALUES,
)
def test_a_function_gets_and_gives_the_same_as_by_pydantic_alone(
    hints: tuple[Any, Any, Any], payload: dict[str, Any], result: Any
) -> None:
    """With its default and its context, and whatever is wrong with a payload or a result."""
    found = called(hints, payload, result)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signature, "plain_arguments", lambda *_: lambda _payload: False)
        patch.setattr(signature, "plain_result", lambda _: lambda _result: False)
        assert is_same(called(hints, payload, result), found)


def test_a_record_that_is_returned_again_is_not_the_same_object() -> None:
    """An answer that waits to be encoded does not change with the next call."""
    state: Row = {"count": 1, "name": None}

    async def give() -> Row:
        return state

    provider: Any = signature.derive(give).provider
    found = run_without_suspending(provider(CONTEXT, {}))
    state["count"] += 1
    assert found == {"count": 1, "name": None}


def _result_of(hint: Any) -> Callable[[Any], bool]:
    return plain_result(pydantic.TypeAdapter(hint).core_schema)


@pytest.mark.parametrize(
    ("hint", "value"),
    [(int, 5), (int | float, 5), (str | None, None), (Row, {"count": 1, "name": None})],
)
def test_usual_results_are_plain(hint: Any, value: Any) -> None:
    """Otherwise the other tests would compare nothing."""
    assert _result_of(hint)(value)
    assert signature.ReturnType(hint)._is_plain(value)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, True),
        (float, 1.5),
        (Row, {"count": 1}),
        (Row, {"count": 1, "name": "a", "more": 1}),
        (Loose, {"count": 1}),
        (Renamed, {"count": 1}),
        (Shouting, {"name": "a"}),
        (Settled, {"name": "a"}),
        (Annotated[int, pydantic.PlainSerializer(str)], 5),
        (pydantic.SecretStr, "a"),
    ],
)
def test_what_could_change_is_left_to_pydantic(hint: Any, value: Any) -> None:
    """Another type, a missing or unknown member, a serializer, a setting, an alias, a float."""
    assert not _result_of(hint)(value)


def test_usual_arguments_are_plain() -> None:
    """With and without those that have a default; never without the others."""
    model = pydantic.create_model(
        "Payload",
        one=(int | float, pydantic.Field(alias="a", validation_alias="a")),
        two=(str | None, pydantic.Field(None, alias="b", validation_alias="b")),
    )
    is_plain = plain_arguments(model.__pydantic_core_schema__, ["a"])
    assert is_plain({"a": 1})
    assert is_plain({"a": 1.5, "b": "x"})
    assert not is_plain({"b": "x"})
    assert not is_plain({"a": "1"})
    assert not is_plain({"a": 1, "c": 1})
