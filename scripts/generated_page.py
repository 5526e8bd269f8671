"""What the scripts that generate a page share: writing or checking it, and cells of tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def write_or_check(page: Path, text: str, *, target: str, description: str | None) -> None:
    """Write the page; with `--check`, end with an error if `make target` would change it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="only check whether it is up to date")
    if not parser.parse_args().check:
        page.write_text(text)
    elif not page.exists() or page.read_text() != text:
        sys.exit(f"{page.relative_to(ROOT)} is out of date; run `make {target}`")


def table_cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")
