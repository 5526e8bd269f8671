"""From a typed function to a capability, by the decorator."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Annotated, Any

import anyio.lowlevel
import pydantic
import pytest

from caps.capabilities.provider import CallContext
from caps.capabilities.registry import CapabilityRegistry
from caps.capabilities.signature import derive
from caps.capabilities.spec import CapabilitySpec
from caps.capabilities.stubs.render import render
from caps.protocol.errors import ProviderError, RegistrationError, ValidationError

pytestmark = pytest.mark.anyio

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


class Item(pydantic.BaseModel):
    """A model with an alias and a rule that no schema tells."""

    name: str
    many: int = pydantic.Field(default=1, alias="howMany")

    @pydantic.field_validator("name")
    @classmethod
    def _not_cursed(cls, name: str) -> str:
        if name == "cursed":
            raise ValueError("is cursed")
        return name


def registered(function: Callable[..., Any], **more: Any) -> CapabilitySpec:
    """The spec of `function` as `box.put`."""
    registry = CapabilityRegistry()
    registry.capability("box.put", **more)(function)
    (spec,) = registry
    return spec


async def called(function: Callable[..., Any], payload: dict[str, Any]) -> Any:
    """What the provider made from `function` returns, checked against its schemas."""
    registry = CapabilityRegistry()
    registry.capability("box.put")(function)
    entry = registry.capabilities["box.put"]
    assert entry.schema_in.problems(payload) == ()
    answer = entry.provider(CONTEXT, payload)
    answer = await answer if inspect.isawaitable(answer) else answer
    assert entry.schema_out.problems(answer) == ()
    return answer


async def async_sum(a: int, b: int = 2) -> int:
    """Add two numbers.

    The second one is two by default.
    """
    return a + b


def sync_sum(a: int, b: int = 2) -> int:
    return a + b


def test_parameters_become_the_schema_of_the_payload() -> None:
    """Closed, with what is required and what is the default."""
    spec = registered(async_sum)
    assert spec.schema_in == {
        "type": "object",
        "additionalProperties": False,
        "required": ["a"],
        "properties": {
            "a": {"title": "A", "type": "integer"},
            "b": {"title": "B", "type": "integer", "default": 2},
        },
    }
    assert spec.schema_out == {"type": "integer"}


def test_the_docstring_becomes_the_description_unless_one_is_given() -> None:
    """As `inspect` cleans it."""
    assert registered(async_sum).description.startswith("Add two numbers.\n\nThe second")
    assert registered(async_sum, description="Adds.").description == "Adds."
    assert registered(sync_sum).description == ""


def test_the_decorator_gives_the_function_back() -> None:
    """It can still be called by its author, and tested."""
    assert CapabilityRegistry().capability("box.put")(sync_sum) is sync_sum


@pytest.mark.parametrize("function", [async_sum, sync_sum])
async def test_both_kinds_of_function_are_called_with_their_arguments(
    function: Callable[..., Any],
) -> None:
    """By name, with defaults filled in."""
    assert await called(function, {"a": 1}) == 3
    assert await called(function, {"a": 1, "b": 5}) == 6


async def test_a_method_can_be_a_capability() -> None:
    """`self` is not one of its parameters."""

    class Shelf:
        def put(self, name: str) -> str:
            return f"put {name}"

    assert await called(Shelf().put, {"name": "a"}) == "put a"


async def test_the_context_is_handed_over_and_is_no_part_of_the_schema() -> None:
    """Who calls is said by the broker, under whatever name the author chose."""

    async def who(word: str, ctx: CallContext) -> str:
        return f"{ctx.principal} says {word}"

    assert list(registered(who).schema_in["properties"]) == ["word"]
    assert await called(who, {"word": "hi"}) == "alice says hi"


def test_a_context_that_the_payload_could_fill_is_refused() -> None:
    """Untrusted code must never say who calls."""

    def forged(context: CallContext | None = None) -> None: ...

    def nested(contexts: list[CallContext]) -> None: ...

    for function in (forged, nested):
        with pytest.raises(RegistrationError, match="annotate it `CallContext` alone"):
            registered(function)


async def test_models_go_in_and_come_out() -> None:
    """Arguments arrive as models, results leave as plain data, both by alias."""

    async def double(item: Item) -> list[Item]:
        assert isinstance(item, Item)
        return [item, Item(name=item.name, howMany=2 * item.many)]

    result = await called(double, {"item": {"name": "box", "howMany": 3}})
    assert result == [{"name": "box", "howMany": 3}, {"name": "box", "howMany": 6}]


async def test_values_without_a_json_form_are_spelt_by_it() -> None:
    """A datetime comes as a string and leaves as one."""

    def next_year(when: datetime) -> datetime:
        return when.replace(year=when.year + 1)

    assert await called(next_year, {"when": "2026-01-02T03:04:05Z"}) == "2027-01-02T03:04:05Z"


async def test_a_default_is_not_shared_between_calls() -> None:
    """A list as a default is a new one every time."""

    def append(word: str, words: list[str] = []) -> list[str]:  # noqa: B006 - the very point
        words.append(word)
        return words

    registry = CapabilityRegistry()
    registry.capability("box.put")(append)
    provider = registry.capabilities["box.put"].provider
    assert [provider(CONTEXT, {"word": word}) for word in ("a", "b")] == [["a"], ["b"]]


async def test_parameters_may_have_names_that_models_use_themselves() -> None:
    """`json`, `schema` and `_x` are names like others, and warn of nothing."""

    def odd(json: str, schema: str, model_config: str, _x: str) -> str:
        return json + schema + model_config + _x

    payload = {"json": "a", "schema": "b", "model_config": "c", "_x": "d"}
    assert list(registered(odd).schema_in["properties"]) == list(payload)
    assert await called(odd, payload) == "abcd"


def test_annotations_may_carry_constraints() -> None:
    """They are part of the schema."""

    def sized(size: Annotated[int, pydantic.Field(ge=3, description="in litres")] = 5) -> None: ...

    assert registered(sized).schema_in["properties"]["size"] == {
        "title": "Size",
        "type": "integer",
        "minimum": 3,
        "description": "in litres",
        "default": 5,
    }


async def test_a_rule_of_the_type_refuses_with_its_problems() -> None:
    """What the schema cannot express is reported in the same form."""

    def put(item: Item) -> None: ...

    with pytest.raises(ValidationError) as caught:
        await called(put, {"item": {"name": "cursed"}})
    assert caught.value.details == {
        "capability": "box.put",
        "problems": [
            {"path": "$.item.name", "expected": "Value error, is cursed", "got": "'cursed'"}
        ],
    }


async def test_each_argument_that_does_not_fit_its_type_is_named() -> None:
    """Also in a model; a caller repairs all of them at once."""

    def put(on: datetime, item: Item) -> None: ...

    with pytest.raises(ValidationError) as caught:
        await called(put, {"on": "yesterday", "item": {"name": "cursed"}})
    message = str(caught.value)
    assert message.startswith("the payload of `box.put` does not fit its types: `$.on`: Input ")
    assert message.endswith("; `$.item.name`: Value error, is cursed")


async def test_the_problems_of_a_type_are_at_most_sixteen() -> None:
    """However many items are wrong. The message has some of them, and counts the others."""

    def put(items: list[Item]) -> None: ...

    with pytest.raises(ValidationError) as caught:
        await called(put, {"items": [{"name": "cursed"}] * 100})
    assert len(caught.value.problems) == 16
    assert str(caught.value).count("is cursed") == 4
    assert str(caught.value).endswith(" (and 96 more)")


def _no_return(a: int):  # type: ignore[no-untyped-def]
    return a


def _untyped(a) -> None: ...  # type: ignore[no-untyped-def]


def _positional(a: int, /) -> None: ...


def _bulk(*names: str) -> None: ...


def _bulk_by_name(**names: str) -> None: ...


def _unresolved(a: Missing) -> None: ...  # type: ignore[name-defined] # noqa: F821


def _misspelt(a: typing.Strings) -> None: ...  # type: ignore[name-defined]


def _no_schema(a: Callable[[int], int]) -> None: ...


def _generator(a: int) -> Iterator[int]:
    yield a


async def _async_generator(a: int) -> list[int]:  # type: ignore[misc] # what it is about
    yield a


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (_no_return, "`_no_return` needs a return annotation"),
        (_untyped, "`_untyped` needs an annotation on `a`"),
        (_positional, "`_positional` takes `a` by position or in bulk"),
        (_bulk, "`_bulk` takes `names` by position or in bulk"),
        (_bulk_by_name, "`_bulk_by_name` takes `names` by position or in bulk"),
        (_unresolved, "`_unresolved` has an annotation that cannot be resolved"),
        (_misspelt, "`_misspelt` has an annotation that cannot be resolved"),
        (_no_schema, "`_no_schema` has no json schema"),
        (_generator, "`_generator` is a generator; return the whole result"),
        (
            _async_generator,
            "`_async_generator` is an async generator; annotate it `-> AsyncIterator[T]`",
        ),
        (functools.partial(sync_sum, b=1), "a `partial` is not a function; wrap it in one"),
    ],
)
def test_a_function_that_says_too_little_is_refused(
    function: Callable[..., Any], message: str
) -> None:
    """The message names the function and what is missing, in one line."""
    with pytest.raises(RegistrationError) as caught:
        registered(function)
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message


def test_a_default_that_does_not_fit_is_refused() -> None:
    """The function would get it as it is, without any check."""
    registry = CapabilityRegistry()

    def nothing(limit: int = "ten") -> int: ...  # type: ignore[assignment,empty-body]

    def spelt_out(when: datetime = "2025-01-01") -> int: ...  # type: ignore[assignment,empty-body]

    def too_small(limit: Annotated[int, pydantic.Field(ge=1)] = 0) -> int: ...  # type: ignore[empty-body]

    for function, name in ((nothing, "limit"), (spelt_out, "when"), (too_small, "limit")):
        with pytest.raises(RegistrationError, match=f"a default of `{name}` that does not fit"):
            registry.capability("box.put")(function)
    assert len(registry) == 0


def test_a_default_that_fits_is_what_the_function_gets() -> None:
    """An integer fits where a float is wanted, as everywhere in Python."""
    registry = CapabilityRegistry()

    @registry.capability("box.put")
    def put(weight: float = 1, note: str | None = None, item: Item = Item(name="pen")) -> int: ...  # type: ignore[empty-body]  # noqa: B008

    assert "box.put" in registry


class NotFound(LookupError):
    """An error of a capability's own."""


