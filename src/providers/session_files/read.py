"""(7) `session_files.read`, `list` and `stat`: they read and never change anything.

An answer has the labels of what it tells of: of a file that is read or described, and of each entry
that is listed, since a name can tell as much as a content.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError
from caps.protocol.text import printable
from caps.providers.session_files.tree import SessionPath, checked_path, open_tree
from caps.store.session_paths import ROOT, ancestors_of, name_of

if TYPE_CHECKING:
    from caps.store.repositories.session_files import FileEntry, SessionFiles

MAX_ENTRIES = 5_000
LARGE_BYTES = 256 * 1024
"""From here on, encoding and decoding would hold up the event loop."""

Encoding = Literal["text", "base64"]


class FileContent(TypedDict):
    """A whole file: UTF-8 as `text`, anything else as `base64`."""

    path: str
    content: str
    encoding: Encoding
    size_bytes: int
    version: int


class DirectoryEntry(TypedDict):
    """One name in a directory."""

    name: str
    path: str
    is_directory: bool
    is_readonly: bool
    size_bytes: int
    version: int
    modified_at: str


class DirectoryListing(TypedDict):
    """The entries by name. If it is `truncated`, list again `after` the last name."""

    path: str
    entries: list[DirectoryEntry]
    count: int
    truncated: bool


class FileStatus(TypedDict):
    """What is known of a path; times are ISO 8601 in UTC, None where there are none."""

    path: str
    name: str
    exists: bool
    is_directory: bool
    is_readonly: bool
    size_bytes: int
    version: int
    created_at: str | None
    modified_at: str | None


async def read(context: CallContext, path: SessionPath) -> FileContent:
    """Read the content of a file; text if it is UTF-8, else base64.

    Pass its `version` to `write` as `if_version` to replace exactly what was read.
    """
    place, tree = checked_path(path), await open_tree(context)

    def work(files: SessionFiles) -> tuple[FileEntry | None, bytes]:
        entry = files.entry(place)
        too_large = entry is not None and entry.size_bytes > smallest
        return entry, b"" if too_large else files.content(place) or b""

    smallest = min(scope.max_file_bytes for scope in tree.scopes)
    entry, data = await tree.read(work) or (None, b"")
    if entry is not None:
        context.add_labels(*entry.labels)
    require_file(place, entry)
    assert entry is not None
    tree.require_file_size(f"`{printable(place)}`", entry.size_bytes)
    tree.saw(place, entry.version)
    if len(data) > LARGE_BYTES:
        content, encoding = await context.run_in_thread(_encoded, data)
    else:
        content, encoding = _encoded(data)
    return {
        "path": place,
        "content": content,
        "encoding": encoding,
        "size_bytes": len(data),
        "version": entry.version,
    }


def require_file(place: str, entry: FileEntry | None) -> None:
    """Raise ProviderError unless `entry` is a file."""
    if place == ROOT or (entry is not None and entry.is_directory):
        raise ProviderError(f"`{printable(place)}` is a directory; name a file in it")
    if entry is None:
        raise ProviderError(f"`{printable(place)}` does not exist")


def _encoded(data: bytes) -> tuple[str, Encoding]:
    try:
        return data.decode("utf-8"), "text"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), "base64"


async def list_directory(
    context: CallContext,
    path: SessionPath = ROOT,
    after: Annotated[
        str, Field(max_length=4096, description="Only names that come after this one.")
    ] = "",
) -> DirectoryListing:
    """List the files and directories at a path, by name, in pages."""
    place, tree = checked_path(path), await open_tree(context)
    if "\0" in after:
        raise ProviderError("`after` has a NUL character")

    def work(files: SessionFiles) -> tuple[FileEntry | None, list[FileEntry]]:
        return files.entry(place), files.children(place, after=after, limit=MAX_ENTRIES + 1)

    entry, found = await tree.read(work) or (None, [])
    context.add_labels(*(label for each in (entry, *found) if each for label in each.labels))
    if place != ROOT and entry is None:
        raise ProviderError(f"`{printable(place)}` does not exist")
    if entry is not None and not entry.is_directory:
        raise ProviderError(f"`{printable(place)}` is a file; list the directory that it is in")
    entries = [_listed(each) for each in found[:MAX_ENTRIES]]
    return {
        "path": place,
        "entries": entries,
        "count": len(entries),
        "truncated": len(found) > MAX_ENTRIES,
    }


def _listed(entry: FileEntry) -> DirectoryEntry:
    return {
        "name": name_of(entry.path),
        "path": entry.path,
        "is_directory": entry.is_directory,
        "is_readonly": entry.is_readonly,
        "size_bytes": entry.size_bytes,
        "version": entry.version,
        "modified_at": entry.updated_at.isoformat(),
    }


async def stat_file(context: CallContext, path: SessionPath) -> FileStatus:
    """Describe a file or directory. One that does not exist is not an error."""
    place, tree = checked_path(path), await open_tree(context)

    def work(files: SessionFiles) -> tuple[FileEntry | None, bool]:
        entry = files.entry(place)
        above = [files.entry(each) for each in ancestors_of(place)]
        return entry, any(each.is_readonly for each in (entry, *above) if each is not None)

    entry, is_readonly = await tree.read(work) or (None, False)
    if entry is not None:
        context.add_labels(*entry.labels)
    return {
        "path": place,
        "name": name_of(place) or ROOT,
        "exists": place == ROOT or entry is not None,
        "is_directory": place == ROOT or (entry is not None and entry.is_directory),
        "is_readonly": is_readonly,
        "size_bytes": 0 if entry is None else entry.size_bytes,
        "version": 0 if entry is None else entry.version,
        "created_at": None if entry is None else entry.created_at.isoformat(),
        "modified_at": None if entry is None else entry.updated_at.isoformat(),
    }
