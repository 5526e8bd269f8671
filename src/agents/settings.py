"""The settings of a process as one typed value, and where each of them comes from.

`Variable` is the table of all settings: a variable of the environment comes first, then the
configuration file, then the default. Each value is parsed by the part that uses it.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from caps.agents.sign_in_settings import SignInSettings
from caps.agents.tool_cards.settings import CardSettings
from caps.capabilities.catalogue.entry_points import PluginMode, plugin_mode
from caps.capabilities.runtime.isolation import isolation_mode
from caps.capabilities.runtime.opening.settings import capability_timeout_ms
from caps.mcp.client.config import McpServer, load_servers
from caps.protocol.disk.state_directory import mcp_pins_directory
from caps.protocol.environment import Variable
from caps.protocol.errors import CapsError, ConfigurationError
from caps.security.approvals.directory import default_approvals_directory
from caps.security.audit import AuditSettings
from caps.security.policies.load import LoadedPolicy, load_policy
from caps.worker.host.memory.cgroup_discovery import find_locations
from caps.worker.host.process.scheduling import may_share_processor

MASK: Final = "(masked)"
_LINK: Final = re.compile(r"\[([^]]*)\]\([^)]*\)")


class Source(enum.StrEnum):
    """Where a value comes from."""

    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One row of `caps config show`; a value that can hold a secret is masked."""

    variable: str
    setting: str
    value: str
    """Empty if it is not set."""
    default: str
    """What happens without it, for people."""
    source: Source


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is configured, parsed."""

    policy: LoadedPolicy
    audit: AuditSettings
    isolation: str
    default_timeout_ms: int
    plugins: PluginMode
    store: str
    """The place of the store, fit for messages."""
    cards: CardSettings
    mcp_servers: tuple[McpServer, ...]
    mcp_pins: Path
    approvals: Path
    cgroup: str | None
    """The directory of CAPS_CGROUP, which is one of a cgroup hierarchy."""
    share_processor: bool
    secrets: Path | None
    registry: str | None
    """`MODULE:NAME`; the command line loads it."""
    sign_in: SignInSettings
    server: str | None
    """The service that commands use. Its token is never part of the settings."""

    @classmethod
    def load(cls) -> Settings:
        """The settings of this process. Raises ConfigurationError or PolicyInvalidError."""
        return cls(**{name: parse() for name, parse in _PARSERS.items()})


def settings_problems() -> list[str]:
    """What is wrong with the settings of this process, in a line each."""
    found = []
    for parse in _PARSERS.values():
        try:
            parse()
        except CapsError as error:
            found.append(error.message)
    return list(dict.fromkeys(found))  # a file that cannot be read fails all of them


def settings_shown() -> list[Setting]:
    """Every setting with its value and its source. Raises ConfigurationError."""
    return [_shown(variable) for variable in Variable]


def _shown(variable: Variable) -> Setting:
    value, source = variable.read(), Source.DEFAULT
    if value:
        source = Source.ENVIRONMENT if os.environ.get(variable.key) else Source.FILE
    if value and variable.masked:
        value = MASK
    return Setting(
        variable=variable.key,
        setting=variable.setting,
        value=value,
        default=_LINK.sub(r"\1", variable.default).replace("`", ""),
        source=source,
    )


def _store() -> str:
    from caps.store.open_store import require_libraries
    from caps.store.sealing import load_secret_box

    if not Variable.DATABASE_URL.read() and not Variable.STORE_KEY_FILE.read():
        from caps.protocol.disk.store_files import default_store_file

        return str(default_store_file())  # without the extra `store`, too
    require_libraries()
    from caps.store.places import store_place

    if Variable.STORE_KEY_FILE.read():
        load_secret_box()
    return store_place().shown


def _cgroup() -> str | None:
    if not Variable.CGROUP.read():
        return None
    return str(find_locations()[0].directory)


def _secrets() -> Path | None:
    given = Variable.SECRETS_PATH.read()
    if given and not Path(given).is_dir():
        raise ConfigurationError(f"{Variable.SECRETS_PATH.key}: `{given}` is not a directory")
    return Path(given) if given else None


_PARSERS: Final[dict[str, Callable[[], Any]]] = {
    "policy": load_policy,
    "audit": AuditSettings.from_environment,
    "isolation": lambda: isolation_mode(None),
    "default_timeout_ms": lambda: capability_timeout_ms(None),
    "plugins": lambda: plugin_mode(None),
    "store": _store,
    "cards": CardSettings.from_environment,
    "mcp_servers": load_servers,
    "mcp_pins": mcp_pins_directory,
    "approvals": default_approvals_directory,
    "cgroup": _cgroup,
    "share_processor": may_share_processor,
    "secrets": _secrets,
    "registry": lambda: Variable.REGISTRY.read() or None,
    "sign_in": SignInSettings.from_environment,
    "server": lambda: Variable.SERVER.read() or None,
}
