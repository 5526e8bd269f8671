"""The scope of the `files` domain: which paths, how large, and whether they may be changed.

All rules that can be checked on the payload alone, without IO:

- `read_only` refuses `write`, `delete`, `copy` and `move`;
- `max_bytes` bounds the content of a write, in bytes after decoding base64 (the provider bounds a
  read, since only it can see the file);
- `allowlist` names directories. A relative path is beneath the first of them. An absolute path is
  beneath the longest of them that contains it, compared by components;
- under several policies a relative path means one place: it starts at the first directory of the
  last policy. Each policy checks the path by itself, and like an absolute path at the places where
  it starts in the policies after it;
- `denylist` has patterns of paths beneath the allowed directories: what they match is refused,
  beneath whichever of the directories that contain it;
- `copy` and `move` have two paths. The first is checked as that of a `read` or of a `delete`, the
  second as that of a `write`;
- a path may at no point climb above its directory by `..`, even if it comes back;
- a path is a string that UTF-8 can encode, without NUL;
- an entry of the allowlist is a path that the kernel takes whole, of at most 4095 bytes;
- an allowed directory, or a directory that contains one, is neither written nor deleted;
- an unknown function or a wrong type is refused.

`labels` refuses nothing: it says which directories label what is read in them (`scope_labels.py`).

Links cannot be checked by text: the provider leaves them to the kernel (`openat2`).
"""

from __future__ import annotations

import dataclasses
import operator
import os.path
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeVar

import msgspec
from pydantic import Field, ValidationInfo, field_validator

from caps.capabilities.file_content import content_size
from caps.capabilities.provider import Scope, Violation
from caps.capabilities.schemas.patterns import checked_glob
from caps.protocol.text import printable
from caps.providers.files.denied import denying_pattern
from caps.providers.files.path_text import climbs, collapsed, components, is_path_text
from caps.providers.files.scope_labels import labels_at, without_effect
from caps.security.policies.flow_rules import NO_MARKS, Labels
from caps.security.policies.protected_paths import MAX_PATH_BYTES
from caps.security.scopes import argument_of

if TYPE_CHECKING:
    from caps.security.review.scope_answers import (
        Concern,
        ObservedArguments,
        ScopeChange,
        ScopeProposal,
    )
    from caps.security.review.width import Breadth

MAX_BYTES_CEILING = 64 * 1024 * 1024
MAX_DIRECTORIES = 256

TREES = frozenset({"glob", "grep", "list"})
_READING = frozenset({"copy", "read", "stat"}) | TREES
_CHANGING = frozenset({"copy", "delete", "move", "write"})
_MAY_BE_ROOT = frozenset({"stat"}) | TREES
MAX_DENIED = 64
_TWO_PATHS = {
    "copy": (("path", "read"), ("to", "write")),
    "move": (("path", "delete"), ("to", "write")),
}

Directories = TypeVar("Directories", tuple[str, ...], dict[str, tuple[str, ...]])


class AllowedDirectory(msgspec.Struct, frozen=True):
    """One entry of the allowlist, with its components."""

    entry: str
    absolute: bool
    parts: tuple[str, ...]


class Place(NamedTuple):
    """The place of a path: `parts` beneath `root`. `shown` is the path as the caller gave it."""

    root: AllowedDirectory
    parts: tuple[str, ...]
    shown: str

    @property
    def beneath(self) -> str:
        """The path from the root, for the kernel to resolve."""
        return "/".join(self.parts) or "."


