"""(2) The built-in registry: the domains that come with Caps. Nothing in it is granted."""

from __future__ import annotations

from caps.capabilities.registry import CapabilityRegistry
from caps.providers.files import register_files
from caps.providers.math import register_arithmetic
from caps.providers.time import register_clock


def builtin_registry() -> CapabilityRegistry:
    """A new registry with `files`, `math` and `time`; a policy decides what is granted."""
    registry = CapabilityRegistry()
    register_files(registry)
    register_clock(registry)
    register_arithmetic(registry)
    return registry
