"""The configuration file: values of variables, read strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from caps.protocol.disk.config_file import configured_values
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError

TOML = """
isolation = "best-effort"
[audit]
rotate_bytes = 8192
compress = true
[capability]
signing_secret = "0123456789abcdef"
required_agents = ["files", "math"]
"""
JSON = """{"isolation": "best-effort", "audit": {"rotate_bytes": 8192, "compress": true},
"capability": {"signing_secret": "0123456789abcdef", "required_agents": ["files", "math"]}}"""


def written(directory: Path, name: str, text: str, mode: int = 0o600) -> str:
    file = directory / name
    file.write_text(text)
    file.chmod(mode)
    return str(file)


@pytest.mark.parametrize(("name", "text"), [("caps.toml", TOML), ("caps.json", JSON)])
def test_a_file_sets_variables(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of the environment comes first; another environment does not have the file."""
    monkeypatch.setenv("CAPS_CONFIG", written(tmp_path, name, text))
    assert Variable.ISOLATION.read() == "best-effort"
    assert Variable.AUDIT_ROTATE_BYTES.read() == "8192"
    assert Variable.AUDIT_COMPRESS.read() == "1"
    assert Variable.REQUIRED_AGENTS.read() == "files math"
    assert Variable.SIGNING_SECRET.read() == "0123456789abcdef"
    assert Variable.PLUGINS.read() == ""
    assert Variable.ISOLATION.read({}) == ""
    monkeypatch.setenv("CAPS_ISOLATION", "full")
    assert Variable.ISOLATION.read() == "full"


def test_every_variable_has_a_setting_of_its_own() -> None:
    """The word after the prefix is the table."""
    settings = [variable.setting for variable in Variable]
    assert len(set(settings)) == len(settings)
    assert Variable.SIGNING_SECRET.setting == "capability.signing_secret"
    assert Variable.AUDIT_CHECKPOINTS_TO.setting == "audit.checkpoints_to"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "[audit]\npth = 'x'", "unknown setting `audit.pth`; did you mean `audit.path`"),
        ("a.toml", "config = 'x'", "unknown setting `config`"),
        ("a.toml", "isolation = 1.5", "needs a string or an integer in `isolation`"),
        ("a.toml", "[audit.path]\nx = 1", "needs a string or an integer in `audit.path`"),
        ("a.toml", "isolation = ", "cannot be parsed"),
        ("a.json", '{"isolation": "full", "isolation": "x"}', "cannot be parsed"),
        ("a.json", "[]", "must be an object"),
        ("a.json", "[" * 100_000, "cannot be parsed"),
        ("a.yaml", "isolation: full", "name it `.toml` or `.json`"),
        ("a.toml", "#" * (1024 * 1024 + 1), "is larger than"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    """A misspelt setting would do nothing, and nobody would notice."""
    with pytest.raises(ConfigurationError) as raised:
        configured_values(written(tmp_path, name, text))
    assert message in raised.value.message


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """So is a directory."""
    for path in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            configured_values(str(path))


def test_a_secret_in_a_file_that_everybody_can_read_is_refused(tmp_path: Path) -> None:
    """Without a secret, the mode does not matter."""
    with pytest.raises(ConfigurationError, match="chmod 600"):
        configured_values(written(tmp_path, "a.toml", TOML, 0o644))
    plain = written(tmp_path, "b.toml", "isolation = 'full'", 0o644)
    assert configured_values(plain) == {Variable.ISOLATION: "full"}
