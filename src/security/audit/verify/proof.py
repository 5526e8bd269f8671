"""(8) Proofs: records that prove, without the log, that they are in it and which key signed it.

A proof is one JSON object. It starts after the record with hash `prev` and leads, record by record,
to a signed checkpoint. A record is either shown completely, or represented by the digest of its
body: the hash of the chain follows from it (`chain.link_hash`), but it reveals nothing:

    {"format": "caps.audit.proof", "version": 1,
     "subject": {"execution_id": ...} or {"seq": ...},
     "first_seq": 17, "prev": "<hash of record 16>",
     "steps": [{"record": {...}}, {"digests": ["<body of 18>", "<body of 19>"]}, ...],
     "checkpoint": {...}}

What a sound proof shows: the holder of the signing key signed a log that has exactly these records
at exactly these numbers. What it does not show: that no other record belongs to the subject, unless
all are shown. The bytes of a proof are untrusted: their size and types are checked. No IO.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import rfc8785

from caps.security.audit.model.chain import Flaw, Head, check_link, link_hash
from caps.security.audit.signing.checkpoint import BadCheckpoint, Checkpoint, check

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MAX_PROOF_BYTES: Final = 64 * 1024 * 1024
_HEX: Final = frozenset("0123456789abcdef")


class ProofStatus(enum.Enum):
    """The result of verifying a proof."""

    PROVEN = "proven"
    MALFORMED = "malformed"  # not a proof at all
    EDITED = "edited"  # a record does not match its hash
    BROKEN = "broken"  # the records do not lead to what the checkpoint signed
    CHECKPOINT_BAD = "checkpoint_bad"  # its signature is wrong
    UNKNOWN_KEY = "unknown_key"  # another key signed it
    IRRELEVANT = "irrelevant"  # sound, but no record is about its subject


class Subject(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What is proven: the records of an execution, or one record."""

    execution_id: str | None = None
    seq: int | None = None

    def __str__(self) -> str:
        if self.execution_id is not None:
            return f"execution `{self.execution_id}`"
        return f"record {self.seq}"

    def covers(self, record: Mapping[str, Any]) -> bool:
        if self.execution_id is not None:
            return bool(record.get("execution_id") == self.execution_id)
        return bool(record.get("seq") == self.seq)


