"""(4) What `type(x)` returns: the real type, or an opaque type where the real one is dangerous.

The real `type` creates classes of any kind, and the types of functions, frames and code create
functions, frames and code. The type of the signals in a decimal context creates one that points to
no memory, and the types of `itertools` create iterators that user code can re-enter.

User code may compare an opaque type, print it and use it in `isinstance`. It can neither call nor
subclass it, with two exceptions: it may create a view of a mapping (`MappingProxyType`), which
shows only what the code put in, and bind a function of its own (`MethodType`).

What describes a generic type or an abstract class shows its types in the same way:

    alias.__args__, __parameters__, __metadata__
                            of `list[int]` and what `typing` makes: as `typing.get_args` does
    C.__orig_bases__, C.__parameters__, C.__abstractmethods__
                            of the user's own classes
"""

from __future__ import annotations

import collections.abc
import decimal
import inspect
import itertools
import types
import typing
from abc import ABCMeta
from collections.abc import Callable
from typing import Any, NoReturn

from caps.worker.inside.language.private_attributes import OWN_GUARD

_REAL_TYPES: dict[type, type] = {}


class OpaqueType(type):
    """The metaclass of the opaque types."""

    def __call__(cls, *_args: Any, **_keywords: Any) -> NoReturn:
        raise TypeError(f"a `{cls.__name__}` cannot be made this way")

    def __instancecheck__(cls, value: Any) -> bool:
        return type_of(value) is cls or isinstance(value, _REAL_TYPES[cls])

    def __subclasscheck__(cls, other: Any) -> bool:
        return issubclass(other, _REAL_TYPES[cls])

    def __setattr__(cls, name: str, value: Any) -> None:
        raise TypeError(f"`{cls.__name__}` cannot be changed")

    def __repr__(cls) -> str:
        return type.__repr__(_REAL_TYPES[cls])


class _TypeOfTypes(OpaqueType):
    """`type`: returns the type of its one argument, and never creates a class."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if len(args) != 1 or keywords:
            raise TypeError("`type` takes one argument; write a class statement to make a class")
        return SHOWN_TYPES[type(args[0])]

    def __getitem__(cls, item: Any) -> Any:
        return types.GenericAlias(cls, item)


class _TypeOfViews(OpaqueType):
    """`types.MappingProxyType`: user code may create read-only views of its own mappings."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        return _REAL_TYPES[cls](*args, **keywords)


