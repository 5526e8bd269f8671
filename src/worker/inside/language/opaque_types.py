"""(4) What `type(x)` returns: the real type, or an opaque type where the real one is dangerous.

The real `type` creates classes of any kind, and the types of functions, frames and code create
functions, frames and code. The type of the signals in a decimal context creates one that points to
no memory, and the types of `itertools` create iterators that user code can re-enter.

User code may compare an opaque type, print it and use it in `isinstance`. It can neither call nor
subclass it, with two exceptions: it may create a view of a mapping (`MappingProxyType`), which
shows only what the code put in, and bind a function of its own (`MethodType`).
"""

from __future__ import annotations

import collections.abc
import decimal
import itertools
import types
from abc import ABCMeta
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
        return f"<class '{cls.__name__}'>"


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
    """`types.MethodType`: user code may bind its own functions, as `function.__get__` does."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        function = args[0] if args else None
        variables = getattr(function, "__builtins__", ())
        if type(function) is not types.FunctionType or OWN_GUARD not in variables:
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
