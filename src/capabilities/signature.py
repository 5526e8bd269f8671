"""(2) From a typed function to a capability: both schemas, and a provider that converts the data.

    @registry.capability("inventory.lookup")
    async def lookup(sku: str, limit: int = 10) -> list[Item]: ...

Parameters become `schema_in`, the return annotation becomes `schema_out`; for an async generator,
which streams, `schema_out` is that of `T` in `AsyncIterator[T]`. A parameter annotated
`CallContext` receives the context and is not part of the schema.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from types import TracebackType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import pydantic
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from caps.capabilities.plain_values import plain_arguments, plain_result
from caps.capabilities.provider import (
    CallContext,
    Provider,
    has_no_await,
    has_plain_function,
    run_without_suspending,
)
from caps.protocol.errors import CapsError, ProviderError, RegistrationError, ValidationError
from caps.security.policies.names import quoted

_MAX_PROBLEMS = 16
_MAX_TOLD = 4
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


# Bytes are base64 in JSON, except in a model that says otherwise.
_BYTES: pydantic.ConfigDict = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}


class TypedJsonSchema(GenerateJsonSchema):
    """JSON Schema that also names the format of decimals, and what a result always has."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> dict[str, Any]:
        found = super().decimal_schema(schema)
        for branch in found.get("anyOf", [found]):
            if branch.get("type") == "string":
                branch["format"] = "decimal"
        return found

    def field_is_required(self, field: Any, total: bool) -> bool:
        """A field with a default is always there in a result."""
        if self.mode == "serialization" and field["type"] != "typed-dict-field":
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)


class ReturnType:
    """The return annotation of a function: its schema, and how its values become JSON."""

    def __init__(self, hint: Any) -> None:
        try:
            self._adapter: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(hint, config=_BYTES)
            self._listed = False
        except pydantic.PydanticUserError as error:
            if error.code != "type-adapter-config-unused":
                raise
            # A class with a configuration of its own; as an item of a list, a dataclass that has
            # none gets this one.
            self._adapter = pydantic.TypeAdapter(list[hint], config=_BYTES)
            self._listed = True
        compiled: Any = self._adapter.core_schema
        if self._listed and compiled["type"] == "list":  # else it has definitions
            compiled = compiled["items_schema"]
        self._is_plain = plain_result(compiled)

    def schema(self) -> dict[str, Any]:
        found = self._adapter.json_schema(mode="serialization", schema_generator=TypedJsonSchema)
        if not self._listed:
            return found
        definitions = {"$defs": found["$defs"]} if "$defs" in found else {}
        return {**found["items"], **definitions}

    def to_json_like(self, result: Any) -> Any:
        if self._is_plain(result):
            # A copy of a record, as by pydantic: the function may go on with its own.
            return dict(result) if type(result) is dict else result
        # By alias, as in the schema. No warnings: they would print the value; the schema checks it.
        given = [result] if self._listed else result
        found = self._adapter.serializer.to_python(
            given, mode="json", by_alias=True, warnings="none"
        )
        return found[0] if self._listed else found


class DerivedCapability(msgspec.Struct, frozen=True):
    """What is derived from a typed function."""

    schema_in: dict[str, Any]
    schema_out: dict[str, Any]
    description: str
    provider: Provider
    streams: bool


