"""`ToolCards`: publish, list, find, verify and sign again. What commands and routes call.

Every card that is read is verified against the keys of the same transaction; nothing is cached, so
a revoked key has an effect at once. A `(name, version)` never changes: publishing the same payload
again changes nothing, and another payload is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import rfc8785
import sqlalchemy as sa

from caps.agents.tool_cards.card import (
    MAX_CARD_BYTES,
    CardPayload,
    GivenCard,
    ToolCard,
    card_of,
    checksum_of,
    parse_card,
    payload_of,
)
from caps.agents.tool_cards.errors import (
    CardChecksumError,
    CardConflictError,
    CardUnknownError,
    ToolCardError,
)
from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.signing import Ring
from caps.protocol.text import printable
from caps.security.policies.plain_json import plain_json
from caps.security.policies.strict_json import strict_json
from caps.store.database import Store
from caps.store.repositories.tool_registry import CardRow, StoredCard, ToolRegistry


class CheckedCard(msgspec.Struct, frozen=True, kw_only=True):
    """A stored card, and why it is not valid, if it is not."""

    card: ToolCard | None
    """None if the row cannot be read as a card."""
    row: StoredCard
    problem: str | None
    lost_key: bool = False
    """Its content is as it was signed, but the key was revoked or is not known."""

    @property
    def title(self) -> str:
        return f"`{printable(self.row.name, 140)}` {printable(self.row.version, 70)}"


class Published(msgspec.Struct, frozen=True):
    """A card that is in the store now, and whether it was not there before."""

    card: ToolCard
    is_new: bool


class Resigned(msgspec.Struct, frozen=True):
    """What `resign` did: cards that were signed again, and those that it left as they are."""

    signed: int
    invalid: tuple[CheckedCard, ...]


class ToolCards:
    """The cards of a store."""

    def __init__(self, store: Store, keys: KeyRing) -> None:
        self._store = store
        self._keys = keys

    async def publish(self, given: bytes | Mapping[str, Any]) -> ToolCard:
        """Sign a card and store it; return the stored one.

        Raises ToolCardError, also `checksum mismatch` for a stale checksum or signature, and
        CardConflictError.
        """
        card = parse_card(given) if isinstance(given, bytes) else card_of(given)
        return (await self.publish_checked(card)).card

    async def publish_checked(
        self, card: GivenCard, first: Callable[[sa.Connection], object] = lambda _: None
    ) -> Published:
        """`publish` for a card of `parse_card`; `first` runs first in the same transaction."""

        def work(connection: sa.Connection) -> Published:
            first(connection)
            ring = self._keys.signing_ring(connection)
            _check_evidence(card, ring)
            return _published(connection, ring, payload_of(card))

        return await self._store.write(work)

    async def seed(self, payloads: Iterable[CardPayload]) -> None:
        """Publish these, unless there are cards of their names and versions.

        A card whose key was revoked is signed again if it has the same content. One that was
        changed stays, so that the change is noticed.
        """
        payloads = tuple(payloads)

        def work(connection: sa.Connection) -> None:
            ring, registry = self._keys.signing_ring(connection), ToolRegistry(connection)
            found = {(row.name, row.version): _checked(row, ring) for row in registry.cards()}
            for payload in payloads:
                there = found.get((payload.name, payload.version))
                if there is None:
                    registry.add(_row(ring.signed(payload)))
                elif there.lost_key and there.row.checksum == checksum_of(payload):
                    registry.replace(_row(ring.signed(payload)))

        await self._store.write(work)

    async def cards(self, name: str | None = None) -> list[CheckedCard]:
        """All cards, or those of one name, each verified: by name, the oldest version first."""

        def work(connection: sa.Connection) -> list[CheckedCard]:
            ring = self._keys.ring(connection)
            return [_checked(row, ring) for row in ToolRegistry(connection).cards(name)]

        return await self._store.read(work)

    async def page(self, after: tuple[str, str] | None, limit: int) -> list[CheckedCard]:
        """Verified cards by name and version, those after this name and version."""

        def work(connection: sa.Connection) -> list[CheckedCard]:
            ring = self._keys.ring(connection)
            return [_checked(row, ring) for row in ToolRegistry(connection).page(after, limit)]

        return await self._store.read(work)

    async def find(self, name: str, version: str | None = None) -> CheckedCard:
        """The card of this name and version, by default the one that was published last.

        Raises CardUnknownError if there is none.
        """
        found = [each for each in await self.cards(name) if version in (None, each.row.version)]
        if not found:
            wanted = f"`{printable(name, 140)}`" + ("" if version is None else f" {version}")
            raise CardUnknownError(f"there is no tool card {printable(wanted, 300)}")
        return found[-1]

    async def resign(self) -> Resigned:
        """Sign every valid card with the active key. A card that is not valid stays as it is."""

        def work(connection: sa.Connection) -> Resigned:
            ring, registry = self._keys.signing_ring(connection), ToolRegistry(connection)
            invalid, signed = [], 0
            for row in registry.cards():
                found = _checked(row, ring)
                if found.card is None or found.problem is not None:
                    invalid.append(found)
                elif not ring.is_active(found.card.key_id):
                    registry.replace(_row(ring.signed(found.card)))
                    signed += 1
            return Resigned(signed, tuple(invalid))

        return await self._store.write(work)


def _check_evidence(card: GivenCard, ring: Ring) -> None:
    """What an author gives of checksum and signature must be that of the payload."""
    checksum = checksum_of(card)
    stale = card.checksum not in (None, checksum)
    unsigned = card.signature is not None and not ring.vouches(checksum, card.signature)
    if stale or unsigned:
        raise CardChecksumError(
            f"checksum mismatch: the card {card.title} was changed after it was signed; leave out "
            "`checksum` and `signature`"
        )


def _published(connection: sa.Connection, ring: Ring, payload: CardPayload) -> Published:
    registry, card = ToolRegistry(connection), ring.signed(payload)
    row = registry.find(payload.name, payload.version)
    is_new = row is None
    if row is None:
        registry.add(_row(card))  # nothing if another process has just added one
        row = registry.find(payload.name, payload.version)
        assert row is not None
    if row.checksum != card.checksum:
        raise CardConflictError(
            f"the card {payload.title} is published with other content; publish another version"
        )
    found = _checked(row, ring)
    if found.card is not None and found.problem is None:
        return Published(found.card, is_new)
    registry.replace(_row(card))  # the same content, whose key was revoked or row was damaged
    return Published(card, is_new)


def _checked(row: StoredCard, ring: Ring) -> CheckedCard:
    try:
        card = _card(row)
        problem = ring.problem(card)
        lost = checksum_of(card) == card.checksum and card.key_id not in ring.keys
        return CheckedCard(card=card, row=row, problem=problem, lost_key=lost)
    except (ToolCardError, TypeError, ValueError):
        return CheckedCard(card=None, row=row, problem="the row is not a card")


def _row(card: ToolCard) -> CardRow:
    fields = {name: getattr(card, name) for name in CardRow.__struct_fields__}
    fields["input_schema"] = rfc8785.dumps(card.input_schema).decode()
    fields["output_schema"] = rfc8785.dumps(card.output_schema).decode()
    return CardRow(**fields)


def _card(row: StoredCard) -> ToolCard:
    fields = {name: getattr(row, name) for name in CardRow.__struct_fields__}
    fields["input_schema"] = _schema(row.input_schema)
    fields["output_schema"] = _schema(row.output_schema)
    return ToolCard(**fields)


def _schema(text: str) -> dict[str, Any]:
    if len(text) > MAX_CARD_BYTES:
        raise ValueError("a schema is too large")
    value = plain_json(strict_json(text))
    if not isinstance(value, dict):
        raise TypeError("a schema is not an object")
    return value
