"""The capability `web_fetch`: the tool that fetches a page, and the hosts that an agent reaches."""

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
from caps.security.hosts import EVERY_HOST, HostPatterns


class WebFetchConfig(CapabilityConfig):
    """The settings of `web_fetch`."""

    hosts: HostPatterns = Field(
        default=(EVERY_HOST,),
        description="The hosts that the tool reaches; by default every public one.",
    )


class WebFetch(Capability):
    """Pages of the web. It adds nothing to the prompt: the tool documents itself."""

    key = "web_fetch"
    name = "Web Fetch"
    description = "Fetch content from URLs and convert HTML responses to markdown or plain text."
    icon = "globe"
    category = "Network"
    config_model = WebFetchConfig
    tools = (ToolDescriptor("web_fetch", "Web Fetch", "Fetch content from a URL.", "web.fetch"),)

    def resolve(self, ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:  # noqa: ARG002
        hosts: list[Any] = list(config.settings_as(WebFetchConfig).hosts)
        return ResolvedCapability(scopes={"web": {"hosts": hosts}})
