"""(8) The keys that a verifier trusts: the known keys, and those that they sign for in the log.

A `KeyRotated` record has the new public key and the old key's signature over

    "caps.audit.key_rotation.v1" NUL + canonical({new_key_id, new_public_key, old_key_id})

so a verifier that knows the first key can follow the rotations to the last one. From that record on
the old key is retired: a checkpoint that it signs later is by an unknown key. No IO here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from caps.protocol.errors import AuditError
from caps.security.audit.files.reader import Line
from caps.security.audit.model.chain import decode
from caps.security.audit.model.records import KeyRotated
from caps.security.audit.signing.checkpoint import BadCheckpoint, Checkpoint, check_line, key_id

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_DOMAIN: Final = b"caps.audit.key_rotation.v1\0"
_ROTATED: Final = b'"kind":"key_rotated"'


def rotation_statement(event: KeyRotated) -> bytes:
    """Return the bytes that the old key signs."""
    return _DOMAIN + msgspec.json.encode(
        {
            "new_key_id": event.new_key_id,
            "new_public_key": event.new_public_key,
            "old_key_id": event.old_key_id,
        },
        order="sorted",
    )


def rotations(lines: Iterable[Line]) -> list[tuple[int, KeyRotated]]:
    """Return the rotations in a log, with their record numbers, up to the first damaged record."""
    found: list[tuple[int, KeyRotated]] = []
    try:
        for line in lines:
            # A shown argument may contain these bytes too, so they are only a fast first check.
            if _ROTATED not in line.data or line.torn:
                continue
            record = decode(line.data)
            if isinstance(record.event, KeyRotated):
                found.append((record.seq, record.event))
    except AuditError:
        return found  # the verification itself reports the damage
    return found


class KeyRing(msgspec.Struct, frozen=True):
    """The keys that a verifier trusts."""

    keys: Mapping[str, Ed25519PublicKey]
    retired: Mapping[str, int]
    """By key id: the record that retired the key."""

    @classmethod
    def following(
        cls, known: Mapping[str, Ed25519PublicKey], found: Iterable[tuple[int, KeyRotated]]
    ) -> KeyRing:
        """Follow the rotations that were found, from the known keys; ignore those not signed."""
        keys, retired = dict(known), dict[str, int]()
        for seq, event in found:
            new = _verified_key(event, keys)
            if new is not None and event.old_key_id not in retired:
                keys[event.new_key_id] = new
                retired[event.old_key_id] = seq
        return cls(keys, retired)

    def check_line(self, line: bytes, number: int) -> Checkpoint | BadCheckpoint:
        """`checkpoint.check_line`, which also refuses retired keys."""
        found = check_line(line, number, self.keys)
        if isinstance(found, BadCheckpoint):
            return found
        until = self.retired.get(found.key_id)
        if until is None or found.seq <= until:
            return found
        message = f"was signed with key `{found.key_id}`, which record {until} had retired"
        return BadCheckpoint(number, message, found.seq, unknown_key=True)


def _verified_key(
    event: KeyRotated, keys: Mapping[str, Ed25519PublicKey]
) -> Ed25519PublicKey | None:
    """Return the new key if a known key signed for it."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    old = keys.get(event.old_key_id)
    if old is None:
        return None
    try:
        new = Ed25519PublicKey.from_public_bytes(bytes.fromhex(event.new_public_key))
        old.verify(bytes.fromhex(event.signature), rotation_statement(event))
    except (ValueError, InvalidSignature):
        return None
    return new if key_id(new) == event.new_key_id else None
