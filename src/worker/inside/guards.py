"""(4) What the static rules cannot settle, checked at run time, after confinement.

The invariant: no function here ever returns a frame, a code object, a function's globals, a module,
or the real `type`. User code cannot spell the guards' names and so can neither call nor replace
them; `getattr` and its kin apply the same rules to names that exist only at run time.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # what string.Formatter itself stands on
import builtins
import string
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from caps.worker.inside.names import READABLE, is_private, refusal

_ABSENT = object()


class OwnClasses:
    """The classes that user code made. Only class statements reach `build_class`."""

    def __init__(self) -> None:
        self._made: set[type] = set()

    def build_class(self, body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
        """`class` statements end here."""
        if "metaclass" in keywords:
            raise TypeError("a class cannot choose its metaclass")
        made = builtins.__build_class__(body, name, *bases, **keywords)
        self.adopt(made)
        return made

    def adopt(self, made: Any) -> Any:
        """Count a class as the user's own (also one that a decorator or factory made anew)."""
        if isinstance(made, type):
            self._made.add(made)
        return made

    def own(self, value: Any) -> Any:
        """`value` itself if it may have private attributes: it is the user's, or a function."""
        kind = type(value)
        if kind in self._made or kind is types.FunctionType or kind is super:
            return value
        if isinstance(value, type) and value in self._made:
            return value
        raise AttributeError(f"`{kind.__name__}` has no private attributes")


class _OpaqueType(type):
    """A type that user code may compare, name and test with `isinstance`, and never call."""

    _stands_for: type

    def __call__(cls, *_args: Any, **_keywords: Any) -> NoReturn:
        raise TypeError(f"a `{cls.__name__}` cannot be made this way")

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls._stands_for)

    def __subclasscheck__(cls, other: Any) -> bool:
        return isinstance(other, type) and issubclass(other, cls._stands_for)

    def __setattr__(cls, name: str, value: Any) -> None:
        raise TypeError(f"`{cls.__name__}` cannot be changed")

    def __repr__(cls) -> str:
        return f"<class '{cls.__name__}'>"


class _TypeOfTypes(_OpaqueType):
    """`type`: with one argument the type of it; never a way to make classes."""

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        if len(args) != 1 or keywords:
            raise TypeError("`type` takes one argument; write a class statement to make a class")
        return type_of(args[0])

    def __getitem__(cls, item: Any) -> Any:
        return types.GenericAlias(cls, item)


def _opaque(kind: type, meta: type[_OpaqueType] = _OpaqueType) -> type:
    return meta(kind.__name__, (), {"_stands_for": kind, "__slots__": ()})


safe_type = _opaque(type, _TypeOfTypes)

_OPAQUE: dict[type, type] = {
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
        types.MappingProxyType,
        types.MethodType,
        types.ModuleType,
        types.TracebackType,
    )
}


def type_of(value: Any) -> type:
    """`type(value)`, with a stand-in where the real thing would be a power."""
    kind = type(value)
    if issubclass(kind, type):
        return safe_type
    return _OPAQUE.get(kind, kind)


def _checked_name(name: Any) -> str:
    # A subclass of str could answer one thing here and another to the real getattr.
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


class AttributeGuards:
    """`getattr` and its kin under the static rules."""

    def __init__(self, own: OwnClasses) -> None:
        self._own = own

    def getattr(self, value: Any, name: str, default: Any = _ABSENT) -> Any:
        try:
            return self._read(value, _checked_name(name))
        except AttributeError:
            if default is _ABSENT:
                raise
            return default

    def hasattr(self, value: Any, name: str) -> bool:
        try:
            self._read(value, _checked_name(name))
        except AttributeError:
            return False
        return True

    def setattr(self, value: Any, name: str, new: Any) -> None:
        self._writable(value, _checked_name(name))
        setattr(value, name, new)

    def delattr(self, value: Any, name: str) -> None:
        self._writable(value, _checked_name(name))
        delattr(value, name)

    def dir(self, value: Any) -> list[str]:
        return [name for name in builtins.dir(value) if not name.startswith("_")]

    def vars(self, value: Any) -> dict[str, Any]:
        """A copy of what the user's own object holds."""
        self._own.own(value)
        held = getattr(value, "__dict__", {})
        return {name: item for name, item in held.items() if refusal(name) is None}

    def _read(self, value: Any, name: str) -> Any:
        if name == "__class__":
            return type_of(value)
        if name not in READABLE:
            self._refuse(name)
        if is_private(name):
            self._own.own(value)
        if name in ("format", "format_map"):
            value = text(value)
        return getattr(value, name)

    def _writable(self, value: Any, name: str) -> None:
        self._refuse(name)
        if is_private(name):
            self._own.own(value)

    def _refuse(self, name: str) -> None:
        message = refusal(name)
        if message is not None:
            raise AttributeError(message)


class SafeFormatter(string.Formatter):
    """`str.format` whose fields are arguments and items, never attributes."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first, rest = _split_field(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            if is_attribute:
                raise ValueError(
                    f"`{field_name}`: a format cannot read attributes; use an f-string"
                )
            value = value[key]
        return value, first


def _split_field(field_name: str) -> tuple[Any, Any]:
    first, rest = _string.formatter_field_name_split(field_name)
    return first, rest


class BoundText:
    """What `"…".format` belongs to in user space."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def format(self, *args: Any, **kwargs: Any) -> str:
        return SafeFormatter().vformat(self._text, args, kwargs)

    def format_map(self, mapping: Mapping[str, Any]) -> str:
        return SafeFormatter().vformat(self._text, (), mapping)


class UnboundText:
    """What `str.format` belongs to."""

    __slots__ = ()

    @staticmethod
    def format(template: str, /, *args: Any, **kwargs: Any) -> str:
        return BoundText(str(template)).format(*args, **kwargs)

    @staticmethod
    def format_map(template: str, /, mapping: Mapping[str, Any]) -> str:
        return BoundText(str(template)).format_map(mapping)


def text(value: Any) -> Any:
    """`value`, unless it is text or a text type, whose `format` walks attributes."""
    if isinstance(value, str):
        return BoundText(str.__str__(value))
    if isinstance(value, type) and issubclass(value, str):
        return UnboundText()
    if isinstance(value, super):
        raise AttributeError(  # noqa: TRY004 - what a missing attribute raises
            "`format` cannot be reached through `super()`"
        )
    return value


def make_print(write: Callable[[str], None]) -> Callable[..., None]:
    """`print` into the captured output."""

    def print(  # noqa: A001 - the name that user space sees
        *values: Any,
        sep: Any = " ",
        end: Any = "\n",
        file: None = None,
        flush: bool = False,  # noqa: ARG001 - output is flushed as it ages
    ) -> None:
        if file is not None:
            raise TypeError("print writes to the captured output only; leave `file` out")
        between = " " if sep is None else sep
        after = "\n" if end is None else end
        if not isinstance(between, str) or not isinstance(after, str):
            raise TypeError("`sep` and `end` must be strings")
        write(between.join([str(value) for value in values]) + after)

    return print
