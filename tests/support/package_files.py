"""What is tried of each package: the files in `packages/`.

A file begins with lines that say which package it is about (`package`: its name in
`constraints.txt`), what the policy grants (`modules`), and what the page adds (`note`). Then come
imports, and cells, each after a line `# %% what it shows`. The cells of a file run in one session.
A cell that cannot work says so: `# error` is a part of the error, `# why` is the reason. `refused`
in place of cells is a part of the message that refuses the policy.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

TESTS = Path(__file__).parents[1]
_KEY = re.compile(r"^# (package|modules|note|refused|why|error): (.+)$", re.MULTILINE)
_CELL = re.compile(r"^# %% (.+)\n", re.MULTILINE)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A program that asserts for itself what it shows, or fails with `error`."""

    title: str
    source: str
    error: str = ""
    why: str = ""


class PackageFile(msgspec.Struct, frozen=True, kw_only=True):
    """What is tried of one package, under a policy that grants `modules`."""

    name: str
    package: str
    modules: list[str]
    start: str
    cells: list[Cell]
    note: str = ""
    refused: str = ""
    why: str = ""

    @property
    def version(self) -> str:
        """The version that was tried: the pinned one."""
        pins = (TESTS.parent / "constraints.txt").read_text().splitlines()
        (found,) = (pin for pin in pins if pin.lower().startswith(f"{self.package.lower()}=="))
        return found.partition("==")[2]


def package_files() -> list[PackageFile]:
    """All of them, by name."""
    return [_parse(path) for path in sorted((TESTS / "packages").glob("*.py"))]


def split_cells(path: Path) -> tuple[str, list[tuple[str, str]]]:
    """What stands before the first line `# %% title`, and each title with what follows it."""
    start, *rest = _CELL.split(path.read_text())
    return start, [*zip(rest[::2], rest[1::2], strict=True)]


def _parse(path: Path) -> PackageFile:
    start, parts = split_cells(path)
    keys = dict(_KEY.findall(start))
    modules = keys.pop("modules").split()
    cells = [
        Cell(title=title, source=source, **dict(_KEY.findall(source))) for title, source in parts
    ]
    return PackageFile(name=path.stem, modules=modules, start=start, cells=cells, **keys)
