"""From a typed function to a capability: both schemas, and a provider that converts for it.

    @registry.capability("inventory.lookup")
    async def lookup(sku: str, limit: int = 10) -> list[Item]: ...

Parameters become `schema_in`, the return annotation becomes `schema_out`. A parameter annotated
`CallContext` receives the context and is no part of the schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

import pydantic

from caps.capabilities.provider import CallContext, Provider
from caps.protocol.errors import RegistrationError, ValidationError

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class DerivedCapability:
    """What a typed function says about itself."""

    schema_in: dict[str, Any]
    schema_out: dict[str, Any]
    description: str
    provider: Provider


def derive(function: Callable[..., Any]) -> DerivedCapability:
    """Read `function`'s signature; a RegistrationError if it is not fully typed."""
    hints = _hints(function)
    fields, context_name = _fields(function, hints)
    try:
        payload_model = pydantic.create_model(
            "Payload", __config__=pydantic.ConfigDict(extra="forbid"), **fields
        )
        adapter = pydantic.TypeAdapter(hints["return"])
        schema_in = payload_model.model_json_schema()
        schema_out = adapter.json_schema(mode="serialization")
    except (pydantic.PydanticUserError, pydantic.PydanticInvalidForJsonSchema) as error:
        reason = str(error).partition("\n")[0]
        raise RegistrationError(f"`{function.__name__}` has no json schema: {reason}") from None
    schema_in.pop("title", None)
    return DerivedCapability(
        schema_in,
        schema_out,
        inspect.getdoc(function) or "",
        _provider(function, payload_model, adapter, context_name),
    )


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise RegistrationError(
            f"`{function.__name__}` has an annotation that cannot be resolved: {error}"
        ) from None
    if "return" not in hints:
        raise RegistrationError(f"`{function.__name__}` needs a return annotation")
    return hints


def _fields(
    function: Callable[..., Any], hints: dict[str, Any]
) -> tuple[dict[str, Any], str | None]:
    fields: dict[str, Any] = {}
    context_name = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in _BY_NAME:
            raise RegistrationError(
                f"`{function.__name__}` takes `{name}` by position or in bulk; "
                "a capability's parameters go by name"
            )
        if name not in hints:
            raise RegistrationError(f"`{function.__name__}` needs an annotation on `{name}`")
        if hints[name] is CallContext:
            context_name = name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[name] = (hints[name], default)
    return fields, context_name


def _provider(
    function: Callable[..., Any],
    payload_model: type[pydantic.BaseModel],
    adapter: pydantic.TypeAdapter[Any],
    context_name: str | None,
) -> Provider:
    names = tuple(payload_model.model_fields)

    def arguments(context: CallContext, payload: Mapping[str, Any]) -> dict[str, Any]:
        try:
            typed = payload_model.model_validate(payload)
        except pydantic.ValidationError as error:
            raise _payload_error(context.capability, error) from None
        values = {name: getattr(typed, name) for name in names}
        if context_name is not None:
            values[context_name] = context
        return values

    if inspect.iscoroutinefunction(function):

        async def call_async(context: CallContext, payload: Mapping[str, Any]) -> Any:
            result = await function(**arguments(context, payload))
            return adapter.dump_python(result, mode="json")

        return call_async

    def call(context: CallContext, payload: Mapping[str, Any]) -> Any:
        return adapter.dump_python(function(**arguments(context, payload)), mode="json")

    return call


def _payload_error(capability: str, error: pydantic.ValidationError) -> ValidationError:
    """A payload that fits the json schema and not the type (a validator of the author's own)."""
    problems = [
        {
            "path": "$" + "".join(f".{part}" for part in item["loc"]),
            "expected": item["msg"],
            "got": repr(item["input"])[:80],
        }
        for item in error.errors()
    ]
    return ValidationError(
        f"the payload of `{capability}` does not fit its types: {problems[0]['expected']}",
        capability=capability,
        problems=problems,
    )
