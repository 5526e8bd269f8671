"""Programs of the kinds that agents write: the files in `programs/`.

A file has programs of one kind, each after a line `# %% what it does`. A program that does not end
as in CPython has a line `# ends: ` with a part of the error that it ends with; it is not run by
CPython. All others must print and end as they do there. The files in `programs/packages/` begin
with a line `# modules: ` with what their policy grants.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from support.package_files import TESTS, split_cells

_MODULES = re.compile(r"^# modules: (.+)\n")
_ENDS = re.compile(r"^# ends: (.+)\n", re.MULTILINE)


class AgentProgram(msgspec.Struct, frozen=True, kw_only=True):
    """One program; `ends` is a part of its error, empty if it ends as in CPython."""

    name: str
    source: str
    ends: str = ""


class GrantedPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """The programs of one file, which need `modules`."""

    name: str
    modules: list[str]
    programs: list[AgentProgram]


def agent_programs() -> list[AgentProgram]:
    """Those that need nothing, by file and place."""
    return [one for path in sorted((TESTS / "programs").glob("*.py")) for one in _parse(path)]


def granted_programs() -> list[GrantedPrograms]:
    """Those that need packages, by file."""
    paths = sorted((TESTS / "programs" / "packages").glob("*.py"))
    return [
        GrantedPrograms(name=path.stem, modules=found[1].split(), programs=_parse(path))
        for path in paths
        if (found := _MODULES.match(path.read_text()))
    ]


def _parse(path: Path) -> list[AgentProgram]:
    _, cells = split_cells(path)
    return [
        AgentProgram(
            name=f"{path.stem}: {title}",
            source=source,
            ends=found[1] if (found := _ENDS.match(source)) else "",
        )
        for title, source in cells
    ]
