"""Where what outlives a program is kept, if nobody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path


def state_directory() -> Path:
    """`caps` in the user's state directory, as the XDG base directory specification has it."""
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return base / "caps"
