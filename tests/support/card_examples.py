"""Tool cards that several tests use."""

from __future__ import annotations

from typing import Any

from caps.agents.tool_cards.card import CardPayload, card_of, payload_of
from caps.agents.tool_cards.signing import Algorithm, KeyState, Ring, SigningKey, new_key

CARD: dict[str, Any] = {
    "name": "research.search",
    "version": "1.0.0",
    "description": "Search for sources.",
    "agent_type": "research",
    "input_schema": {
        "type": "object",
        "properties": {"query": {"$ref": "#/$defs/text"}},
        "$defs": {"text": {"type": "string", "maxLength": 200}},
    },
    "output_schema": {"type": "array", "items": {"type": "string"}},
    "cost_estimate": 0.25,
    "side_effects": ["network"],
}
SECRET = b"a secret that only tests have"


def card_with(**changed: Any) -> dict[str, Any]:
    return {**CARD, **changed}


def payload(**changed: Any) -> CardPayload:
    return payload_of(card_of(card_with(**changed)))


def ring_of(*keys: SigningKey) -> Ring:
    """A ring whose last key is active, and the others verify only."""
    states = {key.id: KeyState.VERIFY_ONLY for key in keys[:-1]}
    states[keys[-1].id] = KeyState.ACTIVE
    return Ring(keys={key.id: key for key in keys}, states=states)


HMAC_KEY = SigningKey(alg=Algorithm.HMAC_SHA256, secret=SECRET)
ED25519_KEY = new_key(Algorithm.ED25519)
