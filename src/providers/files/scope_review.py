"""Answers about the `files` scope for tools that review policies, from the text of paths alone.

A directory is the tuple of its components, so that "contains" is a comparison of prefixes. Only
absolute places count: a change of the first directory moves every relative path, which is reported
but is neither wider nor narrower.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from caps.providers.files.path_text import Parts, climbs, components
from caps.providers.files.scope import TREES, paths_of
from caps.providers.files.scope_labels import LabelledDirectories, labels_at, without_effect
from caps.security.policies.protected_paths import MAX_PATH_BYTES
from caps.security.review.scope_answers import (
    Concern,
    ObservedArguments,
    ProposedPart,
    ScopeProposal,
    Severity,
)
from caps.security.review.width import Breadth, width_of

MAX_DIRECTORIES = 16
SANDBOX = "./sandbox"
_MIN_BOUND = 4096

# They contain other people's files, keys, or the operating system.
_SYSTEM = frozenset({"boot", "dev", "etc", "proc", "root", "run", "sys", "usr", "var"})
_HOMES = frozenset({"home", "Users"})


def path_of(parts: Parts) -> str:
    return "/" + "/".join(parts)


def is_beneath(parts: Parts, root: Parts) -> bool:
    """Whether `parts` is `root` or inside it."""
    return parts[: len(root)] == root


def nearest_directory(function: str, path: object) -> Parts | None:
    """The smallest directory that contains `path`; None if no directory can be allowed for it.

    That is so for a path with `..`: the directories that it climbs through would have to be
    allowed, too.
    """
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        return None
    if len(path.encode("utf-8", "surrogatepass")) > MAX_PATH_BYTES:
        return None
    parts = components(path)
    if ".." in parts or (not parts and function not in {*TREES, "stat"}):
        return None
    return parts if function in TREES else parts[:-1]


def width_of_directories(
    older: Sequence[Parts], newer: Sequence[Parts], *, changing: bool
) -> Breadth:
    """What `newer` reaches compared to `older`; with `changing`, also what may be changed."""
    more, less = not _cover(older, newer), not _cover(newer, older)
    if changing:
        more = more or _protects_more(older, newer)
        less = less or _protects_more(newer, older)
    return width_of(more=more, less=less)


def width_of_labels(older: LabelledDirectories, newer: LabelledDirectories) -> Breadth:
    """A directory that lost a label is wider: flow rules about it apply to less."""
    more = any(not set(labels) <= _labels_in(newer, entry) for entry, labels in older.items())
    less = any(not set(labels) <= _labels_in(older, entry) for entry, labels in newer.items())
    return width_of(more=more, less=less)


def _labels_in(labelled: LabelledDirectories, directory: str) -> frozenset[str]:
    return labels_at(labelled, components(directory))


def with_labels(
    proposal: ScopeProposal | None, labelled: LabelledDirectories
) -> ScopeProposal | None:
    """The proposal with the labels that the scope had, as far as they concern its directories."""
    if proposal is None or not labelled:
        return proposal
    idle = without_effect(labelled, proposal.scope["allowlist"])
    kept = {entry: list(labels) for entry, labels in labelled.items() if entry not in idle}
    return replace(proposal, scope={**proposal.scope, "labels": kept}) if kept else proposal


def _cover(roots: Sequence[Parts], directories: Sequence[Parts]) -> bool:
    return all(any(is_beneath(parts, root) for root in roots) for parts in directories)


def _protects_more(one: Sequence[Parts], other: Sequence[Parts]) -> bool:
    """Whether `one` protects a directory from changes that `other` reaches and does not protect.

    An allowed directory, and each one that contains it, is neither written nor deleted. If `other`
    does not protect one that contains it, it does not protect the allowed directory itself either.
    """
    return any(
        any(len(parts) > len(root) and is_beneath(parts, root) for root in other)
        and not any(is_beneath(protected, parts) for protected in other)
        for parts in one
    )


def directory_concerns(directories: Sequence[Parts]) -> Iterator[Concern]:
    """Directories that contain too much, and those that add nothing."""
    for index, parts in enumerate(directories):
        what = _too_wide(parts)
        if what is not None:
            yield Concern(
                "wide-scope",
                Severity.WARNING,
                ("allowlist", index),
                f"`{path_of(parts)}` is {what}",
                "name the directory that the code needs",
            )
        outer = _outer_directory(index, directories)
        if outer is not None:
            yield Concern(
                "redundant-entry",
                Severity.INFO,
                ("allowlist", index),
                f"`{path_of(parts)}` lies in `{path_of(outer)}`, which is allowed already",
                "remove one of the two",
            )


def _too_wide(parts: Parts) -> str | None:
    if not parts:
        return "the whole file system"
    if parts[0] in _HOMES and len(parts) <= 2:
        return "a home directory, with its keys and settings"
    if parts[0] == "root" and len(parts) == 1:
        return "a home directory, with its keys and settings"
    if (parts[0] in _SYSTEM and len(parts) == 1) or parts[0] in ("dev", "proc", "sys"):
        return "a part of the operating system"
    return None


def _outer_directory(index: int, directories: Sequence[Parts]) -> Parts | None:
    # The first one is always needed: relative paths start there.
    if index == 0:
        return None
    parts = directories[index]
    outer = (
        other
        for place, other in enumerate(directories)
        if place != index and is_beneath(parts, other) and (other != parts or place < index)
    )
    return next(outer, None)


def covering_directories(needed: Mapping[Parts, Iterable[int]]) -> dict[Parts, tuple[int, ...]]:
    """A few directories that contain all of `needed`, each with the calls that need it."""
    found = _outermost({parts: frozenset(calls) for parts, calls in needed.items()})
    while len(found) > MAX_DIRECTORIES:
        deepest = max(len(parts) for parts in found)
        if deepest <= 1:  # the next step would allow everything
            break
        raised: dict[Parts, frozenset[int]] = {}
        for parts, calls in found.items():
            place = parts[:-1] if len(parts) == deepest else parts
            raised[place] = raised.get(place, frozenset()) | calls
        found = _outermost(raised)
    return {parts: tuple(sorted(found[parts])) for parts in sorted(found)}


def _outermost(needed: Mapping[Parts, frozenset[int]]) -> dict[Parts, frozenset[int]]:
    kept: dict[Parts, frozenset[int]] = {}
    outer: Parts | None = None
    # In this order everything inside a directory follows it.
    for parts in sorted(needed):
        if outer is None or not is_beneath(parts, outer):
            outer = parts
        kept[outer] = kept.get(outer, frozenset()) | needed[parts]
    return kept


def access_concerns(
    changing: AbstractSet[str], reading: AbstractSet[str], read_only: bool
) -> Iterator[Concern]:
    """Permission to change files where only reading may be meant."""
    if read_only:
        return
    if changing and reading:
        names = " and ".join(f"`files.{name}`" for name in sorted(changing))
        yield Concern(
            "write-beside-read",
            Severity.INFO,
            (),
            f"what is read can also be changed, by {names}",
            "keep what is only read in a policy of its own, with `read_only`",
        )
    if reading and not changing:
        yield Concern(
            "read-only-unset",
            Severity.INFO,
            (),
            "only reading is allowed, and `read_only` does not say so",
            'set `"read_only": true`, which holds when a rule is added',
        )


def size_concerns(max_bytes: int, given: AbstractSet[str]) -> Iterator[Concern]:
    """A bound that the policy does not set."""
    if "max_bytes" not in given:
        yield Concern(
            "max-bytes-unset",
            Severity.INFO,
            (),
            f"`max_bytes` is not given, so it is {max_bytes}",
            "set the size of the largest file that the code needs",
        )


def proposed_scope(
    calls: Sequence[ObservedArguments],
    root: tuple[str, Parts | None],
    default_bytes: int,
    changing_functions: AbstractSet[str],
) -> ScopeProposal | None:
    """The narrowest scope for `calls`, whose relative paths start at `root`."""
    relative, needed = _places(calls, root[1])
    entries = [
        (path_of(parts), seen, "absolute paths beneath it")
        for parts, seen in covering_directories(needed).items()
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
    calls: Sequence[ObservedArguments],
    entries: Sequence[tuple[str, tuple[int, ...], str]],
    changing: tuple[int, ...],
    largest: tuple[int, str],
) -> ScopeProposal:
    """The scope with these entries, and the evidence for each part of it."""
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
    outside = ObservedArguments(calls[0].function, {"path": "../outside"})
    return ScopeProposal(scope, tuple(parts), (outside,))


def _places(
    calls: Sequence[ObservedArguments], root: Parts | None
) -> tuple[list[int], dict[Parts, list[int]]]:
    """The calls that stay beneath the root, and the directories that the others need."""
    relative = dict[int, None]()  # in the order of the calls, each once
    needed: dict[Parts, list[int]] = {}
    for index, call in enumerate(calls):
        for name, checked_as in paths_of(call.function):
            path = call.shown.get(name, "." if checked_as in TREES else None)
            if name in call.hidden or not isinstance(path, str):
                continue
            parts = nearest_directory(checked_as, path)
            if parts is None or (root is not None and is_beneath(parts, root)):
                if parts is not None or not (path.startswith("/") or climbs(components(path))):
                    relative[index] = None
            else:
                needed.setdefault(parts, []).append(index)
    return list(relative), needed


def _largest(calls: Sequence[ObservedArguments], default: int) -> tuple[int, str]:
    """The bound on the size of files, and the reason for it. A log has no sizes of writes."""
    sizes = [
        None if call.function == "write" else call.bytes_out
        for call in calls
        if call.function in ("read", "write")
    ]
    known = [size for size in sizes if size is not None]
    if not known or len(known) != len(sizes):
        return default, "not all sizes were seen, so this is the bound as it was"
    bound = _MIN_BOUND
    while bound < 2 * max(known):
        bound *= 2
    return min(bound, default), f"results of up to {max(known)} bytes were seen; with a margin"
