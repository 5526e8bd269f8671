"""(7) `files.read`, `files.list` and `files.stat`: looking, never changing.

The broker has asked the scope already. These functions ask it again, so that nothing depends on
who called them, and then leave every step of the path to the kernel (`beneath`). A result speaks
of a path as the caller gave it, never of where that lies on the host.
"""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError, ScopeViolationError
from caps.providers.files.openat2 import opened, opened_regular, opened_root
from caps.providers.files.birth_time import born_at
from caps.providers.files.os_errors import translated
from caps.providers.files.scope import FilesScope, Place
from caps.providers.legible import legible

MAX_ENTRIES = 10_000
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
    """A whole file: UTF-8 as `text`, anything else as `base64`."""

    path: str
    content: str
    encoding: Literal["text", "base64"]
    size_bytes: int


class DirectoryEntry(TypedDict):
    """One name in a directory. A link is told as itself, not as what it names."""

    name: str
    path: str
    is_directory: bool
    is_symlink: bool
    size_bytes: int


class DirectoryListing(TypedDict):
    """All names in a directory, sorted."""

    path: str
    entries: list[DirectoryEntry]
    count: int


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


def placed(
    context: CallContext, function: str, payload: Mapping[str, Any]
) -> tuple[FilesScope, Place]:
    """The scope of this call and where its path lies; `ScopeViolationError` if it may not."""
    scope = context.scope_as(FilesScope)
    violation = scope.violation(function, payload)
    if violation is not None:
        raise ScopeViolationError(violation.rule, violation.message)
    place = scope.place(payload["path"])
    assert place is not None  # or there had been a violation
    return scope, place


@contextmanager
def root_of(place: Place) -> Iterator[int]:
    """The allowed directory of `place`; what the file system refuses, in words for user space."""
    with translated(place.shown), opened_root(place.root.entry) as root:
        yield root


def read(context: CallContext, path: FilePath) -> FileContent:
    """Read a file of at most the policy's `max_bytes`; text if it is UTF-8, else base64."""
    scope, place = placed(context, "read", {"path": path})
    with root_of(place) as root, opened_regular(root, place.beneath, place.shown) as descriptor:
        data = _content(descriptor, scope.max_bytes, place.shown)
    try:
        content, encoding = data.decode("utf-8"), "text"
    except UnicodeDecodeError:
        content, encoding = base64.b64encode(data).decode("ascii"), "base64"
    return {
        "path": place.shown,
        "content": content,
        "encoding": "text" if encoding == "text" else "base64",
        "size_bytes": len(data),
    }


def _content(descriptor: int, max_bytes: int, shown: str) -> bytes:
    """Everything up to `max_bytes`. The size is counted while reading: a file can grow."""
    too_large = f"`{legible(shown)}` is larger than the {max_bytes} bytes allowed"
    if os.fstat(descriptor).st_size > max_bytes:
        raise ScopeViolationError("max_bytes", too_large)
    data = bytearray()
    while len(data) <= max_bytes:
        chunk = os.read(descriptor, min(_CHUNK, max_bytes + 1 - len(data)))
        if not chunk:
            return bytes(data)
        data += chunk
    raise ScopeViolationError("max_bytes", too_large)


def list_directory(context: CallContext, path: FilePath = ".") -> DirectoryListing:
    """List a directory, sorted by name; links are flagged and not followed."""
    _, place = placed(context, "list", {"path": path})
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK
    with root_of(place) as root, opened(root, place.beneath, flags) as folder:
        entries = _entries(folder, place.shown)
    return {"path": place.shown, "entries": entries, "count": len(entries)}


def _entries(folder: int, shown: str) -> list[DirectoryEntry]:
    entries: list[DirectoryEntry] = []
    with os.scandir(folder) as found:
        for item in found:
            if len(entries) == MAX_ENTRIES:
                raise ProviderError(
                    f"`{legible(shown)}` holds more than {MAX_ENTRIES} entries; list a smaller one"
                )
            try:
                status = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # deleted since it was found
            entries.append(_entry(item.name, status, shown))
    return sorted(entries, key=lambda entry: entry["name"])


def _entry(raw_name: str, status: os.stat_result, shown: str) -> DirectoryEntry:
    # A name that is not UTF-8 comes as lone surrogates, which JSON cannot carry: they are
    # written out as `\xff`. Such a file is seen but cannot be named by a caller.
    name = os.fsencode(raw_name).decode("utf-8", "backslashreplace")
    path = name if shown == "." else f"{shown.rstrip('/')}/{name}"
    return {
        "name": name,
        "path": path,
        "is_directory": stat.S_ISDIR(status.st_mode),
        "is_symlink": stat.S_ISLNK(status.st_mode),
        "size_bytes": _size(status),
    }


def stat_file(context: CallContext, path: FilePath) -> FileStatus:
    """Tell what a path is; one that does not exist is an answer, not an error."""
    scope, place = placed(context, "stat", {"path": path})
    answer: FileStatus = {
        "path": place.shown,
        "name": place.shown.rpartition("/")[2] or "/",
        "exists": False,
        "is_directory": False,
        "is_readonly": scope.read_only,
        "size_bytes": 0,
        "created_at": None,
        "modified_at": None,
    }
    with root_of(place) as root:
        try:
            with opened(root, place.beneath, os.O_PATH) as descriptor:
                status, born = os.fstat(descriptor), born_at(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            return answer
    answer["exists"] = True
    answer["is_directory"] = stat.S_ISDIR(status.st_mode)
    answer["is_readonly"] = scope.read_only or is_write_protected(status)
    answer["size_bytes"] = _size(status)
    answer["created_at"] = born.isoformat() if born else None
    answer["modified_at"] = datetime.fromtimestamp(status.st_mtime, tz=UTC).isoformat()
    return answer


def is_write_protected(status: os.stat_result) -> bool:
    """True if nobody may write it. Asked of the mode alone, since the host may well be root."""
    return not status.st_mode & _ANY_WRITE_BIT


def _size(status: os.stat_result) -> int:
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
