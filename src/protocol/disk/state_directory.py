"""The default directory for data that outlives a program."""

from __future__ import annotations

import os
from pathlib import Path

from caps.protocol.environment import Variable


def state_directory() -> Path:
    """`caps` in the user's state directory, by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "caps"


def mcp_pins_directory() -> Path:
    """Where the accepted tools of MCP servers are kept. Raises ConfigurationError."""
    configured = Variable.MCP_PINS.read()
    return Path(configured).absolute() if configured else state_directory() / "mcp"


def token_secret_file() -> Path:
    """Where the secret of tokens for development is."""
    return state_directory() / "service.key"
