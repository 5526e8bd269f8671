"""Metadata, documents and `make` name the same versions of Python."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """`scripts/python_versions.py`."""
    path = ROOT / "scripts" / "python_versions.py"
    spec = importlib.util.spec_from_file_location("python_versions", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_classifiers_are_the_versions_that_can_be_installed(script: ModuleType) -> None:
    """One for each, and none for another."""
    classifiers = re.findall(
        r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE
    )
    assert classifiers == [script.shown(version) for version in script.supported()]
    assert sys.version_info[:2] in script.supported()


def test_the_readme_names_the_same_versions(script: ModuleType) -> None:
    """In the line that says what is needed."""
    *others, newest = [script.shown(version) for version in script.supported()]
    needed = f"with Python {', '.join(others)} or {newest}, venv and make"
    assert needed in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("version", [(3, 10, 1), (3, 15, 0)])
def test_another_version_is_refused_in_one_line(
    script: ModuleType, version: tuple[int, int, int]
) -> None:
    """It says what was found, what is needed, and how to choose."""
    message = script.refusal(version, script.supported(), "/usr/bin/python3")
    assert message == (
        f"caps needs Python 3.11 to 3.14, and `/usr/bin/python3` is Python 3.{version[1]}; "
        "choose another one, for example `make PYTHON=python3.14 run`"
    )


def test_a_supported_version_is_not_refused(script: ModuleType) -> None:
    """Whatever its patch level is."""
    assert script.refusal(sys.version_info, script.supported(), "python3") is None


@pytest.mark.process
def test_an_environment_of_another_version_is_not_taken_for_the_one_asked_for(
    script: ModuleType,
) -> None:
    """`make PYTHON=...` says that the environment has another Python."""
    assert script.mismatch(sys.version_info, sys.prefix, "python3") is None
    message = script.mismatch((3, 10, 1), sys.prefix, "python3.10")
    assert message == (
        f"`{sys.prefix}` has Python {script.shown(sys.version_info)}, and `python3.10` is Python "
        f"3.10; remove `{sys.prefix}`, or add `VENV=.venv-3.10` to the command"
    )
