"""(4) Library names that would be a power as they are, and what user space gets in their place.

enum.Enum, Flag, …         the call that makes an enum from names: any name, `__getattr__` too
difflib.SequenceMatcher    we use it, too, for the hints in our messages
copy.deepcopy              its `memo` shows every object inside the copied one
dataclasses.dataclass      runs code made from the names of fields, and a `Field` can be renamed
collections.namedtuple     runs code made from names; and its class is the user's own

The others are told apart by topic: `binary`, `calling`, `captured_warnings`, `pure_paths`,
`shown_errors`, `system_views`, `type_views`, `zones`. None of them guards by overriding a method of
a library's class: `super(…)` would reach the method beneath.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import difflib
import enum
import functools
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from caps.worker.inside import (
    binary,
    calling,
    captured_warnings,
    pure_paths,
    shown_errors,
    system_views,
    type_views,
    zones,
)
from caps.worker.inside.language.class_rules import harmless_pattern
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.identifiers import needs_guard, refusal
from caps.worker.inside.language.opaque_types import safe_abc_meta
from caps.worker.inside.stdlib.context import Surroundings


class _CheckedEnumType(enum.EnumType):
    """Enums come from class statements, whose names the transformer has seen."""

    def __new__(
        metacls, cls: str, bases: tuple[type, ...], classdict: Any, **options: Any
    ) -> _CheckedEnumType:
        # Its members are made, by code of the user's, before `OwnClasses` sees the class.
        if "__match_args__" in classdict:
            harmless = harmless_pattern(classdict["__match_args__"])
            dict.__setitem__(classdict, "__match_args__", harmless)
        return super().__new__(metacls, cls, bases, classdict, **options)

    def _create_(cls, *_args: Any, **_options: Any) -> NoReturn:
        raise TypeError("write a class statement to make an enum")


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


def deepcopy(x: Any) -> Any:
    """`copy.deepcopy`."""
    return copy.deepcopy(x)


class SequenceMatcher(difflib.SequenceMatcher[Any]):
    """`difflib.SequenceMatcher`; what code sets on it does not reach the one that we use."""


# Nothing of ours is in it, so a class may derive from it.
SequenceMatcher.__module__ = "difflib"


class FieldView(NamedTuple):
    """What `field` and `fields` give: it describes a field, and is none."""

    name: str | None
    type: Any
    default: Any = dataclasses.MISSING
    default_factory: Any = dataclasses.MISSING
    init: Any = True
    repr: Any = True
    hash: Any = None
    compare: Any = True
    metadata: Any = None
    kw_only: Any = dataclasses.MISSING


_FIELD_NAMES = FieldView._fields
_CHOICES = ("init", "repr", "hash", "compare", "kw_only")


def field(**options: Any) -> FieldView:
    """`dataclasses.field`."""
    view = FieldView(name=None, type=None, **options)
    _real_field(view)  # the library's own complaints, here and not at the class
    return view


def _real_field(view: FieldView) -> Any:
    # As a tuple: user code can put other attributes into the class of the view.
    options = dict(zip(_FIELD_NAMES, tuple.__iter__(view), strict=True))
    del options["name"], options["type"]
    for name in _CHOICES:
        if options[name] is not None and options[name] is not dataclasses.MISSING:
            options[name] = bool(options[name])
    return dataclasses.field(**options)


def fields(class_or_instance: Any) -> tuple[FieldView, ...]:
    """`dataclasses.fields`."""
    found = dataclasses.fields(class_or_instance)
    return tuple(FieldView(*(getattr(one, name) for name in _FIELD_NAMES)) for one in found)


def collections_names(surroundings: Surroundings) -> dict[str, Any]:
    """What `collections` has in place of the library's own."""
    own = surroundings.own

    def namedtuple(typename: str, field_names: Any, **options: Any) -> Any:
        """`collections.namedtuple`; every name is checked."""
        names = field_names.replace(",", " ").split() if type(field_names) is str else field_names
        checked = [_checked_name(name) for name in [typename, *names]]
        chosen = {**options, "module": "__main__"}
        return own.adopt(collections.namedtuple(checked[0], checked[1:], **chosen))

    return {"namedtuple": namedtuple}


