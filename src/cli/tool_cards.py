"""Tool cards on the command line: opening them, and the registry that they were checked against."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from caps.cli.exits import report_errors
from caps.cli.options import load_registry
from caps.protocol.environment import Variable

if TYPE_CHECKING:
    from caps.agents.tool_cards.key_ring import KeyRing
    from caps.agents.tool_cards.tool_cards import ToolCards
    from caps.capabilities.registry import CapabilityRegistry
    from caps.store.database import Store

T = TypeVar("T")

url_option = click.option(
    "--url",
    metavar="URL",
    help="The store; by default CAPS_DATABASE_URL, else the file in the user's state directory.",
)


def with_tool_cards(url: str | None, work: Callable[[ToolCards, KeyRing], Awaitable[T]]) -> T:
    """What `work` returns, with the cards and the keys of the store. Ends the command at errors."""

    async def opened(store: Store) -> T:
        from caps.agents.tool_cards.tool_cards import ToolCards

        keys = _key_ring(store)
        return await work(ToolCards(store, keys), keys)

    with report_errors():
        return _in_store(url, opened)


def carded_registry(name: str | None) -> CapabilityRegistry:
    """The registry that the option names, or the built-in one, checked if cards are required.

    Raises ConfigurationError, ToolCardError and StoreError.
    """
    registry = load_registry(name)
    if Variable.CAPABILITY_CARDS.read() in ("", "off"):
        return registry  # without loading anything of the store

    async def check(store: Store) -> None:
        from caps.agents.tool_cards.settings import CardSettings
        from caps.agents.tool_cards.startup import ensure_tool_cards

        settings = CardSettings.from_environment()
        await ensure_tool_cards(store, registry, _key_ring(store), settings)

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
