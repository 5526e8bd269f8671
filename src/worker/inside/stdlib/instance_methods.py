"""(4) Methods that would accept any object as `self`: here only an instance.

User code can call the method of a class with any object. Most methods then fail, or do what user
code could do itself. Three kinds do more:

- a method that calls `self.__class__`: of a class, this is the real `type`
- a method that sets a special attribute of `self`, for example `__module__`: a library's class
  would then count as the user's own
- a method of ours that stores a hidden object in `self`, or passes it to one that `self` holds

The first two are restricted in the library's own classes, since `super(…)` would reach an original
method. The third are in the classes that `instances_only` decorates.

And user code can replace the methods of a class that it gets. So classes that only the library uses
keep the methods that they inherit from such a class (`pin_inherited`). With another method, user
code would get their instances: the cache of `singledispatch` holds the real `type`.

Runs in the zygote, before any fork.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import fractions
import ipaddress
import os
import random
import types
import typing
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")

_contextlib: Any = contextlib
_ipaddress: Any = ipaddress
_typing: Any = typing

_FLAG_OPERATIONS = "__and__ __invert__ __or__ __rand__ __ror__ __rxor__ __xor__"

# A test searches the sources of the library for such methods. Some exist in some versions only.
_METHODS: tuple[tuple[Any, str], ...] = (
    (collections.ChainMap, "__copy__ __ror__ copy new_child parents"),
    (collections.Counter, "copy"),
    (collections.UserDict, "__or__ __ror__"),
    (collections.UserList, "__add__ __getitem__ __mul__ __radd__ __rmul__ copy"),
    (_contextlib._GeneratorContextManagerBase, "__init__"),
    (enum.Flag, _FLAG_OPERATIONS),
    (fractions.Fraction, "__copy__"),
    (_ipaddress._BaseAddress, "__add__ __sub__"),
    (_ipaddress._BaseNetwork, "address_exclude subnets supernet"),
    (types.DynamicClassAttribute, "__init__"),
    (typing.ForwardRef, "__init__"),
    (typing.NewType, "__init__"),
    (typing.ParamSpec, "__init__"),
    (typing.ParamSpecArgs, "__init__"),
    (typing.ParamSpecKwargs, "__init__"),
    (typing.TypeVar, "__init__"),
    (typing.TypeVarTuple, "__init__"),
    (_typing._AnnotatedAlias, "__init__"),
    (_typing._BaseGenericAlias, "__init__"),
    (_typing._GenericAlias, "__init__ copy_with"),
    (_typing._SpecialForm, "__init__"),
    (_typing._SpecialGenericAlias, "__init__"),
)


# Their instances stay in the library, and their bases are in `collections.abc` and `random`.
_INTERNAL_CLASSES: tuple[type, ...] = (
    random.SystemRandom,
    type(os.environ),
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
)


class InstanceMethod:
    """A method that binds to an instance as usual; of the class, it is a function that checks.

    Not a plain function that checks: some of the methods look at the frame that calls them.
    """

    __slots__ = ("_checked", "_function")

    def __init__(self, owner: type, function: Callable[..., Any]) -> None:
        self._checked = check_self(owner, function)
        self._function = function

    def __get__(self, instance: Any, _owner: type | None = None) -> Any:
        if instance is None:
            return self._checked
        return types.MethodType(self._function, instance)


def check_self(owner: type, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which must be called with an instance of `owner`."""

    def checked(self: Any, /, *args: Any, **options: Any) -> Any:
        # Not `isinstance`: any class can be registered with an abstract one.
        if owner not in type(self).__mro__:
            raise TypeError(f"a `{owner.__name__}` was due, not a `{type(self).__name__}`")
        return function(self, *args, **options)

    checked.__name__, checked.__qualname__ = function.__name__, function.__qualname__
    checked.__doc__ = function.__doc__
    return checked


def instances_only(cls: type[_T]) -> type[_T]:
    """Restrict every method of `cls`: a decorator for a class that wraps a hidden object."""
    for name, original in list(vars(cls).items()):
        restricted = _restricted(cls, original)
        if restricted is not None:
            type.__setattr__(cls, name, restricted)  # the class may be sealed
    return cls


def restrict_methods() -> None:
    """Restrict the methods above in the library itself."""
    for owner, names in _METHODS:
        for name in names.split():
            original = vars(owner).get(name)
            restricted = _restricted(owner, original)
            if restricted is not None:
                for holder in _holders(owner, name, original):
                    setattr(holder, name, restricted)


def pin_inherited() -> None:
    """Copy the public methods that internal classes inherit from classes that code can change."""
    for kind in _INTERNAL_CLASSES:
        for base in kind.__mro__[1:]:
            for name, value in vars(base).items():
                if not name.startswith("_") and name not in vars(kind):
                    setattr(kind, name, value)


def _all_below(owner: type) -> Iterator[type]:
    below: list[type] = type.__subclasses__(owner)
    for kind in below:
        yield kind
        yield from _all_below(kind)


def _restricted(owner: type, original: Any) -> Any:
    """The restricted form of a method or property; None if it is neither."""
    if isinstance(original, property) and original.fget is not None:
        return property(check_self(owner, original.fget))
    return InstanceMethod(owner, original) if type(original) is types.FunctionType else None


def _holders(owner: type, name: str, function: Any) -> Iterator[type]:
    """`owner`, and the classes below it that hold the same function: enums copy some of theirs."""
    for kind in (owner, *_all_below(owner)):
        if vars(kind).get(name) is function:
            yield kind
