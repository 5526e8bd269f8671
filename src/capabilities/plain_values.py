"""(7) Values that a typed function takes, or returns, as they are: JSON has the same type.

Pydantic converts the arguments and the result of a typed function. A number, a string, a boolean or
null of exactly the declared type comes out as it went in, so a call with nothing else skips that.
Which types these are is read from pydantic's own compiled schema: a constraint, a validator, or a
setting of a typed dictionary, is a key or a kind that is not known here, and then pydantic is asked
as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import NoneType
from typing import Any, Final

_SCALARS: Final = {"int": int, "float": float, "str": str, "bool": bool, "none": NoneType}
# A float that is not finite has no place in JSON, which is pydantic's matter.
_RETURNED: Final = frozenset({int, str, bool, NoneType})
_SCALAR_KEYS: Final = frozenset({"type", "metadata"})
_UNION_KEYS: Final = frozenset({"type", "metadata", "choices", "mode"})
_WRAPPER_KEYS: Final = frozenset({"type", "metadata", "schema", "default"})

Types = frozenset[type]


def types_of(schema: Mapping[str, Any]) -> Types | None:
    """The types whose values a core schema passes unchanged; None if it may change any."""
    kind = schema["type"]
    if kind in _SCALARS:
        return frozenset({_SCALARS[kind]}) if schema.keys() <= _SCALAR_KEYS else None
    if kind == "union" and schema.keys() <= _UNION_KEYS and schema.get("mode", "smart") == "smart":
        found = frozenset[type]()
        for choice in schema["choices"]:
            one = types_of(choice) if isinstance(choice, Mapping) else None
            if one is None:
                return None
            found |= one
        return found
    if kind in ("nullable", "default") and schema.keys() <= _WRAPPER_KEYS:
        inner = types_of(schema["schema"])
        return inner if inner is None or kind == "default" else inner | {NoneType}
    return None


def plain_arguments(
    schema: Mapping[str, Any], required: Collection[str]
) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a payload needs no conversion, for the model with this core schema.

    Only what is not `required` may be missing: the function has a default for it, too.
    """
    known, needed = _argument_types(schema), frozenset(required)
    if known is None:
        return _never

    def is_plain(payload: Mapping[str, Any]) -> bool:
        for name, value in payload.items():
            if name not in known or type(value) not in known[name]:
                return False
        return payload.keys() >= needed

    return is_plain


def plain_result(schema: Mapping[str, Any]) -> Callable[[Any], bool]:
    """Whether a result needs no conversion, for the return type with this core schema."""
    types = types_of(schema)
    if types is not None:
        scalars = types & _RETURNED
        return lambda result: type(result) in scalars
    if schema["type"] != "typed-dict" or not schema.get("config", {}).keys() <= _RECORD_SETTINGS:
        return _never
    fields = _types_by_name(schema, _RECORD_KEYS, _MEMBER_KEYS)
    if fields is None:
        return _never
    known = {name: types & _RETURNED for name, types in fields.items()}

    def is_plain(result: Any) -> bool:
        if type(result) is not dict or result.keys() != known.keys():
            return False
        for name, value in result.items():  # noqa: SIM110 - a generator takes twice the time
            if type(value) not in known[name]:
                return False
        return True

    return is_plain


def _never(_value: Any) -> bool:
    return False


# The `config` of the model is that of `signature.derive`, which no scalar depends on.
_MODEL_KEYS: Final = frozenset(
    {"type", "metadata", "cls", "custom_init", "root_model", "config", "schema", "ref"}
)
_FIELDS_KEYS: Final = frozenset({"type", "metadata", "fields", "model_name", "computed_fields"})
_ARGUMENT_KEYS: Final = frozenset(
    {"type", "metadata", "schema", "validation_alias", "serialization_alias"}
)
_RECORD_KEYS: Final = frozenset(
    {"type", "metadata", "fields", "cls", "config", "computed_fields", "extra_behavior", "ref"}
)
# A typed dictionary may have settings of its own. No scalar depends on these.
_RECORD_SETTINGS: Final = frozenset({"title", "ser_json_bytes", "val_json_bytes"})
_MEMBER_KEYS: Final = frozenset({"type", "metadata", "schema", "required"})


def _argument_types(schema: Mapping[str, Any]) -> dict[str, Types] | None:
    """The types of each argument, by its name in the payload."""
    if schema["type"] != "model" or not schema.keys() <= _MODEL_KEYS:
        return None
    inner = schema["schema"]
    if schema["custom_init"] or schema["root_model"] or inner["type"] != "model-fields":
        return None
    return _types_by_name(inner, _FIELDS_KEYS, _ARGUMENT_KEYS)


def _types_by_name(
    schema: Mapping[str, Any], keys: frozenset[str], field_keys: frozenset[str]
) -> dict[str, Types] | None:
    if not schema.keys() <= keys or schema.get("computed_fields"):
        return None
    found: dict[str, Types] = {}
    for own_name, field in schema["fields"].items():
        types = types_of(field["schema"])
        name = field.get("validation_alias", own_name)
        if types is None or type(name) is not str or not field.keys() <= field_keys:
            return None
        found[name] = types
    return found
