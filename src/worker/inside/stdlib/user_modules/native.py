"""(4) Facades that only the modules in user space can import: what they need of other modules.

A function here is called by code with the powers of user space. So it takes and returns plain
values only.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

from caps.worker.inside.facades.facade import Facade, make_facade
from caps.worker.inside.language.private_attributes import OWN_GUARD
from caps.worker.inside.stdlib.user_modules.table import HIDDEN_MODULES, USER_MODULES

_FILES = frozenset(f"<{name}>" for name in (*USER_MODULES, *HIDDEN_MODULES))


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


def find_caller(level: int) -> tuple[str, int, str]:
    """The file, line and function of the program's own code that is `level` calls up."""
    frame: FrameType | None = sys._getframe(1)
    remaining, place = int(level), ("<agent>", 0, "<module>")
    while frame is not None and remaining > 0:
        code = frame.f_code
        if OWN_GUARD in frame.f_builtins and code.co_filename not in _FILES:
            remaining, place = remaining - 1, (code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return place


def native_facades() -> dict[str, Facade]:
    """The hidden facades, by the name under which the modules import them."""
    return {
        __name__: make_facade(__name__, {"find_caller": find_caller}),
        "gettext": make_facade("gettext", {"gettext": gettext, "ngettext": ngettext}),
        "shutil": make_facade("shutil", {"get_terminal_size": get_terminal_size}),
    }
