"""The API does what its description says: schemathesis makes requests from it, good and bad ones.

It checks that nothing is a server error, and that statuses, content types and bodies are those that
the description lists. `CAPS_SCHEMATHESIS_EXAMPLES` asks for more requests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.service_process import running_service, token

CONFIGURATION = Path(__file__).parents[2] / "support" / "schemathesis.toml"
EXAMPLES = os.environ.get("CAPS_SCHEMATHESIS_EXAMPLES", "")


@pytest.mark.parametrize("role", ["admin", "viewer"])
def test_every_answer_is_as_described(tmp_path: Path, role: str) -> None:
    """All routes, for one who may do everything and for one who may do little."""
    url = f"sqlite:///{tmp_path}/caps.db"
    with running_service(tmp_path, url, "--requests-per-second", "100000") as service:
        phases = "coverage,fuzzing,stateful" if EXAMPLES else "coverage,fuzzing"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION)),
                *("run", f"{service.address}/openapi.json", "--no-color", "--seed", "1"),
                *("--header", f"Authorization: Bearer {token(role=role)}"),
                *("--generation-database", "none", "--phases", phases),
                *("--max-examples", EXAMPLES or "3"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=None if EXAMPLES else 300,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-4000:]
        assert "41 passed" in done.stdout
