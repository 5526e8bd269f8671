"""Labels of directories in the `files` scope: `"labels": {"./hr": ["private"]}`.

A directory labels everything in it, itself included; if several contain a place, all their labels
count. The scope judges the text of a path, before the call. The provider judges where the path
leads when it is used, with links followed, since a link can lead from one directory to another.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from caps.capabilities.provider import CallContext
from caps.providers.files.path_text import Parts, components

LabelledDirectories = Mapping[str, tuple[str, ...]]


def labels_at(labelled: LabelledDirectories, place: Parts) -> frozenset[str]:
    """The labels of every directory that contains `place`, by its components."""
    found: set[str] = set()
    for directory, labels in labelled.items():
        parts = components(directory)
        if place[: len(parts)] == parts:
            found.update(labels)
    return frozenset(found)


def without_effect(labelled: LabelledDirectories, allowlist: Iterable[str]) -> list[str]:
    """The directories that neither contain an allowed directory nor lie in one."""
    allowed = [components(entry) for entry in allowlist]
    found = []
    for directory in labelled:
        parts = components(directory)
        shared = [min(len(parts), len(other)) for other in allowed]
        if all(parts[:n] != other[:n] for n, other in zip(shared, allowed, strict=True)):
            found.append(directory)
    return found


def add_labels_of_place(context: CallContext, labelled: LabelledDirectories, path: str) -> None:
    """Label the answer by where `path` leads now; nothing of it need exist."""
    if labelled:
        _add_labels(context, labelled, os.path.realpath(path))


def add_labels_of_open(
    context: CallContext, labelled: LabelledDirectories, descriptor: int
) -> None:
    """Label the answer by where the opened file or directory is."""
    if labelled:
        _add_labels(context, labelled, str(Path(f"/proc/self/fd/{descriptor}").readlink()))


def _add_labels(context: CallContext, labelled: LabelledDirectories, location: str) -> None:
    # A labelled directory may be reached by another name as well, so both names count.
    by_location: dict[str, tuple[str, ...]] = {}
    for directory, labels in labelled.items():
        real = os.path.realpath(directory)
        by_location[real] = (*by_location.get(real, ()), *labels)
    place = components(location)
    context.add_labels(*labels_at(labelled, place), *labels_at(by_location, place))
