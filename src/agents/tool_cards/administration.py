"""Cards and keys as an administrator changes them: every change leaves its evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import sqlalchemy as sa

from caps.agents.tool_cards.card import GivenCard, checksum_of
from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.signing import Algorithm, KeyState
from caps.agents.tool_cards.tool_cards import Published, Resigned, ToolCards
from caps.protocol.text import printable
from caps.security.audit.log.administration import Administrator


class CardAdministration:
    """What one administrator does to the cards and the keys of a store."""

    def __init__(self, cards: ToolCards, keys: KeyRing, who: Administrator) -> None:
        self._cards = cards
        self._keys = keys
        self._who = who

    async def publish(
        self, card: GivenCard, first: Callable[[sa.Connection], object] = lambda _: None
    ) -> Published:
        """As `ToolCards.publish_checked`; AuditError if it cannot be recorded."""
        subject, checksum = f"{card.name} {card.version}", checksum_of(card)
        async with (
            noting_new_key(self._keys, self._who),
            self._who.recorded("tool_card_publish", subject, sha256=checksum) as said,
        ):
            published = await self._cards.publish_checked(card, first)
            if not published.is_new:
                said.append("it was there already")
        return published

    async def resign(self) -> Resigned:
        """As `ToolCards.resign`."""
        async with (
            noting_new_key(self._keys, self._who),
            self._who.recorded("tool_cards_resign", "all cards") as said,
        ):
            done = await self._cards.resign()
            said.append(f"{done.signed} cards are signed again")
        return done

    async def rotate(self, alg: Algorithm = Algorithm.HMAC_SHA256) -> str:
        """As `KeyRing.rotate`."""
        async with self._who.recorded("signing_key_rotate", alg.value) as said:
            key_id = await self._keys.rotate(alg)
            said.append(f"the key `{key_id}` is active")
        return key_id

    async def revoke(self, key_id: str) -> None:
        """As `KeyRing.revoke`."""
        async with self._who.recorded("signing_key_revoke", printable(key_id, 80)):
            await self._keys.revoke(key_id)


@asynccontextmanager
async def noting_new_key(keys: KeyRing, who: Administrator) -> AsyncIterator[None]:
    """Record the key that became active within this context: the configured or the first one."""
    before = await _active(keys)
    try:
        yield
    finally:
        for key_id in sorted(await _active(keys) - before):
            await who.note("signing_key_activate", key_id)


async def _active(keys: KeyRing) -> set[str]:
    return {key.id for key in await keys.keys() if key.state == KeyState.ACTIVE}
