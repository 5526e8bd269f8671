"""(1) What no granted capability may change: the policy file, approvals, audit log and store.

Keys of the service and of the store may not even be read.

Code that could write to one of them could grant itself the rest, approve its own calls, remove the
evidence, or change what others stored. So a policy whose scopes reach one of them is refused before
it comes into force. Paths are compared by the file system: links are followed, each link on the way
is protected as well (replacing a link replaces its target), and a directory that is mounted twice
counts as one, also when the second mount is below a scope.
"""

from __future__ import annotations

import bisect
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

POLICY_FILE: Final = "the policy file"
MAX_PATH_BYTES: Final = 4095
"""The longest path that the kernel takes. Resolving longer ones would take very long."""
# The number of links that the kernel follows.
_MAX_LINKS = 40
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class ProtectedPath(msgspec.Struct, frozen=True):
    """A file or directory that scopes must not reach; `what` is its name in messages."""

    what: str
    path: Path
    is_secret: bool = False
    """Reading it is as bad as changing it: whoever has the key of tokens signs in as anybody."""


class ProtectedPathReached(msgspec.Struct, frozen=True):
    """A directory of a scope, and the protected path that it reaches."""

    directory: Path
    protected: ProtectedPath

    @property
    def message(self) -> str:
        """The finding as part of an error message."""
        inside = _is_beneath(_resolved(self.directory), _resolved(self.protected.path))
        how = "lies in" if inside else "holds"
        return f"`{self.directory}` {how} {self.protected.what} `{self.protected.path}`"


def can_exist(path: Path) -> bool:
    """Whether the kernel takes `path` as the name of a file or directory."""
    try:
        data = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return b"\0" not in data and len(data) <= MAX_PATH_BYTES


def first_reached(
    directories: Iterable[Path], protected: Iterable[ProtectedPath]
) -> ProtectedPathReached | None:
    """The first of `directories` that contains a protected path, or lies inside one.

    Follows links in the file system; a path that does not exist yet is compared by its name.
    """
    found = [(each, _places(each.path)) for each in protected]
    mounts = _mounts() if found else ()
    for directory in directories:
        real = _resolved(directory)
        beneath = [mounted for mounted in mounts if mounted != real and _is_beneath(mounted, real)]
        for each, places in found:
            if _lies_in(real, places[-1]) or any(_holds((real, *beneath), at) for at in places):
                return ProtectedPathReached(directory, each)
    return None


def _lies_in(directory: Path, place: Path) -> bool:
    """Whether `directory` is `place`, or is inside it, by name or in the file system."""
    own = _identity(place)
    return _is_beneath(directory, place) or (own is not None and own in _identities(directory))


def _holds(tops: Sequence[Path], place: Path) -> bool:
    """Whether one of `tops` is `place`, or contains it, by name or in the file system."""
    if any(_is_beneath(place, top) for top in tops):
        return True
    identities = set(_identities(place))
    return any(_identity(top) in identities for top in tops)


def _is_beneath(path: Path, root: Path) -> bool:
    # Not `Path.parents`: making all of them takes time in the square of the depth.
    return path.parts[: len(root.parts)] == root.parts


def _mounts() -> tuple[Path, ...]:
    """All mount points: each may show a directory from elsewhere."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return ()
    points = (
        _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4]) for line in lines
    )
    return tuple(Path(os.fsdecode(point)) for point in points)


def _resolved(path: Path) -> Path:
    """`path` without links. From the first part that does not exist on, it is as it is written."""
    if not can_exist(path.absolute()):
        return path.absolute()
    parts = path.absolute().parts
    existing = bisect.bisect_left(
        range(1, len(parts)), True, key=lambda depth: not os.path.lexists(Path(*parts[: depth + 1]))
    )
    known, rest = parts[: existing + 1], parts[existing + 1 :]
    if ".." in rest:
        known, rest = parts, ()
    # Not `Path.resolve`, which raises for a loop of links.
    return Path(os.path.realpath(Path(*known)), *rest)


def _places(path: Path) -> tuple[Path, ...]:
    """Each link on the way to `path`, and last the path where it really is."""
    if not can_exist(path.absolute()):
        return (path.absolute(),)
    found: list[Path] = []
    at, rest = Path("/"), [*reversed(path.absolute().parts[1:])]
    while rest:
        part = rest.pop()
        if part == "..":
            at = at.parent
            continue
        try:
            target = Path(os.readlink(at / part))  # noqa: PTH115 - one step, as it is written
        except OSError:
            at /= part  # not a link, or it does not exist
            continue
        found.append(at / part)
        if len(found) > _MAX_LINKS:
            return tuple(found)  # a loop of links
        if target.is_absolute():
            at = Path("/")
        rest += [step for step in reversed(target.parts) if step != "/"]
    return (*found, at)


def _identities(place: Path) -> Iterator[tuple[int, int]]:
    """Of each directory on the way to `place`, and of `place`; it ends where nothing exists."""
    at = place.anchor
    for part in ("", *place.parts[1:]):
        at = os.path.join(at, part)  # noqa: PTH118 - a path for each step takes time in its depth
        identity = _identity(at)
        if identity is None:
            return
        yield identity


def _identity(path: Path | str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino)
