"""Names of a server's tools as functions: `browser_navigate`, `readFile` and `get-sum` are valid.

The server chooses its names, so they are mapped to the one spelling that code can write, and two
tools that would get the same name are refused rather than numbered: a number would let a new tool
take the place of an accepted one.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Final

from caps.capabilities.catalogue.declaration import MAX_TOOL_LENGTH, is_tool_key
from caps.capabilities.spec import RESERVED_FUNCTIONS
from caps.protocol.errors import RegistrationError
from caps.protocol.text import printable

MAX_NAME_CHARACTERS: Final = 128
# Between a lowercase letter or digit and a capital, and before the last of several capitals.
_WORD_END: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", re.ASCII)
_OTHER: Final = re.compile(r"[^a-z0-9]+", re.ASCII)


def function_name(tool: str) -> str:
    """The part of a function's name after the dot. RegistrationError if none can be made."""
    if not tool or len(tool) > MAX_NAME_CHARACTERS:
        raise RegistrationError(
            f"the tool `{printable(tool, 80)}` must have 1 to {MAX_NAME_CHARACTERS} characters"
        )
    name = _OTHER.sub("_", _WORD_END.sub("_", tool).lower()).strip("_")
    if not name[:1].isalpha():
        name = f"tool_{name}" if name else ""
    if keyword.iskeyword(name) or name in RESERVED_FUNCTIONS:
        name += "_"
    if not name or len(name) > MAX_TOOL_LENGTH:
        raise RegistrationError(f"the tool `{printable(tool, 80)}` has no name that code can write")
    return name


def tool_key(tool: str) -> str:
    """How an agent lists the tool under `tools`: by its own name where models accept that."""
    return tool if is_tool_key(tool) else function_name(tool)


def check_collisions(tools: Iterable[str]) -> None:
    """RegistrationError if two tools would be the same function."""
    taken: dict[str, str] = {}
    for tool in tools:
        other = taken.setdefault(function_name(tool), tool)
        if other != tool:
            raise RegistrationError(
                f"the tools `{printable(other, 80)}` and `{printable(tool, 80)}` are both the "
                f"function `{function_name(tool)}`"
            )
