"""Every environment variable of Caps: its name, what it sets, and its default.

All modules read their variables through this table, which also reads the configuration file.
`cli.unknown_variables` warns of names that it does not have, and `scripts/variable_tables.py`
writes the tables of the documents from it. A worker has no environment and reads none of them.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping

PREFIX = "CAPS_"


class Variable(enum.Enum):
    """One row for each variable; `sets` and `default` are Markdown for the documents."""

    POLICY_PATH = (
        "CAPS_POLICY_PATH",
        "the policy file if no policy is given. The file is watched: a valid change applies to "
        "executions and sessions that start after it",
        "none: nothing is granted",
    )
    APPROVALS_PATH = (
        "CAPS_APPROVALS_PATH",
        "the directory in which calls wait for approval",
        "`$XDG_STATE_HOME/caps/approvals`",
    )
    AUDIT_PATH = (
        "CAPS_AUDIT_PATH",
        "the directory of the audit log",
        "`$XDG_STATE_HOME/caps/audit`",
    )
    AUDIT_DURABILITY = (
        "CAPS_AUDIT_DURABILITY",
        "`sync`: a record is on disk (fdatasync) before the effect; `os`: it is passed to the "
        "kernel, and a power cut may lose it",
        "`sync`",
    )
    AUDIT_ROTATE_BYTES = (
        "CAPS_AUDIT_ROTATE_BYTES",
        "the size at which a new file is started, at least 4096; 0 means never",
        "`0`",
    )
    AUDIT_ROTATE_SECONDS = (
        "CAPS_AUDIT_ROTATE_SECONDS",
        "the age at which a new file is started; 0 means never",
        "`0`",
    )
    AUDIT_COMPRESS = (
        "CAPS_AUDIT_COMPRESS",
        "`1`: closed files are compressed in the background",
        "`0`",
    )
    AUDIT_CHECKPOINT_EVERY = (
        "CAPS_AUDIT_CHECKPOINT_EVERY",
        "the number of records after which a checkpoint is signed",
        "`1000`",
    )
    AUDIT_CHECKPOINT_SECONDS = (
        "CAPS_AUDIT_CHECKPOINT_SECONDS",
        "the number of seconds after which a checkpoint is signed; 0 means by records only",
        "`60`",
    )
    AUDIT_CHECKPOINTS_TO = (
        "CAPS_AUDIT_CHECKPOINTS_TO",
        "a directory that also gets every checkpoint and the public keys",
        "none",
    )
    AUDIT_SINKS = (
        "CAPS_AUDIT_SINKS",
        "[sinks](#sinks), as URLs separated by spaces or newlines; `--audit-sink URL` adds one",
        "none",
        True,
    )
    DATABASE_URL = (
        "CAPS_DATABASE_URL",
        "the [store](docs/store.md): `postgresql://user@host/database`, or `sqlite:////path` of a "
        "file",
        "`$XDG_STATE_HOME/caps/caps.db`",
        True,
    )
    STORE_KEY_FILE = (
        "CAPS_STORE_KEY_FILE",
        "the key that seals the secrets in the store; the file must exist",
        "`$XDG_STATE_HOME/caps/store.key`, created on first use",
    )
    TOKEN_SECRET_FILE = (
        "CAPS_TOKEN_SECRET_FILE",
        "the secret that verifies tokens of the [service](docs/service.md), for HS256; at least 32 "
        "bytes",
        "`$XDG_STATE_HOME/caps/service.key`, created on first use, for loopback only",
    )
    TOKEN_JWKS = (
        "CAPS_TOKEN_JWKS",
        "the public keys that verify tokens instead, for RS256 and EdDSA: a file with a JSON Web "
        "Key Set, or its `https://` URL",
        "none",
    )
    TOKEN_ISSUER = ("CAPS_TOKEN_ISSUER", "the `iss` that a token must have", "`caps`")
    TOKEN_AUDIENCE = ("CAPS_TOKEN_AUDIENCE", "the `aud` that a token must have", "`caps`")
    SERVER = (
        "CAPS_SERVER",
        "the URL of a [service](docs/client.md) that commands and clients use",
        "none: commands work on this host",
    )
    TOKEN = ("CAPS_TOKEN", "the token that clients of a service send", "none", True)
    TOKEN_FILE = (
        "CAPS_TOKEN_FILE",
        "a file with that token instead; it is read for each request",
        "none",
    )
    DEFAULT_TIMEOUT_MS = (
        "CAPS_CAPABILITY_DEFAULT_TIMEOUT_MS",
        "the longest time that a capability call may take, in milliseconds",
        "`30000`",
    )
    SIGNING_SECRET = (
        "CAPS_CAPABILITY_SIGNING_SECRET",
        "the secret that signs [tool cards](docs/tool-cards.md), at least 16 bytes",
        "none: a random key is created on first use",
        True,
    )
    CAPABILITY_CARDS = (
        "CAPS_CAPABILITY_CARDS",
        "[tool cards](docs/tool-cards.md): `off`; `refuse`: do not start if a card fails its "
        "check; `check`: the same, but functions without any card can be called; `quarantine`: "
        "start, and refuse calls of the functions without a valid card",
        "`off`; `check` for `caps serve`",
    )
    REQUIRED_AGENTS = (
        "CAPS_CAPABILITY_REQUIRED_AGENTS",
        "agent types that need a valid tool card, separated by spaces",
        "none",
    )
    CONFIG = (
        "CAPS_CONFIG",
        "a [configuration file](docs/configuration.md), TOML or JSON, with values of the other "
        "variables; a variable in the environment comes first",
        "none",
    )
    ISOLATION = (
        "CAPS_ISOLATION",
        "`full`: refuse to start unless every layer is fully in force; `best-effort`: start "
        "anyway, and record which layers are missing",
        "`full`",
    )
    CGROUP = (
        "CAPS_CGROUP",
        "the cgroup directory below which each worker gets its own group with a memory limit; Caps "
        "refuses to start if this directory cannot be used",
        "the host's own group or, if delegated, its parent",
    )
    SHARE_PROCESSOR = (
        "CAPS_SHARE_PROCESSOR",
        "`on`: with durability `os`, a worker that calls often may run on the processor of an idle "
        "host meanwhile, which makes calls cheaper (see "
        "[decision 18](docs/adr/0018-a-worker-shares-its-hosts-processor.md)); `off`: the kernel "
        "places it as any other process",
        "`on`",
    )
    SECRETS_PATH = (
        "CAPS_SECRETS_PATH",
        "a directory with one file for each [secret](docs/secrets.md), such as `/run/secrets`; a "
        "secret can also be the variable `CAPS_SECRET_<NAME>`",
        "none",
    )
    MCP_SERVERS = (
        "CAPS_MCP_SERVERS",
        "a JSON file with the external [MCP servers](docs/mcp.md) that agents may use",
        "none",
    )
    MCP_PINS = (
        "CAPS_MCP_PINS",
        "the directory of the tools that `caps mcp accept` pinned, a file for each server",
        "`$XDG_STATE_HOME/caps/mcp`",
    )
    REGISTRY = (
        "CAPS_REGISTRY",
        "`MODULE:NAME` of a registry for the command line",
        "the built-in one",
    )
    PLUGINS = (
        "CAPS_PLUGINS",
        "an installed package whose [capabilities](docs/capabilities.md) cannot be loaded: "
        "`refuse` to start, or `skip` it; `off` loads no package",
        "`refuse`",
    )

    def __init__(self, key: str, sets: str, default: str, masked: bool = False) -> None:
        self.key = key
        self.sets = sets
        self.default = default
        self.masked = masked
        """It can hold a secret, so no command prints it."""

    def read(self, environment: Mapping[str, str] | None = None) -> str:
        """The value in the environment of this process, else in the configuration file.

        Of another environment only what is in it. Empty if it is not set. Raises
        ConfigurationError if there is a configuration file that cannot be used.
        """
        value = (os.environ if environment is None else environment).get(self.key, "")
        if value or environment is not None or self is Variable.CONFIG:
            return value
        path = os.environ.get(Variable.CONFIG.key)
        if not path:
            return ""
        from caps.protocol.disk.config_file import configured_values

        return configured_values(path).get(self, "")

    @property
    def setting(self) -> str:
        """Its name in the configuration file: `CAPS_AUDIT_PATH` is `audit.path`."""
        return self.key.removeprefix(PREFIX).lower().replace("_", ".", 1)
