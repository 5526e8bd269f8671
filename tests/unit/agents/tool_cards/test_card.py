"""Cards are read strictly: what two readers could understand differently is refused."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from caps.agents.tool_cards.card import MAX_CARD_BYTES, checksum_of, parse_card
from caps.agents.tool_cards.errors import ToolCardError
from support.card_examples import CARD, card_with, payload


def parsed(value: object) -> Any:
    return parse_card(json.dumps(value).encode())


def test_the_checksum_is_the_sha256_of_the_canonical_payload() -> None:
    """Computed here by hand: keys sorted, no spaces, the shortest numbers."""
    card = card_with(input_schema={}, output_schema={}, cost_estimate=1.0)
    text = (
        '{"agent_type":"research","cost_estimate":1,"description":"Search for sources.",'
        '"input_schema":{},"name":"research.search","output_schema":{},'
        '"side_effects":["network"],"version":"1.0.0"}'
    )
    assert checksum_of(parsed(card)) == hashlib.sha256(text.encode()).hexdigest()


def test_order_and_spaces_do_not_matter() -> None:
    """Neither does the order of side effects, which are a set."""
    one = card_with(side_effects=["network", "filesystem"])
    other = dict(reversed(card_with(side_effects=["filesystem", "network"]).items()))
    indented = parse_card(json.dumps(other, indent=3).encode())
    assert checksum_of(parsed(one)) == checksum_of(indented)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "Research"}, "cannot be in `name`"),
        ({"name": "a.b.c"}, "cannot be in `name`"),
        ({"name": "a\n"}, "cannot be in `name`"),
        ({"version": ""}, "cannot be in `version`"),
        ({"version": "1 0"}, "cannot be in `version`"),
        ({"agent_type": "a.b"}, "cannot be in `agent_type`"),
        ({"side_effects": ["Network"]}, "cannot be in `side_effects`"),
        ({"side_effects": ["a", "a"]}, "each of them once"),
        ({"side_effects": "network"}, "expected `array`"),
        ({"description": "x" * 8193}, "`description` is longer"),
        ({"description": None}, "expected `str`"),
        ({"description": "\ud800"}, "surrogate"),
        ({"cost_estimate": -0.5}, "not negative"),
        ({"cost_estimate": float("inf")}, "finite number"),
        ({"cost_estimate": float("nan")}, "finite number"),
        ({"cost_estimate": True}, "expected `float | null`"),
        ({"cost_estimate": "1"}, "expected `float | null`"),
        ({"input_schema": {"maximum": 2**53}}, "lose precision"),
        ({"input_schema": {"maximum": 1e16}}, "lose precision"),
        ({"cost_estimate": 1e16}, "lose precision"),
        ({"input_schema": []}, "expected `object`"),
        ({"input_schema": {"type": 5}}, "not a valid JSON schema"),
        ({"output_schema": {"enum": ["x" * MAX_CARD_BYTES]}}, "larger than"),
        ({"owner": "ada"}, "unknown field `owner`"),
    ],
)
def test_what_does_not_fit_is_refused(changed: dict[str, Any], message: str) -> None:
    """With a line that says what, and where."""
    with pytest.raises(ToolCardError) as raised:
        parsed(card_with(**changed))
    assert message in raised.value.message
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"name": "a", "name": "b"}', "key is given twice"),
        (b'{"input_schema": {"type": "object", "type": "array"}}', "key is given twice"),
        (b'{"name": ', "is not JSON"),
        (b"\xff", "is not UTF-8"),
        (b"[]", "does not fit"),
        (b"[" * 100_000, "deeper"),
        (b'{"input_schema": ' + b'{"a":' * 40 + b"{}" + b"}" * 41, "deeper"),
        (b" " * (MAX_CARD_BYTES + 1), "larger than"),
        (b'{"cost_estimate": ' + b"9" * 5000 + b"}", "finite"),
    ],
)
def test_text_that_is_ambiguous_or_too_large_is_refused(text: bytes, message: str) -> None:
    """Before anything takes time or memory in its size."""
    with pytest.raises(ToolCardError) as raised:
        parse_card(text)
    assert message in raised.value.message


def test_name_version_and_agent_type_are_required() -> None:
    """The rest has defaults."""
    for field in ("name", "version", "agent_type"):
        with pytest.raises(ToolCardError, match=f"missing required field `{field}`"):
            parsed({key: value for key, value in CARD.items() if key != field})
    assert parsed({"name": "a", "version": "1", "agent_type": "b"}).cost_estimate is None


def test_a_payload_names_itself() -> None:
    """For messages."""
    assert payload().title == "`research.search` 1.0.0"
