"""(4) What the static rules cannot settle, checked at run time, after confinement.

The invariant: no function here ever returns a frame, a code object, a function's globals, a module,
or the real `type`. User code cannot spell the guards' names and so can neither call nor replace
them; `getattr` and its kin apply the same rules to names that exist only at run time.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # what string.Formatter itself stands on
import builtins
import inspect
import string
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from caps.worker.inside.names import (
    CHECKED,
    NAMEDTUPLE_NAMES,
    OFFERED,
    READABLE,
    is_private,
    needs_guard,
    refusal,
)
from caps.worker.inside.opaque import OpaqueType, shown_type, type_of

_ABSENT = object()
_NONE: frozenset[str] = frozenset()
_UNSEEN = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)


class OwnClasses:
    """The classes that user code made. Only class statements reach `build_class`.

    A private attribute belongs to the user if the object does, and if no class of a library in its
    ancestry has one of that name: `_convert_` of an enum makes members of a real module's globals.
    """

    def __init__(self) -> None:
        # For each class the private names that it inherits from a library's.
        self._made: dict[type, frozenset[str]] = {}

    def build_class(self, body: Any, name: str, *bases: Any, **keywords: Any) -> Any:
        """`class` statements end here."""
        if "metaclass" in keywords:
            raise TypeError("a class cannot choose its metaclass")
        for base in types.resolve_bases(bases):
            _check_base(base)
        return self.adopt(builtins.__build_class__(body, name, *bases, **keywords))

    def adopt(self, made: Any) -> Any:
        """Count a class as the user's own (also one that a decorator or factory made anew)."""
        if isinstance(made, type):
            foreign = self._foreign_names(made)
            _check_slots(made)
            _check_fields(made, getattr(made, "__dataclass_fields__", ()), foreign)
            if any(needs_guard(name) for name in getattr(made, "__match_args__", ())):
                type.__setattr__(made, "__match_args__", ())  # patterns have no guard
            self._made[made] = foreign
        return made

    def made(self, value: Any) -> bool:
        """Whether `value` is one of these classes."""
        return isinstance(value, type) and value in self._made

    def check_fields(self, made: type, names: Iterable[str]) -> None:
        """A TypeError if `made` cannot have fields of these names: reading them has no guard."""
        _check_fields(made, names, self._made[made])

    def own(self, value: Any, name: str) -> Any:
        """`value` itself if its private attribute `name` is the user's; else AttributeError."""
        foreign = self._made.get(type(value))
        if foreign is None:
            foreign = self._foreign_to(value, name)
        if name in foreign:
            raise AttributeError(f"`{name}` belongs to the library, not to this object")
        return value

    def _foreign_to(self, value: Any, name: str) -> frozenset[str]:
        """The same for what is no instance of an own class: a class, a function, `super()`."""
        kind = type(value)
        owner: Any = value if isinstance(value, type) else None
        if kind is super:
            owner = super.__self_class__.__get__(value)  # type: ignore[attr-defined]
        foreign = self._made.get(owner) if owner is not None else None
        if foreign is not None:
            return foreign
        named = issubclass(owner if isinstance(value, type) else kind, tuple)
        if kind is types.FunctionType or (named and name in NAMEDTUPLE_NAMES):
            return _NONE
        raise AttributeError(f"`{kind.__name__}` has no private attributes")

    def _foreign_names(self, made: type) -> frozenset[str]:
        ancestry = [*made.__mro__[1:], *inspect.getmro(type(made))]
        held = {name for kind in ancestry if kind not in self._made for name in vars(kind)}
        return frozenset(name for name in held if is_private(name)) - OFFERED