def dataclasses_names(surroundings: Surroundings) -> dict[str, Any]:
    """What `dataclasses` has in place of the library's own."""
    own = surroundings.own

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`; with `slots=True` it makes the class anew."""
        if cls is None:
            return functools.partial(dataclass, **options)
        if not own.made(cls):
            raise TypeError("a dataclass is made from a class statement")
        return own.adopt(_make_dataclass(own, cls, options))

    return {"dataclass": dataclass, "field": field, "fields": fields}


def _make_dataclass(own: OwnClasses, cls: type, options: dict[str, Any]) -> type:
    """`dataclasses.dataclass`, with no real `Field` ever in the user's hands.

    The library runs code made from the names in them.
    """
    chosen = {name: bool(value) for name, value in options.items()}
    # The compiler has checked the names of a class body, but a base may hold others: the keys of a
    # typed dictionary are any text.
    names = [_checked_name(name) for name in inspect.get_annotations(cls)]
    inherited = [_checked_name(name) for name in getattr(cls, "__dataclass_fields__", ())]
    if any(needs_guard(name) for name in (*names, *inherited)):
        chosen["match_args"] = False  # a pattern reads fields with no guard
    given = {name: getattr(cls, name, None) for name in names}
    real = {name: _real_field(view) for name, view in given.items() if type(view) is FieldView}
    before = dict(vars(cls))
    # From here until the class is made no code of the user's may run: it could reach a `Field`.
    own.check_fields(cls, names)
    for name in names:
        if not _is_quiet(inspect.getattr_static(cls, name, None)):
            raise TypeError(f"the field `{name}` cannot have a descriptor as its default")
    for name, one in real.items():
        setattr(cls, name, one)
    try:
        made: type = dataclasses.dataclass(cls, **chosen)
    except BaseException:
        for name in {"__dataclass_fields__", *real} & vars(cls).keys():
            delattr(cls, name)
        raise
    if any(needs_guard(one.name) for one in fields(made) if one.name):
        _bind_methods(made, before)
    return made


# What runs no code of the user's when it is read of a class.
_QUIET_DESCRIPTORS = (
    property,
    staticmethod,
    types.FunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)


def _is_quiet(default: Any) -> bool:
    return type(default) in _QUIET_DESCRIPTORS or not hasattr(type(default), "__get__")


def _bind_methods(made: type, before: Mapping[str, Any]) -> None:
    """Let the methods that the library made serve instances of `made` alone.

    They read and write the fields of whatever they are called with, with no guard.
    """
    for name, function in list(vars(made).items()):
        if type(function) is types.FunctionType and before.get(name) is not function:
            setattr(made, name, _bound_to(made, function))


def _bound_to(made: type, function: Any) -> Any:
    def method(self: Any, /, *args: Any, **options: Any) -> Any:
        if made not in type(self).__mro__:
            raise TypeError(f"a `{made.__name__}` was due, not a `{type(self).__name__}`")
        return function(self, *args, **options)

    functools.update_wrapper(method, function)
    # pprint looks here for what tells it that the library made it.
    method.__wrapped__ = getattr(function, "__wrapped__", function)  # type: ignore[attr-defined]
    return method


def _checked_name(name: Any) -> str:
    if type(name) is not str or not name.isidentifier() or refusal(name) is not None:
        raise ValueError(f"{name!r:.80} cannot be the name of a field")
    return name


def _always(names: dict[str, Any]) -> Callable[[Surroundings], dict[str, Any]]:
    return lambda _surroundings: names


# For each module what makes its stand-ins, called when an execution first imports it.
STAND_INS: Mapping[str, Callable[[Surroundings], dict[str, Any]]] = {
    "abc": _always({"ABCMeta": safe_abc_meta}),
    "array": binary.array_names,
    "collections": collections_names,
    "contextlib": system_views.contextlib_names,
    "copy": _always({"deepcopy": deepcopy}),
    "dataclasses": dataclasses_names,
    "difflib": _always({"SequenceMatcher": SequenceMatcher}),
    "enum": _always({kind.__name__: kind for kind in (Enum, Flag, IntEnum, IntFlag, StrEnum)}),
    "functools": calling.functools_names,
    "operator": calling.operator_names,
    "os": system_views.os_names,
    "pathlib": pure_paths.pathlib_names,
    "pprint": shown_errors.pprint_names,
    "struct": binary.struct_names,
    "sys": system_views.sys_names,
    "time": system_views.time_names,
    "traceback": shown_errors.traceback_names,
    "types": type_views.types_names,
    "typing": type_views.typing_names,
    "warnings": captured_warnings.warnings_names,
    "zoneinfo": zones.zoneinfo_names,
}
