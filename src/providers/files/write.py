"""(7) `files.write` and `files.delete`: the two ways to change a file, each in one step.

A write goes to a new file with a random name next to the target, and `rename` then replaces the
target, so that a reader sees the old content or the new one, never a mixture. Consequences:

- a link as the last component is refused. To follow it would write to another place than the path
  says; to replace it would be a surprise. One that leads out is refused as a scope violation;
- the mode of an existing file is kept except for its set-id bits, since the content is new. Its
  owner becomes the host process, and other hard links to it keep the old content;
- a write-protected file is not replaced, although `rename` would allow it.

A delete never follows a link: it removes the link itself.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from contextlib import suppress
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.file_content import Encoding, decode_content
from caps.capabilities.provider import CallContext, ProviderError
from caps.protocol.text import printable
from caps.providers.files.openat2 import (
    FOLDER,
    opened_beneath,
    rename_new,
    require_regular,
)
from caps.providers.files.read import FilePath, is_write_protected
from caps.providers.files.resolve import OpenTarget, Target, opened_target, resolve_target

MAX_DEPTH = 64  # each level of a recursive delete takes a descriptor and a stack frame


class FileWritten(TypedDict):
    """The file that was written; `created` is False if it replaced another one."""

    path: str
    size_bytes: int
    created: bool


class FileDeleted(TypedDict):
    """`deleted` is False if there was nothing to delete."""

    path: str
    deleted: bool


def write(
    context: CallContext,
    path: FilePath,
    content: Annotated[str, Field(description="the whole content, in the given encoding")],
    encoding: Encoding = "text",
) -> FileWritten:
    """Write a whole file in one step, and the directories that lead to it."""
    payload = {"path": path, "content": content, "encoding": encoding}
    target = resolve_target(context, "write", payload)
    data = decode_content(content, encoding)
    with opened_target(target) as opening:
        make_directories(opening, target)
        with opening.opened(FOLDER, above=1) as parent:
            replaced = replaceable(opening, parent, target)
            put(parent, target.name, data, replaced)
    return {"path": target.shown, "size_bytes": len(data), "created": replaced is None}


def make_directories(opening: OpenTarget, target: Target) -> None:
    """Create the missing directories above the target, each resolved from the roots again."""
    if target.depth > MAX_DEPTH:
        raise ProviderError(f"`{printable(target.shown)}` is deeper than {MAX_DEPTH} directories")
    for above in range(target.depth, 1, -1):
        name = target.places[-1].parts[-above]
        with opening.opened(FOLDER, above=above) as parent, suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)


def replaceable(opening: OpenTarget, parent: int, target: Target) -> os.stat_result | None:
    """The existing file at the target, if any. ProviderError if it may not be replaced."""
    try:
        status = os.stat(target.name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        # Opened only to raise the scope violation of a link that leads out.
        with suppress(FileNotFoundError), opening.opened(os.O_PATH):
            pass
        raise ProviderError(
            f"`{printable(target.shown)}` is a symbolic link; name the file it names"
        )
    require_regular(status, target.shown)
    if is_write_protected(status):
        raise ProviderError(f"`{printable(target.shown)}` is write-protected on the host")
    return status


def put(
    parent: int,
    name: str,
    data: bytes,
    replaced: os.stat_result | None,
    *,
    overwrite: bool = True,
) -> None:
    """Write `data` to `name` in `parent`, completely or not at all.

    Without `overwrite`, FileExistsError if there is something by now.
    """
    temporary = f".caps-{secrets.token_hex(16)}.tmp"
    mode = 0o666 if replaced is None else replaced.st_mode & 0o777
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with opened_beneath(parent, temporary, flags, mode) as descriptor:
            if replaced is not None:
                os.fchmod(descriptor, mode)  # with the bits that the umask removed
            _write_all(descriptor, data)
            os.fsync(descriptor)  # else a crash could leave the new name without its content
        if overwrite:
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        else:
            rename_new(parent, temporary, parent, name)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=parent)
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def delete(context: CallContext, path: FilePath, recursive: bool = False) -> FileDeleted:
    """Delete a file, a link itself, or a directory; one that is not empty only if `recursive`."""
    target = resolve_target(context, "delete", {"path": path, "recursive": recursive})
    with opened_target(target) as opening:
        try:
            with opening.opened(FOLDER, above=1) as parent:
                _remove(opening, parent, target, recursive)
        except (FileNotFoundError, NotADirectoryError):
            return {"path": target.shown, "deleted": False}
    return {"path": target.shown, "deleted": True}


def _remove(opening: OpenTarget, parent: int, target: Target, recursive: bool) -> None:
    name = target.name
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=parent)
    elif not recursive:
        os.rmdir(name, dir_fd=parent)
    elif not shutil.rmtree.avoids_symlink_attacks:
        raise ProviderError("this host cannot delete a directory without following links")
    else:
        _require_nothing_denied(opening, parent, target)
        try:
            shutil.rmtree(name, dir_fd=parent)
        except RecursionError as error:
            raise ProviderError(f"`{printable(target.shown)}` is nested too deeply") from error
        except FileNotFoundError as error:
            # Not "nothing to delete": a part of it has been deleted.
            raise ProviderError(
                f"`{printable(target.shown)}` changed while it was deleted; try again"
            ) from error


def _require_nothing_denied(opening: OpenTarget, parent: int, target: Target) -> None:
    """ScopeViolationError if something beneath the directory at the target is denied."""
    if not any(scope.denylist for scope in target.scopes):
        return
    for folder, names, files, _ in os.fwalk(target.name, dir_fd=parent):
        beneath = tuple(part for part in folder.split("/") if part)
        for name in (*names, *files):
            opening.require_not_denied(parent, (*beneath, name))
