"""(2) The built-in registry: what comes with Caps and installed packages, none of it granted."""

from __future__ import annotations

from caps.capabilities.catalogue.entry_points import load_plugins, plugin_mode
from caps.capabilities.registry import CapabilityRegistry
from caps.providers.files import register_files
from caps.providers.math import register_arithmetic
from caps.providers.secrets import register_secrets
from caps.providers.time import register_clock
from caps.providers.web import register_web


def builtin_registry(*, plugins: str | None = None) -> CapabilityRegistry:
    """A new registry with the domains of this package, and what installed packages bring.

    A policy decides what is granted. `plugins` is `refuse` (a package that cannot be loaded raises
    RegistrationError), `skip` or `off`; by default what `CAPS_PLUGINS` says, else `refuse`.
    """
    mode = plugin_mode(plugins)
    registry = CapabilityRegistry()
    register_files(registry)
    register_clock(registry)
    register_arithmetic(registry)
    register_secrets(registry)
    register_web(registry)
    load_plugins(registry, mode)
    return registry
