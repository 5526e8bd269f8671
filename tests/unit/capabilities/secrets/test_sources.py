"""Where the values of secrets are."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.capabilities.secrets.sources import (
    MAX_SECRET_BYTES,
    DirectorySource,
    EnvironmentSource,
    checked_name,
    checked_value,
    host_sources,
)
from caps.protocol.errors import ProviderError


def test_the_environment() -> None:
    """One variable for each name."""
    source = EnvironmentSource({"CAPS_SECRET_GITHUB": "value", "GITHUB": "other"})
    assert source.read("github") == b"value"
    assert source.read("gitlab") is None


def test_a_directory(tmp_path: Path) -> None:
    """One file for each name; a last newline is dropped, and links are the operator's own."""
    (tmp_path / "github").write_bytes(b"value\n")
    (tmp_path / "two").write_bytes(b"a\n\n")
    (tmp_path / "linked").symlink_to(tmp_path / "github")
    source = DirectorySource(tmp_path)
    assert [source.read(name) for name in ("github", "two", "linked", "none")] == [
        b"value",
        b"a\n",
        b"value",
        None,
    ]


def test_a_file_that_cannot_be_read_is_an_error_without_its_path(tmp_path: Path) -> None:
    """The message is for code."""
    (tmp_path / "github").mkdir()
    with pytest.raises(ProviderError) as raised:
        DirectorySource(tmp_path).read("github")
    assert str(raised.value) == "the secret `github` cannot be read: not a regular file"


def test_the_sources_of_a_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environment comes first."""
    (tmp_path / "github").write_text("from the file")
    monkeypatch.setenv("CAPS_SECRETS_PATH", str(tmp_path))
    assert [each.read("github") for each in host_sources()] == [None, b"from the file"]
    monkeypatch.delenv("CAPS_SECRETS_PATH")
    monkeypatch.setenv("CAPS_SECRET_GITHUB", "from the environment")
    assert [each.read("github") for each in host_sources()] == [b"from the environment"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"short", "fewer than 8 characters"),
        (b"\xff" * 10, "is not UTF-8"),
        (b"a" * (MAX_SECRET_BYTES + 1), "is larger than"),
    ],
)
def test_a_value_that_cannot_be_used(value: bytes, reason: str) -> None:
    """The message has the name and never the value."""
    with pytest.raises(ProviderError, match=reason) as raised:
        checked_value("github", value)
    assert value.decode("latin-1") not in str(raised.value)


@pytest.mark.parametrize("name", ["", "A", "a-b", "../a", "a/b", "1a", "a" * 65, "a\n", "ä"])
def test_names_have_one_spelling(name: str) -> None:
    """A name is never a path, and has one variable."""
    with pytest.raises(ValueError, match="is not a name of a secret"):
        checked_name(name)
