"""Programs of the kinds that agents write: the files in `programs/`.

A file has programs of one kind, each after a line `# %% what it does`. A program that does not end
as in CPython has a line `# ends: ` with a part of the error that it ends with; it is not run by
CPython. All others must print and end as they do there.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from support.package_files import TESTS, split_cells

_ENDS = re.compile(r"^# ends: (.+)\n", re.MULTILINE)


class AgentProgram(msgspec.Struct, frozen=True, kw_only=True):
    """One program; `ends` is a part of its error, empty if it ends as in CPython."""

    name: str
    source: str
    ends: str = ""


def agent_programs() -> list[AgentProgram]:
    """All of them, by file and place."""
    return [one for path in sorted((TESTS / "programs").glob("*.py")) for one in _parse(path)]


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
