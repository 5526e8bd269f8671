"""(4) sys, os, time and contextlib: what is harmless of them, seen from a process that has nothing.

The environment is empty because it is: a worker has none. There is no file system, so `os` has
names and pure functions of paths and no more.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from caps.worker.inside.stdlib.context import Surroundings

# Beyond this a recursion through the interpreter's own functions can outgrow the stack of the
# process, which ends it without a word.
DEEPEST_RECURSION = 5_000


def setrecursionlimit(limit: int, /) -> None:
    """`sys.setrecursionlimit`, up to what the stack holds; a higher one means that."""
    sys.setrecursionlimit(min(limit, DEEPEST_RECURSION))


def sys_names(surroundings: Surroundings) -> dict[str, Any]:
    """What `sys` has in place of the library's own."""
    output = surroundings.output
    return {
        "argv": [""],
        "setrecursionlimit": setrecursionlimit,
        "stderr": output.stderr,
        "stdout": output.stdout,
    }


def os_names(_surroundings: Surroundings) -> dict[str, Any]:
    """What `os` has in place of the library's own."""
    environ: dict[str, str] = {}

    def getenv(key: str, default: Any = None) -> Any:
        """`os.getenv`."""
        return environ.get(key, default)

    return {"environ": environ, "getenv": getenv}


def time_names(surroundings: Surroundings) -> dict[str, Any]:
    """What `time` has in place of the library's own."""
    flush = surroundings.output.stdout.flush

    def sleep(seconds: float, /) -> None:
        """`time.sleep`; what was printed before it is seen before it."""
        flush()
        time.sleep(seconds)

    return {"sleep": sleep}


def contextlib_names(surroundings: Surroundings) -> dict[str, Any]:
    """What `contextlib` has in place of the library's own."""
    output = surroundings.output
    return {"redirect_stderr": output.redirect_stderr, "redirect_stdout": output.redirect_stdout}
