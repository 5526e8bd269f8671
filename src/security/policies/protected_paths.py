"""(1) What no granted power may change: the policy's own file, the approvals, the audit log.

Code that could write one of them would grant itself the rest, approve its own calls, or take the
evidence away. So a policy whose scopes reach one is refused before it comes into force. Places are
compared as the file system has them: links are followed, each link on the way is a place of its own
(to replace it is to replace what it leads to), and a directory that is mounted twice is one, also
where it is mounted beneath a scope.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

POLICY_FILE: Final = "the policy file"
# As many as the kernel follows.
_MOST_LINKS = 40
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Guarded(msgspec.Struct, frozen=True):
    """A file or directory that scopes must keep away from; `what` is how messages call it."""

    what: str
    path: Path


class Reached(msgspec.Struct, frozen=True):
    """A directory of a scope, and what it must not reach and does."""

    directory: Path
    guarded: Guarded

    @property
    def message(self) -> str:
        """In the words of an error."""
        inside = _resolved(self.guarded.path) in _resolved(self.directory).parents
        how = "lies in" if inside else "holds"
        return f"`{self.directory}` {how} {self.guarded.what} `{self.guarded.path}`"


def first_reached(directories: Iterable[Path], guarded: Iterable[Guarded]) -> Reached | None:
    """The first of `directories` from which something guarded can be reached, or that lies in it.

    Asks the file system where links lead; what is not there yet is taken by its name.
    """
    kept = tuple(guarded)
    for directory in directories:
        for each in kept:
            if _reaches(_resolved(directory), each.path):
                return Reached(directory, each)
    return None


def _reaches(directory: Path, path: Path) -> bool:
    places = _places(path)
    own = _identity(places[-1])
    inside = places[-1] in directory.parents or (own is not None and own in _identities(directory))
    return inside or any(
        _holds(top, place) for top in (directory, *_mounts_in(directory)) for place in places
    )


def _mounts_in(directory: Path) -> Iterator[Path]:
    """What is mounted somewhere beneath `directory`: it may be a place from elsewhere."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        point = _ESCAPED.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4])
        mounted = Path(os.fsdecode(point))
        if directory in mounted.parents:
            yield mounted


def _resolved(path: Path) -> Path:
    # Not `Path.resolve`, which raises for a loop of links.
    return Path(os.path.realpath(path))


def _places(path: Path) -> tuple[Path, ...]:
    """Where each link that leads to `path` is, and at last where it is itself."""
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
            at /= part  # no link, or not there
            continue
        found.append(at / part)
        if len(found) > _MOST_LINKS:
            return tuple(found)  # a loop, which leads nowhere
        if target.is_absolute():
            at = Path("/")
        rest += [step for step in reversed(target.parts) if step != "/"]
    return (*found, at)


def _holds(directory: Path, place: Path) -> bool:
    if directory == place or directory in place.parents:
        return True
    own = _identity(directory)
    return own is not None and own in _identities(place)


def _identities(place: Path) -> Iterator[tuple[int, int]]:
    for each in (place, *place.parents):
        identity = _identity(each)
        if identity is not None:
            yield identity


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)