class ProofStep(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One record that is shown, or a sequence of records that are not."""

    record: dict[str, Any] | None = None
    digests: list[str] | None = None


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole proof; see the docstring of this file."""

    format: Literal["caps.audit.proof"]
    version: Literal[1]
    subject: Subject
    first_seq: int
    prev: str
    steps: list[ProofStep]
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofReport:
    """The result; `records` are those about the subject, given only if it is `PROVEN`."""

    status: ProofStatus
    message: str
    subject: str | None = None
    records: tuple[dict[str, Any], ...] = ()
    not_shown: int = 0
    signed_seq: int | None = None
    signed_at: str | None = None
    key_id: str | None = None


class _Unsound(Exception):
    """Ends the check of a proof; never leaves this file."""

    def __init__(self, status: ProofStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def verify_proof(data: bytes, keys: Mapping[str, Ed25519PublicKey]) -> ProofReport:
    """Verify a proof with nothing but trusted public keys."""
    try:
        proof = _parse(data)
    except _Unsound as unsound:
        return ProofReport(status=unsound.status, message=unsound.message)
    try:
        shown = _follow(proof)
        _check_signature(proof, keys)
        return _report(proof, shown)
    except _Unsound as unsound:
        return ProofReport(
            status=unsound.status, message=unsound.message, subject=str(proof.subject)
        )


def _parse(data: bytes) -> Proof:
    if len(data) > MAX_PROOF_BYTES:
        raise _Unsound(ProofStatus.MALFORMED, f"the proof is over {MAX_PROOF_BYTES} bytes")
    try:
        proof = msgspec.json.decode(data, type=Proof)
        # With a repeated key, another reader may see another proof than the one verified here.
        json.loads(data, object_pairs_hook=_refuse_repeated)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise _Unsound(ProofStatus.MALFORMED, f"this is not a proof: {error}") from error
    if (proof.subject.execution_id is None) == (proof.subject.seq is None):
        raise _Unsound(ProofStatus.MALFORMED, "the proof must have exactly one subject")
    if proof.first_seq < 1:
        raise _Unsound(ProofStatus.MALFORMED, "the proof starts before the first record")
    return proof


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a key is given twice")


def _follow(proof: Proof) -> list[dict[str, Any]]:
    """Follow the chain to the checkpoint; return the records that are shown."""
    head = Head(proof.first_seq - 1, proof.prev)
    shown: list[dict[str, Any]] = []
    for step in proof.steps:
        match step:
            case ProofStep(record=dict(record), digests=None):
                head = _past_record(record, head)
                shown.append(record)
            case ProofStep(record=None, digests=list(digests)):
                head = _past_digests(digests, head)
            case _:
                raise _Unsound(
                    ProofStatus.MALFORMED, "a step of the proof is not one record or its digests"
                )
    if head != (proof.checkpoint.seq, proof.checkpoint.hash):
        raise _Unsound(
            ProofStatus.BROKEN,
            f"the records lead to number {head.seq}, not to what the checkpoint signed, "
            f"number {proof.checkpoint.seq}",
        )
    return shown


def _past_record(record: dict[str, Any], head: Head) -> Head:
    expected = head.seq + 1
    try:
        link = check_link(rfc8785.dumps(record))
    except (ValueError, RecursionError) as error:
        raise _Unsound(
            ProofStatus.EDITED, f"record {expected} holds a value that no writer records"
        ) from error
    if isinstance(link, Flaw):
        raise _Unsound(ProofStatus.EDITED, f"record {expected} {link.message}")
    if link.seq != expected or link.prev != head.hash:
        raise _Unsound(
            ProofStatus.BROKEN, f"record {link.seq} does not follow from what comes before it"
        )
    return link.head


def _past_digests(digests: list[str], head: Head) -> Head:
    seq, digest = head
    for body in digests:
        if len(body) != len(head.hash) or not _HEX.issuperset(body):
            raise _Unsound(ProofStatus.MALFORMED, f"record {seq + 1} has no digest in hexadecimal")
        seq, digest = seq + 1, link_hash(digest, body)
    return Head(seq, digest)


def _check_signature(proof: Proof, keys: Mapping[str, Ed25519PublicKey]) -> None:
    found = check(proof.checkpoint, 1, keys)
    if isinstance(found, BadCheckpoint):
        status = ProofStatus.UNKNOWN_KEY if found.unknown_key else ProofStatus.CHECKPOINT_BAD
        raise _Unsound(status, f"the checkpoint {found.message}")


def _report(proof: Proof, shown: list[dict[str, Any]]) -> ProofReport:
    records = tuple(record for record in shown if proof.subject.covers(record))
    if not records:
        raise _Unsound(ProofStatus.IRRELEVANT, f"the proof shows no record of {proof.subject}")
    checkpoint = proof.checkpoint
    not_shown = checkpoint.seq - proof.first_seq + 1 - len(shown)
    message = f"{proof.subject} is in the log"
    if proof.subject.seq is None:
        span = f"records {records[0]['seq']} to {records[-1]['seq']}"
        message += f" with {len(records)} of {span}"
    message += f", under record {checkpoint.seq}, signed {checkpoint.ts} with `{checkpoint.key_id}`"
    return ProofReport(
        status=ProofStatus.PROVEN,
        message=message + (f"; {not_shown} others are not shown" if not_shown else ""),
        subject=str(proof.subject),
        records=records,
        not_shown=not_shown,
        signed_seq=checkpoint.seq,
        signed_at=checkpoint.ts,
        key_id=checkpoint.key_id,
    )
