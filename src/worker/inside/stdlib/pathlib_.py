"""(4) The pure part of `pathlib`: it splits and joins names, and accesses no files.

`pathlib.PurePosixPath` has an attribute (`parser`) that is a module and gives access to the file
system. So user space gets an object that wraps a private `PurePosixPath`.
"""

from __future__ import annotations

import functools
import pathlib
from typing import Any
from urllib.parse import quote_from_bytes

from caps.worker.inside.stdlib.instance_methods import instances_only


@instances_only
@functools.total_ordering
class PurePosixPath:
    """`pathlib.PurePosixPath`."""

    __slots__ = ("_path",)

    def __init__(self, *parts: Any) -> None:
        self._path = pathlib.PurePosixPath(*map(_part, parts))

    def __copy__(self) -> PurePosixPath:
        return self  # it cannot be changed

    def __deepcopy__(self, _memo: Any) -> PurePosixPath:
        return self

    @property
    def parts(self) -> tuple[str, ...]:
        return self._path.parts

    @property
    def drive(self) -> str:
        return self._path.drive

    @property
    def root(self) -> str:
        return self._path.root

    @property
    def anchor(self) -> str:
        return self._path.anchor

    @property
    def name(self) -> str:
        return self._path.name

    @property
    def stem(self) -> str:
        return self._path.stem

    @property
    def suffix(self) -> str:
        return self._path.suffix

    @property
    def suffixes(self) -> list[str]:
        return self._path.suffixes

    @property
    def parent(self) -> PurePosixPath:
        return PurePosixPath(str(self._path.parent))

    @property
    def parents(self) -> tuple[PurePosixPath, ...]:
        return tuple(PurePosixPath(str(one)) for one in self._path.parents)

    def as_posix(self) -> str:
        return self._path.as_posix()

    def as_uri(self) -> str:
        # Python 3.14 deprecates that of a pure path, and loads a module with sockets for the other.
        if not self._path.is_absolute():
            raise ValueError("relative path can't be expressed as a file URI")
        return f"file://{quote_from_bytes(bytes(self._path))}"

    def is_absolute(self) -> bool:
        return self._path.is_absolute()

    def is_relative_to(self, other: Any) -> bool:
        return self._path.is_relative_to(_part(other))

    def joinpath(self, *others: Any) -> PurePosixPath:
        return PurePosixPath(self, *others)

    def match(self, pattern: str) -> bool:
        return self._path.match(_part(pattern))

    def relative_to(self, other: Any) -> PurePosixPath:
        return PurePosixPath(str(self._path.relative_to(_part(other))))

    def with_name(self, name: str) -> PurePosixPath:
        return PurePosixPath(str(self._path.with_name(_part(name))))

    def with_stem(self, stem: str) -> PurePosixPath:
        return PurePosixPath(str(self._path.with_stem(_part(stem))))

    def with_suffix(self, suffix: str) -> PurePosixPath:
        return PurePosixPath(str(self._path.with_suffix(_part(suffix))))

    def __truediv__(self, other: Any) -> PurePosixPath:
        if not isinstance(other, (str, PurePosixPath)):
            return NotImplemented
        return PurePosixPath(self, other)

    def __rtruediv__(self, other: Any) -> PurePosixPath:
        if not isinstance(other, str):
            return NotImplemented
        return PurePosixPath(other, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PurePosixPath):
            return NotImplemented
        return self._path == other._path

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, PurePosixPath):
            return NotImplemented
        return self._path < other._path

    def __hash__(self) -> int:
        return hash(self._path)

    def __fspath__(self) -> str:
        return str(self._path)

    def __str__(self) -> str:
        return str(self._path)

    def __repr__(self) -> str:
        return f"PurePosixPath({str(self)!r})"


def _part(part: Any) -> str:
    if isinstance(part, PurePosixPath):
        return str(part._path)
    if not isinstance(part, str):
        raise TypeError(f"a part of a path is a string or a path, not a `{type(part).__name__}`")
    return "".join((part, ""))  # a plain copy: a subclass may override methods


def pathlib_names(_context: Any) -> dict[str, Any]:
    """All names of `pathlib` in user space."""
    return {"PurePath": PurePosixPath, "PurePosixPath": PurePosixPath}
