"""(4) What `type(x)` answers: the type itself, or a stand-in where the real one would be a power.

The real `type` makes classes of any kind, and the types of functions, frames and code make those.
User code may compare a stand-in, name it and test with `isinstance`; it can neither call nor
subclass it (but it may make a view of a mapping, which leads to what it put in).
"""

from __future__ import annotations

import types
from abc import ABCMeta
from typing import Any, NoReturn

_STANDS_FOR: dict[type, type] = {}


class OpaqueType(type):
    """The type of the stand-ins."""

    def __call__(cls, *_args: Any, **_keywords: Any) -> NoReturn:
        raise TypeError(f"a `{cls.__name__}` cannot be made this way")

    def __instancecheck__(cls, value: Any) -> bool:
        return type_of(value) is cls or isinstance(value, _STANDS_FOR[cls])

    def __subclasscheck__(cls, other: Any) -> bool:
        return isinstance(other, type) and issubclass(other, _STANDS_FOR[cls])

    def __setattr__(cls, name: str, value: Any) -> None:
        raise TypeError(f"`{cls.__name__}` cannot be changed")

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"


class _TypeOfTypes(OpaqueType):
    """`type`: with one argument the type of it; never a way to make classes."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if len(args) != 1 or keywords:
            raise TypeError("`type` takes one argument; write a class statement to make a class")
        return SHOWN_TYPES[type(args[0])]

    def __getitem__(cls, item: Any) -> Any:
        return types.GenericAlias(cls, item)


class _TypeOfViews(OpaqueType):
    """`types.MappingProxyType`: user code may make read-only views of its own mappings."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        return _STANDS_FOR[cls](*args, **keywords)


def _opaque(kind: type, meta: type[OpaqueType] = OpaqueType) -> type:
    made = meta(kind.__name__, (), {"__slots__": ()})
    _STANDS_FOR[made] = kind
    return made


safe_type = _opaque(type, _TypeOfTypes)
# A class statement may name it as its metaclass; there it stands for the real one.
safe_abc_meta = _opaque(ABCMeta)

_SHOWN_AS: dict[type, type] = {
    kind: _opaque(kind)
    for kind in (
        types.AsyncGeneratorType,
        types.BuiltinFunctionType,
        types.CellType,
        types.CodeType,
        types.CoroutineType,
        types.FrameType,
        types.FunctionType,
        types.GeneratorType,
        types.MethodType,
        types.ModuleType,
        types.TracebackType,
    )
} | {types.MappingProxyType: _opaque(types.MappingProxyType, _TypeOfViews)}


class _ShownTypes(dict[type, type]):
    """Each type that was asked for, and how it is shown: a look-up is cheaper than a call."""

    __slots__ = ()

    def __missing__(self, kind: type) -> type:
        shown = self[kind] = safe_type if issubclass(kind, type) else _SHOWN_AS.get(kind, kind)
        return shown


SHOWN_TYPES = _ShownTypes()


def type_of(value: Any) -> type:
    """`type(value)`, with a stand-in where the real thing would be a power."""
    return SHOWN_TYPES[type(value)]


def shown_type(kind: type) -> type:
    """`kind`, or its stand-in."""
    return SHOWN_TYPES[kind]


def show_as_module(kind: type) -> None:
    """From now on the type of a `kind` is shown as that of a module."""
    _SHOWN_AS[kind] = _SHOWN_AS[types.ModuleType]
    SHOWN_TYPES.pop(kind, None)
