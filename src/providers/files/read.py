"""(7) `files.read`, `files.list` and `files.stat`: they read and never change anything.

The broker has checked the scope already. These functions check it again, so that nothing depends on
their caller, and leave every step of the path to the kernel (`resolve.py`). A result has a path as
the caller gave it, never its place on the host.
"""

from __future__ import annotations

import itertools
import os
import stat
from contextlib import closing
from datetime import UTC, datetime
from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.file_content import Encoding, encode_content
from caps.capabilities.provider import CallContext
from caps.capabilities.threads import in_turns
from caps.providers.files.birth_time import creation_time
from caps.providers.files.parts import (
    FirstLine,
    LastLine,
    Length,
    Offset,
    Wanted,
    part_of,
)
from caps.providers.files.resolve import (
    OpenTarget,
    Target,
    label_open,
    opened_target,
    resolve_target,
)

# A page of a listing: the most entries, and the most text in them, since each repeats the path.
MAX_ENTRIES = 9_000
MAX_LISTED_CHARACTERS = 1024 * 1024
_CHUNK = 256 * 1024
_ANY_WRITE_BIT = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH

FilePath = Annotated[
    str,
    Field(
        max_length=4096,
        description="relative to the first allowed directory, or absolute within one of them",
    ),
]


class FileContent(TypedDict):
    """A file, or a part of it: UTF-8 as `text`, anything else as `base64`."""

    path: str
    content: str
    encoding: Encoding
    size_bytes: int
    more: NotRequired[bool]
    """Of a part: whether the file goes on after it."""


class DirectoryEntry(TypedDict):
    """One name in a directory. A link is described as a link, not as what it points to."""

    name: str
    path: str
    is_directory: bool
    is_symlink: bool
    size_bytes: int


class DirectoryListing(TypedDict):
    """The names in a directory, sorted. If it is `truncated`, list again `after` the last one."""

    path: str
    entries: list[DirectoryEntry]
    count: int
    truncated: bool


class FileStatus(TypedDict):
    """What is known of a path; times are ISO 8601, None where they are not known."""

    path: str
    name: str
    exists: bool
    is_directory: bool
    is_readonly: bool
    size_bytes: int
    created_at: str | None
    modified_at: str | None


def read(
    context: CallContext,
    path: FilePath,
    offset: Offset = None,
    length: Length = None,
    first_line: FirstLine = None,
    last_line: LastLine = None,
) -> FileContent:
    """Read a file, or a part of it by bytes or by lines; text if it is UTF-8, else base64.

    At most the policy's `max_bytes` are read. A larger file can be read in parts.
    """
    wanted = Wanted(offset=offset, length=length, first_line=first_line, last_line=last_line)
    target = resolve_target(context, "read", {"path": path})
    with opened_target(target) as opening, opening.opened_regular() as descriptor:
        label_open(context, target, descriptor)
        if wanted.is_part:
            data, has_more = part_of(descriptor, target, wanted)
        else:
            data, has_more = content_of(descriptor, target), False
    content, encoding = encode_content(data)
    found: FileContent = {
        "path": target.shown,
        "content": content,
        "encoding": encoding,
        "size_bytes": len(data),
    }
    if wanted.is_part:
        found["more"] = has_more
    return found


def content_of(descriptor: int, target: Target) -> bytes:
    """All of the file. The size is checked while reading, too: a file can grow."""
    max_bytes = target.max_bytes
    if os.fstat(descriptor).st_size > max_bytes:
        raise target.too_large()
    data = bytearray()
    while len(data) <= max_bytes:
        chunk = os.read(descriptor, min(_CHUNK, max_bytes + 1 - len(data)))
        if not chunk:
            return bytes(data)
        data += chunk
    raise target.too_large()


def list_directory(
    context: CallContext,
    path: FilePath = ".",
    after: Annotated[
        str, Field(max_length=4096, description="only names that come after this one")
    ] = "",
) -> DirectoryListing:
    """List a directory, sorted by name, in pages; links are flagged and not followed."""
    target = resolve_target(context, "list", {"path": path})
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK
    with opened_target(target) as opening, opening.opened(flags) as folder:
        label_open(context, target, folder)
        entries, truncated = _entries(opening, folder, target.shown, after)
    return {
        "path": target.shown,
        "entries": entries,
        "count": len(entries),
        "truncated": truncated,
    }


def _entries(
    opening: OpenTarget, folder: int, shown: str, after: str
) -> tuple[list[DirectoryEntry], bool]:
    """The page of entries after the name `after`, and whether more follow. None is denied."""
    prefix = "" if shown == "." else f"{shown.rstrip('/')}/"
    entries: list[DirectoryEntry] = []
    names = _names(folder, after)
    characters = 0
    for name, raw_name in in_turns(names):
        if opening.is_denied(folder, raw_name):
            continue
        characters += len(prefix) + 2 * len(name)
        if len(entries) == MAX_ENTRIES or (entries and characters > MAX_LISTED_CHARACTERS):
            return entries, True
        try:
            status = os.stat(raw_name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue  # deleted since it was found
        entries.append(_entry(name, prefix + name, status))
    return entries, len(names) > MAX_ENTRIES


def _names(folder: int, after: str) -> list[tuple[str, str]]:
    """The first names after `after`, as they are shown and as the system has them: one page and
    one more, however many the directory holds."""
    kept: list[tuple[str, str]] = []
    with os.scandir(folder) as found, closing(in_turns(found)) as rest:
        while some := [item.name for item in itertools.islice(rest, MAX_ENTRIES)]:
            shown = ((shown_name(name), name) for name in some)
            kept = sorted([*kept, *(pair for pair in shown if pair[0] > after)])
            del kept[MAX_ENTRIES + 1 :]
    return kept


def shown_name(name: str) -> str:
    # A name that is not UTF-8 has lone surrogates, which JSON cannot hold. They are written as
    # `\xff`, so a caller can see such a file but cannot name it.
    if name.isascii():
        return name
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _entry(name: str, path: str, status: os.stat_result) -> DirectoryEntry:
    return {
        "name": name,
        "path": path,
        "is_directory": stat.S_ISDIR(status.st_mode),
        "is_symlink": stat.S_ISLNK(status.st_mode),
        "size_bytes": _size(status),
    }


def stat_file(context: CallContext, path: FilePath) -> FileStatus:
    """Tell what a path is; one that does not exist is an answer, not an error."""
    target = resolve_target(context, "stat", {"path": path})
    answer: FileStatus = {
        "path": target.shown,
        "name": target.shown.rpartition("/")[2] or "/",
        "exists": False,
        "is_directory": False,
        "is_readonly": target.read_only,
        "size_bytes": 0,
        "created_at": None,
        "modified_at": None,
    }
    with opened_target(target) as opening:
        try:
            with opening.opened(os.O_PATH) as descriptor:
                label_open(context, target, descriptor)
                status, created = os.fstat(descriptor), creation_time(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return answer
    answer["exists"] = True
    answer["is_directory"] = stat.S_ISDIR(status.st_mode)
    answer["is_readonly"] = target.read_only or is_write_protected(status)
    answer["size_bytes"] = _size(status)
    answer["created_at"] = created.isoformat() if created else None
    answer["modified_at"] = datetime.fromtimestamp(status.st_mtime, tz=UTC).isoformat()
    return answer


def is_write_protected(status: os.stat_result) -> bool:
    """Whether its mode lets nobody write it. Access is not tested: the host may be root."""
    return not status.st_mode & _ANY_WRITE_BIT


def _size(status: os.stat_result) -> int:
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
