"""The external MCP servers that the operator configured: a JSON file like other clients' own.

    {"mcpServers": {"browser": {"command": "npx", "args": ["@playwright/mcp@latest"]},
                    "docs": {"url": "https://mcp.example.org/mcp",
                             "headers": {"X-Api-Key": {"secret": "docs"}}}}}

This file is the only place that can name a command to run or an address to connect to. An agent
names a server by its key; it may repeat the command, and then has to repeat it exactly.
"""

from __future__ import annotations

import hashlib
import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import rfc8785
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    ValidationError,
)
from pydantic import field_validator as check_field
from pydantic import model_validator as check_model

from caps.capabilities.secrets.sources import checked_name
from caps.protocol.disk.regular_files import read_regular
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import printable
from caps.security.policies.flow_rules import Labels
from caps.security.policies.load import first_error, json_place, json_problem
from caps.security.policies.plain_json import NotJsonError
from caps.security.policies.strict_json import strict_json

MAX_FILE_BYTES: Final = 1024 * 1024
MAX_SERVERS: Final = 64
_KEY: Final = r"^[a-z][a-z0-9_-]{0,49}$"
_VARIABLE: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,255}$"
_HEADER: Final = r"^[A-Za-z0-9-]{1,128}$"

Text = Annotated[str, StringConstraints(max_length=8192)]
Seconds = Annotated[int, Field(ge=1_000, le=3_600_000)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SecretValue(_Part):
    """A value that is not written here: the name of a secret of the host."""

    secret: str
    prefix: Text = ""

    @check_field("secret")
    @classmethod
    def _is_name(cls, name: str) -> str:
        return checked_name(name)


def _kind(value: object) -> str:
    return "text" if isinstance(value, str) else "object"


Value = Annotated[
    Annotated[Text, Tag("text")] | Annotated[SecretValue, Tag("object")], Discriminator(_kind)
]


class Confinement(_Part):
    """What the process of the server may reach; whatever is not listed is denied by the kernel."""

    read: tuple[Text, ...] = ()
    write: tuple[Text, ...] = ()
    network: bool = False

    @check_field("read", "write")
    @classmethod
    def _are_absolute(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if not path.startswith("/"):
                raise ValueError(f"`{printable(path)}` must be an absolute path")
        return paths


class Launch(_Part):
    """How a server is reached: a command, or an address. What an agent may repeat under `mcp`."""

    command: Text | None = None
    args: tuple[Text, ...] = ()
    url: Text | None = None
    type: Literal["stdio", "http", "streamable-http"] | None = None
    """Accepted because other clients write it; the command or the address says the same."""

    @check_model(mode="after")
    def _has_one(self) -> Launch:
        if (self.command is None) == (self.url is None):
            raise ValueError("should have either `command` or `url`")
        for text in (self.command or "", self.url or "", *self.args):
            if "\0" in text:
                raise ValueError("text holds a NUL character")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError("`url` should begin with `https://` or `http://`")
        if self.url is not None and self.args:
            raise ValueError("`args` belong to a `command`")
        return self

    @property
    def target(self) -> tuple[str | None, tuple[str, ...], str | None]:
        """What must be equal for two of them to be the same server."""
        return self.command, self.args, self.url


_DECIDING: Final = {"command", "args", "url", "env", "headers", "inherit", "cwd"}


class ServerConfig(Launch):
    """One server, as the operator writes it."""

    env: dict[Annotated[str, StringConstraints(pattern=_VARIABLE)], Value] = {}
    inherit: tuple[Annotated[str, StringConstraints(pattern=_VARIABLE)], ...] = ()
    """Variables that the server gets as the host has them; all others it does not get."""
    headers: dict[Annotated[str, StringConstraints(pattern=_HEADER)], Value] = {}
    cwd: Text = "/"
    tools: tuple[Text, ...] | None = None
    """The tools that exist for agents, by the names that the server gives them; None: all."""
    labels: Labels = ("untrusted",)
    egress: bool = True
    share: Literal["agent", "principal"] = "principal"
    """Who shares a process: the calls of one principal for one agent, or all calls for it."""
    confine: Confinement | None = None
    memory_mb: Annotated[int, Field(ge=64, le=65_536)] = 4096
    """Of each process of the server."""
    start_ms: Seconds = 30_000
    timeout_ms: Seconds | None = None
    idle_ms: Seconds = 600_000
    protocol: Literal["auto", "legacy"] = "auto"
    """`legacy` sends `initialize` first, for a server that answers nothing before it."""
    name: Text = ""
    description: Text = ""
    system_prompt: Text | None = None

    @check_model(mode="after")
    def _fits_its_kind(self) -> ServerConfig:
        if self.url is not None and (self.env or self.inherit or self.confine is not None):
            raise ValueError("`env`, `inherit` and `confine` belong to a `command`")
        if self.command is not None and self.headers:
            raise ValueError("`headers` belong to a `url`")
        return self

    @property
    def digest(self) -> str:
        """Of everything that decides which program answers. A value of a secret is not in it."""
        parts = self.model_dump(mode="json", include=_DECIDING)
        return hashlib.sha256(rfc8785.dumps(parts)).hexdigest()


class _File(_Part):
    servers: dict[Annotated[str, StringConstraints(pattern=_KEY)], ServerConfig] = Field(
        alias="mcpServers", max_length=MAX_SERVERS
    )


class McpServer(msgspec.Struct, frozen=True):
    """A configured server and its key."""

    key: str
    config: ServerConfig

    @property
    def domain(self) -> str:
        return self.key.replace("-", "_")


def servers_of(value: Mapping[str, Any], source: str = "the MCP servers") -> tuple[McpServer, ...]:
    """The servers of a value that was JSON. Raises ConfigurationError."""
    try:
        found = _File.model_validate_json(msgspec.json.encode(value))
    except ValidationError as error:
        first = first_error(error)
        place = json_place(first["loc"])
        raise ConfigurationError(f"{source}: {json_problem(first)} at `{place}`") from None
    servers = tuple(McpServer(key, config) for key, config in sorted(found.servers.items()))
    domains: dict[str, str] = {}
    for each in servers:
        if keyword.iskeyword(each.domain):
            raise ConfigurationError(f"{source}: `{each.key}` is a keyword of python; rename it")
        other = domains.setdefault(each.domain, each.key)
        if other != each.key:
            raise ConfigurationError(
                f"{source}: `{other}` and `{each.key}` are both the domain `{each.domain}`"
            )
    return servers


def load_servers(path: Path | None = None) -> tuple[McpServer, ...]:
    """The servers of the file, by default that of CAPS_MCP_SERVERS. Raises ConfigurationError."""
    if path is None:
        configured = Variable.MCP_SERVERS.read()
        if not configured:
            return ()
        path = Path(configured)
    source = f"the file of MCP servers `{printable(str(path), 300)}`"
    try:
        value = strict_json(read_regular(path, MAX_FILE_BYTES).decode("utf-8"))
    except OSError as error:
        reason = (error.strerror or "it failed").lower()
        raise ConfigurationError(f"{source} cannot be read: {reason}") from None
    except NotJsonError as error:
        raise ConfigurationError(f"{source}: {error} at `{json_place(error.path)}`") from None
    except ValueError as error:
        line = getattr(error, "lineno", None)
        where = "" if line is None else f", line {line}"
        raise ConfigurationError(f"{source} is not JSON{where}") from None
    if not isinstance(value, dict):
        raise ConfigurationError(f"{source} must be an object")
    return servers_of(value, source)
