"""Keys sign checksums; states say which of them count."""

from __future__ import annotations

import hashlib
import hmac

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from caps.agents.tool_cards.errors import ToolCardError
from caps.agents.tool_cards.signing import Algorithm, KeyState, Ring, SigningKey, new_key
from support.card_examples import ED25519_KEY, HMAC_KEY, SECRET, payload, ring_of

BOTH = pytest.mark.parametrize("key", [HMAC_KEY, ED25519_KEY], ids=["hmac", "ed25519"])


def test_hmac_is_that_of_the_checksum_under_the_secret() -> None:
    """As anybody who has the secret computes it."""
    card = ring_of(HMAC_KEY).signed(payload())
    assert card.signature == hmac.new(SECRET, card.checksum.encode(), hashlib.sha256).hexdigest()


def test_ed25519_can_be_verified_with_the_public_key_alone() -> None:
    """That is what it is for."""
    card = ring_of(ED25519_KEY).signed(payload())
    public = Ed25519PublicKey.from_public_bytes(ED25519_KEY.public_key)
    public.verify(bytes.fromhex(card.signature), card.checksum.encode())


@BOTH
def test_a_signed_card_is_valid(key: SigningKey) -> None:
    """Also when its key only verifies by now."""
    card = ring_of(key).signed(payload())
    assert ring_of(key).problem(card) is None
    assert ring_of(key, new_key(Algorithm.HMAC_SHA256)).problem(card) is None


@BOTH
def test_a_card_of_another_key_is_not_valid(key: SigningKey) -> None:
    """Neither under its own id, nor under that of a key of the ring."""
    ring, other = ring_of(key), ring_of(new_key(key.alg))
    card = other.signed(payload())
    assert ring.problem(card) == f"its key `{card.key_id}` is unknown"
    renamed = msgspec.structs.replace(card, key_id=key.id)
    assert ring.problem(renamed) == "signature mismatch"


def test_a_revoked_key_vouches_for_nothing() -> None:
    """Whatever it signed, and whenever."""
    card = ring_of(HMAC_KEY).signed(payload())
    ring = Ring(keys={}, states={HMAC_KEY.id: KeyState.REVOKED})
    assert ring.problem(card) == f"its key `{HMAC_KEY.id}` is revoked"
    with pytest.raises(ToolCardError, match="no signing key is active"):
        ring.signed(payload())


def test_the_algorithm_is_that_of_the_key() -> None:
    """A card cannot choose another one."""
    card = msgspec.structs.replace(ring_of(HMAC_KEY).signed(payload()), alg="ed25519")
    assert ring_of(HMAC_KEY).problem(card) == "signature mismatch"


def test_neither_a_key_nor_a_ring_shows_a_secret() -> None:
    """In a log or a traceback."""
    assert SECRET.decode() not in f"{HMAC_KEY!r} {ring_of(HMAC_KEY)!r}"


def test_ids_differ_by_algorithm_and_secret() -> None:
    """And are no part of the secret."""
    as_seed = SigningKey(alg=Algorithm.ED25519, secret=SECRET)
    ids = {HMAC_KEY.id, as_seed.id, ED25519_KEY.id}
    assert len(ids) == 3
    assert SECRET.hex()[:16] not in ids
