"""The capability `noop`: no tools and no prompt, for tests and demonstrations."""

from __future__ import annotations

from caps.capabilities.catalogue.capability import Capability
from caps.capabilities.registry import CapabilityRegistry


class Noop(Capability):
    """Does nothing."""

    key = "noop"
    name = "No-Op"
    description = "Does nothing; for testing and demonstration."
    icon = "circle-off"
    category = "Testing"


def register_noop(registry: CapabilityRegistry) -> None:
    """Add the capability `noop`."""
    registry.register(Noop)
