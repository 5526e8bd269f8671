"""(4) Rules for class statements that depend on the class alone: metaclass, slots, fields.

Runs in the worker, after confinement. Rules that depend on who defined a class are in `guards`.
"""

from __future__ import annotations

import sys
import types
from abc import ABCMeta
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any

from caps.worker.inside.language.identifiers import CHECKED, SIGNALS, needs_guard, refusal
from caps.worker.inside.language.opaque_types import safe_abc_meta, safe_type

# Types whose instances have no writable attributes.
PLAIN_VALUES = frozenset(
    {bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple, type(None)}
    | {date, datetime, time, timedelta, Decimal}
)

# Slots without a descriptor that user code could call.
_UNNAMED_SLOTS = frozenset({"__dict__", "__weakref__"})

# The metaclasses that a class statement may name. Any other one would control how classes are made.
_METACLASSES: dict[Any, type] = {safe_abc_meta: ABCMeta, safe_type: type}


def resolve_metaclass(requested: Any) -> type:
    """The real metaclass for `metaclass=requested`. Raises TypeError if it is not allowed."""
    try:
        return _METACLASSES[requested]
    except (KeyError, TypeError):
        raise TypeError("a class cannot choose its metaclass, but for `ABCMeta`") from None


def safe_match_args(names: Any, *, contexts: bool = False) -> tuple[str, ...]:
    """`names` if they are safe as `__match_args__`, else `()`: positional patterns have no guard.

    Anything but a tuple of plain strings could name other attributes when it is read again. With
    `contexts`, an instance of the class may be a decimal context.
    """
    if type(names) is not tuple or any(type(name) is not str for name in names):
        return ()
    guarded = any(refusal(name) is not None or needs_guard(name) for name in names)
    return () if guarded or (contexts and not SIGNALS.isdisjoint(names)) else names


def freeze_class_data() -> None:
    """Replace the data in the class body that calls this by plain, immutable values.

    A class statement that assigns one of `FROZEN_IN_CLASS` ends with this call. The interpreter and
    `copyreg` read these values again later, when a list or a string with methods of its own could
    give another answer. And libraries run user code before the new class is registered.
    """
    namespace: Any = sys._getframe(1).f_locals
    if "__slots__" in namespace:
        dict.__setitem__(namespace, "__slots__", _plain_slots(namespace["__slots__"]))
    if "__match_args__" in namespace:
        names = safe_match_args(namespace["__match_args__"])
        dict.__setitem__(namespace, "__match_args__", names)
    if "__doc__" in namespace:
        dict.__setitem__(namespace, "__doc__", _plain_doc(namespace["__doc__"]))


def _plain_slots(slots: Any) -> tuple[str, ...]:
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"__slots__ items must be strings, not '{type(name).__name__}'")
    plain = tuple(str.__str__(name) for name in names)
    for name in plain:
        if refusal(name) is not None and name not in _UNNAMED_SLOTS:
            raise TypeError(f"`{name}` cannot be a slot")
    return plain


def _plain_doc(text: Any) -> Any:
    if text is None or type(text) is property:
        return text
    if not isinstance(text, str):
        raise TypeError("`__doc__` must be a string")
    return str.__str__(text)


def check_slots(cls: type) -> None:
    """Raise TypeError if a slot has a name that the interpreter looks up."""
    for name, value in vars(cls).items():
        if type(value) is types.MemberDescriptorType and refusal(name) is not None:
            raise TypeError(f"`{name}` cannot be a slot")


def check_fields(cls: type, names: Iterable[str], foreign: frozenset[str]) -> None:
    """Raise TypeError if `cls` cannot have fields of these names: they are read without a guard.

    `foreign` are the private names that `cls` inherits from library classes.
    """
    for name in names:
        is_checked = name in CHECKED and issubclass(cls, (str, AttributeError))
        if name in foreign or is_checked or (name in SIGNALS and issubclass(cls, Context)):
            raise TypeError(f"`{name}` cannot be a field of `{cls.__name__}`")