class _TypeOfMethods(OpaqueType):
    """`types.MethodType`: user code may bind its own functions, as `function.__get__` does, and
    objects that call one, as a decorator that is a class does."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        called = args[0] if args else None
        if type(called) is not types.FunctionType:
            called = inspect.getattr_static(type(called), "__call__", None)
        variables = getattr(called, "__builtins__", ())
        if type(called) is not types.FunctionType or OWN_GUARD not in variables:
            raise TypeError("a `method` cannot be made of this; bind a function of your own")
        return types.MethodType(*args, **keywords)


def _make_opaque(kind: type, meta: type[OpaqueType] = OpaqueType) -> type:
    opaque = meta(kind.__name__, (), {"__slots__": ()})
    _REAL_TYPES[opaque] = kind
    return opaque


safe_type = _make_opaque(type, _TypeOfTypes)
# A class statement may name it as its metaclass; `class_rules` replaces it by the real one.
safe_abc_meta = _make_opaque(ABCMeta)

_OPAQUE_TYPES: dict[type, type] = {
    kind: _make_opaque(kind)
    for kind in (
        types.AsyncGeneratorType,
        types.BuiltinFunctionType,
        types.CellType,
        types.CodeType,
        types.CoroutineType,
        types.FrameType,
        types.FunctionType,
        types.GeneratorType,
        types.ModuleType,
        types.TracebackType,
        type(decimal.Context().flags),
        itertools.accumulate,
        itertools.chain,
        itertools.count,
        itertools.cycle,
        itertools.groupby,
        itertools.islice,
        itertools.pairwise,
        itertools.zip_longest,
    )
} | {
    types.MappingProxyType: _make_opaque(types.MappingProxyType, _TypeOfViews),
    types.MethodType: _make_opaque(types.MethodType, _TypeOfMethods),
}


def _register_with_abstract_classes() -> None:
    """Have `issubclass(type(x), Iterator)` answer for an opaque type as for the real one."""
    shown: dict[type, type] = {**_OPAQUE_TYPES, type: safe_type, ABCMeta: safe_abc_meta}
    abstract_classes: list[Any] = [
        one for one in vars(collections.abc).values() if type(one) is ABCMeta
    ]
    for abstract in abstract_classes:
        for kind, opaque in shown.items():
            if issubclass(kind, abstract):
                abstract.register(opaque)


_register_with_abstract_classes()


class _ShownTypes(dict[type, type]):
    """Cache of each type and the type shown for it: a look-up is cheaper than a call."""

    __slots__ = ()

    def __missing__(self, kind: type) -> type:
        shown = self[kind] = safe_type if issubclass(kind, type) else _OPAQUE_TYPES.get(kind, kind)
        return shown


SHOWN_TYPES = _ShownTypes()


def type_of(value: Any) -> type:
    """`type(value)`, or the opaque type where the real one is dangerous."""
    return SHOWN_TYPES[type(value)]


def shown_type(kind: type) -> type:
    """`kind`, or its opaque type."""
    return SHOWN_TYPES[kind]


def show_as_module(kind: type) -> None:
    """From now on show the type of instances of `kind` as the type of modules."""
    _OPAQUE_TYPES[kind] = _OPAQUE_TYPES[types.ModuleType]
    SHOWN_TYPES.pop(kind, None)


# -- what describes generic types and abstract classes ------------------------------------------

_typing: Any = typing
# No class of the user's own is one of these: exact types, or what only `typing` makes.
_PLAIN_ALIASES = (
    types.GenericAlias,
    types.UnionType,
    type(collections.abc.Callable[[], None]),
)


def _is_alias(value: Any) -> bool:
    kind = type(value)
    made_by_typing = kind.__module__ == "typing" and issubclass(kind, _typing._BaseGenericAlias)
    return kind in _PLAIN_ALIASES or made_by_typing


def _shown(value: Any) -> Any:
    return shown_type(value) if isinstance(value, type) else value


def read_alias(value: Any, name: str) -> Any:
    """`__args__`, `__metadata__` or `__parameters__` of an alias."""
    if not _is_alias(value):
        raise AttributeError(f"a `{type(value).__name__}` has no `{name}`")
    found = getattr(value, name)
    return tuple(map(_shown, found))


def read_parameters(value: Any, is_own: Callable[[Any], bool]) -> Any:
    """`__parameters__` of an alias or of a generic class of the user's own."""
    name = "__parameters__"
    return _read_tuple(value, name) if is_own(value) else read_alias(value, name)


def read_bases(value: Any, is_own: Callable[[Any], bool]) -> Any:
    """`__orig_bases__` of a class of the user's own: the bases as the class statement has them."""
    if not is_own(value):
        raise AttributeError("`__orig_bases__` is shown of your own classes only")
    return _read_tuple(value, "__orig_bases__")


def _read_tuple(cls: Any, name: str) -> tuple[Any, ...]:
    owners = [kind for kind in cls.__mro__ if name in vars(kind)]
    found = vars(owners[0])[name] if owners else None
    if type(found) is not tuple:
        raise AttributeError(f"type object '{cls.__name__}' has no attribute '{name}'")
    return tuple(map(_shown, found))


def read_abstract_methods(value: Any, is_own: Callable[[Any], bool]) -> frozenset[str]:
    """`__abstractmethods__` of a class of the user's own: the names of the methods to define."""
    if not is_own(value):
        raise AttributeError("`__abstractmethods__` is shown of your own classes only")
    found = value.__abstractmethods__
    return frozenset(name for name in found if type(name) is str)
