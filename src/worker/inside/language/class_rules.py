"""(4) Rules for a class statement that need nothing but the class: what it may be made of.

Runs in the worker, after confinement. The rules that depend on whose a class is are in `guards`.
"""

from __future__ import annotations

import types
from abc import ABCMeta
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from caps.worker.inside.language.identifiers import CHECKED, SIGNALS, needs_guard, refusal
from caps.worker.inside.language.opaque_types import safe_abc_meta, safe_type

# Values that have no attributes to write to.
PLAIN_VALUES = frozenset(
    {bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple, type(None)}
    | {date, datetime, time, timedelta, Decimal}
)

# A class statement may name these; any other metaclass is a power over classes.
_METACLASSES: dict[Any, type] = {safe_abc_meta: ABCMeta, safe_type: type}


def chosen_metaclass(asked: Any) -> type:
    """What `metaclass=asked` stands for; a TypeError if it is a power."""
    try:
        return _METACLASSES[asked]
    except (KeyError, TypeError):
        raise TypeError("a class cannot choose its metaclass, but for `ABCMeta`") from None


def harmless_pattern(names: Any, *, virtual: bool = False) -> tuple[str, ...]:
    """`names` as `__match_args__`, or none at all: a pattern that reads by position has no guard.

    Anything but a tuple of plain strings could name other attributes the next time. What is
    `virtual` can have any object for an instance.
    """
    if type(names) is not tuple or any(type(name) is not str for name in names):
        return ()
    guarded = any(refusal(name) is not None or needs_guard(name) for name in names)
    return () if guarded or (virtual and not SIGNALS.isdisjoint(names)) else names


def check_slots(made: type) -> None:
    """A TypeError if a slot would answer for the interpreter."""
    for name, value in vars(made).items():
        if type(value) is types.MemberDescriptorType and refusal(name) is not None:
            raise TypeError(f"`{name}` cannot be a slot")


def check_fields(made: type, names: Iterable[str], foreign: frozenset[str]) -> None:
    """A TypeError if `made` cannot have fields of these names: reading them has no guard."""
    for name in names:
        if name in foreign or (name in CHECKED and issubclass(made, (str, AttributeError))):
            raise TypeError(f"`{name}` cannot be a field of `{made.__name__}`")