def _check_base(base: Any) -> None:
    # An instance as a base would make its own class the metaclass.
    if not issubclass(type(base), type):
        raise TypeError(f"a base must be a class, not a `{type(base).__name__}`")
    # `typing.Type` as a base stands for the real `type`: its subclass would make any class.
    if issubclass(base, type):
        raise TypeError("a class that makes classes cannot be a base class here")
    forwards = issubclass(base, (super, types.GenericAlias)) or any(
        "__getattr__" in vars(kind) and not kind.__module__.startswith("caps.")
        for kind in base.__mro__
    )
    # What passes attributes on to another object would make that one's private names the user's;
    # and what our own objects keep to themselves is no less than the channel.
    ours = base.__module__.startswith("caps.") and not issubclass(base, (BaseException, Enum))
    if forwards or ours or isinstance(base, OpaqueType):
        raise TypeError(f"`{base.__name__}` cannot be a base class here")


def _check_slots(made: type) -> None:
    for name, value in vars(made).items():
        if type(value) is types.MemberDescriptorType and refusal(name) is not None:
            raise TypeError(f"`{name}` cannot be a slot")


def _check_fields(made: type, names: Iterable[str], foreign: frozenset[str]) -> None:
    for name in names:
        if name in foreign or (name in CHECKED and issubclass(made, (str, AttributeError))):
            raise TypeError(f"`{name}` cannot be a field of `{made.__name__}`")


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
        self._own.own(value, "")
        held = getattr(value, "__dict__", {})
        return {name: item for name, item in held.items() if self._shown(value, name)}

    def _read(self, value: Any, name: str) -> Any:
        if name == "__class__":
            return type_of(value)
        if name not in READABLE:
            self._refuse(name)
        if name in CHECKED:
            return checked_attribute(value, name)
        if is_private(name):
            self._own.own(value, name)
        return getattr(value, name)

    def _shown(self, value: Any, name: str) -> bool:
        try:
            self._writable(value, name)
        except AttributeError:
            return False
        return True

    def _writable(self, value: Any, name: str) -> None:
        self._refuse(name)
        if is_private(name):
            self._own.own(value, name)

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


def checked_attribute(value: Any, name: str) -> Any:
    """`value.format` or `value.obj`. What was found decides: aliases pass attributes on."""
    found = getattr(value, name)
    if type(found) is types.BuiltinMethodType and isinstance(found.__self__, str):
        return getattr(BoundText(str.__str__(found.__self__)), name)
    if type(found) is types.MethodDescriptorType and found.__objclass__ is str:
        return getattr(UnboundText, name)
    if isinstance(found, _UNSEEN):
        raise AttributeError(f"`{name}` is not shown")  # noqa: TRY004 - as if it were not there
    return shown_type(found) if isinstance(found, type) else found


def plain_group(caught: Any) -> Any:
    """`caught` itself, the types that an `except*` is about to look for.

    The interpreter calls `split` of the group that is being handled and takes the answer for a
    tuple without looking, so a `split` of the user's own could corrupt memory.
    """
    group = sys.exception()
    if isinstance(group, BaseExceptionGroup) and (
        type(group) not in (BaseExceptionGroup, ExceptionGroup)
        or not {"derive", "split"}.isdisjoint(group.__dict__)
    ):
        raise TypeError("`except*` handles plain exception groups only") from None
    return caught


def make_print(write: Callable[[str], object]) -> Callable[..., None]:
    """`print` into the captured output, or into what the code hands over as `file`."""

    def print(  # noqa: A001 - the name that user space sees
        *values: Any,
        sep: Any = " ",
        end: Any = "\n",
        file: Any = None,
        flush: bool = False,
    ) -> None:
        between = " " if sep is None else sep
        after = "\n" if end is None else end
        if not isinstance(between, str) or not isinstance(after, str):
            raise TypeError("`sep` and `end` must be strings")
        # Any of these may be a subclass with methods of its own; what is written is plain text.
        text = "".join((str.join(between, [str(value) for value in values]), after))
        if file is None:
            write(text)  # flushed as it ages
            return
        # As the code itself could: what it handed over is called by a public name, with text.
        file.write(text)
        if flush:
            file.flush()

    return print