def derive(
    function: Callable[..., Any], raises: Sequence[type[Exception]] = ()
) -> DerivedCapability:
    """Derive a capability from `function`'s signature. RegistrationError if it is not typed.

    The provider raises each of `raises` as a ProviderError with its text.
    """
    shown = ShownErrors(function, raises)
    hints = _hints(function)
    streams = inspect.isasyncgenfunction(function)
    fields, context_name = _fields(function, hints)
    try:
        payload_model = pydantic.create_model(
            "Payload", __config__=pydantic.ConfigDict(extra="forbid", **_BYTES), **fields
        )
        returned = ReturnType(_item_hint(function, hints) if streams else hints["return"])
        schema_in = payload_model.model_json_schema(schema_generator=TypedJsonSchema)
        schema_out = returned.schema()
    except (pydantic.PydanticUserError, pydantic.PydanticInvalidForJsonSchema) as error:
        reason = str(error).partition("\n")[0]
        raise RegistrationError(f"`{_name(function)}` has no json schema: {reason}") from None
    schema_in.pop("title", None)
    return DerivedCapability(
        schema_in,
        schema_out,
        inspect.getdoc(function) or "",
        _provider(
            function,
            _argument_reader(
                payload_model, schema_in, context_name, _required(function, context_name)
            ),
            returned,
            shown,
        ),
        streams,
    )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    # From Python 3.14 on, a `partial` counts as a routine.
    if isinstance(function, functools.partial) or not inspect.isroutine(function):
        raise RegistrationError(f"a `{_name(function)}` is not a function; wrap it in one")
    if inspect.isgeneratorfunction(function):
        raise RegistrationError(
            f"`{_name(function)}` is a generator; return the whole result, or write `async def`"
        )
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise RegistrationError(
            f"`{_name(function)}` has an annotation that cannot be resolved: {error}"
        ) from None
    if "return" not in hints:
        raise RegistrationError(f"`{_name(function)}` needs a return annotation")
    return hints


def _item_hint(function: Callable[..., Any], hints: dict[str, Any]) -> Any:
    """The type of an item of an async generator."""
    hint = hints["return"]
    if get_origin(hint) not in (AsyncIterator, AsyncIterable, AsyncGenerator):
        raise RegistrationError(
            f"`{_name(function)}` is an async generator; annotate it `-> AsyncIterator[T]`"
        )
    return get_args(hint)[0]


