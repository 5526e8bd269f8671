"""Capabilities of installed packages: found by their metadata, loaded whole or not at all."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from caps import CapabilityRegistry, ConfigurationError, RegistrationError, builtin_registry
from caps.capabilities.catalogue.entry_points import GROUP
from caps.protocol.environment import Variable

Install = Callable[..., None]
MODULE = "caps_test_plugin"
GOOD = """
from caps import Capability, CapabilityRegistry, ToolDescriptor

class Weather(Capability):
    key = "weather"

value = Capability("climate")

def register(registry: CapabilityRegistry) -> None:
    @registry.capability("moon.phase")
    async def phase() -> str:
        return "full"
    registry.register(Capability("moon", tools=(ToolDescriptor("phase"),)))
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a module, and the metadata of a package that names it, on the path of Python."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv(Variable.PLUGINS.key, raising=False)

    def put(source: str, **entry_points: str) -> None:
        metadata = tmp_path / "caps_test_plugin-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: caps-test-plugin\n")
        lines = [f"{name} = {MODULE}:{found}" for name, found in entry_points.items()]
        (metadata / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
        (tmp_path / f"{MODULE}.py").write_text(source)

    yield put
    sys.modules.pop(MODULE, None)


def keys(registry: CapabilityRegistry) -> list[str]:
    """Those that are not built in."""
    built_in = {each.key for each in builtin_registry(plugins="off").known_capabilities()}
    return [each.key for each in registry.known_capabilities() if each.key not in built_in]


def test_a_class_a_value_and_a_function_are_found(install: Install) -> None:
    """With no other change; the function also brings what its tools call."""
    install(GOOD, a="Weather", b="value", c="register")
    registry = builtin_registry()
    assert keys(registry) == ["climate", "moon", "weather"]
    assert registry.resolve(["moon"]).policy.allow == ("moon.phase",)


def test_an_empty_registry_stays_empty(install: Install) -> None:
    """Only the built-in one takes what is installed."""
    install(GOOD, a="Weather")
    assert keys(CapabilityRegistry()) == []


BROKEN: list[tuple[str, str, str]] = [
    ("raise KeyError('x')", "found", "`KeyError`: 'x'"),
    ("import sys; sys.exit(3)", "found", "`SystemExit`: 3"),
    ("", "missing", "`AttributeError`: module 'caps_test_plugin' has no attribute 'missing'"),
    ("found = 5", "found", "it is a `int`, not a `Capability` or a function"),
    ("class found: pass", "found", "it is a `type`, not a `Capability` or a function"),
    (
        "from caps import Capability\nfound = Capability('files')",
        "found",
        "capability `files` is registered already",
    ),
    (
        "def found(registry):\n"
        "    from caps import Capability\n"
        "    registry.domain('half')\n"
        "    @registry.capability('half.done')\n"
        "    async def done() -> None: ...\n"
        "    registry.register(Capability('half'))\n"
        "    raise OSError('the rest is missing')\n",
        "found",
        "`OSError`: the rest is missing",
    ),
]


@pytest.mark.parametrize(("source", "name", "said"), BROKEN, ids=[each[2] for each in BROKEN])
def test_one_that_fails_is_named_and_refused(
    install: Install, source: str, name: str, said: str
) -> None:
    """By default, with the way to go on without it."""
    install(source, broken=name)
    with pytest.raises(RegistrationError) as raised:
        builtin_registry()
    assert str(raised.value) == (
        f"capability `broken` of package `caps-test-plugin` cannot be loaded: {said}; "
        "CAPS_PLUGINS=skip goes on without it"
    )


@pytest.mark.parametrize(("source", "name", "said"), BROKEN, ids=[each[2] for each in BROKEN])
@pytest.mark.parametrize("by", ["parameter", "variable"])
def test_one_that_fails_is_named_and_skipped(
    install: Install,
    source: str,
    name: str,
    said: str,
    by: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """On request; nothing of it is left, and the others are loaded."""
    install(GOOD + source, broken=name, zebra="Weather")
    if by == "variable":
        monkeypatch.setenv(Variable.PLUGINS.key, "skip")
    with caplog.at_level(logging.WARNING):
        registry = builtin_registry(plugins="skip" if by == "parameter" else None)
    loaded = ["weather"] if _importable(source) else []
    assert keys(registry) == loaded
    assert "half" not in registry.domains
    assert f"cannot be loaded: {said}; it is skipped" in caplog.text


def _importable(source: str) -> bool:
    return not source.startswith(("raise", "import sys"))


def test_a_package_without_a_name_is_called_so(install: Install, tmp_path: Path) -> None:
    """Its metadata may be incomplete."""
    install("raise KeyError('x')", broken="found")
    (tmp_path / "caps_test_plugin-1.0.dist-info" / "METADATA").unlink()
    with pytest.raises(RegistrationError, match="capability `broken` of an unnamed package"):
        builtin_registry()


def test_metadata_that_cannot_be_read_is_refused_or_skipped(
    install: Install, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Then nobody knows what is installed."""
    install(GOOD, a="Weather")
    (tmp_path / "caps_test_plugin-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff")
    with pytest.raises(RegistrationError, match="metadata of installed packages cannot be read"):
        builtin_registry()
    assert keys(builtin_registry(plugins="skip")) == []
    assert "cannot be read: `UnicodeDecodeError`" in caplog.text


@pytest.mark.parametrize("by", ["parameter", "variable"])
def test_none_is_loaded_if_they_are_off(
    install: Install, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their modules are not imported."""
    install("raise KeyError", broken="found")
    if by == "variable":
        monkeypatch.setenv(Variable.PLUGINS.key, "off")
    assert keys(builtin_registry(plugins="off" if by == "parameter" else None)) == []
    assert MODULE not in sys.modules


@pytest.mark.parametrize("mode", ["on", "Skip", "\x1b", 3, ["skip"]])
def test_a_mode_that_is_none_is_refused(mode: Any) -> None:
    """In one line with those that there are."""
    with pytest.raises(ConfigurationError) as raised:
        builtin_registry(plugins=mode)
    assert str(raised.value).endswith("; set one of `refuse`, `skip`, `off`")
    assert str(raised.value).isprintable()
