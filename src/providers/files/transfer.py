"""(7) `files.copy` and `files.move`: one regular file, to a new place or over another file.

The content goes to the new place in one step, as in a write. A directory is neither copied nor
moved: what a scope denies beneath it would get another path. A move is a `rename`, so it stays
within one file system and happens completely or not at all.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError
from caps.protocol.text import printable
from caps.providers.files.openat2 import FOLDER, rename_new, require_regular
from caps.providers.files.read import FilePath, content_of, is_write_protected
from caps.providers.files.resolve import (
    OpenTarget,
    Target,
    label_open,
    opened_target,
    resolve_target,
)
from caps.providers.files.write import make_directories, put, replaceable

Destination = Annotated[FilePath, Field(description="the new path, named like `path`")]
Overwrite = Annotated[bool, Field(description="replace a file that is already there")]


class FileCopied(TypedDict):
    """The new file; `created` is False if it replaced another one."""

    path: str
    to: str
    size_bytes: int
    created: bool


def copy(
    context: CallContext, path: FilePath, to: Destination, overwrite: Overwrite = False
) -> FileCopied:
    """Copy a file of at most the policy's `max_bytes`, and make the directories that lead to it."""
    source, target = _both(context, "copy", path, to)
    with opened_target(source) as opening, opening.opened_regular() as descriptor:
        label_open(context, source, descriptor)
        data = content_of(descriptor, source)
    with opened_target(target) as opening:
        make_directories(opening, target)
        with opening.opened(FOLDER, above=1) as parent:
            replaced = _replaceable(opening, parent, target, overwrite)
            with _nothing_there(target):
                put(parent, target.name, data, replaced, overwrite=overwrite)
    return _copied(source, target, len(data), replaced)


def move(
    context: CallContext, path: FilePath, to: Destination, overwrite: Overwrite = False
) -> FileCopied:
    """Move or rename a file, and make the directories that lead to its new place."""
    source, target = _both(context, "move", path, to)
    with opened_target(source) as opening, opening.opened(FOLDER, above=1) as old:
        status = _movable(old, source)
        with opened_target(target) as destination:
            make_directories(destination, target)
            with destination.opened(FOLDER, above=1) as new:
                replaced = _replaceable(destination, new, target, overwrite)
                if replaced is not None and os.path.samestat(status, replaced):
                    raise ProviderError(f"`{printable(source.shown)}` is the same file as `to`")
                with _nothing_there(target):
                    _rename(old, source, new, target, overwrite)
    return _copied(source, target, status.st_size, replaced)


def _movable(parent: int, source: Target) -> os.stat_result:
    status = os.stat(source.name, dir_fd=parent, follow_symlinks=False)
    require_regular(status, source.shown)
    if is_write_protected(status):
        raise ProviderError(f"`{printable(source.shown)}` is write-protected on the host")
    return status


def _both(context: CallContext, function: str, path: str, to: str) -> tuple[Target, Target]:
    payload = {"path": path, "to": to}
    return (
        resolve_target(context, function, payload),
        resolve_target(context, function, payload, "to"),
    )


def _replaceable(
    opening: OpenTarget, parent: int, target: Target, overwrite: bool
) -> os.stat_result | None:
    found = replaceable(opening, parent, target)
    if found is not None and not overwrite:
        raise _exists(target)
    return found


@contextmanager
def _nothing_there(target: Target) -> Iterator[None]:
    """For what came to the target after it was looked at."""
    try:
        yield
    except FileExistsError as error:
        raise _exists(target) from error


def _exists(target: Target) -> ProviderError:
    return ProviderError(
        f"`{printable(target.shown)}` exists; set `overwrite` to replace it, or name another"
    )


def _rename(old: int, source: Target, new: int, target: Target, overwrite: bool) -> None:
    try:
        if overwrite:
            os.rename(source.name, target.name, src_dir_fd=old, dst_dir_fd=new)
        else:
            rename_new(old, source.name, new, target.name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        raise ProviderError(
            f"`{printable(target.shown)}` is on another file system; copy the file and delete it"
        ) from error


def _copied(
    source: Target, target: Target, size: int, replaced: os.stat_result | None
) -> FileCopied:
    return {
        "path": source.shown,
        "to": target.shown,
        "size_bytes": size,
        "created": replaced is None,
    }
