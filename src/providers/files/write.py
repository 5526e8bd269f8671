"""(7) `files.write` and `files.delete`: the two ways to change a file, each in one step.

A write goes to a new file of an unguessable name beside the target and then takes its place by
`rename`, so that whoever reads sees the old content or the new, never a mixture. Consequences:

- a link as the last component is refused. Following it would write elsewhere than the path says,
  replacing it would surprise; one that leads out is refused as a scope violation;
- the mode of an existing file is kept but for its set-id bits, since the content is new; its owner
  becomes the host process, and other hard links to it keep the old content;
- a file that is write-protected is left alone, although a rename would not mind.

A delete never follows a link: it removes the link itself.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import shutil
import stat
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext, ProviderError
from caps.providers.files.openat2 import FOLDER, opened, require_regular
from caps.providers.files.read import FilePath, is_write_protected, placed, root_of
from caps.providers.files.scope import Place
from caps.providers.legible import legible

MAX_DEPTH = 64  # deleting recursively costs a descriptor and a stack frame a level

Encoding = Literal["text", "base64"]


class FileWritten(TypedDict):
    """What a write left behind; `created` is False where it took the place of a file."""

    path: str
    size_bytes: int
    created: bool


class FileDeleted(TypedDict):
    """`deleted` is False where there was nothing to delete."""

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
    _, place = placed(context, "write", payload)
    data = _decoded(content, encoding)
    folder = "/".join(place.parts[:-1]) or "."
    with root_of(place) as root:
        _make_directories(root, place)
        with opened(root, folder, FOLDER) as parent:
            replaced = _replaceable(root, parent, place)
            _put(parent, place.parts[-1], data, replaced)
    return {"path": place.shown, "size_bytes": len(data), "created": replaced is None}


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


def _make_directories(root: int, place: Place) -> None:
    """Create what is missing above `place`, each step resolved anew from the root."""
    if len(place.parts) > MAX_DEPTH:
        raise ProviderError(f"`{legible(place.shown)}` is deeper than {MAX_DEPTH} directories")
    for depth, name in enumerate(place.parts[:-1]):
        above = "/".join(place.parts[:depth]) or "."
        with opened(root, above, FOLDER) as parent, suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)


def _replaceable(root: int, parent: int, place: Place) -> os.stat_result | None:
    """The file that stands where `place` is, if any; an error if it may not be replaced."""
    try:
        status = os.stat(place.parts[-1], dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        # Opened only for its refusal: one that leads out is a scope violation.
        with suppress(FileNotFoundError), opened(root, place.beneath, os.O_PATH):
            pass
        raise ProviderError(f"`{legible(place.shown)}` is a symbolic link; name the file it names")
    require_regular(status, place.shown)
    if is_write_protected(status):
        raise ProviderError(f"`{legible(place.shown)}` is write-protected on the host")
    return status


def _put(parent: int, name: str, data: bytes, replaced: os.stat_result | None) -> None:
    """Give `name` in `parent` the content `data`, whole or not at all."""
    temporary = f".caps-{secrets.token_hex(16)}.tmp"
    mode = 0o666 if replaced is None else replaced.st_mode & 0o777
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with opened(parent, temporary, flags, mode) as descriptor:
            if replaced is not None:
                os.fchmod(descriptor, mode)  # what the umask took away
            _write_all(descriptor, data)
            os.fsync(descriptor)  # or a crash could leave the new name without its content
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
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
    _, place = placed(context, "delete", {"path": path, "recursive": recursive})
    folder = "/".join(place.parts[:-1]) or "."
    with root_of(place) as root:
        try:
            with opened(root, folder, FOLDER) as parent:
                _remove(parent, place, recursive)
        except (FileNotFoundError, NotADirectoryError):
            return {"path": place.shown, "deleted": False}
    return {"path": place.shown, "deleted": True}


def _remove(parent: int, place: Place, recursive: bool) -> None:
    name = place.parts[-1]
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=parent)
    elif not recursive:
        os.rmdir(name, dir_fd=parent)
    elif not shutil.rmtree.avoids_symlink_attacks:
        raise ProviderError("this host cannot delete a directory without following links")
    else:
        try:
            shutil.rmtree(name, dir_fd=parent)
        except RecursionError as error:
            raise ProviderError(f"`{legible(place.shown)}` is nested too deeply") from error
        except FileNotFoundError as error:
            # Not "nothing to delete": part of it is gone by now.
            raise ProviderError(
                f"`{legible(place.shown)}` changed while it was deleted; try again"
            ) from error
