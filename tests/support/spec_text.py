"""The sentences of a specification: prose, list items and table rows; blocks of code are left out.

The texts are beside the project (`../shared/spec`), and may be absent.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

TEXTS = Path(__file__).parents[3] / "shared" / "spec"


def spec_text(number: str) -> str:
    """The text of one specification; skips the test if it is not there."""
    found = sorted(TEXTS.glob(f"{number}_*.txt"))
    if not found:
        give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
        give_up(f"specification {number} is not beside the project (../shared/spec)")
    return found[0].read_text()


def sentences(text: str, heading: str) -> list[str]:
    """Each sentence below `heading` (as `## Constraints`), its subsections included."""
    return [sentence for block in _blocks(_section(text, heading)) for sentence in _split(block)]


def _section(text: str, heading: str) -> list[str]:
    lines = re.sub(r"^```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()
    start = lines.index(heading) + 1
    level = len(heading) - len(heading.lstrip("#"))
    ends = (n for n in range(start, len(lines)) if re.match(rf"#{{1,{level}}} ", lines[n]))
    return [line for line in lines[start : next(ends, len(lines))] if not line.startswith("#")]


def _blocks(lines: list[str]) -> list[str]:
    """Paragraphs; a list item and a table row are one each. The head of a table is left out."""
    blocks: list[str] = []
    kept = [line for line in lines if not re.match(r"\|[-|]+\|$|\| Field ", line)]
    for before, line in zip(["", *kept], kept, strict=False):
        if re.match(r" *([-*]|\d+\.) |\|", line) or not before.strip():
            blocks.append(line.strip())
        elif line.strip():
            blocks[-1] += " " + line.strip()
    return [block for block in blocks if block]


def _split(block: str) -> list[str]:
    block = re.sub(r"^([-*]|\d+\.) ", "", block)
    return re.split(r"(?<=\.) (?=[A-Z`])", block)
