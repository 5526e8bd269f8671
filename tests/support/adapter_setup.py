"""A runtime for the adapters: a function of its own, one that is withheld, and host functions."""

from __future__ import annotations

from typing import Any

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.adapters.host_functions import HostFunctions
from caps.security.audit import DecisionMade

POLICY: dict[str, Any] = {"id": "shop", "allow": ["stock.count", "host.call"]}


class AdapterSetup:
    """A registry with `stock.count` and `stock.sell`, of which the policy allows the first."""

    def __init__(self, raises: tuple[type[Exception], ...] = ()) -> None:
        self.registry = CapabilityRegistry()
        self.host = HostFunctions(self.registry, raises=raises)
        self.audit = MemoryAuditLog()

        @self.registry.capability("stock.count", shown=("sku",))
        async def count(sku: str) -> int:
            """How many there are."""
            return len(sku)

        @self.registry.capability("stock.sell")
        async def sell(sku: str) -> str:
            """Never granted."""
            return sku

        self.runtime = Runtime(POLICY, registry=self.registry, audit=self.audit)

    def decisions(self) -> list[tuple[str, str, str]]:
        """Who called what, and what was decided."""
        found = [each for each in self.audit.events if isinstance(each, DecisionMade)]
        return [(each.principal, each.capability, each.decision) for each in found]
