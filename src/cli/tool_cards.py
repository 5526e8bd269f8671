"""Tool cards on the command line: opening them, and the registry that they were checked against."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from caps.cli.exits import report_errors
from caps.cli.options import load_registry, principal_or_user
from caps.protocol.environment import Variable

if TYPE_CHECKING:
    from caps.agents.tool_cards.administration import CardAdministration
    from caps.agents.tool_cards.key_ring import KeyRing
    from caps.agents.tool_cards.tool_cards import ToolCards
    from caps.capabilities.registry import CapabilityRegistry
    from caps.security.audit import AuditSettings
    from caps.security.audit.log.administration import Administrator
    from caps.store.database import Store

T = TypeVar("T")


def with_tool_cards(url: str | None, work: Callable[[ToolCards, KeyRing], Awaitable[T]]) -> T:
    """What `work` returns, with the cards and the keys of the store. Ends the command at errors."""

    async def opened(store: Store) -> T:
        from caps.agents.tool_cards.tool_cards import ToolCards

        keys = _key_ring(store)
        return await work(ToolCards(store, keys), keys)

    with report_errors():
        return _in_store(url, opened)


def administer_tool_cards(url: str | None, work: Callable[[CardAdministration], Awaitable[T]]) -> T:
    """The same for what changes cards or keys: the audit log of the environment records it."""

    async def opened(store: Store) -> T:
        from caps.agents.tool_cards.administration import CardAdministration
        from caps.agents.tool_cards.tool_cards import ToolCards
        from caps.security.audit import AuditSettings

        keys = _key_ring(store)
        async with _administrator(AuditSettings.from_environment()) as who:
            return await work(CardAdministration(ToolCards(store, keys), keys, who))

    with report_errors():
        return _in_store(url, opened)


@asynccontextmanager
async def _administrator(settings: AuditSettings) -> AsyncIterator[Administrator]:
    """The user of this command, with the audit log open."""
    from caps.security.audit import AuditLog
    from caps.security.audit.log.administration import Administrator

    log = AuditLog.open(settings)
    try:
        yield Administrator(audit=log, principal=principal_or_user(None))
    finally:
        await log.aclose()


def carded_registry(name: str | None, audit: AuditSettings) -> CapabilityRegistry:
    """The registry that the option names, or the built-in one, checked if cards are required.

    Raises ConfigurationError, ToolCardError, AuditError and StoreError.
    """
    registry = load_registry(name)
    if Variable.CAPABILITY_CARDS.read() in ("", "off"):
        return registry  # without loading anything of the store

    async def check(store: Store) -> None:
        from caps.agents.tool_cards.settings import CardSettings
        from caps.agents.tool_cards.startup import ensure_tool_cards

        settings = CardSettings.from_environment()
        await ensure_tool_cards(
            store, registry, _key_ring(store), settings, lambda: _administrator(audit)
        )

    _in_store(None, check)
    return registry


def _key_ring(store: Store) -> KeyRing:
    from caps.agents.tool_cards.key_ring import KeyRing
    from caps.agents.tool_cards.settings import CardSettings
    from caps.store.sealing import load_secret_box

    return KeyRing(store, load_secret_box(), CardSettings.from_environment().signing_secret)


def _in_store(url: str | None, work: Callable[[Store], Awaitable[T]]) -> T:
    import anyio

    from caps.store import open_store

    async def main() -> T:
        async with open_store(url) as store:
            return await work(store)

    return anyio.run(main)
