"""(4) The harmless parts of `sys`, `os`, `time` and `contextlib`, in a process without resources.

The environment is empty, as it really is in a worker. There is no file system, so `os` has only
constants and pure path functions; the current directory is the root.
"""

from __future__ import annotations

import os
import posixpath
import sys
import time
from typing import Any, NamedTuple

from caps.worker.inside.channel.interrupts import interruptible
from caps.worker.inside.channel.output import CurrentStream, OutputStreams
from caps.worker.inside.facades.allowlist import offered_names
from caps.worker.inside.facades.facade import Variable, make_facade
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
        "implementation": Implementation(),
        "setrecursionlimit": setrecursionlimit,
        "stderr": _stream_variable(output, output.stderr),
        "stdout": _stream_variable(output, output.stdout),
        "__stderr__": output.stderr.original,
        "__stdout__": output.stdout.original,
    }


class Implementation(NamedTuple):
    """`sys.implementation`; not the library's namespace, which accepts any attribute."""

    name: str = sys.implementation.name
    cache_tag: str | None = sys.implementation.cache_tag
    version: Any = sys.implementation.version
    hexversion: int = sys.implementation.hexversion


def _stream_variable(output: OutputStreams, stream: CurrentStream) -> Variable:
    def write(target: Any) -> None:
        output.replace(stream, target)

    return Variable(lambda: output.current(stream), write)


def getcwd() -> str:
    """`os.getcwd`: the root, which is empty."""
    return "/"


def abspath(path: Any) -> Any:
    """`os.path.abspath`."""
    name = os.fspath(path)
    return posixpath.normpath(posixpath.join(b"/" if isinstance(name, bytes) else "/", name))


def unchanged(path: Any) -> Any:
    """`os.path.expanduser` and `expandvars` without users and variables."""
    return os.fspath(path)


def relpath(path: Any, start: Any = ".") -> str:
    """`os.path.relpath`."""
    if not path:
        raise ValueError("no path specified")
    parts = [part for part in abspath(path).split("/") if part]
    base = [part for part in abspath(start).split("/") if part]
    shared = len(posixpath.commonprefix([parts, base]))
    return "/".join([".."] * (len(base) - shared) + parts[shared:]) or "."


_PATH_NAMES = {
    "abspath": abspath,
    "expanduser": unchanged,
    "expandvars": unchanged,
    "realpath": abspath,
    "relpath": relpath,
}


def path_names(_context: StdlibContext) -> dict[str, Any]:
    """The replacements in `os.path` and `posixpath`."""
    return dict(_PATH_NAMES)


def os_names(_context: StdlibContext) -> dict[str, Any]:
    """The replacements in `os`."""
    environ: dict[str, str] = {}

    def getenv(key: str, default: Any = None) -> Any:
        """`os.getenv`."""
        return environ.get(key, default)

    pure = {name: getattr(posixpath, name) for name in offered_names("os.path", posixpath)}
    path = make_facade("os.path", {**pure, **_PATH_NAMES})
    return {"environ": environ, "getcwd": getcwd, "getenv": getenv, "path": path}


def time_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `time`."""
    flush = context.output.stdout.flush

    @interruptible
    def sleep(seconds: float, /) -> None:
        """`time.sleep`; flushes the output first, so that earlier prints are visible."""
        flush()
        time.sleep(seconds)

    return {"sleep": sleep}


def contextlib_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `contextlib`."""
    output = context.output
    return {"redirect_stderr": output.redirect_stderr, "redirect_stdout": output.redirect_stdout}
