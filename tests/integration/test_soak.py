"""The soak in its short form: executions of every kind, and nothing of them is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parent.parent.parent / "bench" / "soak.py"


def test_a_few_hundred_executions_leave_nothing_behind() -> None:
    """No process, zombie, descriptor or memory; the script says so and would exit with 1."""
    done = subprocess.run(
        [sys.executable, str(SOAK), "--executions", "300", "--at-once", "16"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing leaked" in done.stdout
