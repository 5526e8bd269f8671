"""The keys of a ring, and what they sign: the checksum of a card. Everything here is pure.

- An active key signs and verifies; there is at most one.
- A verify-only key verifies. Cards that it signed stay valid until they are signed again.
- A revoked key does neither. Its secret is deleted.
"""

from __future__ import annotations

import enum
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from caps.agents.tool_cards.card import (
    PAYLOAD_FIELDS,
    CardPayload,
    ToolCard,
    checksum_of,
)
from caps.agents.tool_cards.errors import ToolCardError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_KEY_BYTES: Final = 32
_ID_DOMAIN: Final = b"caps.signing.key.1\0"


class Algorithm(enum.StrEnum):
    HMAC_SHA256 = "hmac-sha256"
    ED25519 = "ed25519"


class KeyState(enum.StrEnum):
    ACTIVE = "active"
    VERIFY_ONLY = "verify-only"
    REVOKED = "revoked"


class SigningKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that can be used; `secret` is the secret of HMAC or the seed of Ed25519."""

    alg: Algorithm
    secret: bytes

    def __repr__(self) -> str:
        return f"SigningKey(id={self.id!r})"

    @property
    def id(self) -> str:
        """Derived from the secret by a one-way function."""
        data = _ID_DOMAIN + self.alg.encode() + b"\0" + self.secret
        return hashlib.sha256(data).hexdigest()[:16]

    @property
    def public_key(self) -> bytes:
        """Of Ed25519; empty for HMAC."""
        if self.alg is Algorithm.HMAC_SHA256:
            return b""
        return self._private().public_key().public_bytes_raw()

    def sign(self, checksum: str) -> str:
        """The signature of a checksum, in hexadecimal."""
        if self.alg is Algorithm.HMAC_SHA256:
            return hmac.new(self.secret, checksum.encode(), hashlib.sha256).hexdigest()
        return self._private().sign(checksum.encode()).hex()

    def verifies(self, checksum: str, signature: str) -> bool:
        """Whether `signature` is the one of `checksum`. Both algorithms have exactly one."""
        expected = self.sign(checksum)
        return hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))

    def _private(self) -> Ed25519PrivateKey:
        # Late: it takes a while to import, and most rings have no such key.
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.secret)


def new_key(alg: Algorithm) -> SigningKey:
    """A random key."""
    return SigningKey(alg=alg, secret=secrets.token_bytes(_KEY_BYTES))


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """The usable keys of one moment by their ids, and the states of all."""

    keys: Mapping[str, SigningKey]
    states: Mapping[str, KeyState]

    def __repr__(self) -> str:
        return f"Ring({dict(self.states)!r})"

    @property
    def active(self) -> SigningKey:
        """The key that signs. Raises ToolCardError if there is none."""
        found = [key for key_id, key in self.keys.items() if self.is_active(key_id)]
        if len(found) != 1:
            raise ToolCardError("no signing key is active; run `caps keys rotate`")
        return found[0]

    def is_active(self, key_id: str) -> bool:
        return self.states.get(key_id) is KeyState.ACTIVE

    def signed(self, payload: CardPayload) -> ToolCard:
        """The card of `payload`, signed by the active key."""
        key, checksum = self.active, checksum_of(payload)
        return ToolCard(
            **{field: getattr(payload, field) for field in PAYLOAD_FIELDS},
            checksum=checksum,
            signature=key.sign(checksum),
            key_id=key.id,
            alg=key.alg.value,
        )

    def problem(self, card: ToolCard) -> str | None:
        """Why the card is not valid; None if it is."""
        if checksum_of(card) != card.checksum:
            return "checksum mismatch"
        key = self.keys.get(card.key_id)
        if key is None:
            state = self.states.get(card.key_id, "unknown")
            return f"its key `{card.key_id}` is {state}"
        if card.alg != key.alg.value or not key.verifies(card.checksum, card.signature):
            return "signature mismatch"
        return None

    def vouches(self, checksum: str, signature: str) -> bool:
        """Whether one of the usable keys made this signature."""
        return any(key.verifies(checksum, signature) for key in self.keys.values())
