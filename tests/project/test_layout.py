"""The layout of the project: small folders, described packages, tests that mirror the sources."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
TESTS = ROOT / "tests"
MAX_MODULES = 16
TOP_FOLDERS = ("src", "tests", "bench", "scripts", "examples")
# Folders of programs that run in a sandbox; pytest does not collect them.
PROGRAMS = ("constructs", "refused", "escape/channel", "escape/kernel", "escape/language")


def folders_with_modules(root: Path) -> list[Path]:
    return sorted({file.parent for file in root.rglob("*.py")})


PACKAGES = folders_with_modules(SOURCES)


def relative(folder: Path) -> str:
    return folder.relative_to(ROOT).as_posix()


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def modules_in(*folders: str) -> list[Path]:
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]


def modules_of_tests() -> list[Path]:
    programs = [TESTS / folder for folder in PROGRAMS]
    return [
        file
        for file in sorted(TESTS.rglob("*.py"))
        if not any(file.is_relative_to(folder) for folder in programs)
    ]


@pytest.mark.parametrize("package", PACKAGES, ids=relative)
def test_a_folder_has_at_most_sixteen_modules(package: Path) -> None:
    """More than that is two topics."""
    modules = [file.name for file in package.glob("*.py") if file.name != "__init__.py"]
    assert len(modules) <= MAX_MODULES, sorted(modules)


@pytest.mark.parametrize("package", PACKAGES, ids=relative)
def test_a_package_says_what_it_contains(package: Path) -> None:
    """In the docstring of its `__init__`."""
    source = (package / "__init__.py").read_text()
    assert ast.get_docstring(ast.parse(source)), f"{package}/__init__.py has no docstring"


def test_every_package_is_installed() -> None:
    """The list in `pyproject.toml` names all packages that exist, and no other."""
    existing = [".".join(("caps", *one.relative_to(SOURCES).parts)) for one in PACKAGES]
    assert project()["tool"]["setuptools"]["packages"] == sorted(existing)


def test_every_exception_of_a_tool_is_about_a_file_that_exists() -> None:
    """Otherwise a moved file would lose its rule unnoticed."""
    tools = project()["tool"]
    ruff, excluded = tools["ruff"], tools["mypy"]["exclude"]
    patterns = [*ruff["extend-exclude"], *ruff["lint"]["per-file-ignores"]]
    files = [file.relative_to(ROOT).as_posix() for file in modules_in(*TOP_FOLDERS)]
    assert [one for one in patterns if not any(ROOT.glob(one))] == []
    assert [one for one in excluded if not any(re.match(one, file) for file in files)] == []


@pytest.mark.parametrize("folder", folders_with_modules(TESTS / "unit"), ids=relative)
def test_unit_tests_mirror_the_sources(folder: Path) -> None:
    """The tests of the package `src/a/b` are in `tests/unit/a/b`."""
    mirrored = SOURCES / folder.relative_to(TESTS / "unit")
    assert (mirrored / "__init__.py").is_file(), f"there is no package {relative(mirrored)}"


@pytest.mark.parametrize("module", modules_of_tests(), ids=relative)
def test_no_module_imports_a_test_module(module: Path) -> None:
    """Nor does a program within a string; what several tests need is in `tests/support`."""
    found = re.findall(r"^\s*(?:from|import)\s+(\S*\btest_\w+)", module.read_text(), re.MULTILINE)
    assert found == []


def test_providers_are_independent() -> None:
    """The import contract names every provider, so that none may import another."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one["type"] == "independence"]
    folders = [one.name for one in PACKAGES if one.parent == SOURCES / "providers"]
    assert contract["modules"] == [f"caps.providers.{name}" for name in folders]


def test_the_trust_core_is_as_contributing_says_and_small() -> None:
    """Files and lines of the table are right, and a reviewer reads under 1,350 lines.

    Of these 150 are for prepared calls, which repeat rules of the others on a fast path.
    """
    page = (ROOT / "CONTRIBUTING.md").read_text().partition("## The trust core")[2]
    section = page.partition("\n## ")[0]
    rows = re.findall(r"^\| `(src/[^`]+)` \| (\d+) \|", section, flags=re.MULTILINE)
    assert [name for name, _ in rows][:2] == [
        "src/security/decision.py",
        "src/capabilities/broker/lifecycle.py",
    ]
    lines = {name: len((ROOT / name).read_text().splitlines()) for name, _ in rows}
    assert {name: int(count) for name, count in rows} == lines
    prepared = lines["src/capabilities/broker/prepared/calls.py"]
    assert prepared < 150
    assert sum(lines.values()) - prepared < 1200
