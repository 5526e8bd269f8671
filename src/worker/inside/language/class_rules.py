"""(4) Rules for class statements that depend on the class alone: metaclass, slots, fields.

Runs in the worker, after confinement. Rules that depend on who defined a class are in `guards`.
"""

from __future__ import annotations

import sys
import types
import unicodedata
from abc import ABCMeta
from collections.abc import Container, Iterable, Iterator
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

# Their methods call the class for a new value, and use it as theirs without a check.
_CALLING_TYPES = (date, datetime, time, timedelta)

# These fail if they are used before `__init__`, which a subclass need not call.
_UNSAFE_BASES = (staticmethod, classmethod)

# Slots without a descriptor that user code could call.
_UNNAMED_SLOTS = frozenset({"__dict__", "__weakref__"})

# The metaclasses that a class statement may name. Any other one would control how classes are made.
_METACLASSES: dict[Any, type] = {safe_abc_meta: ABCMeta, safe_type: type}


def resolve_metaclass(requested: Any) -> type:
    """The real metaclass for `metaclass=requested`. Raises TypeError if it is not allowed."""
    try:
        return _METACLASSES[requested]
    except (KeyError, TypeError):
        raise TypeError(
            "a class cannot choose its metaclass, but for `ABCMeta`; define `__init_subclass__` "
            "or `__new__` in a base class"
        ) from None


def checked_name(name: Any) -> str:
    """`name` if a class statement may have it. Raises ValueError: libraries compile the name."""
    if (
        type(name) is str
        and name.isidentifier()
        and refusal(name) is None
        # The compiler may make another name of it.
        and unicodedata.normalize("NFKC", name) == name
    ):
        return name
    raise ValueError(f"{name!r:.80} cannot be the name of a field or member")


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


def check_base_class(base: type) -> None:
    """Raise TypeError if a class that derives from `base` could corrupt memory."""
    if issubclass(base, _UNSAFE_BASES):
        raise TypeError(f"`{base.__name__}` cannot be a base class here")


def is_as_expected(kind: type, cls: type) -> bool:
    """Whether the library can use an instance of `kind` where it called `cls` for a new one."""
    return all(issubclass(kind, base) for base in _CALLING_TYPES if issubclass(cls, base))


def check_init(cls: type) -> None:
    """Raise TypeError if `cls` is a property that could be initialized again.

    A property does not keep its function alive while it calls it.
    """
    if issubclass(cls, property) and cls.__init__ is not property.__init__:
        raise TypeError(f"`{cls.__name__}` is a property: it cannot define `__init__`")


def check_length(name: str, bases: Iterable[type], namespace: Container[str] = ()) -> None:
    """Raise TypeError if a class of these bases would be a string with a length of its own.

    Methods such as `bytearray.hex` ask their argument for its length, and do not expect that this
    changes the bytes that they work on.
    """
    sized = {kind for base in bases for kind in base.__mro__ if "__len__" in vars(kind)}
    for kind in (str, bytes):
        if kind in sized and (sized != {kind} or "__len__" in namespace):
            raise TypeError(f"`{name}` cannot change the length of a `{kind.__name__}`")


def check_operation(cls: type, name: str) -> None:
    """Raise TypeError if a class derives from `cls` in which this method could corrupt memory.

    The reasons are those of `check_init` and `check_length`.
    """
    kinds: dict[str, tuple[type, ...]] = {"__init__": (property,), "__len__": (str, bytes)}
    waiting = [cls] if name in kinds else []
    while waiting:
        kind = waiting.pop()
        if issubclass(kind, kinds[name]):
            raise TypeError(f"`{name}` of `{kind.__name__}` cannot be changed")
        waiting.extend(type.__subclasses__(kind))


def add_iterator(cls: type) -> None:
    """Give `cls` an iterator in Python if it has items but no `__iter__`.

    The interpreter's own iterator frees the object twice if `__getitem__` re-enters it.
    """
    if vars(cls).get("_is_protocol", False):
        return  # its methods are what other classes must have
    names = {name for kind in cls.__mro__ for name in vars(kind)}
    if "__getitem__" not in names:
        return
    iterators = [vars(kind)["__iter__"] for kind in cls.__mro__ if "__iter__" in vars(kind)]
    if not iterators:
        type.__setattr__(cls, "__iter__", _items)
    elif iterators[0] is _items:
        # A base has only items: the iterator of another base comes first, as it does in Python.
        given = next((one for one in iterators if one is not _items), _items)
        type.__setattr__(cls, "__iter__", given)


def _items(sequence: Any) -> Iterator[Any]:
    """What the interpreter does for an object without `__iter__`."""
    position = 0
    while True:
        try:
            item = sequence[position]
        except (IndexError, StopIteration):
            return
        yield item
        position += 1


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
