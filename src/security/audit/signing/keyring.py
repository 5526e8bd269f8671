"""(8) Which keys a verifier believes: the known ones, and those that they vouch for in the log.

A `KeyRotated` record holds the new public key and the old key's signature over

    "caps.audit.key_rotation.v1" NUL + canonical({new_key_id, new_public_key, old_key_id})

so whoever knows the first key can follow to the last. From that record on the old key counts for
nothing: a checkpoint that it signs later is by an unknown key. No IO here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.model.chain import decode
from caps.security.audit.signing.checkpoint import BadCheckpoint, Checkpoint, check_line, key_id
from caps.security.audit.files.reader import Line
from caps.security.audit.model.records import KeyRotated

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_DOMAIN: Final = b"caps.audit.key_rotation.v1\0"
_ROTATED: Final = b'"kind":"key_rotated"'


def stated(event: KeyRotated) -> bytes:
    """What the old key signs."""
    return _DOMAIN + msgspec.json.encode(
        {
            "new_key_id": event.new_key_id,
            "new_public_key": event.new_public_key,
            "old_key_id": event.old_key_id,
        },
        order="sorted",
    )


def rotations(lines: Iterable[Line]) -> list[tuple[int, KeyRotated]]:
    """The rotations that a log tells of, with the numbers of their records; up to a damage."""
    found: list[tuple[int, KeyRotated]] = []
    try:
        for line in lines:
            # The bytes may also stand in a shown argument, so they only save the decoding.
            if _ROTATED not in line.data or line.torn:
                continue
            record = decode(line.data)
            if isinstance(record.event, KeyRotated):
                found.append((record.seq, record.event))
    except AuditError:
        return found  # what is damaged there is the verification's to tell
    return found


class KeyRing(msgspec.Struct, frozen=True):
    """The keys that a verifier knows, those that they vouch for, and until when each counts."""

    keys: Mapping[str, Ed25519PublicKey]
    retired: Mapping[str, int]

    @classmethod
    def following(
        cls, known: Mapping[str, Ed25519PublicKey], told: Iterable[tuple[int, KeyRotated]]
    ) -> KeyRing:
        """From the known keys along the chain of rotations; one that does not hold is not used."""
        keys, retired = dict(known), dict[str, int]()
        for seq, event in told:
            new = _vouched(event, keys)
            if new is not None and event.old_key_id not in retired:
                keys[event.new_key_id] = new
                retired[event.old_key_id] = seq
        return cls(keys, retired)

    def check_line(self, line: bytes, number: int) -> Checkpoint | BadCheckpoint:
        """As `checkpoint.check_line`, with the end of each key's time."""
        found = check_line(line, number, self.keys)
        if isinstance(found, BadCheckpoint):
            return found
        until = self.retired.get(found.key_id)
        if until is None or found.seq <= until:
            return found
        message = f"was signed with key `{found.key_id}`, which record {until} had retired"
        return BadCheckpoint(number, message, found.seq, unknown_key=True)


def _vouched(event: KeyRotated, keys: Mapping[str, Ed25519PublicKey]) -> Ed25519PublicKey | None:
    """The new key, if a known one signed for it."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    old = keys.get(event.old_key_id)
    if old is None:
        return None
    try:
        new = Ed25519PublicKey.from_public_bytes(bytes.fromhex(event.new_public_key))
        old.verify(bytes.fromhex(event.signature), stated(event))
    except (ValueError, InvalidSignature):
        return None
    return new if key_id(new) == event.new_key_id else None
