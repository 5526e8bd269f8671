"""(2) What a registry keeps of a domain and a function, and the checks before it does."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec
import pydantic

from caps.capabilities.provider import Provider, Scope, has_no_await
from caps.capabilities.schemas.schema import CompiledSchema
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.argument_checks import require
from caps.protocol.errors import RegistrationError
from caps.security.policies.names import quoted


class RegisteredDomain(msgspec.Struct, frozen=True, kw_only=True):
    """A group of capabilities that share a scope model; without one it takes no scope."""

    name: str
    scope: type[Scope] | None = None
    title: str = ""
    description: str = ""


class RegisteredCapability(msgspec.Struct, frozen=True, kw_only=True):
    """A capability with its provider and its compiled schemas."""

    spec: CapabilitySpec
    provider: Provider
    schema_in: CompiledSchema
    schema_out: CompiledSchema


class CardTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What the tool card in force says of a function, besides its schemas."""

    agent_type: str
    cost_estimate: float | None = None
    side_effects: tuple[str, ...] = ()


def registered_function(spec: CapabilitySpec, provider: Provider) -> RegisteredCapability:
    """`spec` with its provider and compiled schemas. Raises RegistrationError."""
    require(isinstance(spec, CapabilitySpec), "spec", spec, "a `CapabilitySpec`", RegistrationError)
    spec = _validated(spec)
    known = spec.schema_in.get("properties", {})
    for name in spec.shown:
        if name not in known:
            raise RegistrationError(
                f"`{spec.name}`: `shown` names `{name}`, which is not a parameter"
            )
    if not callable(provider):
        raise RegistrationError(f"the provider of `{spec.name}` cannot be called")
    if spec.streams is not inspect.isasyncgenfunction(provider):
        raise RegistrationError(
            f"`{spec.name}`: a provider is an async generator if and only if `streams` is True"
        )
    return RegisteredCapability(
        spec=_with_inline(spec, provider),
        provider=provider,
        schema_in=CompiledSchema(_closed_object(spec), f"schema_in of `{spec.name}`"),
        schema_out=CompiledSchema(spec.schema_out, f"schema_out of `{spec.name}`"),
    )


def _validated(spec: CapabilitySpec) -> CapabilitySpec:
    """`spec`, validated again: `model_construct` and `model_copy` check nothing."""
    try:
        return CapabilitySpec.model_validate(dict(spec))
    except pydantic.ValidationError as error:
        raise invalid_spec(str(getattr(spec, "name", "")), error) from None


# By the field and the type of the problem.
_MEANT = {
    ("name", "string_pattern_mismatch"): "should be `domain.function`: lowercase, digits and `_`",
    ("shown", "tuple_type"): "should be a tuple of arguments, such as `('path',)`",
}


def invalid_spec(name: str, error: pydantic.ValidationError) -> RegistrationError:
    """The first problem of a specification, in one line."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    what = _MEANT.get((place, first["type"]), first["msg"])
    return RegistrationError(f"capability {quoted(name)}: {place}: {what}")


def _with_inline(spec: CapabilitySpec, provider: Provider) -> CapabilitySpec:
    """`spec` with `inline` set: as it was declared, or by whether `provider` can suspend."""
    possible = has_no_await(provider)
    if spec.inline and not possible:
        raise RegistrationError(
            f"`{spec.name}` cannot be inline: its provider is not an `async def` without `await`"
        )
    wanted = possible if spec.inline is None else spec.inline
    return spec if spec.inline is wanted else spec.model_copy(update={"inline": wanted})


def _closed_object(spec: CapabilitySpec) -> dict[str, Any]:
    """The schema of the payload, always an object. An empty schema means no arguments."""
    if not spec.schema_in:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    return {"type": "object", **spec.schema_in}
