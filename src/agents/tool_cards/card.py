"""A tool card: what one version of a tool takes, gives and does, with a checksum and a signature.

The payload is everything but checksum, signature and key. Its checksum is the SHA-256 of its
canonical JSON (RFC 8785); what has no canonical form is refused: keys that are given twice, numbers
that readers round. Everything here is pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import rfc8785

from caps.agents.tool_cards.card_schema import check_schema
from caps.agents.tool_cards.errors import ToolCardError
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.text import printable
from caps.security.policies.load import json_place
from caps.security.policies.plain_json import NotJsonError, plain_json
from caps.security.policies.strict_json import strict_json

MAX_CARD_BYTES: Final = 256 * 1024
_MAX_DESCRIPTION: Final = 8192
_MAX_SIDE_EFFECTS: Final = 32
_PART: Final = r"[a-z][a-z0-9_]{0,63}"
_NAME: Final = re.compile(rf"{_PART}(?:\.{_PART})?", re.ASCII)
_AGENT_TYPE: Final = re.compile(_PART, re.ASCII)
_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}", re.ASCII)
_WORD: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.ASCII)


class CardPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What an author writes. Made by `parse_card` or `checked`, which refuse an invalid one."""

    name: str
    version: str
    agent_type: str
    description: str = ""
    input_schema: dict[str, Any] = {}
    output_schema: dict[str, Any] = {}
    cost_estimate: float | None = None
    side_effects: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name and version, for messages."""
        return f"`{printable(self.name, 140)}` {printable(self.version, 70)}"


class ToolCard(CardPayload, frozen=True, kw_only=True):
    """A payload with the evidence of who vouched for it."""

    checksum: str
    signature: str
    key_id: str
    alg: str


class GivenCard(CardPayload, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card as it arrives: checksum and signature may be left out, and must be right if not."""

    checksum: str | None = None
    signature: str | None = None
    key_id: str | None = None
    alg: str | None = None


PAYLOAD_FIELDS: Final = CardPayload.__struct_fields__


def parse_card(data: bytes) -> GivenCard:
    """The card in the JSON text `data`. Raises ToolCardError."""
    if len(data) > MAX_CARD_BYTES:
        raise ToolCardError(f"the card is larger than {MAX_CARD_BYTES} bytes")
    try:
        return card_of(strict_json(data.decode("utf-8")))
    except UnicodeDecodeError:
        raise ToolCardError("the card is not UTF-8") from None
    except json.JSONDecodeError as error:
        what = f"{error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}"
        raise ToolCardError(f"the card is not JSON, {what}") from None
    except NotJsonError as error:
        raise _not_json(error) from None


def card_of(value: Mapping[str, Any]) -> GivenCard:
    """The card of a value that was JSON. Raises ToolCardError; its payload is valid."""
    try:
        plain = plain_json(value)
        given = msgspec.convert(plain, GivenCard)
    except NotJsonError as error:
        raise _not_json(error) from None
    except msgspec.ValidationError as error:
        what = str(error)
        shown = printable(f"{what[:1].lower()}{what[1:]}", 300)
        raise ToolCardError(f"the card does not fit: {shown}") from None
    checked(given)
    return given


def checked(payload: CardPayload) -> CardPayload:
    """`payload` itself. Raises ToolCardError unless it is within all bounds."""
    for field, value, pattern in (
        ("name", payload.name, _NAME),
        ("version", payload.version, _VERSION),
        ("agent_type", payload.agent_type, _AGENT_TYPE),
        *(("side_effects", word, _WORD) for word in payload.side_effects),
    ):
        if pattern.fullmatch(value) is None:
            shown = printable(value, 80)
            raise ToolCardError(f"`{shown}` cannot be in `{field}`; use {pattern.pattern}")
    if len(payload.description) > _MAX_DESCRIPTION:
        raise ToolCardError(f"`description` is longer than {_MAX_DESCRIPTION} characters")
    if payload.cost_estimate is not None and not 0 <= payload.cost_estimate < float("inf"):
        raise ToolCardError("`cost_estimate` must be a finite number that is not negative")
    words = payload.side_effects
    if len(words) > _MAX_SIDE_EFFECTS or len(set(words)) < len(words):
        raise ToolCardError(
            f"`side_effects` must be at most {_MAX_SIDE_EFFECTS} words, each of them once"
        )
    text = canonical(payload)
    if len(text) > MAX_CARD_BYTES:
        raise ToolCardError(f"the card is larger than {MAX_CARD_BYTES} bytes")
    try:
        plain_json(strict_json(text.decode()))  # 1e16 becomes an integer that readers round
    except NotJsonError as error:
        raise _not_json(error) from None
    check_schema(payload.input_schema, "input_schema")
    check_schema(payload.output_schema, "output_schema")
    return payload


def payload_of(card: CardPayload) -> CardPayload:
    """The payload of a card alone."""
    return CardPayload(**{field: getattr(card, field) for field in PAYLOAD_FIELDS})


def canonical(payload: CardPayload) -> bytes:
    """The canonical JSON of the payload. Raises ToolCardError if it has none."""
    value: dict[str, Any] = {field: getattr(payload, field) for field in PAYLOAD_FIELDS}
    value["side_effects"] = sorted(payload.side_effects)  # a set: their order has no meaning
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        raise ToolCardError(f"the card {payload.title} has no canonical form: {error}") from None


def checksum_of(payload: CardPayload) -> str:
    """SHA-256 of the canonical payload, in hexadecimal."""
    return hashlib.sha256(canonical(payload)).hexdigest()


def schemas_digest(input_schema: Mapping[str, Any], output_schema: Mapping[str, Any]) -> str:
    """Equal for equal schemas only. Raises ToolCardError for what a card cannot have."""
    try:
        plain = plain_json([input_schema, output_schema])
    except NotJsonError as error:
        raise _not_json(error) from None
    return hashlib.sha256(rfc8785.dumps(plain)).hexdigest()


def _not_json(error: NotJsonError) -> ToolCardError:
    place = f" at {json_place(error.path)}" if error.path else ""
    return ToolCardError(f"the card is refused: {printable(f'{error}{place}', 300)}")


def side_effects_of(spec: CapabilitySpec) -> tuple[str, ...]:
    """What a function says of itself; a card may say something else."""
    effects = {tag for tag in spec.tags if tag != "pure"} | ({"network"} if spec.egress else set())
    return tuple(sorted(effects))
