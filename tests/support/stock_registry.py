"""A registry with one function, for `--registry support.stock_registry:registry`."""

from __future__ import annotations

from caps import CapabilityRegistry

registry = CapabilityRegistry()


@registry.capability("stock.lookup")
async def lookup(sku: str) -> int:
    """How many there are."""
    return len(sku)
