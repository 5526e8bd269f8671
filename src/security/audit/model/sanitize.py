"""(8) Sanitize events before they are recorded, so that evidence can always be written.

Long strings are cut with a visible marker, lone surrogates are escaped, names are made ASCII,
floats and integers beyond 2**53 become strings (a top-level counter is clamped to the bound). So a
hostile argument can make a record ugly, but never impossible to write. An event that is still too
large, or has a value of another type than its class declares, could not be decoded again by a
reader: it raises `AuditError` for this event alone, and the others of its batch are written.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Sequence
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import (
    EncodedRecord,
    encode_record,
    split_at_gaps,
    split_lines_at_gaps,
)
from caps.security.audit.model.records import ENVELOPE_FIELDS, MAX_LINE_BYTES, AuditEvent

MAX_TEXT_CHARS: Final = 1024
MAX_DETAIL_CHARS: Final = 4096
MAX_INTEGER: Final = 2**53 - 1

# Leaves room for the envelope, whose size is fixed except for the digits of `seq`.
_MAX_FIELDS_BYTES: Final = MAX_LINE_BYTES - 1024
# With more bits `str(int)` may raise; `hex(int)` never does.
_DECIMAL_BITS: Final = 4096

_encode: Final = msgspec.json.Encoder().encode
# The fields of a shape are sorted already; this sorts the names of nested objects.
_shape_encoder: Final = msgspec.json.Encoder(order="deterministic")
_encode_shape: Final = _shape_encoder.encode
_encode_shapes: Final = _shape_encoder.encode_lines


def encode_event(event: AuditEvent) -> EncodedRecord:
    """Encode the record of `event`, except for the values that the chain adds.

    Raises `AuditError` if the event has values of foreign types, or is too large.
    """
    kind = type(event)
    shape = _shapes.get(kind) or _shape_of(kind)
    try:
        encoded = _encode_shape(msgspec.convert(event, shape, from_attributes=True))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return encode_sanitized(event)  # the shape or JSON does not allow a value
    if encoded.isascii() and len(encoded) <= _MAX_FIELDS_BYTES:
        return split_at_gaps(encoded)
    return encode_sanitized(event)


def encode_all(events: Sequence[AuditEvent]) -> list[EncodedRecord]:
    """`encode_event` of each event, in one pass of the encoder if no event needs mending."""
    try:
        encoded = _encode_shapes(_shaped(events))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return [encode_event(event) for event in events]
    if encoded.isascii() and len(encoded) <= _MAX_FIELDS_BYTES:
        return split_lines_at_gaps(encoded)
    return [encode_event(event) for event in events]


def _shaped(events: Sequence[AuditEvent]) -> list[Any]:
    """Each event as its shape. Raises what `msgspec.convert` raises."""
    shapes = [_shapes.get(type(event)) or _shape_of(type(event)) for event in events]
    if len(set(shapes)) == 1:  # a third faster in one call
        of_one_kind: Any = GenericAlias(list, shapes[0])
        found: list[Any] = msgspec.convert(events, of_one_kind, from_attributes=True)
        return found
    return [
        msgspec.convert(event, shape, from_attributes=True)
        for event, shape in zip(events, shapes, strict=True)
    ]


def encode_sanitized(event: AuditEvent) -> EncodedRecord:
    """`encode_event` by the slow path: check and mend every value. Raises `AuditError`."""
    try:
        fields: dict[str, Any] = msgspec.to_builtins(event, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError(f"an audit event has a value that cannot be recorded: {error}") from error
    mended = {name: _mended(name, value) for name, value in fields.items()}
    if len(_encode(mended)) > _MAX_FIELDS_BYTES:
        raise AuditError(
            f"an audit event of kind `{fields['kind']}` is over {MAX_LINE_BYTES} bytes"
        )
    try:
        msgspec.convert(mended, type(event))  # as a reader will
    except msgspec.ValidationError as error:
        raise AuditError(
            f"an audit event of kind `{fields['kind']}` has an invalid field: {error}"
        ) from error
    return encode_record(mended)


# By event class: the shape of a record that needs no mending. It has the same fields and the
# envelope, sorted by name, with types that carry the bounds above. An event that fits its shape is
# encoded in one pass. A shape is built when the first event of its class is recorded.
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
    """Return the type `kind` with the bounds of this module; a `str` in it becomes `text`.

    Raises `TypeError` for a type that a record may not have, or that has no bounds yet.
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
        return truncate(str(value), MAX_DETAIL_CHARS)
    if type(value) is int:
        return max(-MAX_INTEGER, min(value, MAX_INTEGER))
    if type(value) is list:  # objects in it are structs, whose fields have types, too
        return [_mended_fields(item) if type(item) is dict else _nested(item) for item in value]
    return _nested(value)


def _mended_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {_ascii(name): _mended(name, value) for name, value in fields.items()}


def truncate(value: str, limit: int) -> str:
    """Cut `value` to `limit` characters plus a marker, and escape lone surrogates."""
    if len(value) > limit:
        value = f"{value[:limit]}...[{len(value) - limit} more characters]"
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def json_safe(value: str | int, limit: int) -> str | int:
    """Make `value` representable in JSON; a string beyond `limit` is cut with a marker."""
    if isinstance(value, str):
        return truncate(value, limit)
    if -MAX_INTEGER <= value <= MAX_INTEGER:
        return value
    digits = str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)
    return truncate(digits, limit)


def _nested(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        short = len(value) <= MAX_TEXT_CHARS and value.isascii()
        return value if short else truncate(value, MAX_TEXT_CHARS)
    if kind is dict:
        return {_ascii(name): _nested(item) for name, item in value.items()}
    if kind is list:
        return [_nested(item) for item in value]
    if kind is float:
        return repr(value)
    if kind is int:
        return json_safe(value, MAX_TEXT_CHARS)
    return value


def _ascii(name: str) -> str:
    # Writer and verifier sort names differently beyond the basic plane; they agree on ASCII.
    if len(name) <= MAX_TEXT_CHARS and name.isascii():
        return name
    return truncate(name, MAX_TEXT_CHARS).encode("ascii", "backslashreplace").decode("ascii")
