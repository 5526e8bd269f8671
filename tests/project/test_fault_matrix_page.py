"""The fault matrix names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_every_row_of_the_fault_matrix_has_its_test() -> None:
    """A row whose test was renamed or removed proves nothing."""
    page = (ROOT / "docs" / "fault-matrix.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")][2:]
    named = [re.findall(r"`(test_\w+)`", row) for row in rows]
    assert all(named)
    assert len(rows) >= 15
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)\(", sources))
    assert [name for names in named for name in names if name not in defined] == []


def test_every_test_of_the_fault_matrix_is_on_its_page() -> None:
    """A tested fault is also documented."""
    page = (ROOT / "docs" / "fault-matrix.md").read_text()
    files = (ROOT / "tests" / "integration" / "faults").glob("test_fault_matrix*.py")
    defined = {name for path in files for name in re.findall(r"def (test_\w+)\(", path.read_text())}
    assert defined  # or the files were moved
    assert sorted(name for name in defined if f"`{name}`" not in page) == []
