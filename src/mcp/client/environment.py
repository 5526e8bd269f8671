"""The environment and the headers of a server: what its configuration names, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from caps.capabilities.secrets.masking import Masker
from caps.capabilities.secrets.sources import checked_value, host_sources
from caps.mcp.client.config import McpServer, SecretValue
from caps.protocol.errors import ProviderError


class ServerEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """The values, filled in; `masker` masks those that were secrets."""

    variables: dict[str, str]
    headers: dict[str, str]
    masker: Masker


def read_environment(server: McpServer) -> ServerEnvironment:
    """Read the secrets of a server. Blocks. Raises ProviderError, without a value."""
    config = server.config
    secrets: set[str] = set()
    variables = {name: os.environ[name] for name in config.inherit if name in os.environ}
    variables |= _filled(config.env, secrets)
    headers = _filled(config.headers, secrets)
    return ServerEnvironment(variables=variables, headers=headers, masker=Masker(secrets))


def _filled(given: Mapping[str, Any], secrets: set[str]) -> dict[str, str]:
    found = {}
    for name, value in given.items():
        if isinstance(value, SecretValue):
            secret = _secret(value.secret)
            secrets.add(secret)
            found[name] = value.prefix + secret
        else:
            found[name] = value
    return found


def _secret(name: str) -> str:
    for source in host_sources():
        value = source.read(name)
        if value is not None:
            return checked_value(name, value)
    raise ProviderError(f"its secret `{name}` does not exist")
