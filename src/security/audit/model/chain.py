"""(8) The chain: how a record becomes bytes, and how the bytes prove themselves.

    body = sha256("caps.audit.body.v2" NUL + canonical(record without `prev` and `hash`))
    hash = sha256("caps.audit.record.v2" NUL + prev + body), both in hexadecimal
    line = canonical(record with `prev` and `hash`) + newline

`canonical` is RFC 8785. `prev` is the hash of the record before, 64 zeros for the first, so a hash
covers everything up to and including its record. It is made in two steps so that a proof can carry
the chain past a record without showing it, by its body digest alone (ADR 5). Version 1, which is
still read, has one step: sha256("caps.audit.record.v1" NUL + canonical(record without `hash`)).

A line has one spelling only; the same record spelt otherwise is an edit. The writer spells with
msgspec (`spelling.py`), which is fast and agrees with RFC 8785 on the restricted values of
`records.py`; the verifier spells with the `rfc8785` library, and a property test holds the two
together. No IO here.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import msgspec
import rfc8785

from caps.protocol.errors import AuditError
from caps.security.audit.model.records import RECORD_VERSION, AuditEvent, Record, is_timestamp
from caps.security.audit.spelling import Spelt

GENESIS: Final = "0" * 64
_WHOLE_V1: Final = b"caps.audit.record.v1\0"
# Copied for each record, which takes less than starting anew.
_BODY: Final = hashlib.sha256(b"caps.audit.body.v2\0")
_LINK: Final = hashlib.sha256(b"caps.audit.record.v2\0")


class Head(NamedTuple):
    """The last record of a chain: all that a writer needs to continue it."""

    seq: int
    hash: str


ORIGIN: Final = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class Link:
    """A line that proved to be a record with the hash that it claims.

    `body` is what stands for the record in a proof that does not show it; version 1 has none.
    """

    seq: int
    prev: str
    hash: str
    body: str | None = field(default=None, compare=False)

    @property
    def head(self) -> Head:
        return Head(self.seq, self.hash)


class Flaw(msgspec.Struct, frozen=True):
    """A line that is not what a writer wrote; `seq` is what it claims, if it claims one."""

    seq: int | None
    message: str


class _Envelope(msgspec.Struct, frozen=True, kw_only=True):
    v: Literal[1, 2]
    seq: int
    ts: str
    prev: str
    hash: str


_decode_any: Final = msgspec.json.Decoder().decode
_decode_envelope: Final = msgspec.json.Decoder(_Envelope).decode


@functools.cache
def _events() -> msgspec.json.Decoder[AuditEvent]:
    # Made when somebody reads: a union of so many kinds takes longer than to write a record.
    return msgspec.json.Decoder(AuditEvent)


def seal_all(entries: Iterable[tuple[Spelt, str]], after: Head) -> tuple[list[bytes], Head]:
    """The lines of the records that follow `after`, each with its time, and the last head.

    They come from `bounds.storable`; only then do the bytes agree with RFC 8785.
    """
    lines: list[bytes] = []
    seq, prev = after
    for (to_hash, to_prev, to_seq, to_ts, rest), ts in entries:
        seq += 1
        tail = f'{to_seq}{seq}{to_ts}"{ts}"{rest}'
        body = _BODY.copy()
        body.update(f"{to_hash}{to_prev}{tail}".encode())
        digest = linked(prev, body.hexdigest())
        lines.append(f'{to_hash}"hash":"{digest}",{to_prev}"prev":"{prev}",{tail}\n'.encode())
        prev = digest
    return lines, Head(seq, prev)


def linked(prev: str, body: str) -> str:
    """The hash of the record with this body digest after the record with this hash."""
    digest = _LINK.copy()
    digest.update(f"{prev}{body}".encode())
    return digest.hexdigest()


def inspect(line: bytes) -> Link | Flaw:
    """Checks one line (without its newline) by itself, as the verifier spells it."""
    try:
        record = _decode_any(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return Flaw(None, "is not JSON")
    if not isinstance(record, dict):
        return Flaw(None, "is not a record")
    seq, prev, claimed = record.get("seq"), record.get("prev"), record.pop("hash", None)
    if type(seq) is not int or not isinstance(prev, str) or not isinstance(claimed, str):
        return Flaw(None, "lacks `seq`, `prev` or `hash`")
    try:
        spelt = rfc8785.dumps({**record, "hash": claimed})
        digest, body = _digests(record, prev)
    except (ValueError, RecursionError):
        return Flaw(seq, "holds a value that no writer records")
    if digest != claimed:
        return Flaw(seq, "does not match its hash")
    if spelt != line:
        return Flaw(seq, "is not spelt as it was written")
    return Link(seq, prev, claimed, body)


def _digests(unhashed: dict[str, Any], prev: str) -> tuple[str | None, str | None]:
    """The hash that a record without its `hash` must have, by its version, and its body digest."""
    match unhashed.get("v"):
        case bool():
            return None, None
        case 1:
            return hashlib.sha256(_WHOLE_V1 + rfc8785.dumps(unhashed)).hexdigest(), None
        case 2:
            rest = {name: value for name, value in unhashed.items() if name != "prev"}
            body = _BODY.copy()
            body.update(rfc8785.dumps(rest))
            return linked(prev, body.hexdigest()), body.hexdigest()
        case _:
            return None, None


def decode(line: bytes) -> Record:
    """Reads one line as a record, without checking its hash.

    Raises `AuditError` for what is not a record, or is of a kind that this version does not know.
    """
    try:
        envelope = _decode_envelope(line)
        event = _events().decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise AuditError(f"not an audit record of version {RECORD_VERSION}: {error}") from error
    if not is_timestamp(envelope.ts):
        raise AuditError("not an audit record: its `ts` is no time in utc")
    return Record(
        v=envelope.v,
        seq=envelope.seq,
        ts=envelope.ts,
        prev=envelope.prev,
        hash=envelope.hash,
        event=event,
    )


def record_fields(record: Record) -> dict[str, Any]:
    """The record as the one flat object that it is on disk."""
    fields: dict[str, Any] = msgspec.to_builtins(record.event)
    for name in ("v", "seq", "ts", "prev", "hash"):
        fields[name] = getattr(record, name)
    return fields
