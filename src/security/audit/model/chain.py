"""(8) The hash chain: how a record becomes bytes, and how these bytes are checked. No IO.

    body = sha256("caps.audit.body.v2" NUL + canonical(record without `prev` and `hash`))
    hash = sha256("caps.audit.record.v2" NUL + prev + body), both in hexadecimal
    line = canonical(record with `prev` and `hash`) + newline

`canonical` is RFC 8785. `prev` is the hash of the previous record, 64 zeros for the first one, so a
hash covers everything up to and including its record. It has two steps so that a proof can carry
the chain past a record by its body digest alone, without showing the record (ADR 5). Version 1,
which is still read, has one step: sha256("caps.audit.record.v1" NUL + canonical(record without
`hash`)).

A record has exactly one encoding; any other encoding of the same record counts as an edit. The
writer encodes with msgspec, which is fast and agrees with RFC 8785 on the restricted values of
`records.py`. The verifier encodes with the `rfc8785` library. A property test checks that both
agree.

The writer encodes a record once, before its number, its time and the two hashes are known. In
their places the encoder copies a NUL byte (`GAP`); it escapes every other NUL, as JSON requires.
The text is then split at the NULs, and `seal_all` fills the gaps: without the hashes for the digest
of the body, with them for the line.
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
from caps.security.audit.model.records import (
    GAP,
    RECORD_VERSION,
    AuditEvent,
    AuditRecord,
    is_timestamp,
)

GENESIS: Final = "0" * 64
_WHOLE_V1: Final = b"caps.audit.record.v1\0"
# Copied for each record, which is faster than a new hash object.
_BODY: Final = hashlib.sha256(b"caps.audit.body.v2\0")
_LINK: Final = hashlib.sha256(b"caps.audit.record.v2\0")
_ENVELOPE_GAPS: Final = {"hash": GAP, "prev": GAP, "seq": GAP, "ts": GAP, "v": RECORD_VERSION}
_HASH_NAME: Final = len('"hash":')
_PREV_NAME: Final = len('"prev":')

# The text of a record without the values that the chain adds: the text before `hash`, the text
# between it and `prev` (without the names of both, since the body has neither), the texts that lead
# to the values of `seq` and `ts`, and the rest.
EncodedRecord = tuple[str, str, str, str, str]
# An encoded record, and the time at which its event was appended.
Entry = tuple[EncodedRecord, str]


class Head(NamedTuple):
    """The last record of a chain, which is all that a writer needs to continue it."""

    seq: int
    hash: str


ORIGIN: Final = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class Link:
    """A line that was checked: it is a record, and its hash is correct.

    `body` represents the record in a proof that does not show it; version 1 has none. `signed_seq`
    is the record that is signed, if this one says so.
    """

    seq: int
    prev: str
    hash: str
    body: str | None = field(default=None, compare=False)
    signed_seq: int | None = field(default=None, compare=False)

    @property
    def head(self) -> Head:
        return Head(self.seq, self.hash)


class Flaw(msgspec.Struct, frozen=True):
    """A line that is not what a writer wrote; `seq` is the number in it, if there is one."""

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
_encode: Final = msgspec.json.Encoder(order="sorted").encode


@functools.cache
def _event_decoder() -> msgspec.json.Decoder[AuditEvent]:
    # Built at the first read: for a union of this size that takes longer than writing a record.
    return msgspec.json.Decoder(AuditEvent)


def encode_record(fields: dict[str, Any]) -> EncodedRecord:
    """Encode a record from its fields, including `kind`; `sanitize.py` must have bounded them."""
    return split_at_gaps(_encode({**fields, **_ENVELOPE_GAPS}))


def split_at_gaps(encoded: bytes) -> EncodedRecord:
    """Split an encoded record at the NUL bytes that mark its gaps."""
    to_hash, to_prev, to_seq, to_ts, rest = encoded.decode().split("\0")
    return to_hash[:-_HASH_NAME], to_prev[1:-_PREV_NAME], to_seq[1:], to_ts, rest


def split_lines_at_gaps(encoded: bytes) -> list[EncodedRecord]:
    """Split encoded records, each with a newline, as `split_at_gaps` does.

    No record has a newline, which JSON escapes: it is the border of two.
    """
    texts = iter(encoded.replace(b"\n", b"\0").decode().split("\0"))
    return [
        (to_hash[:-_HASH_NAME], to_prev[1:-_PREV_NAME], to_seq[1:], to_ts, rest)
        for to_hash, to_prev, to_seq, to_ts, rest in zip(*[texts] * 5, strict=False)
    ]


def seal_all(entries: Iterable[Entry], after: Head) -> tuple[list[bytes], Head]:
    """Return the lines of the records that follow `after`, and the new head.

    The entries come from `sanitize.encode_event`; only then do the bytes agree with RFC 8785.
    """
    lines: list[bytes] = []
    seq, prev = after
    for (to_hash, to_prev, to_seq, to_ts, rest), ts in entries:
        seq += 1
        tail = f'{to_seq}{seq}{to_ts}"{ts}"{rest}'
        body = _BODY.copy()
        body.update(f"{to_hash}{to_prev}{tail}".encode())
        link = _LINK.copy()  # `link_hash` in place: a call costs as much as the copy
        link.update(f"{prev}{body.hexdigest()}".encode())
        digest = link.hexdigest()
        lines.append(f'{to_hash}"hash":"{digest}",{to_prev}"prev":"{prev}",{tail}\n'.encode())
        prev = digest
    # As `Head(seq, prev)`, without the function that a named tuple has for it.
    return lines, tuple.__new__(Head, (seq, prev))


def link_hash(prev: str, body: str) -> str:
    """Return the hash of the record with body digest `body` that follows the hash `prev`."""
    digest = _LINK.copy()
    digest.update(f"{prev}{body}".encode())
    return digest.hexdigest()


def check_link(line: bytes) -> Link | Flaw:
    """Check one line (without its newline) on its own, with the verifier's encoder."""
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
        canonical = rfc8785.dumps({**record, "hash": claimed})
        digest, body = _digests(record, prev)
    except (ValueError, RecursionError):
        return Flaw(seq, "holds a value that no writer records")
    if digest != claimed:
        return Flaw(seq, "does not match its hash")
    if canonical != line:
        return Flaw(seq, "is not encoded as it was written")
    signed = record.get("signed_seq")
    return Link(seq, prev, claimed, body, signed if type(signed) is int else None)