@pytest.mark.parametrize("kind", ["inline", "async", "plain"])
async def test_a_declared_error_crosses_with_its_text(kind: str) -> None:
    """As a ProviderError that names its class; any other error is passed on as it is."""

    def fail(name: str) -> str:
        raise NotFound("no customer `7`") if name == "7" else KeyError("a secret")

    async def inline(name: str) -> str:
        return fail(name)

    async def suspending(name: str) -> str:
        await anyio.lowlevel.checkpoint()
        return fail(name)

    functions: dict[str, Any] = {"inline": inline, "async": suspending, "plain": fail}
    provider = derive(functions[kind], (NotFound,)).provider

    async def call(name: str) -> Any:
        result = provider(CONTEXT, {"name": name})
        return await result if inspect.isawaitable(result) else result

    with pytest.raises(ProviderError, match="NotFound: no customer `7`") as caught:
        await call("7")
    assert caught.value.details == {"error": "NotFound"}
    with pytest.raises(KeyError):
        await call("8")


@pytest.mark.parametrize(
    "raises", [(Exception,), (ProviderError,), (BaseException,), ("NotFound",), NotFound, (1,)]
)
def test_only_errors_of_one_s_own_can_be_declared(raises: Any) -> None:
    """A wide class would show the text of everything, and Caps' own errors have meanings."""
    registry = CapabilityRegistry()

    async def find() -> None:
        return None

    with pytest.raises(RegistrationError, match="`raises`"):
        registry.capability("customers.find", raises=raises)(find)


def test_a_stub_names_the_declared_errors() -> None:
    """So that a model can catch them."""
    registry = CapabilityRegistry()

    @registry.capability("customers.find", raises=(NotFound,))
    async def find(name: str) -> str:
        """Find a customer."""
        raise NotFound(name)

    text = render(registry.bind({"allow": ["customers.*"]}))
    assert "raises: ProviderError, whose `error` is one of NotFound" in text
