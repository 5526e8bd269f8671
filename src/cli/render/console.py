"""The console for tables: if its reader has left, the error is that of any other output."""

from __future__ import annotations

import errno
import os
from typing import NoReturn

from rich.console import Console as RichConsole


class Console(RichConsole):
    """A console that raises BrokenPipeError, where that of `rich` exits with 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
