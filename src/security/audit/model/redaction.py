"""(8) Redaction: an argument becomes a keyed digest unless its capability allows it to be shown.

The digest is HMAC-SHA256 over the RFC 8785 bytes of the value, under a key that belongs to the log.
Equal values have equal digests, so a holder of the key can search for a value; without the key a
value cannot even be guessed. Values that RFC 8785 cannot encode (integers beyond 2**53, NaN, lone
surrogates) use a tagged encoding, which starts with a NUL byte, as no JSON does:

    NUL "caps.redaction.tagged.v1" NUL, then depth first
    n | t | f                     null, true, false
    i<hex>; d<float.hex()>;       numbers
    s<bytes>:<utf-8>              string, lone surrogates passed through
    l<items>: ...                 list
    m<items>: key value ...       object, ordered by encoded key
    x<type>;                      anything else: only its type
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import rfc8785

from caps.security.audit.model.records import ShownValue
from caps.security.audit.model.sanitize import MAX_INTEGER

# A hostile call can have any number of fields; the fields beyond this number share one digest.
MAX_FIELDS: Final = 64
MAX_NAME_CHARS: Final = 128
# Not the name of any field, since `_field_name` doubles the backslashes of real names.
OTHER_FIELDS: Final = "\\others"

DIGEST_PREFIX: Final = "hmac-sha256:"

_BLOCK: Final = 64
_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))

_SCALARS: Final = (str, int, float, type(None))

_encode: Final = msgspec.json.Encoder(order="sorted").encode
_TAGGED: Final = b"\0caps.redaction.tagged.v1\0"


class Redacted(NamedTuple):
    """A payload as an audit record may carry it."""

    shown: dict[str, ShownValue]
    hidden: dict[str, str]
    args_hmac: str


class HashedPayload(dict[str, Any]):
    """A payload with its digests. Large ones are hashed in a thread, before they are recorded."""

    __slots__ = ("redacted", "shown_fields")

    def __init__(
        self, payload: Mapping[str, Any], shown_fields: Collection[str], redacted: Redacted
    ) -> None:
        super().__init__(payload)
        self.shown_fields = shown_fields
        self.redacted = redacted


class Redactor:
    """Turns values into keyed digests. Holds a secret: never log or send one."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        # HMAC (RFC 2104) with the two hashes of the key computed once: they are copied for each
        # digest, which takes half the time of hashing the key again.
        block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
        self._inner = hashlib.sha256(block.translate(_INNER))
        self._outer = hashlib.sha256(block.translate(_OUTER))

    def __repr__(self) -> str:
        return "Redactor(...)"

    def digest(self, value: Any) -> str:
        """Return `hmac-sha256:<hex>` of any JSON-like value; never raises for one."""
        if type(value) is HashedPayload:
            return value.redacted.args_hmac
        return self._keyed(_plain_bytes(value) or _other_bytes(value))

    def split(self, payload: Mapping[str, Any], shown_fields: Collection[str]) -> Redacted:
        """Keep scalars named in `shown_fields`; replace any other top-level field by a digest."""
        if type(payload) is HashedPayload and payload.shown_fields == shown_fields:
            return payload.redacted
        shown: dict[str, ShownValue] = {}
        hidden: dict[str, str] = {}
        others: dict[str, Any] = {}
        # If every field is plain, the payload is plain too and need not be checked again.
        all_plain = True
        for name, value in payload.items():
            if type(value) is int and -MAX_INTEGER <= value <= MAX_INTEGER:
                encoded: bytes | None = b"%d" % value  # as `_plain_bytes`, which is a call more
            else:
                encoded = _plain_bytes(value)
            all_plain = all_plain and encoded is not None and name.isascii()
            if name in shown_fields and isinstance(value, _SCALARS):
                shown[_field_name(name)] = repr(value) if isinstance(value, float) else value
            elif len(hidden) < MAX_FIELDS:
                field = name if is_simple_name(name) else self._hidden_name(name)
                hidden[field] = self._keyed(encoded or _other_bytes(value))
            else:
                others[name] = value
        if others:
            hidden[OTHER_FIELDS] = self.digest(others)
        whole = dict(payload)
        encoded = None  # it can be large, and is not needed any more
        encoded = _encode(whole) if all_plain else _other_bytes(whole)
        return Redacted(shown, hidden, self._keyed(encoded))

    def hidden_text(
        self, payload: Mapping[str, Any], names: Collection[str]
    ) -> tuple[str, str] | None:
        """`hidden` of `split` as the text of a JSON object, and `args_hmac`, in less time.

        For the usual payload: plain scalars in a few fields of `names`, which are identifiers in
        ASCII of fields that are not shown. None for any other.
        """
        if type(payload) is not dict or len(payload) > MAX_FIELDS:
            return None
        inner_copy, outer_copy = self._inner.copy, self._outer.copy
        fields: list[str] = []
        for name, value in payload.items():
            kind = type(value)
            if name not in names:
                return None
            if kind is int:
                if not -MAX_INTEGER <= value <= MAX_INTEGER:
                    return None
                encoded = b"%d" % value
            elif kind is str or kind is bool or value is None:
                encoded = _encode(value)
            else:
                return None
            inner, outer = inner_copy(), outer_copy()  # `_keyed` in place
            inner.update(encoded)
            outer.update(inner.digest())
            fields.append(f'"{name}":"{DIGEST_PREFIX}{outer.hexdigest()}"')
        fields.sort()  # by name, as each character of a name comes after a quote
        return f"{{{','.join(fields)}}}", self._keyed(_encode(payload))

    def hashed(self, payload: Mapping[str, Any], shown_fields: Collection[str]) -> HashedPayload:
        """`payload` with what `split` and `digest` return for it."""
        return HashedPayload(payload, shown_fields, self.split(payload, shown_fields))

    def _keyed(self, data: bytes) -> str:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(data)
        outer.update(inner.digest())
        return DIGEST_PREFIX + outer.hexdigest()

    def _hidden_name(self, name: str) -> str:
        escaped = _field_name(name)
        if len(escaped) <= MAX_NAME_CHARS:
            return escaped
        # The digest keeps long names with the same beginning distinct.
        return f"{escaped[:MAX_NAME_CHARS]}\\{self.digest(name)}"


