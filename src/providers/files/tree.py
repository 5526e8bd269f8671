"""(7) `files.glob` and `files.grep`: they search the files beneath a directory.

Links are not followed and what a scope denies is left out, so everything that is found lies beneath
the directory, which is the same under every scope. Each file is opened by the kernel beneath that
directory, and checked once more where it really is: a directory may have become a link meanwhile.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Annotated, Final

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError
from caps.capabilities.schemas.patterns import (
    MAX_PATTERN_CHARACTERS,
    checked_glob,
    compiled_regex,
    glob_matches,
)
from caps.capabilities.threads import in_turns
from caps.providers.files.openat2 import open_beneath
from caps.providers.files.path_text import Parts
from caps.providers.files.read import FilePath, shown_name
from caps.providers.files.resolve import (
    OpenTarget,
    Target,
    label_open,
    opened_target,
    resolve_target,
)

MAX_DEPTH: Final = 64
MAX_WALKED: Final = 100_000
MAX_PATHS: Final = 5_000
MAX_MATCHES: Final = 1_000
MAX_LINE_CHARACTERS: Final = 500
_BINARY_SAMPLE: Final = 8192
_TREE: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK

Glob = Annotated[
    str,
    Field(
        max_length=MAX_PATTERN_CHARACTERS,
        description="a pattern of paths beneath `path`, such as `**/*.txt`",
    ),
]


class PathsFound(TypedDict):
    """The files that match, sorted. If it is `truncated`, there are more."""

    path: str
    pattern: str
    paths: list[str]
    count: int
    truncated: bool


class LineFound(TypedDict):
    """One line that matches; a long one is cut."""

    path: str
    line: int
    text: str


class LinesFound(TypedDict):
    """The lines that match. If it is `truncated`, there are more."""

    path: str
    pattern: str
    matches: list[LineFound]
    match_count: int
    files_searched: int
    truncated: bool


def glob(context: CallContext, pattern: Glob, path: FilePath = ".") -> PathsFound:
    """Find files beneath a directory by a pattern of their paths; links are not followed."""
    wanted = _checked(pattern)
    target = resolve_target(context, "glob", {"path": path})
    found: list[str] = []
    with opened_target(target) as opening, opening.opened(_TREE) as folder:
        label_open(context, target, folder)
        with closing(in_turns(_walk(opening, folder))) as files:
            for parts in files:
                if len(found) <= MAX_PATHS and glob_matches(wanted, parts):
                    found.append(_path(target, parts))
    return {
        "path": target.shown,
        "pattern": pattern,
        "paths": sorted(found[:MAX_PATHS]),
        "count": min(len(found), MAX_PATHS),
        "truncated": len(found) > MAX_PATHS,
    }


def grep(
    context: CallContext,
    pattern: Annotated[
        str,
        Field(max_length=MAX_PATTERN_CHARACTERS, description="a regular expression (RE2 syntax)"),
    ],
    path: FilePath = ".",
    path_pattern: Glob = "**",
    ignore_case: bool = False,
) -> LinesFound:
    """Search the lines of text files beneath a directory, or of one file.

    Links are not followed; binary files, and files over the policy's `max_bytes`, are left out.
    """
    search, wanted = compiled_regex(pattern, ignore_case=ignore_case).search, _checked(path_pattern)
    target = resolve_target(context, "grep", {"path": path})
    matches: list[LineFound] = []
    searched = 0
    with opened_target(target) as opening, opening.opened(os.O_PATH) as top:
        label_open(context, target, top)
        is_file = stat.S_ISREG(os.fstat(top).st_mode)
        files = iter([()]) if is_file else _walk(opening, top)
        for parts in files:
            if len(matches) > MAX_MATCHES:
                break
            if not is_file and not glob_matches(wanted, parts):
                continue
            lines = _lines(context, target, opening, top, parts)
            searched += lines is not None
            numbered = in_turns(enumerate(lines or (), start=1))
            matches += itertools.islice(
                (_match(target, parts, number, line) for number, line in numbered if search(line)),
                MAX_MATCHES + 1 - len(matches),
            )
    return {
        "path": target.shown,
        "pattern": pattern,
        "matches": matches[:MAX_MATCHES],
        "match_count": min(len(matches), MAX_MATCHES),
        "files_searched": searched,
        "truncated": len(matches) > MAX_MATCHES,
    }


def _checked(pattern: str) -> str:
    try:
        return checked_glob(pattern)
    except ValueError as error:
        raise ProviderError(f"the pattern {error}") from None


def _path(target: Target, parts: Parts) -> str:
    shown = [shown_name(part) for part in parts]
    start = [] if target.shown == "." else [target.shown.rstrip("/")]
    return "/".join([*start, *shown])


def _walk(opening: OpenTarget, top: int) -> Iterator[Parts]:
    """The regular files beneath `top`, by their paths from there, directories in order."""
    left, folders = MAX_WALKED, [Parts()]
    while folders:
        folder = folders.pop()
        below = []
        for name, status in _entries(opening, top, folder):
            left -= 1
            if left < 0:
                raise ProviderError(
                    f"there are more than {MAX_WALKED} entries to search; name a smaller directory"
                )
            if stat.S_ISDIR(status.st_mode) and len(folder) < MAX_DEPTH:
                below.append((*folder, name))
            elif stat.S_ISREG(status.st_mode):
                yield (*folder, name)
        folders += reversed(below)


def _entries(opening: OpenTarget, top: int, folder: Parts) -> list[tuple[str, os.stat_result]]:
    """The entries of one directory that are not denied, sorted; none if it is gone by now."""
    try:
        descriptor = open_beneath(top, "/".join(folder) or ".", _TREE | os.O_NOFOLLOW)
    except OSError:
        return []
    found = []
    try:
        with os.scandir(descriptor) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            with suppress(FileNotFoundError):
                if not opening.is_denied(descriptor, name):
                    found.append((name, os.stat(name, dir_fd=descriptor, follow_symlinks=False)))
    finally:
        os.close(descriptor)
    return found


def _lines(
    context: CallContext, target: Target, opening: OpenTarget, top: int, parts: Parts
) -> list[bytes] | None:
    """The lines of a text file; None for what cannot be searched, or is no longer there."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
    try:
        if parts:
            descriptor = open_beneath(top, "/".join(parts), flags)
        else:
            descriptor = os.open(f"/proc/self/fd/{top}", flags & ~os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or opening.is_denied(descriptor):
            return None
        label_open(context, target, descriptor)
        data = file.read(target.max_bytes + 1)
    if len(data) > target.max_bytes or b"\0" in data[:_BINARY_SAMPLE]:
        return None
    return data.splitlines()


def _match(target: Target, parts: Parts, number: int, line: bytes) -> LineFound:
    path = _path(target, parts) if parts else target.shown
    text = line.decode("utf-8", "replace")[:MAX_LINE_CHARACTERS]
    return {"path": path, "line": number, "text": text}
