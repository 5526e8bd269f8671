"""Pins: the tools of each server as the operator accepted them, a file for each server.

The functions of the registry are made from them, so that nothing is started to know what exists.
When a server starts, what it offers must be what was accepted: a tool that is new, gone or changed
in any way is drift, and the server answers nothing until it is accepted again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import rfc8785

from caps.mcp.bridge_messages import ListedTool
from caps.mcp.client.config import McpServer
from caps.protocol.disk.regular_files import create_synced, read_regular, sync_directory
from caps.protocol.disk.state_directory import mcp_pins_directory
from caps.protocol.errors import ConfigurationError, ProviderError
from caps.protocol.text import printable
from caps.security.policies.plain_json import NotJsonError, plain_json

MAX_PIN_BYTES: Final = 8 * 1024 * 1024
_SHOWN: Final = 3


class Pin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was accepted of one server."""

    key: str
    launch: str
    """The digest of the configuration of the server."""
    server: str
    version: str
    accepted_at: str
    tools: tuple[ListedTool, ...]
    digest: str

    @property
    def digests(self) -> dict[str, str]:
        return {tool.name: tool_digest(tool) for tool in self.tools}


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """How a list of tools differs from the accepted one."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __str__(self) -> str:
        parts = (("new", self.added), ("gone", self.removed), ("changed", self.changed))
        return ", ".join(f"{_names(names)} {what}" for what, names in parts if names)


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{printable(name, 80)}`" for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{shown}{more} {'is' if len(names) == 1 else 'are'}"


def tool_digest(tool: ListedTool) -> str:
    """Of everything that a server says of a tool. Raises ProviderError for what is not JSON."""
    try:
        plain = plain_json(msgspec.to_builtins(tool))
    except NotJsonError as error:
        name = printable(tool.name, 80)
        raise ProviderError(f"the tool `{name}` cannot be compared: {error}") from None
    return hashlib.sha256(rfc8785.dumps(plain)).hexdigest()


def digests_of(tools: Iterable[ListedTool]) -> dict[str, str]:
    """By name. Raises ProviderError, also for two tools of one name."""
    found: dict[str, str] = {}
    for tool in tools:
        if tool.name in found:
            raise ProviderError(f"two tools have the name `{printable(tool.name, 80)}`")
        found[tool.name] = tool_digest(tool)
    return found


def drift_of(accepted: Mapping[str, str], offered: Mapping[str, str]) -> Drift:
    both = accepted.keys() & offered.keys()
    return Drift(
        added=tuple(sorted(offered.keys() - accepted.keys())),
        removed=tuple(sorted(accepted.keys() - offered.keys())),
        changed=tuple(sorted(name for name in both if accepted[name] != offered[name])),
    )


def make_pin(server: McpServer, tools: Iterable[ListedTool], name: str, version: str) -> Pin:
    """The pin of what a server offers now. Raises ProviderError."""
    kept = tuple(sorted(tools, key=lambda tool: tool.name))
    digests = digests_of(kept)
    return Pin(
        key=server.key,
        launch=server.config.digest,
        server=name,
        version=version,
        accepted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tools=kept,
        digest=_digest(server.key, server.config.digest, digests),
    )


def _digest(key: str, launch: str, digests: Mapping[str, str]) -> str:
    parts: dict[str, Any] = {"key": key, "launch": launch, "tools": dict(digests)}
    return hashlib.sha256(rfc8785.dumps(parts)).hexdigest()


class PinStore:
    """The directory of the pins."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = mcp_pins_directory() if directory is None else directory

    def read(self, key: str) -> Pin | None:
        """The pin of a server; None if nothing was accepted. Raises ConfigurationError."""
        path = self.directory / f"{key}.json"
        try:
            pin = msgspec.json.decode(read_regular(path, MAX_PIN_BYTES), type=Pin)
            whole = pin.key == key and pin.digest == _digest(key, pin.launch, pin.digests)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
            raise self._refusal(key, f"cannot be read: {reason}") from None
        except (msgspec.DecodeError, ProviderError):
            raise self._refusal(key, "cannot be parsed; accept them again") from None
        if not whole:
            raise self._refusal(key, "was changed by hand; accept them again")
        return pin

    def write(self, pin: Pin) -> None:
        """Replace the pin of a server. Raises ConfigurationError."""
        path = self.directory / f"{pin.key}.json"
        fresh = path.with_suffix(f".{os.getpid()}.new")
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.unlink(missing_ok=True)
            create_synced(fresh, msgspec.json.format(msgspec.json.encode(pin), indent=1))
            fresh.replace(path)
            sync_directory(self.directory)
        except OSError as error:
            reason = (error.strerror or "it failed").lower()
            raise self._refusal(pin.key, f"cannot be written: {reason}") from None

    def _refusal(self, key: str, what: str) -> ConfigurationError:
        place = printable(str(self.directory / f"{key}.json"), 300)
        return ConfigurationError(f"the accepted tools of `{key}` in `{place}`: the file {what}")
