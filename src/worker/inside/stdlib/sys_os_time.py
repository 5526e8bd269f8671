"""(4) The harmless parts of `sys`, `os`, `time` and `contextlib`, in a process without resources.

The environment is empty, as it really is in a worker. There is no file system, so `os` has only
constants and pure path functions.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from caps.worker.inside.stdlib.context import StdlibContext

# Above this limit, recursion through C functions of the interpreter can overflow the stack of the
# process, which then dies without any message.
MAX_RECURSION = 5_000


def setrecursionlimit(limit: int, /) -> None:
    """`sys.setrecursionlimit`; a limit above `MAX_RECURSION` sets `MAX_RECURSION`."""
    sys.setrecursionlimit(min(limit, MAX_RECURSION))


def sys_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `sys`."""
    output = context.output
    return {
        "argv": context.argv,
        "setrecursionlimit": setrecursionlimit,
        "stderr": output.stderr,
        "stdout": output.stdout,
    }


def os_names(_context: StdlibContext) -> dict[str, Any]:
    """The replacements in `os`."""
    environ: dict[str, str] = {}

    def getenv(key: str, default: Any = None) -> Any:
        """`os.getenv`."""
        return environ.get(key, default)

    return {"environ": environ, "getenv": getenv}


def time_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `time`."""
    flush = context.output.stdout.flush

    def sleep(seconds: float, /) -> None:
        """`time.sleep`; flushes the output first, so that earlier prints are visible."""
        flush()
        time.sleep(seconds)

    return {"sleep": sleep}


def contextlib_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `contextlib`."""
    output = context.output
    return {"redirect_stderr": output.redirect_stderr, "redirect_stdout": output.redirect_stdout}
