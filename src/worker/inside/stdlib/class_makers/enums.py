"""(4) The enums of user space: `Enum("E", names)` takes only names that a class statement may have.

The library creates an enum from any names, also `__getattr__`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from caps.worker.inside.language.class_rules import check_length, checked_name, safe_match_args
from caps.worker.inside.language.identifiers import SIGNALS, is_private


def _check_members(bases: tuple[type, ...], names: Iterable[str]) -> None:
    """Raise TypeError if a member has a name that is read with a guard and that a base has, too.

    From Python 3.12 on such a member reads the attribute of this name of its value, which may be
    any object.
    """
    inherited = {name for base in bases for kind in base.__mro__ for name in vars(kind)}
    for name in inherited.intersection(names):
        if is_private(name) or name in SIGNALS:
            raise TypeError(f"`{name}` cannot be a member, because a base class has this name")


# What the members of an enum that is made by a call may be.
_MEMBER_KINDS = (bytes, complex, float, int, str)


def _checked_members(names: Any) -> list[Any]:
    """The names of members, or pairs of a name and a value, as plain lists and strings."""
    if isinstance(names, str):
        names = str.__str__(names).replace(",", " ").split()
    members: list[Any] = []
    if names is None:  # from Python 3.12 on: a class to derive from
        return members
    for item in names.items() if isinstance(names, Mapping) else names:
        if isinstance(item, str):
            members.append(checked_name(item))
        else:
            name, value = item
            members.append((checked_name(name), value))
    return members


class _CheckedEnumType(enum.EnumType):
    """Allows only names that the transformer accepts in a class statement."""

    def __new__(
        metacls, cls: str, bases: tuple[type, ...], classdict: Any, **options: Any
    ) -> _CheckedEnumType:
        if "_simple" in options:  # the library's own short cut: it shares the state of the base
            raise TypeError("`_simple` is private to `enum`")
        _check_members(bases, classdict._member_names)
        # Its methods create the members before `OwnClasses` registers and checks the class.
        if "__match_args__" in classdict:
            safe = safe_match_args(classdict["__match_args__"])
            dict.__setitem__(classdict, "__match_args__", safe)
        check_length(cls, bases, classdict)
        return super().__new__(metacls, cls, bases, classdict, **options)

    def _create_(
        cls,
        class_name: Any,
        names: Any,
        *,
        module: Any = None,
        qualname: Any = None,
        type: Any = None,  # noqa: A002 - the library's own name
        **options: Any,
    ) -> Any:
        """`Enum("Color", "RED GREEN")`: the same names and kinds as in a class statement."""
        del module, qualname
        if type is not None and type not in _MEMBER_KINDS:
            raise TypeError("write a class statement to make an enum of this type")
        return super()._create_(  # type: ignore[misc]
            checked_name(class_name),
            _checked_members(names),
            module="__main__",
            type=type,
            **options,
        )

    # `Enum` of user space is the class of all enums, as in the library: also of an `IntEnum`.

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(_LIBRARY_ENUMS.get(cls, cls), instance)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return type.__subclasscheck__(_LIBRARY_ENUMS.get(cls, cls), subclass)


# The base classes of user space, and what they stand for.
_LIBRARY_ENUMS: dict[type, type] = {}


class Enum(enum.Enum, metaclass=_CheckedEnumType):
    pass


class IntEnum(enum.IntEnum, metaclass=_CheckedEnumType):
    pass


class StrEnum(enum.StrEnum, metaclass=_CheckedEnumType):
    pass


class Flag(enum.Flag, metaclass=_CheckedEnumType):
    pass


class IntFlag(enum.IntFlag, metaclass=_CheckedEnumType):
    pass


ENUMS: tuple[Any, ...] = (Enum, Flag, IntEnum, IntFlag, StrEnum)
_LIBRARY_ENUMS.update({kind: kind.__base__ for kind in ENUMS})
