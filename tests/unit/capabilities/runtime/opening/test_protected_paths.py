"""What no scope may reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.capabilities.runtime.opening.protected_paths import default_protected_paths


def test_the_secret_of_tokens_is_protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one for development, or the one that the operator names."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("CAPS_TOKEN_SECRET_FILE", raising=False)
    assert tmp_path / "caps/service.key" in {each.path for each in default_protected_paths()}
    monkeypatch.setenv("CAPS_TOKEN_SECRET_FILE", str(tmp_path / "own"))
    assert tmp_path / "own" in {each.path for each in default_protected_paths()}
