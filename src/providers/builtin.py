"""(2) The built-in registry: what comes with Caps and installed packages, none of it granted."""

from __future__ import annotations

from caps.capabilities.catalogue.entry_points import load_plugins, plugin_mode
from caps.capabilities.registry import CapabilityRegistry
from caps.providers.artifacts import register_artifacts
from caps.providers.files import register_files
from caps.providers.math import register_arithmetic
from caps.providers.noop import register_noop
from caps.providers.notify import register_notify
from caps.providers.research import register_research
from caps.providers.sandbox import register_sandbox
from caps.providers.secrets import register_secrets
from caps.providers.session_files import register_session_files
from caps.providers.time import register_clock
from caps.providers.todo import register_todo
from caps.providers.weather import register_weather
from caps.providers.web import register_web

# In this order; each adds functions and the capability that bundles them.
_REGISTER = (
    register_noop,
    register_artifacts,
    register_files,
    register_clock,
    register_arithmetic,
    register_weather,
    register_todo,
    register_web,
    register_secrets,
    register_sandbox,
    register_session_files,
    register_research,
    register_notify,
)


def builtin_registry(*, plugins: str | None = None) -> CapabilityRegistry:
    """A new registry with the built-in capabilities, and what installed packages bring.

    A policy decides what is granted. `plugins` is `refuse` (a package that cannot be loaded raises
    RegistrationError), `skip` or `off`; by default what `CAPS_PLUGINS` says, else `refuse`.
    """
    mode = plugin_mode(plugins)
    registry = CapabilityRegistry()
    with registry.deferring():
        for register in _REGISTER:
            register(registry)
    load_plugins(registry, mode)
    return registry
