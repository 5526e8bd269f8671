"""What the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from caps.security.reasons import ReasonCode

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


def test_every_reason_code_is_documented() -> None:
    """Readers of a log look them up."""
    text = (ROOT / "docs" / "policy.md").read_text()
    section = text.partition("## Reason codes\n")[2].partition("\n## ")[0]
    assert [code.value for code in ReasonCode if f"`{code.value}`" not in section] == []


def test_the_readme_leads_to_every_document() -> None:
    """Under `More`, whether or not the text names it."""
    more = (ROOT / "README.md").read_text().partition("## More\n")[2]
    documents = sorted(path.name for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in documents if f"](docs/{name})" not in more] == []
