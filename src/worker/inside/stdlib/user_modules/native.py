"""(4) Facades that only the modules in user space can import: what they need of other modules.

A function here is called by code with the powers of user space. So it takes and returns plain
values only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from caps.worker.inside.facades.facade import Facade, make_facade
from caps.worker.inside.stdlib.context import StdlibContext


class _TerminalSize(NamedTuple):
    columns: int
    lines: int


def get_terminal_size(fallback: Any = None) -> _TerminalSize:
    """`shutil.get_terminal_size` where there is no terminal."""
    del fallback
    return _TerminalSize(80, 24)


def gettext(message: Any) -> Any:
    """`gettext.gettext` without translations."""
    return message


def ngettext(one: Any, many: Any, n: Any) -> Any:
    """`gettext.ngettext` without translations."""
    return one if n == 1 else many


def native_facades(context: StdlibContext) -> dict[str, Facade]:
    """The hidden facades of one execution."""
    del context
    return {
        "gettext": make_facade("gettext", {"gettext": gettext, "ngettext": ngettext}),
        "shutil": make_facade("shutil", {"get_terminal_size": get_terminal_size}),
    }