def is_simple_name(name: str) -> bool:
    """Whether a record has the name of a hidden field as it is."""
    return name.isascii() and name.isidentifier() and len(name) <= MAX_NAME_CHARS


def _field_name(name: str) -> str:
    """Return `name` in ASCII, such that different names stay different."""
    if name.isascii() and "\\" not in name:
        return name
    return name.replace("\\", "\\\\").encode("ascii", "backslashreplace").decode("ascii")


def _plain_bytes(value: Any) -> bytes | None:
    """Encode as RFC 8785 with msgspec, ten times faster; None if it would differ."""
    kind = type(value)
    if kind is int:
        return b"%d" % value if -MAX_INTEGER <= value <= MAX_INTEGER else None
    try:
        return _encode(value) if kind is str or _is_plain(value) else None
    except (ValueError, RecursionError):
        return None


def _other_bytes(value: Any) -> bytes:
    """Encode as RFC 8785 if that is possible, otherwise with the tagged encoding."""
    try:
        return rfc8785.dumps(value)
    except (ValueError, RecursionError):
        return _TAGGED + _tagged(value)


def _is_plain(value: Any) -> bool:
    """Whether msgspec encodes `value` as RFC 8785 does."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -MAX_INTEGER <= value <= MAX_INTEGER  # type: ignore[no-any-return]
    if kind is dict:
        for name, item in value.items():
            if type(name) is not str or not name.isascii() or not _is_plain(item):
                return False
        return True
    return kind is list and all(map(_is_plain, value))


def _tagged(value: Any) -> bytes:
    """The tagged encoding; iterative, so that a deep value cannot make it fail."""
    out: list[bytes] = []
    todo = [value]
    while todo:
        item = todo.pop()
        match item:
            case list() | tuple():
                out.append(b"l%d:" % len(item))
                todo.extend(reversed(item))
            case dict():
                out.append(b"m%d:" % len(item))
                for key in sorted(item, key=_tagged_leaf, reverse=True):
                    todo += (item[key], key)
            case _:
                out.append(_tagged_leaf(item))
    return b"".join(out)


def _tagged_leaf(item: Any) -> bytes:
    match item:
        case None:
            return b"n"
        case True:
            return b"t"
        case False:
            return b"f"
        case int():
            return b"i%x;" % item
        case float():
            return b"d" + item.hex().encode() + b";"
        case str():
            encoded = item.encode("utf-8", "surrogatepass")
            return b"s%d:" % len(encoded) + encoded
        case _:
            return b"x" + type(item).__qualname__.encode("utf-8", "backslashreplace") + b";"
