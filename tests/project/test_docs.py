"""What the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "ops").glob("*.md")]
NAMED = re.compile(
    r"`((?:src|tests|docs|policies|examples|bench|ops)/[A-Za-z0-9_./*-]+)`|]\(([A-Za-z0-9_./-]+)\)"
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    """Proofs and files that are cited are there to be read."""
    missing = []
    for inside, linked in NAMED.findall(document.read_text()):
        base, name = (ROOT, inside) if inside else (document.parent, linked)
        if not any(base.glob(name.rstrip("/"))):
            missing.append(name)
    assert missing == []
