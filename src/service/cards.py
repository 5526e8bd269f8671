"""The tool cards of the service: checked when it starts, followed while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from caps.agents.tool_cards.administration import CardAdministration
from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.settings import CardMode, CardSettings
from caps.agents.tool_cards.startup import ensure_tool_cards
from caps.agents.tool_cards.tool_cards import ToolCards
from caps.agents.tool_cards.watch import CardWatch
from caps.capabilities.registry import CapabilityRegistry
from caps.security.audit.log.administration import Administrator
from caps.security.audit.log.interface import AuditSink
from caps.store.database import Store
from caps.store.sealing import load_secret_box

_HOST: Final = "(host)"


class ServiceCards(msgspec.Struct, frozen=True):
    """The cards of the store, the keys that sign them, and what follows both."""

    cards: ToolCards
    keys: KeyRing
    watch: CardWatch

    def administration(self, who: Administrator) -> CardAdministration:
        return CardAdministration(self.cards, self.keys, who)


async def open_cards(store: Store, registry: CapabilityRegistry, audit: AuditSink) -> ServiceCards:
    """Seed, verify and put in force the cards of the store.

    Raises ToolCardError, ConfigurationError, AuditError and StoreError.
    """
    settings = CardSettings.from_environment(default=CardMode.CHECK)
    keys = KeyRing(store, load_secret_box(), settings.signing_secret)

    @asynccontextmanager
    async def host() -> AsyncIterator[Administrator]:
        yield Administrator(audit=audit, principal=_HOST)

    if settings.mode is not CardMode.OFF:
        await ensure_tool_cards(store, registry, keys, settings, host)
    watch = CardWatch(store, registry, keys, settings.mode)
    return ServiceCards(ToolCards(store, keys), keys, watch)
