"""(8) Holds an event to what a record may contain, so that evidence can always be written.

Long texts are cut with a visible marker, lone surrogates are escaped, names are made ASCII, floats
and integers beyond 2**53 become texts (a top-level counter stays at the bound). A hostile argument
can therefore make a record ugly, never impossible. What is still too large is an `AuditError` for
that event alone, raised before it joins a batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.records import MAX_LINE_BYTES, AuditEvent

MAX_TEXT_CHARS: Final = 1024
MAX_DETAIL_CHARS: Final = 4096
MAX_INTEGER: Final = 2**53 - 1

# Room for the envelope, whose size is fixed but for the digits of `seq`.
_MAX_FIELDS_BYTES: Final = MAX_LINE_BYTES - 1024
# Beyond this many bits `str(int)` may refuse; hexadecimal never does.
_DECIMAL_BITS: Final = 4096

_encode: Final = msgspec.json.Encoder().encode


def storable(event: AuditEvent) -> dict[str, Any]:
    """The fields of `event`, `kind` among them, as a record may hold them.

    Raises `AuditError` when the event holds foreign types or too much of everything.
    """
    try:
        fields: dict[str, Any] = msgspec.to_builtins(event, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError(f"an audit event holds what cannot be recorded: {error}") from error
    if _needs_no_mending(event, fields):
        return fields
    mended = {name: _mended(name, value) for name, value in fields.items()}
    if len(_encode(mended)) > _MAX_FIELDS_BYTES:
        raise AuditError(
            f"an audit event of kind `{fields['kind']}` is over {MAX_LINE_BYTES} bytes"
        )
    return mended


def _needs_no_mending(event: AuditEvent, fields: dict[str, Any]) -> bool:
    """The usual case, settled by one encoding: short, ASCII, and no number that needs a look."""
    try:
        encoded = _encode(event)
    except ValueError:
        return False  # a lone surrogate, or an integer too long for decimal
    if not encoded.isascii():
        return False
    # Shorter than the shortest limit as a whole, so no text in it can be over its own.
    # Or it has many, as a grant of a thousand has; but a detail has a limit of its own.
    fits = len(encoded) <= MAX_TEXT_CHARS or (
        len(encoded) <= _MAX_FIELDS_BYTES and "detail" not in fields and _all_short(fields)
    )
    return fits and _all_plain(fields.values())


def _all_plain(values: Iterable[Any]) -> bool:
    """Whether no number in them needs mending."""
    for value in [value for value in values if type(value) is not str]:
        kind = type(value)
        if kind is dict or kind is list:
            plain = _all_plain(value.values() if kind is dict else value)
        elif kind is int:
            plain = -MAX_INTEGER <= value <= MAX_INTEGER
        else:
            plain = kind is not float
        if not plain:
            return False
    return True


def _all_short(value: Any) -> bool:
    """Whether no text in it is over the limit of one."""
    if isinstance(value, str):
        return len(value) <= MAX_TEXT_CHARS
    if isinstance(value, dict):
        return all(map(_all_short, value)) and all(map(_all_short, value.values()))
    return not isinstance(value, list) or all(map(_all_short, value))


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