def _fields(
    function: Callable[..., Any], hints: dict[str, Any]
) -> tuple[dict[str, Any], str | None]:
    fields: dict[str, Any] = {}
    context_name = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in _BY_NAME:
            raise RegistrationError(
                f"`{_name(function)}` takes `{name}` by position or in bulk; "
                "a capability's parameters go by name"
            )
        if name not in hints:
            raise RegistrationError(f"`{_name(function)}` needs an annotation on `{name}`")
        if hints[name] is CallContext:
            context_name = name
            continue
        if _mentions_context(hints[name]):
            # As a part of the payload, the worker could choose the caller's identity.
            raise RegistrationError(
                f"`{_name(function)}` hides the context in `{name}`; "
                "annotate it `CallContext` alone"
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        if default is not ...:
            _check_default(function, name, hints[name], default)
        # The fields of the model are numbered: `json` or `_x` would clash with names of a model.
        field = pydantic.Field(default, alias=name, validation_alias=name)
        fields[f"parameter_{len(fields)}"] = (hints[name], field)
    return fields, context_name


def _required(function: Callable[..., Any], context_name: str | None) -> list[str]:
    """The parameters without a default, but for the context."""
    parameters = inspect.signature(function).parameters
    without = [name for name, one in parameters.items() if one.default is one.empty]
    return [name for name in without if name != context_name]


def _check_default(function: Callable[..., Any], name: str, hint: Any, default: Any) -> None:
    """The function gets its default unconverted, so it must already have the type."""
    try:
        pydantic.TypeAdapter(hint).validate_python(default, strict=True)
    except pydantic.ValidationError as error:
        raise RegistrationError(
            f"`{_name(function)}` has a default of `{name}` that does not fit its annotation: "
            f"{error.errors()[0]['msg'].lower()}"
        ) from None
    except pydantic.PydanticUserError:
        return  # there is no schema for the annotation; `derive` reports it


def _mentions_context(hint: Any) -> bool:
    return hint is CallContext or any(_mentions_context(part) for part in get_args(hint))


def _argument_reader(
    payload_model: type[pydantic.BaseModel],
    schema: dict[str, Any],
    context_name: str | None,
    required: Collection[str],
) -> Callable[[CallContext, Mapping[str, Any]], dict[str, Any]]:
    """A function from the payload of a call to the arguments of the author's function."""
    names = [(str(field.alias), own) for own, field in payload_model.model_fields.items()]
    validator = payload_model.__pydantic_validator__
    # Only JSON has bytes as base64; in Python data a string would become its own UTF-8.
    has_bytes = '"base64url"' in json.dumps(schema)
    is_plain = plain_arguments(payload_model.__pydantic_core_schema__, required)

    def arguments(context: CallContext, payload: Mapping[str, Any]) -> dict[str, Any]:
        if is_plain(payload):
            plain = dict(payload)
            if context_name is not None:
                plain[context_name] = context
            return plain
        try:
            typed = (
                validator.validate_json(msgspec.json.encode(payload))
                if has_bytes
                else validator.validate_python(payload)
            ).__dict__
        except pydantic.ValidationError as error:
            raise _payload_error(context.capability, error) from None
        values = {name: typed[own] for name, own in names}
        if context_name is not None:
            values[context_name] = context
        return values

    return arguments


def _provider(
    function: Callable[..., Any],
    arguments: Callable[[CallContext, Mapping[str, Any]], dict[str, Any]],
    returned: ReturnType,
    shown: ShownErrors,
) -> Provider:
    plain = returned.to_json_like

    if has_no_await(function):
        return _inline_provider(function, arguments, returned, shown)

    if inspect.isasyncgenfunction(function):

        async def stream(context: CallContext, payload: Mapping[str, Any]) -> AsyncIterator[Any]:
            values = arguments(context, payload)
            with shown:
                async with aclosing(function(**values)) as items:
                    async for item in items:
                        yield plain(item)

        return stream

    if inspect.iscoroutinefunction(function):

        async def call_async(context: CallContext, payload: Mapping[str, Any]) -> Any:
            values = arguments(context, payload)
            with shown:
                result = await function(**values)
            return plain(result)

        return call_async

    def call(context: CallContext, payload: Mapping[str, Any]) -> Any:
        values = arguments(context, payload)
        with shown:
            result = function(**values)
        return plain(result)

    return call


def _inline_provider(
    function: Callable[..., Any],
    arguments: Callable[[CallContext, Mapping[str, Any]], dict[str, Any]],
    returned: ReturnType,
    shown: ShownErrors,
) -> Provider:
    plain = returned.to_json_like

    def direct(context: CallContext, payload: Mapping[str, Any]) -> Any:
        values = arguments(context, payload)
        if not shown.classes:
            return plain(run_without_suspending(function(**values)))
        with shown:
            result = run_without_suspending(function(**values))
        return plain(result)

    async def call_without_await(context: CallContext, payload: Mapping[str, Any]) -> Any:
        # It has no `await` of its own, so that `has_no_await` is true for it as well.
        return direct(context, payload)

    has_plain_function(call_without_await, direct)
    return call_without_await


class ShownErrors:
    """Within this context, an error of a declared class becomes a ProviderError with its text.

    It has no state, so concurrent calls share one.
    """

    def __init__(self, function: Callable[..., Any], raises: Sequence[type[Exception]]) -> None:
        given: object = raises  # the caller may pass anything
        fits = isinstance(given, (tuple, list)) and all(
            isinstance(each, type) and issubclass(each, Exception) for each in given
        )
        if not fits:
            raise RegistrationError(f"`{_name(function)}`: `raises` must be a tuple of exceptions")
        for each in raises:
            # Errors of Caps have meanings of their own, and everything is an `Exception`.
            if each is Exception or issubclass(each, CapsError):
                what = f"`raises` names `{each.__name__}`; name errors of your own"
                raise RegistrationError(f"`{_name(function)}`: {what}")
        self.classes = tuple(raises)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, self.classes):
            name, text = type(error).__name__, str(error)
            raise ProviderError(f"{name}: {text}" if text else name, error=name) from error


def _payload_error(capability: str, error: pydantic.ValidationError) -> ValidationError:
    """The error for a payload that fits the JSON schema but not the type (a custom validator)."""
    problems = [
        {
            "path": "$" + "".join(f".{part}" for part in item["loc"]),
            "expected": item["msg"],
            "got": repr(item["input"])[:80],
        }
        for item in error.errors()[:_MAX_PROBLEMS]
    ]
    told = "; ".join(f"{quoted(one['path'])}: {one['expected']}" for one in problems[:_MAX_TOLD])
    more = f" (and {error.error_count() - _MAX_TOLD} more)" if len(problems) > _MAX_TOLD else ""
    return ValidationError(
        f"the payload of `{capability}` does not fit its types: {told}{more}",
        capability=capability,
        problems=problems,
    )
