"""(2) The registry as it is shipped: the domains that come with Caps, and nothing granted."""

from __future__ import annotations

from caps.capabilities.registry import CapabilityRegistry
from caps.providers.math import register_arithmetic
from caps.providers.time import register_clock
from caps.providers.files import register_files


def builtin_registry() -> CapabilityRegistry:
    """A new registry with `files`, `math` and `time`; a policy decides what of it is granted."""
    registry = CapabilityRegistry()
    register_files(registry)
    register_clock(registry)
    register_arithmetic(registry)
    return registry
