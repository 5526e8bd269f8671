"""Runs `caps` as a user does, with a state directory of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CAPS = Path(sys.executable).with_name("caps")


def run_caps(state: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command whose store is below `state`."""
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    environment.pop("CAPS_DATABASE_URL", None)
    return subprocess.run(
        [CAPS, *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env=environment,
        timeout=60,
        check=False,
    )
