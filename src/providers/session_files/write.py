"""(7) `session_files.write` and `delete`.

No write is lost silently. A file that exists is replaced only at the version that the writer knows:
the one that it passes as `if_version`, else the one that this execution last read or wrote. Without
either, or if the file has changed since, the write is refused with the current version. A delete
needs no version, since whoever deletes does not want the content; but a version that is known must
be the current one there, too.

What is written gets the labels of what the caller had been answered.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError
from caps.providers.session_files.read import LARGE_BYTES, Encoding
from caps.providers.session_files.tree import SessionPath, checked_path, open_tree

if TYPE_CHECKING:
    from caps.store.repositories.session_files import FileEntry, SessionFiles

IfVersion = Annotated[
    int | None,
    Field(
        ge=0,
        le=2**53 - 1,
        description="The `version` that was read: refused if the file has another one now; 0 if "
        "there must be no file.",
    ),
]


class FileWritten(TypedDict):
    """The file that was written; `created` is False if it replaced another one."""

    path: str
    size_bytes: int
    created: bool
    version: int


class FileDeleted(TypedDict):
    """`deleted` is False if there was nothing to delete."""

    path: str
    deleted: bool


async def write(
    context: CallContext,
    path: SessionPath,
    content: Annotated[str, Field(description="The whole content, in the given encoding.")],
    encoding: Encoding = "text",
    if_version: IfVersion = None,
) -> FileWritten:
    """Create or replace a file, and the directories that lead to it.

    A file that exists is replaced only if its version is known: pass `if_version`, or read or write
    it first in the same program.
    """
    place, tree = checked_path(path), await open_tree(context)
    if len(content) > LARGE_BYTES:
        data = await context.run_in_thread(_decoded, content, encoding)
    else:
        data = _decoded(content, encoding)
    tree.require_file_size("`content`", len(data))
    known, quota, labels = tree.known_version(place, if_version), tree.quota, context.labels

    def work(files: SessionFiles) -> tuple[FileEntry, bool]:
        return files.put(place, data, labels=labels, known_version=known, quota=quota)

    entry, created = await tree.change(work)
    context.add_labels(*entry.labels)
    tree.saw(place, entry.version)
    return {
        "path": place,
        "size_bytes": entry.size_bytes,
        "created": created,
        "version": entry.version,
    }


def _decoded(content: str, encoding: Encoding) -> bytes:
    try:
        if encoding == "text":
            return content.encode("utf-8")
        return base64.b64decode(content, validate=True)
    except UnicodeEncodeError as error:
        raise ProviderError(
            "`content` holds half of a surrogate pair; pass bytes as `base64`"
        ) from error
    except (binascii.Error, ValueError) as error:
        raise ProviderError("`content` is not well-formed base64") from error


async def delete(
    context: CallContext,
    path: SessionPath,
    recursive: Annotated[
        bool, Field(description="Delete a directory with everything in it.")
    ] = False,
    if_version: IfVersion = None,
) -> FileDeleted:
    """Delete a file or directory; one that is not empty only if `recursive`."""
    place, tree = checked_path(path), await open_tree(context)
    known = tree.known_version(place, if_version)

    def work(files: SessionFiles) -> list[FileEntry]:
        return files.delete(place, recursive=recursive, known_version=known)

    gone = await tree.change(work)
    context.add_labels(*(label for entry in gone for label in entry.labels))
    for entry in gone:
        tree.forget(entry.path)
    return {"path": place, "deleted": bool(gone)}