def checked_directories(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return `entries` if each can be the path of a directory; else raise ValueError."""
    for entry in entries:
        if not entry or not is_path_text(entry):
            raise ValueError(f"`{printable(entry)}` is not the path of a directory")
        if len(entry.encode()) > MAX_PATH_BYTES:
            raise ValueError(f"`{printable(entry)}` is longer than {MAX_PATH_BYTES} bytes")
        if entry.startswith("~"):
            raise ValueError(f"`{printable(entry)}`: `~` is not expanded; write the path in full")
    return entries


class FilesScope(Scope):
    """`scopes.files` of a policy."""

    allowlist: Annotated[
        tuple[str, ...], Field(min_length=1, max_length=MAX_DIRECTORIES, strict=False)
    ]
    read_only: bool = False
    max_bytes: Annotated[int, Field(gt=0, le=MAX_BYTES_CEILING)] = 1024 * 1024
    # Left out while they are empty: existing logs hold digests of scopes without them.
    denylist: Annotated[tuple[str, ...], Field(max_length=MAX_DENIED, strict=False)] = Field(
        default=(), exclude_if=operator.not_
    )
    labels: dict[str, Labels] = Field(default={}, max_length=256, exclude_if=operator.not_)

    @field_validator("allowlist", "labels")
    @classmethod
    def _name_directories(cls, entries: Directories) -> Directories:
        checked_directories(tuple(entries))
        return entries

    @field_validator("denylist")
    @classmethod
    def _are_globs(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(checked_glob(pattern) for pattern in patterns)

    @field_validator("labels")
    @classmethod
    def _have_effect(
        cls, labelled: dict[str, tuple[str, ...]], info: ValidationInfo
    ) -> dict[str, tuple[str, ...]]:
        # A misspelt directory would label nothing. Relative ones are compared once anchored.
        allowlist = info.data.get("allowlist", ())
        if all(entry.startswith("/") for entry in (*allowlist, *labelled)):
            for entry in without_effect(labelled, allowlist):
                raise ValueError(f"`{printable(entry)}` has nothing in common with `allowlist`")
        return labelled

    def anchored(self, base: Path) -> Self:
        """The same scope with absolute entries, in which `.` and `..` are resolved textually."""
        start, labels = base.absolute(), dict[str, tuple[str, ...]]()
        for entry, words in self.labels.items():
            place = os.path.normpath(start / entry)
            labels[place] = (*labels.get(place, ()), *words)
        entries = [os.path.normpath(start / entry) for entry in self.allowlist]
        changed = {"allowlist": entries, "labels": labels}
        return type(self).model_validate({**self.model_dump(), **changed})

    def following(self, own: Scope) -> FilesScope:
        """The same scope, with relative paths that start where `own` starts them."""
        if not isinstance(own, FilesScope):
            raise TypeError("a files scope can follow another files scope only")
        return _FollowingScope(
            allowlist=self.allowlist,
            read_only=self.read_only,
            max_bytes=self.max_bytes,
            denylist=self.denylist,
            labels=self.labels,
            start=own.allowlist[0],
            alone=self,
        )

    @cached_property
    def directories(self) -> tuple[AllowedDirectory, ...]:
        """The allowlist, in its order."""
        return tuple(
            AllowedDirectory(entry, entry.startswith("/"), components(entry))
            for entry in self.allowlist
        )

    @cached_property
    def _longest_first(self) -> tuple[AllowedDirectory, ...]:
        absolute = (directory for directory in self.directories if directory.absolute)
        return tuple(sorted(absolute, key=lambda directory: -len(directory.parts)))

    def place(self, path: str) -> Place | None:
        """The place of `path`; None if it is outside."""
        if not is_path_text(path):
            return None
        parts = components(path)
        if not path.startswith("/"):
            if climbs(parts):
                return None
            return Place(self.directories[0], parts, "/".join(parts) or ".")
        for root in self._longest_first:
            depth = len(root.parts)
            if parts[:depth] == root.parts and not climbs(parts[depth:]):
                return Place(root, parts[depth:], "/" + "/".join(parts))
        return None

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        """Pure, and never raises, whatever is in `payload`."""
        if function not in _READING and function not in _CHANGING:
            return Violation("allowlist", f"the files scope knows no function `{function}`")
        if self.read_only and function in _CHANGING:
            return Violation("read_only", f"the policy allows no `files.{function}`: read only")
        for name, checked_as in paths_of(function):
            found = self._path_violation(checked_as, name, payload)
            if found is not None:
                return found
        return self._size_violation(payload) if function == "write" else None

    def _path_violation(self, function: str, name: str, payload: object) -> Violation | None:
        path = argument_of(payload, name, "." if function in TREES else None)
        if not isinstance(path, str):
            return Violation("allowlist", f"`{name}` must be given, as a string")
        if not path and function not in _MAY_BE_ROOT:
            return Violation("allowlist", f"`{name}` is empty; name a file")
        place = self.place(path)
        if place is None:
            return Violation(
                "allowlist", f"`{printable(path)}` lies outside the allowed directories"
            )
        if function in _CHANGING and not self._is_changeable(place):
            return Violation("allowlist", f"`{printable(path)}` names an allowed directory itself")
        return self._text_denial(place) if self.denylist else None

    def _text_denial(self, place: Place) -> Violation | None:
        """By the text of the path, beneath each allowed directory that contains it."""
        whole = place.root.parts + collapsed(place.parts)
        for root in self.directories:
            depth = len(root.parts)
            if root.absolute == place.root.absolute and whole[:depth] == root.parts:
                found = self.denial(place, whole[depth:])
                if found is not None:
                    return found
        return None

    def denial(self, place: Place, parts: tuple[str, ...]) -> Violation | None:
        """The violation if the denylist matches `parts`, where `place` is beneath a directory."""
        pattern = denying_pattern(self.denylist, parts)
        if pattern is None:
            return None
        shown = printable(place.shown)
        return Violation("denylist", f"`{shown}` is denied by `{printable(pattern)}`")

    def _is_changeable(self, place: Place) -> bool:
        if not place.parts or place.parts[-1] == "..":
            return False
        target = place.root.parts + collapsed(place.parts)
        return not any(
            other.absolute == place.root.absolute and other.parts[: len(target)] == target
            for other in self.directories
        )

    def _size_violation(self, payload: object) -> Violation | None:
        size = _size(payload, counted=self.max_bytes)
        if size is None:
            return Violation("max_bytes", "`content` must be a string, as `text` or `base64`")
        if size > self.max_bytes:
            return Violation(
                "max_bytes", f"`content` is larger than the {self.max_bytes} bytes allowed"
            )
        return None

    def labels_for(self, function: str, payload: Mapping[str, Any]) -> frozenset[str]:
        """By the text of the path alone, with `..` resolved textually."""
        found = NO_MARKS
        for name, checked_as in paths_of(function) if self.labels else ():
            path = argument_of(payload, name, "." if checked_as in TREES else None)
            place = self.place(path) if isinstance(path, str) else None
            if place is not None:
                found |= labels_at(self.labels, place.root.parts + collapsed(place.parts))
        return found

    def possible_labels(self, function: str) -> frozenset[str]:  # noqa: ARG002 - any may read
        return frozenset(label for labels in self.labels.values() for label in labels)

    def readable_directories(self, functions: AbstractSet[str]) -> tuple[Path, ...]:
        """The allowlist, if one of `functions` reads."""
        return tuple(Path(entry) for entry in self.allowlist) if functions & _READING else ()

    def writable_directories(self, functions: AbstractSet[str]) -> tuple[Path, ...]:
        """The allowlist, if one of `functions` can change files."""
        if self.read_only or not functions & _CHANGING:
            return ()
        return tuple(Path(entry) for entry in self.allowlist)

    # From here on: the answers for tools that review policies. Nothing here decides about calls,
    # and its imports are late.

    def fields_of(self, function: str) -> Mapping[str, AbstractSet[str]] | None:
        """Only the size of a write needs more than the paths."""
        sized = frozenset({"content", "encoding"} if function == "write" else ())
        paths = frozenset(name for name, _ in paths_of(function))
        return {
            "allowlist": paths,
            "denylist": paths,
            "read_only": frozenset(),
            "max_bytes": sized,
            "labels": frozenset(),
        }

    def never(self, function: str) -> str | None:
        return "read_only" if self.read_only and function in _CHANGING else None

    def change_for(self, function: str, payload: Mapping[str, Any]) -> ScopeChange | None:
        """Allow the nearest directory, permit changes, or raise `max_bytes` for this content."""
        from caps.providers.files import scope_review as review
        from caps.security.review.scope_answers import ScopeChange

        violation = self.violation(function, payload)
        match violation.rule if violation else None:
            case "read_only":
                return ScopeChange("read_only", False, False, "changes beneath every directory")
            case "max_bytes":
                size = _size(payload)
                if size is None or size > MAX_BYTES_CEILING:
                    return None
                return ScopeChange("max_bytes", size, False, f"files of up to {size} bytes")
            case "allowlist":
                name, checked_as = self._outside(function, payload)
                parts = review.nearest_directory(checked_as, payload.get(name))
                if parts is None or review.path_of(parts) in self.allowlist:
                    return None
                opens = f"everything beneath `{printable(review.path_of(parts))}`"
                return ScopeChange("allowlist", review.path_of(parts), True, opens)
            case _:
                return None

    def _outside(self, function: str, payload: Mapping[str, Any]) -> tuple[str, str]:
        """The first argument that is refused, and the function as whose path it is checked."""
        *others, last = paths_of(function)
        for name, checked_as in others:
            if self._path_violation(checked_as, name, payload) is not None:
                return name, checked_as
        return last

    def widths_to(self, newer: Scope) -> dict[str, Breadth]:
        from caps.providers.files import scope_review as review
        from caps.security.review.width import width_of

        if not isinstance(newer, FilesScope):
            return super().widths_to(newer)
        older_parts = [directory.parts for directory in self.directories]
        newer_parts = [directory.parts for directory in newer.directories]
        changing = not (self.read_only and newer.read_only)
        return {
            "allowlist": review.width_of_directories(older_parts, newer_parts, changing=changing),
            "read_only": width_of(
                more=self.read_only and not newer.read_only,
                less=newer.read_only and not self.read_only,
            ),
            "max_bytes": width_of(
                more=newer.max_bytes > self.max_bytes, less=newer.max_bytes < self.max_bytes
            ),
            "denylist": width_of(
                more=not set(self.denylist) <= set(newer.denylist),
                less=not set(newer.denylist) <= set(self.denylist),
            ),
            "labels": review.width_of_labels(self.labels, newer.labels),
        }

    def concerns(self, functions: AbstractSet[str], given: AbstractSet[str]) -> tuple[Concern, ...]:
        from caps.providers.files import scope_review as review

        return (
            *review.directory_concerns([directory.parts for directory in self.directories]),
            *review.access_concerns(functions & _CHANGING, functions & _READING, self.read_only),
            *review.size_concerns(self.max_bytes, given),
        )

    @classmethod
    def covering(
        cls, calls: Sequence[ObservedArguments], held: Self | None
    ) -> ScopeProposal | None:
        """Relative paths stay beneath the first directory of `held`; absolute ones get theirs."""
        from caps.providers.files import scope_review as review

        # Code that changes files never gets the policy's directory: it could change the policy.
        changes = any(call.function in _CHANGING for call in calls)
        unknown = (review.SANDBOX if changes else ".", None)
        root = (held.allowlist[0], held.directories[0].parts) if held else unknown
        default = held.max_bytes if held else int(cls.model_fields["max_bytes"].default)
        proposal = review.proposed_scope(calls, root, default, _CHANGING)
        if proposal is not None and held is not None and held.denylist:
            scope = {**proposal.scope, "denylist": list(held.denylist)}
            proposal = dataclasses.replace(proposal, scope=scope)
        return review.with_labels(proposal, held.labels if held else {})


class _FollowingScope(FilesScope):
    """The scope of a policy above another one. No policy spells it: `following` makes it.

    It allows what the scope `alone` allows (without the other policy), if its place is allowed,
    too: relative paths begin at `start`, the first directory of the other policy.
    """

    start: str
    alone: FilesScope

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        return self.alone.violation(function, payload) or super().violation(function, payload)

    def change_for(self, function: str, payload: Mapping[str, Any]) -> ScopeChange | None:
        """For the places that relative paths mean."""
        for name, _ in paths_of(function):
            path = payload.get(name)
            if isinstance(path, str) and not path.startswith("/"):
                payload = {**payload, name: f"{self.start}/{path}"}
        return super().change_for(function, payload)

    def place(self, path: str) -> Place | None:
        place = super().place(path)
        if place is None or path.startswith("/"):
            return place
        if not self.start.startswith("/"):
            return None  # it was not anchored, so it could be anywhere
        found = super().place(f"{self.start}/{path}")
        return None if found is None else found._replace(shown=place.shown)


def paths_of(function: str) -> tuple[tuple[str, str], ...]:
    """The arguments that are paths, and the function as whose path each is checked."""
    return _TWO_PATHS.get(function) or (("path", function),)


def _size(payload: object, counted: int = MAX_BYTES_CEILING) -> int | None:
    content = argument_of(payload, "content")
    return content_size(content, argument_of(payload, "encoding", "text"), counted=counted)
