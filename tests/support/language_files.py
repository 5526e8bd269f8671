"""The language as data: files of programs that work (`constructs/`) or are refused (`refused/`)."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
_SINCE = re.compile(r"\(from Python (\d+)\.(\d+) on\)")
_HEADER = re.compile(r"# what: (.+)\n# why: (.+)\n# raises: (\w+): (.+)\n")


@dataclass(frozen=True, slots=True)
class Construct:
    """A program that asserts for itself what it shows."""

    name: str
    title: str
    source: str

    @property
    def runs_here(self) -> bool:
        """Whether this version of Python has it; the title says from which version on."""
        found = _SINCE.search(self.title)
        return found is None or sys.version_info >= (int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class Refused:
    """A program that does not run to its end, and why not."""

    name: str
    what: str
    why: str
    error: str
    message: str
    source: str


def constructs() -> list[Construct]:
    """All of them, by name."""
    files = sorted((TESTS / "constructs").glob("*.py"))
    sources = {file.stem: file.read_text() for file in files}
    return [
        Construct(name, source.partition("\n")[0].removeprefix("# "), source)
        for name, source in sources.items()
    ]


def constructs_here() -> list[Construct]:
    """Those that this version of Python has."""
    return [one for one in constructs() if one.runs_here]


def refused() -> list[Refused]:
    """All of them, by name."""
    return [_refused(file) for file in sorted((TESTS / "refused").glob("*.py"))]


def _refused(file: Path) -> Refused:
    source = file.read_text()
    header = _HEADER.match(source)
    if header is None:
        raise ValueError(f"`{file.name}` does not begin with what, why and raises")
    return Refused(file.stem, header[1], header[2], header[3], header[4], source)
