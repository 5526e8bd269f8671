"""The examples of the built-in capabilities: an agent's object, a program, and what it prints.

The docstring of a file in `examples/capabilities/` is the object, and the comment at its end is the
output.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "capabilities"
_OUTPUT = "\n# prints\n"


class CatalogueExample(msgspec.Struct, frozen=True):
    """One example."""

    key: str
    agent: dict[str, Any]
    code: str
    output: str


def catalogue_examples() -> list[CatalogueExample]:
    """All of them, by the keys of their capabilities."""
    return [_read(path) for path in sorted(FOLDER.glob("*.py"))]


def _read(path: Path) -> CatalogueExample:
    program, _, comment = path.read_text().partition(_OUTPUT)
    docstring = ast.get_docstring(ast.parse(program, type_comments=False)) or ""
    code = program.partition('"""\n')[2].strip() + "\n"
    output = "".join(line.removeprefix("#").removeprefix(" ") for line in comment.splitlines(True))
    return CatalogueExample(path.stem, json.loads(docstring), code, output)
