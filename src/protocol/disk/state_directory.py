"""The default directory for data that outlives a program."""

from __future__ import annotations

import os
from pathlib import Path


def state_directory() -> Path:
    """`caps` in the user's state directory, by the XDG base directory specification."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "caps"


def token_secret_file() -> Path:
    """Where the secret of tokens for development is."""
    return state_directory() / "service.key"
