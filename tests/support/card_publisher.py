"""A process that publishes cards and verifies all of them, until it is told to stop.

`python -m support.card_publisher URL NAME`: it publishes `load.NAME` 1, 2, …, verifies every card
after each, and prints the number. A card that is not valid ends it with an error.
"""

from __future__ import annotations

import sys

import anyio

from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.tool_cards import ToolCards
from caps.store import open_store
from caps.store.sealing import load_secret_box
from support.card_examples import card_with


async def main(url: str, name: str) -> None:
    async with open_store(url) as store:
        cards = ToolCards(store, KeyRing(store, load_secret_box()))
        for number in range(1, 1_000_000):
            await cards.publish(card_with(name=f"load.{name}", version=str(number)))
            wrong = [each for each in await cards.cards() if each.problem is not None]
            if wrong:
                sys.exit(f"{wrong[0].title}: {wrong[0].problem}")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
