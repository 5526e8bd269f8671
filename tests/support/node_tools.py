"""Programs for Node.js that `make node` has installed; without them a test is skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NODE = Path(__file__).parents[2] / ".venv" / "node"


def node_command(name: str) -> list[str]:
    """The command of an installed package, with the `node` that was installed with it."""
    programs = NODE / "node_modules" / ".bin"
    if not (NODE / ".installed").exists() or not (programs / name).exists():
        give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
        give_up(f"`{name}` is not installed: `make node` needs npm")
    return [str(programs / "node"), str(programs / name)]
