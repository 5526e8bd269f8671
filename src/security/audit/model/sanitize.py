"""(8) Holds an event to what a record may contain, so that evidence can always be written.

Long texts are cut with a visible marker, lone surrogates are escaped, names are made ASCII, floats
and integers beyond 2**53 become texts (a top-level counter stays at the bound). A hostile argument
can therefore make a record ugly, never impossible. What is still too large, or of another type than
its class says, so that no reader could make the event of it again, is an `AuditError` for that
event alone: the others of its batch are written.
"""

from __future__ import annotations

import enum
import functools
import operator
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.model.records import ENVELOPE_FIELDS, MAX_LINE_BYTES, AuditEvent
from caps.security.audit.spelling import Spelt, cut, spelt

MAX_TEXT_CHARS: Final = 1024
MAX_DETAIL_CHARS: Final = 4096
MAX_INTEGER: Final = 2**53 - 1

# Room for the envelope, whose size is fixed but for the digits of `seq`.
_MAX_FIELDS_BYTES: Final = MAX_LINE_BYTES - 1024
# Beyond this many bits `str(int)` may refuse; hexadecimal never does.
_DECIMAL_BITS: Final = 4096

_encode: Final = msgspec.json.Encoder().encode
# The fields of a shape are in order; this sees to the names of an object within it.
_encode_shape: Final = msgspec.json.Encoder(order="deterministic").encode


def storable(event: AuditEvent) -> Spelt:
    """The record of `event`, spelt as far as it can be before it has its place in the chain.

    Raises `AuditError` when the event holds foreign types or too much of everything.
    """
    kind = type(event)
    shape = _shapes.get(kind) or _shape_of(kind)
    try:
        encoded = _encode_shape(msgspec.convert(event, shape, from_attributes=True))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return mended_record(event)  # it has something that the shape has not, or JSON has not
    if encoded.isascii() and len(encoded) <= _MAX_FIELDS_BYTES:
        return cut(encoded)
    return mended_record(event)


def mended_record(event: AuditEvent) -> Spelt:
    """The same, by looking at every value and mending those that need it. Raises `AuditError`."""
    try:
        fields: dict[str, Any] = msgspec.to_builtins(event, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError(f"an audit event holds what cannot be recorded: {error}") from error
    mended = {name: _mended(name, value) for name, value in fields.items()}
    if len(_encode(mended)) > _MAX_FIELDS_BYTES:
        raise AuditError(
            f"an audit event of kind `{fields['kind']}` is over {MAX_LINE_BYTES} bytes"
        )
    try:
        msgspec.convert(mended, type(event))  # as a reader will
    except msgspec.ValidationError as error:
        raise AuditError(
            f"an audit event of kind `{fields['kind']}` holds what it cannot: {error}"
        ) from error
    return spelt(mended)


# By the class of an event, the record that needs no mending: the same fields and the envelope, in
# the order of their names, with types that have the bounds of above. Only what such a type takes is
# encoded without another look, in one pass; made when the first event of its class is recorded.
_shapes: Final[dict[type, type[msgspec.Struct]]] = {}


def _shape_of(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    fields: dict[str, tuple[str, Any, Any]] = {}
    for found in msgspec.structs.fields(kind):
        text = _text_of(MAX_DETAIL_CHARS if found.name == "detail" else MAX_TEXT_CHARS)
        default: Any = found.default
        if found.default_factory is not msgspec.NODEFAULT:
            default = msgspec.field(default_factory=found.default_factory)
        fields[found.name] = (found.name, _bounded(found.type, text), default)
    if kind.__struct_config__.tag is not None:  # an event
        for name in ENVELOPE_FIELDS:
            fields[name] = (f"_envelope_{name}", Any, msgspec.field(name=name))
    in_order = [fields[name] for name in sorted(fields)]
    shape = msgspec.defstruct(
        f"{kind.__name__}Shape", in_order, kw_only=True, omit_defaults=True, gc=False
    )
    _shapes[kind] = shape
    return shape


def _text_of(limit: int) -> Any:
    return Annotated[str, msgspec.Meta(max_length=limit)]


def _bounded(kind: Any, text: Any) -> Any:
    """The type `kind` with the bounds of this module; a text in it is of type `text`.

    Raises `TypeError` for a type that no record may have, or that nobody gave bounds yet.
    """
    if kind is str:
        return text
    if kind is int:
        return Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _shape_of(kind)
    if kind in (bool, NoneType) or (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        return kind
    origin = get_origin(kind)
    if origin is Literal:
        return kind
    if origin not in (list, dict, Union, UnionType):
        raise TypeError(f"no bounds are known for `{kind}` in an audit record")
    inner = [_bounded(item, text) for item in get_args(kind)]
    return origin[*inner] if origin in (list, dict) else functools.reduce(operator.or_, inner)


def _mended(name: str, value: Any) -> Any:
    if name == "detail":
        return text(str(value), MAX_DETAIL_CHARS)
    if type(value) is int:
        return max(-MAX_INTEGER, min(value, MAX_INTEGER))
    return _nested(value)


def text(value: str, limit: int) -> str:
    """`value` in at most `limit` characters and a marker, free of lone surrogates."""
    if len(value) > limit:
        value = f"{value[:limit]}...[{len(value) - limit} more characters]"
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def legible_value(value: str | int, limit: int) -> str | int:
    """`value` free of what JSON cannot carry; a text is cut with a marker beyond `limit`."""
    if isinstance(value, str):
        return text(value, limit)
    if -MAX_INTEGER <= value <= MAX_INTEGER:
        return value
    return text(_digits(value), limit)


def _nested(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        short = len(value) <= MAX_TEXT_CHARS and value.isascii()
        return value if short else text(value, MAX_TEXT_CHARS)
    if kind is dict:
        return {_ascii(name): _nested(item) for name, item in value.items()}
    if kind is list:
        return [_nested(item) for item in value]
    if kind is float:
        return repr(value)
    if kind is int and not -MAX_INTEGER <= value <= MAX_INTEGER:
        return _long_integer(value)
    return value


def _ascii(name: str) -> str:
    # Writer and verifier sort names differently beyond the basic plane; in ASCII they agree.
    if len(name) <= MAX_TEXT_CHARS and name.isascii():
        return name
    return text(name, MAX_TEXT_CHARS).encode("ascii", "backslashreplace").decode("ascii")


def _long_integer(value: int) -> str:
    return text(_digits(value), MAX_TEXT_CHARS)


def _digits(value: int) -> str:
    return str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)
