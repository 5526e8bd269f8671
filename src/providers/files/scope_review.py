"""What the tools that judge policies ask of the `files` scope, by the text of paths alone.

A directory is the tuple of its components, so that containing is a comparison of prefixes. What is
reached counts by its absolute place: moving the first directory moves every relative path, which
is told but is neither wider nor narrower.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from caps.security.review.scope_answers import Concern, ProposedPart, ScopeProposal, SeenCall, Severity
from caps.security.review.width import Width, width_of

Parts = tuple[str, ...]

MOST_DIRECTORIES = 16
SANDBOX = "./sandbox"
_SMALLEST_BOUND = 4096

# Beneath these lie other people's files, keys, or the machine itself.
_SYSTEM = frozenset({"boot", "dev", "etc", "proc", "root", "run", "sys", "usr", "var"})
_HOMES = frozenset({"home", "Users"})


def parts_of(path: str) -> Parts:
    """The components of a path, `.` left out."""
    return tuple(part for part in path.split("/") if part and part != ".")


def spelled(parts: Parts) -> str:
    return "/" + "/".join(parts)


def is_beneath(parts: Parts, root: Parts) -> bool:
    """Whether `parts` is `root` or lies in it."""
    return parts[: len(root)] == root


def nearest_directory(function: str, path: object) -> Parts | None:
    """The smallest directory that holds what `path` names; None where none can be allowed.

    A path with `..` in it has none: what it climbs through would have to be allowed, too.
    """
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        return None
    parts = parts_of(path)
    if ".." in parts or (not parts and function not in ("list", "stat")):
        return None
    return parts if function == "list" else parts[:-1]


def width_of_directories(
    older: Sequence[Parts], newer: Sequence[Parts], *, changing: bool
) -> Width:
    """What `newer` reaches beside `older`; with `changing`, also what may be changed in it."""
    more, less = not _cover(older, newer), not _cover(newer, older)
    if changing:
        more = more or _protects_more(older, newer)
        less = less or _protects_more(newer, older)
    return width_of(more=more, less=less)


def _cover(roots: Sequence[Parts], wanted: Sequence[Parts]) -> bool:
    return all(any(is_beneath(parts, root) for root in roots) for parts in wanted)


def _protects_more(one: Sequence[Parts], other: Sequence[Parts]) -> bool:
    """Whether `one` keeps something from being changed that `other` reaches and does not keep.

    An allowed directory, and each that holds it, is neither written nor deleted.
    """
    return any(
        is_beneath(kept, root) and len(kept) > len(root)
        for kept in _protected(one) - _protected(other)
        for root in other
    )


def _protected(directories: Sequence[Parts]) -> set[Parts]:
    return {parts[:length] for parts in directories for length in range(len(parts) + 1)}


def directory_concerns(directories: Sequence[Parts]) -> Iterator[Concern]:
    """Directories that hold too much, and those that add nothing."""
    for index, parts in enumerate(directories):
        what = _too_much(parts)
        if what is not None:
            yield Concern(
                "wide-scope",
                Severity.WARNING,
                ("allowlist", index),
                f"`{spelled(parts)}` is {what}",
                "name the directory that the code needs",
            )
        holder = _holder(index, directories)
        if holder is not None:
            yield Concern(
                "redundant-entry",
                Severity.INFO,
                ("allowlist", index),
                f"`{spelled(parts)}` lies in `{spelled(holder)}`, which is allowed already",
                "remove one of the two",
            )


def _too_much(parts: Parts) -> str | None:
    if not parts:
        return "the whole file system"
    if parts[0] in _HOMES and len(parts) <= 2:
        return "a home directory, with its keys and settings"
    if parts[0] == "root" and len(parts) == 1:
        return "a home directory, with its keys and settings"
    if (parts[0] in _SYSTEM and len(parts) == 1) or parts[0] in ("dev", "proc", "sys"):
        return "a part of the operating system"
    return None


def _holder(index: int, directories: Sequence[Parts]) -> Parts | None:
    # The first may not be spared: relative paths start there.
    if index == 0:
        return None
    mine = directories[index]
    others = (
        other
        for place, other in enumerate(directories)
        if place != index and is_beneath(mine, other) and (other != mine or place < index)
    )
    return next(others, None)


def covering_directories(wanted: Mapping[Parts, Iterable[int]]) -> dict[Parts, tuple[int, ...]]:
    """Few directories that hold all of `wanted`, each with the calls that asked for it."""
    found = _outermost({parts: frozenset(calls) for parts, calls in wanted.items()})
    while len(found) > MOST_DIRECTORIES:
        deepest = max(len(parts) for parts in found)
        if deepest <= 1:  # to go on would be to allow everything
            break
        raised: dict[Parts, frozenset[int]] = {}
        for parts, calls in found.items():
            place = parts[:-1] if len(parts) == deepest else parts
            raised[place] = raised.get(place, frozenset()) | calls
        found = _outermost(raised)
    return {parts: tuple(sorted(found[parts])) for parts in sorted(found)}


def _outermost(wanted: Mapping[Parts, frozenset[int]]) -> dict[Parts, frozenset[int]]:
    kept: dict[Parts, frozenset[int]] = {}
    for parts in sorted(wanted, key=len):
        holder = next((root for root in kept if is_beneath(parts, root)), parts)
        kept[holder] = kept.get(holder, frozenset()) | wanted[parts]
    return kept


def access_concerns(
    changing: AbstractSet[str], looking: AbstractSet[str], read_only: bool
) -> Iterator[Concern]:
    """Leave to change files where reading was meant."""
    if read_only:
        return
    if changing and looking:
        names = " and ".join(f"`files.{name}`" for name in sorted(changing))
        yield Concern(
            "write-beside-read",
            Severity.INFO,
            (),
            f"what is read can also be changed, by {names}",
            "keep what is only read in a policy of its own, with `read_only`",
        )
    if looking and not changing:
        yield Concern(
            "read-only-unset",
            Severity.INFO,
            (),
            "only reading is allowed, and `read_only` does not say so",
            'set `"read_only": true`, which holds when a rule is added',
        )


def size_concerns(max_bytes: int, given: AbstractSet[str]) -> Iterator[Concern]:
    """A bound that nobody chose."""
    if "max_bytes" not in given:
        yield Concern(
            "max-bytes-unset",
            Severity.INFO,
            (),
            f"`max_bytes` is not given, so it is {max_bytes}",
            "set the size of the largest file that the code needs",
        )


def proposed_scope(
    calls: Sequence[SeenCall],
    root: tuple[str, Parts | None],
    default_bytes: int,
    changing_functions: AbstractSet[str],
) -> ScopeProposal | None:
    """The narrowest scope for `calls`; relative paths of theirs start at `root`."""
    relative, wanted = _places(calls, root[1])
    entries = [
        (spelled(parts), seen, "absolute paths beneath it")
        for parts, seen in covering_directories(wanted).items()
    ]
    if relative:
        note = "relative paths start at the first entry"
        if root[0] == SANDBOX:
            note += "; put the files there, or name their directory"
        elif root[1] is None:
            note += ", and the log does not say which directory that was: name it here"
        entries.insert(0, (root[0], tuple(relative), note))
    if not entries:
        return None
    changing = [index for index, c in enumerate(calls) if c.function in changing_functions]
    return _proposal(calls, entries, tuple(changing), _largest(calls, default_bytes))


def _proposal(
    calls: Sequence[SeenCall],
    entries: Sequence[tuple[str, tuple[int, ...], str]],
    changing: tuple[int, ...],
    largest: tuple[int, str],
) -> ScopeProposal:
    """The scope with these entries, and what each part of it rests on."""
    every, (max_bytes, why) = tuple(range(len(calls))), largest
    scope = {
        "allowlist": [entry for entry, _, _ in entries],
        "read_only": not changing,
        "max_bytes": max_bytes,
    }
    what = "files are changed" if changing else "nothing is changed"
    parts = [
        ProposedPart(("allowlist", index), seen, note)
        for index, (_, seen, note) in enumerate(entries)
    ]
    parts.append(ProposedPart(("read_only",), changing or every, what))
    parts.append(ProposedPart(("max_bytes",), every, why))
    outside = SeenCall(calls[0].function, {"path": "../outside"})
    return ScopeProposal(scope, tuple(parts), (outside,))


def _places(
    calls: Sequence[SeenCall], root: Parts | None
) -> tuple[list[int], dict[Parts, list[int]]]:
    """The calls that stay beneath the root, and the directories that the others need."""
    relative: list[int] = []
    wanted: dict[Parts, list[int]] = {}
    for index, call in enumerate(calls):
        path = call.shown.get("path", "." if call.function == "list" else None)
        if "path" in call.hidden or not isinstance(path, str):
            continue
        parts = nearest_directory(call.function, path)
        if parts is None or (root is not None and is_beneath(parts, root)):
            if parts is not None or not (path.startswith("/") or _climbs(path)):
                relative.append(index)
        else:
            wanted.setdefault(parts, []).append(index)
    return relative, wanted


def _climbs(path: str) -> bool:
    # Once above its start, a relative path keeps a `..` in front whatever follows.
    return os.path.normpath(path).partition("/")[0] == ".."


def _largest(calls: Sequence[SeenCall], default: int) -> tuple[int, str]:
    """The bound on the size of files, and why it is that. The size of a write is never seen."""
    sizes = [
        None if call.function == "write" else call.bytes_out
        for call in calls
        if call.function in ("read", "write")
    ]
    known = [size for size in sizes if size is not None]
    if not known or len(known) != len(sizes):
        return default, "not all sizes were seen, so this is the bound as it was"
    bound = _SMALLEST_BOUND
    while bound < 2 * max(known):
        bound *= 2
    return min(bound, default), f"results of up to {max(known)} bytes were seen; with a margin"
