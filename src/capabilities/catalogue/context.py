"""What a resolver is told: the same for all capabilities, plain data, and no channel in it.

The core knows no channel (chat, HTTP, a trigger), so no resolver can depend on one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from caps.protocol.argument_checks import require
from caps.protocol.errors import ConfigurationError
from caps.security.policies.load import json_place
from caps.security.policies.plain_json import NotJsonError, plain_json

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class ResolverContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where and for whom capabilities are resolved. A resolver need not use every field.

    `thread` and `agent` are JSON and are copied; mappings in them are read-only, arrays are tuples.
    Raises ConfigurationError for values of other types.
    """

    agent_dir: str = ""
    workspace_dir: str = ""
    thread: Mapping[str, Any] = _NOTHING
    callbacks: Mapping[str, Callable[..., Any]] = _NOTHING
    agent: Mapping[str, Any] = _NOTHING

    def __post_init__(self) -> None:
        for name in ("agent_dir", "workspace_dir"):
            value = getattr(self, name)
            require(isinstance(value, str), name, value, "a `str`")
        for name in ("thread", "agent"):
            value = getattr(self, name)
            require(isinstance(value, Mapping), name, value, "a mapping")
            msgspec.structs.force_setattr(self, name, _frozen_json(name, value))
        callbacks = self.callbacks
        require(isinstance(callbacks, Mapping), "callbacks", callbacks, "a mapping")
        for key, callback in callbacks.items():
            require(callable(callback), f"callbacks.{key}", callback, "a function")
        msgspec.structs.force_setattr(self, "callbacks", MappingProxyType(dict(callbacks)))


def _frozen_json(name: str, value: object) -> Any:
    try:
        return _frozen(plain_json(value))
    except NotJsonError as error:
        place = json_place((name, *error.path))
        raise ConfigurationError(f"`{place}` cannot be read: {error}") from None


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(item) for key, item in value.items()})
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


NO_CONTEXT = ResolverContext()
