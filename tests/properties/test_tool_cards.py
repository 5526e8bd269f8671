"""Whatever a card says: its checksum is stable, and a change of any field is noticed."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from caps.agents.tool_cards.card import (
    PAYLOAD_FIELDS,
    CardPayload,
    ToolCard,
    canonical,
    card_of,
    checksum_of,
    parse_card,
    payload_of,
)
from support.card_examples import ED25519_KEY, HMAC_KEY, ring_of

texts = st.text(st.characters(codec="utf-8"), max_size=20)
words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
# A larger float is written as an integer that readers round; a card with one is refused.
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e15, 1e15) | st.floats(1e21, 1e300)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
# Annotations of any content: rules themselves are the subject of other tests.
schemas = st.fixed_dictionaries(
    {"default": values, "examples": st.lists(values, max_size=2)}
).filter(lambda schema: "$" not in json.dumps(schema))
payloads = st.builds(
    CardPayload,
    name=words,
    version=st.from_regex(r"[0-9]\.[0-9]", fullmatch=True),
    agent_type=words,
    description=texts,
    input_schema=schemas,
    output_schema=schemas,
    cost_estimate=st.none() | st.floats(0, 1e9),
    side_effects=st.lists(words, max_size=3, unique=True).map(tuple),
)


def as_json(payload: CardPayload) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(payload)
    return found


@given(payloads, st.randoms())
def test_a_payload_has_one_canonical_form(payload: CardPayload, random: Any) -> None:
    """However its JSON is written; and the canonical form is JSON of the same card."""
    items = list(as_json(payload).items())
    random.shuffle(items)
    again = parse_card(json.dumps(dict(items), indent=random.choice([None, 1])).encode())
    assert checksum_of(again) == checksum_of(payload)
    assert checksum_of(parse_card(canonical(payload))) == checksum_of(payload)


@given(payloads, payloads, st.sampled_from([HMAC_KEY, ED25519_KEY]))
def test_a_change_of_any_field_is_noticed(
    payload: CardPayload, other: CardPayload, key: Any
) -> None:
    """Whatever the field is changed to, and also if the checksum is changed with it."""
    ring = ring_of(key)
    card, forged = ring.signed(payload), ring_of(key).signed(other)
    assert ring.problem(card) is None
    for field in ToolCard.__struct_fields__:
        changed = msgspec.structs.replace(card, **{field: getattr(forged, field)})
        if as_json(changed) == as_json(card):
            continue
        same_content = canonical(changed) == canonical(card) and field in PAYLOAD_FIELDS
        assert (ring.problem(changed) is None) is same_content, field
        recomputed = msgspec.structs.replace(changed, checksum=checksum_of(changed))
        assert (ring.problem(recomputed) is None) is (
            recomputed.checksum == card.checksum and field != "signature"
        ), field


@given(payloads, st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_of_a_signature_is_noticed(
    payload: CardPayload, place: int, change: int
) -> None:
    """Each of them, for both algorithms."""
    for key in (HMAC_KEY, ED25519_KEY):
        card = ring_of(key).signed(payload)
        raw = bytearray(bytes.fromhex(card.signature))
        raw[place % len(raw)] ^= change
        changed = msgspec.structs.replace(card, signature=raw.hex())
        assert ring_of(key).problem(changed) == "signature mismatch"


@given(payloads)
def test_a_card_that_was_shown_can_be_read_again(payload: CardPayload) -> None:
    """What `caps tools show` prints is what `publish` reads."""
    card = ring_of(HMAC_KEY).signed(payload)
    assert payload_of(card_of(as_json(card))) == payload_of(card)
