"""(4) Library names that would be a power as they are, and what user space gets in their place.

enum.Enum, Flag, …         the call that makes an enum from names: any name, `__getattr__` too
functools.cached_property  its `attrname` can be set: any key in an instance's dictionary
functools.wraps            writes any attribute of anything
copy.deepcopy              its `memo` shows every object inside the copied one
dataclasses.dataclass      runs code made from the names of fields, and a `Field` can be renamed
collections.namedtuple     runs code made from names; and its class is the user's own
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from caps.worker.inside.guards import OwnClasses
from caps.worker.inside.names import needs_guard, refusal
from caps.worker.inside.opaque import safe_abc_meta


class _CheckedEnumType(enum.EnumType):
    """Enums come from class statements, whose names the transformer has seen."""

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


class cached_property:  # noqa: N801 - the name that user space sees
    # `functools.cached_property` that only a class statement can name. Its docstring is that of the
    # function, so the class has none.
    __slots__ = ("__doc__", "_function", "_name")

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self._function = func
        self._name: str | None = None
        self.__doc__ = getattr(func, "__doc__", None)

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, _owner: type | None = None) -> Any:
        if instance is None:
            return self
        if self._name is None:
            raise TypeError("a cached_property belongs into a class statement")
        value = instance.__dict__[self._name] = self._function(instance)
        return value


def deepcopy(x: Any) -> Any:
    """`copy.deepcopy`."""
    return copy.deepcopy(x)


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


def stand_ins(own: OwnClasses) -> dict[str, dict[str, Any]]:
    """The names of each facade that are not the library's own."""

    def namedtuple(typename: str, field_names: Any, **options: Any) -> Any:
        """`collections.namedtuple`; every name is checked."""
        names = field_names.replace(",", " ").split() if type(field_names) is str else field_names
        checked = [_checked_name(name) for name in [typename, *names]]
        chosen = {**options, "module": "__main__"}
        return own.adopt(collections.namedtuple(checked[0], checked[1:], **chosen))

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`; with `slots=True` it makes the class anew."""
        if cls is None:
            return functools.partial(dataclass, **options)
        if not own.made(cls):
            raise TypeError("a dataclass is made from a class statement")
        return own.adopt(_make_dataclass(own, cls, options))

    def wraps(wrapped: Any) -> Any:
        """`functools.wraps`, for the name and the documentation."""

        def copy_names(wrapper: Any) -> Any:
            if type(wrapper) is types.FunctionType or own.made(wrapper):
                wrapper.__name__ = "".join([getattr(wrapped, "__name__", "function"), ""])
                wrapper.__doc__ = getattr(wrapped, "__doc__", None)
            return wrapper

        return copy_names

    return {
        "abc": {"ABCMeta": safe_abc_meta},
        "collections": {"namedtuple": namedtuple},
        "copy": {"deepcopy": deepcopy},
        "dataclasses": {"dataclass": dataclass, "field": field, "fields": fields},
        "enum": {kind.__name__: kind for kind in (Enum, Flag, IntEnum, IntFlag, StrEnum)},
        "functools": {"cached_property": cached_property, "wraps": wraps},
    }


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
    # From here until the class is made no code of the user's may run: it could reach a `Field`.
    own.check_fields(cls, names)
    for name in names:
        if isinstance(inspect.getattr_static(cls, name, None), classmethod):
            raise TypeError(f"the field `{name}` cannot have a class method as its default")
    for name, one in real.items():
        setattr(cls, name, one)
    try:
        return dataclasses.dataclass(cls, **chosen)
    except BaseException:
        for name in {"__dataclass_fields__", *real} & vars(cls).keys():
            delattr(cls, name)
        raise


def _checked_name(name: Any) -> str:
    if type(name) is not str or not name.isidentifier() or refusal(name) is not None:
        raise ValueError(f"{name!r:.80} cannot be the name of a field")
    return name
