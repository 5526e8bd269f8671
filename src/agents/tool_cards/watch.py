"""A running program follows its cards: what is published, edited or revoked counts at once.

The rows of cards and keys are read every second, and verified only if they differ from the last
time. A card that is not valid any more is in quarantine: its function is refused, and the program
goes on.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import anyio

from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.settings import CardMode
from caps.agents.tool_cards.startup import compared, put_in_force
from caps.agents.tool_cards.tool_cards import ToolCards
from caps.protocol.errors import CapsError
from caps.store.repositories.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from caps.capabilities.registry import CapabilityRegistry
    from caps.store.database import Store

POLL_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


class CardWatch:
    """Keeps what a registry refuses equal to what its cards say."""

    def __init__(
        self, store: Store, registry: CapabilityRegistry, keys: KeyRing, mode: CardMode
    ) -> None:
        self._store = store
        self._registry = registry
        self._keys = keys
        self._mode = mode
        self._seen: Any = None
        self._checking = anyio.Lock()

    async def run(self) -> None:
        """Until cancelled. While the store fails, what was known last stays in force."""
        while True:
            await anyio.sleep(POLL_SECONDS)
            try:
                await self.check()
            except CapsError:
                logger.exception("the tool cards cannot be read; they are read again")

    async def check(self) -> None:
        """Put in force what the cards say now. Raises StoreError. Nothing if cards are off."""
        if self._mode is CardMode.OFF:
            return
        async with self._checking:
            rows = await self._store.read(lambda found: ToolRegistry(found).cards())
            seen = (rows, await self._keys.keys())
            if seen == self._seen:
                return
            cards = await ToolCards(self._store, self._keys).cards()
            put_in_force(self._registry, compared(self._registry, cards, self._mode))
            self._seen = seen
