"""The capability `secrets`: the secrets that an agent may use, and where they may be sent."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from caps.capabilities.catalogue.capability import (
    Capability,
    CapabilityConfig,
    ResolvedCapability,
    ResolvedConfig,
    ToolDescriptor,
)
from caps.capabilities.catalogue.context import ResolverContext
from caps.providers.secrets.scope import MAX_SECRETS
from caps.security.hosts import HostPatterns


class SecretsConfig(CapabilityConfig):
    """The settings of `secrets`."""

    hosts: dict[str, HostPatterns] = Field(
        min_length=1,
        max_length=MAX_SECRETS,
        description="For each secret, by its name, the hosts that it may be sent to.",
    )


class Secrets(Capability):
    """Secrets by handle."""

    key = "secrets"
    name = "Secrets"
    description = "Use secrets in requests without seeing their values."
    icon = "key"
    category = "Network"
    config_model = SecretsConfig
    tools = (
        ToolDescriptor(
            "get_secret_handle",
            "Secret Handle",
            "Get a handle of a secret, to use in a header.",
            "secrets.handle",
        ),
    )

    def resolve(self, ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:  # noqa: ARG002
        hosts = config.settings_as(SecretsConfig).hosts
        scope: dict[str, Any] = {name: {"hosts": list(each)} for name, each in hosts.items()}
        return ResolvedCapability(scopes={"secrets": scope})
