"""(4) The private names of everything that is loaded. Any other private name needs no guard.

A private attribute of a library's object may give access to anything, so compiled code checks who
owns an object before it uses one (`private_attributes`). But a private name that no loaded library
uses is harmless on any object: reading it gives the user's own attribute or an AttributeError, and
no library reads what is written to it (public names may be written anyway). Such a name is *unused*
and needs no guard.

The zygote records the names when everything is loaded, before it forks; nothing can be imported
after that. The record has every name that could become an attribute: the keys of classes, modules
and other dicts, and every word with a leading underscore in a name or a string of code, so that
`setattr` and templates are covered, too. It lacks names that a library builds while it runs. The
standard library behind the facades builds none for its private use. Real modules that a policy
grants may do anything, so next to them, and wherever nothing was recorded, all private names are
guarded.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

_PRIVATE_WORD = re.compile(r"(?<!\w)_\w*")
_CONTAINER_TYPES = frozenset((dict, tuple, list, set, frozenset))

# None until `record_loaded_names` has run.
_loaded_names: frozenset[str] | None = None


def record_loaded_names() -> None:
    """Record what is loaded. Runs in the zygote, when nothing more will be loaded."""
    global _loaded_names  # noqa: PLW0603 - one process, one set of loaded modules
    _loaded_names = private_names()


def private_names() -> frozenset[str]:
    """Every private name that a loaded object has, or that loaded code could give it."""
    return frozenset(_private_words(_collect_strings()))


def loaded_names() -> frozenset[str] | None:
    """The recorded names; None if nothing was recorded."""
    return _loaded_names


def is_unused_name(name: str) -> bool:
    """Whether only the user's own code can have an attribute of this name."""
    return _loaded_names is not None and name not in _loaded_names


def _private_words(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        if "_" not in text:
            continue
        if not text.isidentifier():
            yield from _PRIVATE_WORD.findall(text)
        elif text.startswith("_"):
            yield text


def _collect_strings() -> set[str]:
    """Every string that is, or may become, the name of an attribute."""
    codes: list[CodeType] = []
    loaded = gc.get_objects()
    texts: set[str] = set()  # created after `loaded`, which must not contain it
    for item in loaded:
        kind = type(item)
        if kind in _CONTAINER_TYPES:
            for text in item:
                if type(text) is str:
                    texts.add(text)
        elif kind is FunctionType:
            codes.append(item.__code__)
    for owner in _all_classes():
        texts.update(vars(owner))
    _add_code_strings(codes, texts)
    return texts


def _all_classes() -> Iterator[type]:
    """All classes, also the static ones of the interpreter, which the collector does not track."""
    seen: set[int] = set()  # by identity: a metaclass may compare and hash in its own way
    pending: list[type] = [object]
    while pending:
        owner = pending.pop()
        if id(owner) not in seen:
            seen.add(id(owner))
            yield owner
            pending += type.__subclasses__(owner)


def _add_code_strings(codes: list[CodeType], texts: set[str]) -> None:
    """Add the names and strings in `codes`, and in the code and containers nested in them."""
    pending: list[Any] = list(codes)
    seen: set[int] = set()
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is CodeType:
            if id(item) not in seen:
                seen.add(id(item))
                texts.update(item.co_names)
                pending += item.co_consts
        elif kind is str:
            texts.add(item)
        elif kind in _CONTAINER_TYPES:
            pending += item
