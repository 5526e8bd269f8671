"""The README's list of the files that one call passes through: short, in order, and up to date."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADING = "The walk of one call"
MAX_FILES = 12


def walk() -> list[tuple[int, str]]:
    """The number and the file of each row of the table below the heading."""
    readme = (ROOT / "README.md").read_text()
    section = re.search(rf"^#+ {HEADING}\n(.*?)(?=^#)", readme, re.MULTILINE | re.DOTALL)
    assert section is not None, f"README.md has no section `{HEADING}`"
    rows = re.findall(r"^\| (\d+) \| `([^`]+)` \|", section[1], re.MULTILINE)
    return [(int(number), file) for number, file in rows]


def test_the_walk_has_at_most_twelve_files_in_order() -> None:
    """Numbered from 1 without a gap, and each file once."""
    numbers, files = zip(*walk(), strict=True)
    assert list(numbers) == list(range(1, len(files) + 1))
    assert len(set(files)) == len(files) <= MAX_FILES


def test_every_file_of_the_walk_exists() -> None:
    """A file that was moved or renamed has to be changed here, too."""
    assert [file for _, file in walk() if not (ROOT / file).is_file()] == []


def test_the_walk_follows_the_steps_of_the_main_path() -> None:
    """From (1), the policy, to (8), the audit log: the numbers in the docstrings never decrease."""
    docstrings = [(ROOT / file).read_text() for _, file in walk()]
    found = [re.match(r'"""\((\d)\) ', text) for text in docstrings]
    steps = [int(step[1]) for step in found if step is not None]
    assert len(steps) == len(docstrings)
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (1, 8)