def _digests(unhashed: dict[str, Any], prev: str) -> tuple[str | None, str | None]:
    """Return the expected hash of a record, by its version, and its body digest."""
    match unhashed.get("v"):
        case bool():
            return None, None
        case 1:
            return hashlib.sha256(_WHOLE_V1 + rfc8785.dumps(unhashed)).hexdigest(), None
        case 2:
            rest = {name: value for name, value in unhashed.items() if name != "prev"}
            body = _BODY.copy()
            body.update(rfc8785.dumps(rest))
            return link_hash(prev, body.hexdigest()), body.hexdigest()
        case _:
            return None, None


def decode(line: bytes) -> AuditRecord:
    """Decode one line as a record, without checking its hash.

    Raises `AuditError` if it is not a record, or of a kind that this version does not know.
    """
    try:
        envelope = _decode_envelope(line)
        event = _event_decoder().decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise AuditError(f"not an audit record of version {RECORD_VERSION}: {error}") from error
    if not is_timestamp(envelope.ts):
        raise AuditError("not an audit record: its `ts` is not a time in utc")
    return AuditRecord(event=event, **msgspec.structs.asdict(envelope))


def record_fields(record: AuditRecord) -> dict[str, Any]:
    """Return the record as one flat object, as on disk."""
    fields: dict[str, Any] = msgspec.to_builtins(record.event)
    return {**fields, **{name: getattr(record, name) for name in _Envelope.__struct_fields__}}
