"""A registry with a thousand functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from caps import CapabilityRegistry

registry = CapabilityRegistry()


def _item(number: int) -> Callable[..., Awaitable[str]]:
    async def item(count: int = 1) -> str:
        return f"{number} x {count}"

    item.__doc__ = f"Take item {number} from the shelf."
    return item


for _number in range(1000):
    registry.capability(f"shelf.item_{_number}", title=f"Take item {_number}")(_item(_number))
