"""(4) Files that packages read late (fonts, tables), kept in memory for workers without files.

`keep` reads a file in the zygote. In a worker, `open` and `stat` of real modules find the kept
files under their old paths, read-only; any other path goes to the system, which has none. User code
has neither function, and nothing is kept but what the packages brought with them.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAX_BYTES = 32 * 1024 * 1024

_contents: dict[str, bytes] = {}
_status: dict[str, os.stat_result] = {}


class TooManyFilesError(Exception):
    """The files of all packages together are larger than a worker should carry."""


def keep(directory: Path, pattern: str) -> None:
    """Keep the files in `directory` that match. Called in the zygote, before confinement."""
    for path in sorted(directory.rglob(pattern)):
        if path.is_file():
            content, status = path.read_bytes(), path.stat()
            for name in {str(path), str(path.resolve())}:
                keep_as(name, content, status)


def keep_as(path: str, content: bytes, status: os.stat_result) -> None:
    """Keep `content` under `path`, whether there is such a file or not."""
    if sum(map(len, _contents.values())) + len(content) > _MAX_BYTES:
        raise TooManyFilesError(f"more than {_MAX_BYTES} bytes: {path}")
    _contents[path] = content
    _status[path] = status


class _KeptFile(io.BytesIO):
    """A kept file that was opened. Libraries ask a file for its name."""

    name = ""


def install() -> None:
    """From now on, real modules find the kept files. Called in the zygote, once."""
    if _contents:
        io.open = builtins.open = _opening(builtins.open)
        os.stat = _reporting(os.stat)


def _opening(system: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(system)
    def open_(file: Any, mode: str = "r", *args: Any, **keywords: Any) -> Any:
        content = _contents.get(_path_of(file))
        if content is None or set(mode) - set("rbt"):
            return system(file, mode, *args, **keywords)
        stream = _KeptFile(content)
        stream.name = _path_of(file)
        if "b" in mode:
            return stream
        return io.TextIOWrapper(stream, **_text_options(args, keywords))

    return open_


def _text_options(args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    given = dict(zip(("buffering", "encoding", "errors", "newline"), args, strict=False)) | keywords
    names = ("encoding", "errors", "newline")
    chosen = {name: given[name] for name in names if given.get(name) is not None}
    return {"encoding": "utf-8"} | chosen


def _reporting(system: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(system)
    def stat(path: Any, *args: Any, **keywords: Any) -> Any:
        return _status.get(_path_of(path)) or system(path, *args, **keywords)

    return stat


def _path_of(file: Any) -> str:
    try:
        return os.path.normpath(os.fspath(file)) if not isinstance(file, (int, bytes)) else ""
    except TypeError:
        return ""
