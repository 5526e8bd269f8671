"""What no scope may change: the files of policy, configuration, approvals, audit log and store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from caps.protocol.disk.state_directory import mcp_pins_directory, token_secret_file
from caps.protocol.disk.store_files import store_files, store_key_file
from caps.protocol.environment import Variable
from caps.security.approvals.directory import default_approvals_directory
from caps.security.approvals.model import Approver
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.log.log import AuditLog
from caps.security.audit.log.settings import AuditSettings
from caps.security.policies.protected_paths import POLICY_FILE, ProtectedPath

_APPROVALS: Final = "the approvals directory"
_AUDIT: Final = "the audit directory"
_STORE: Final = "the store"
_SIGN_IN: Final = "the key of tokens"
_CONFIG: Final = "the configuration file"
_MCP_SERVERS: Final = "the file of MCP servers"
_MCP_PINS: Final = "the accepted tools of MCP servers"


def protected_paths_of(
    audit: AuditSink, approver: Approver, policies: Iterable[Path | None]
) -> tuple[ProtectedPath, ...]:
    """The protected paths of a runtime with these parts: of an approver its `directory`, if it has
    one; `policies` are the files it is opened
    with, None for a policy that has none."""
    found = [ProtectedPath(POLICY_FILE, policy) for policy in policies if policy is not None]
    directory = getattr(approver, "directory", None)
    if isinstance(directory, Path):
        found.append(ProtectedPath(_APPROVALS, directory))
    if isinstance(audit, AuditLog):
        found += [ProtectedPath(_AUDIT, place) for place in audit.places]
    return (*found, *_other_paths())


def default_protected_paths() -> tuple[ProtectedPath, ...]:
    """The protected paths of a runtime with the environment's settings. ConfigurationError."""
    places = AuditSettings.from_environment().places
    return (
        ProtectedPath(_APPROVALS, default_approvals_directory()),
        *(ProtectedPath(_AUDIT, place) for place in places),
        *_other_paths(),
    )


def _other_paths() -> tuple[ProtectedPath, ...]:
    key = store_key_file()
    found = [ProtectedPath(_STORE, place, place == key) for place in store_files()]
    secret = Variable.TOKEN_SECRET_FILE.read()
    place = Path(secret).absolute() if secret else token_secret_file()
    found.append(ProtectedPath(_SIGN_IN, place, is_secret=True))
    configured = Variable.CONFIG.read()
    if configured:
        found.append(ProtectedPath(_CONFIG, Path(configured).absolute()))
    servers = Variable.MCP_SERVERS.read()
    if servers:
        found.append(ProtectedPath(_MCP_SERVERS, Path(servers).absolute()))
        found.append(ProtectedPath(_MCP_PINS, mcp_pins_directory()))
    return tuple(found)
