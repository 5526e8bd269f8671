"""(4) The private names of everything that is loaded: what is none of them needs no guard.

A private attribute of a library's object may lead anywhere, so compiled code asks whose an object
is before it touches one (`privacy`). But a name that nothing here has or spells leads nowhere, on
whatever object: to read it gives the user's own attribute or an AttributeError, and what is written
under it nobody reads (public names may be written anyhow). Such a name is *nobody's*, and code that
spells it runs without a check.

The zygote learns the names once everything is loaded, before it forks; nothing can be imported
after that. They are all that could become an attribute: what classes, modules and other dicts hold,
and every word with a leading underscore in a name or text of code, so that `setattr` and templates
are covered, too. What remains are names that a library puts together while it runs. The standard
library behind the facades makes none that it keeps to itself; real modules that a policy grants may
do anything, so beside them, as wherever nothing was learnt, all private names are guarded.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

_PRIVATE_WORD = re.compile(r"(?<!\w)_\w*")
_HOLDERS = frozenset((dict, tuple, list, set, frozenset))

# None while it is not known what is loaded.
_held: frozenset[str] | None = None


def learn() -> None:
    """Note what is loaded. Runs in the zygote, when no more is going to be."""
    global _held  # noqa: PLW0603 - there is one process, and what it has loaded
    _held = private_names()


def private_names() -> frozenset[str]:
    """Every private name that anything loaded has, or that code could give it."""
    return frozenset(_words(_texts()))


def learnt() -> frozenset[str] | None:
    """What was learnt; None while nothing was."""
    return _held


def is_nobodys(name: str) -> bool:
    """Whether nothing but the user's own code has an attribute of this name."""
    return _held is not None and name not in _held


def _words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        if "_" not in text:
            continue
        if not text.isidentifier():
            yield from _PRIVATE_WORD.findall(text)
        elif text.startswith("_"):
            yield text


def _texts() -> set[str]:
    """Every text that is, or may become, the name of an attribute."""
    codes: list[CodeType] = []
    loaded = gc.get_objects()
    texts: set[str] = set()  # made after the line above: it must not be among what is gone over
    for item in loaded:
        kind = type(item)
        if kind in _HOLDERS:
            for text in item:
                if type(text) is str:
                    texts.add(text)
        elif kind is FunctionType:
            codes.append(item.__code__)
    for owner in _classes():
        texts.update(vars(owner))
    _add_spelt(codes, texts)
    return texts


def _classes() -> Iterator[type]:
    """All classes, the interpreter's own among them, which the collector does not know."""
    seen: set[type] = set()
    left: list[type] = [object]
    while left:
        owner = left.pop()
        if owner not in seen:
            seen.add(owner)
            yield owner
            left += type.__subclasses__(owner)


def _add_spelt(codes: list[CodeType], texts: set[str]) -> None:
    """Add the names and texts in code, and in what it holds."""
    left: list[Any] = list(codes)
    seen: set[int] = set()
    while left:
        item = left.pop()
        kind = type(item)
        if kind is CodeType:
            if id(item) not in seen:
                seen.add(id(item))
                texts.update(item.co_names)
                left += item.co_consts
        elif kind is str:
            texts.add(item)
        elif kind in _HOLDERS:
            left += item
