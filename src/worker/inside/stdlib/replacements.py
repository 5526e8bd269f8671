"""(4) Replacements for library names that are too powerful for user space, and why each is needed:

difflib.SequenceMatcher    our own messages use it for their hints
dataclasses.dataclass      runs code built from the names of fields, and a `Field` can be renamed
collections.namedtuple     runs code built from names; and its class must count as the user's own

The other replacements are in modules by topic: `array_struct`, `c_types`, `class_makers`,
`copying`, `functools_operator`, `pathlib_`, `sys_os_time`, `traceback_pprint`, `types_typing`,
`warnings_`, `zoneinfo_`. No replacement protects a library class by overriding a method:
`super(…)` would reach the original method.
"""

from __future__ import annotations

import collections
import dataclasses
import difflib
import functools
import inspect
import keyword
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from caps.worker.inside.language.class_rules import checked_name
from caps.worker.inside.language.compiler import WithoutCollection
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.identifiers import needs_guard
from caps.worker.inside.language.opaque_types import safe_abc_meta
from caps.worker.inside.language.reflection import Reflection
from caps.worker.inside.stdlib import (
    array_struct,
    copying,
    functools_operator,
    pathlib_,
    sys_os_time,
    traceback_pprint,
    types_typing,
    warnings_,
    zoneinfo_,
)
from caps.worker.inside.stdlib.c_types import context_variables
from caps.worker.inside.stdlib.c_types.default_dict import defaultdict
from caps.worker.inside.stdlib.c_types.iterators import itertools_names
from caps.worker.inside.stdlib.c_types.ordered_dict import OrderedDict
from caps.worker.inside.stdlib.class_makers.enums import ENUMS
from caps.worker.inside.stdlib.context import StdlibContext
from caps.worker.inside.stdlib.text_annotations import annotations_of, with_plain_annotations


class SequenceMatcher(difflib.SequenceMatcher[Any]):
    """`difflib.SequenceMatcher`; attributes that code sets on it do not affect the one we use."""


# It has no internal state of ours, so user classes may derive from it.
SequenceMatcher.__module__ = "difflib"


class FieldView(NamedTuple):
    """Returned by `field` and `fields`: it describes a field, but is not a real `Field`."""

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
    doc: Any = None  # from Python 3.14 on


class _Field(dataclasses.Field):  # type: ignore[type-arg]
    """A field that no other code than the library can rename: its name becomes code."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "name" and value is not None:
            plain = checked_name(value)
            if plain != (self.name or plain):
                raise AttributeError("a field has one name")
        super().__setattr__(name, value)


_FIELD_NAMES = FieldView._fields
_FIELDS_HAVE_DOC = sys.version_info >= (3, 14)
_FLAGS = ("init", "repr", "hash", "compare", "kw_only")


def field(**options: Any) -> FieldView:
    """`dataclasses.field`."""
    if not _FIELDS_HAVE_DOC and "doc" in options:
        raise TypeError("field() got an unexpected keyword argument 'doc'")
    view = FieldView(name=None, type=None, **options)
    _real_field(view)  # raises the library's errors here, not at the class
    return view


def _real_field(view: FieldView) -> Any:
    # Read it as a tuple: user code can set other attributes on the class of the view.
    options = dict(zip(_FIELD_NAMES, tuple.__iter__(view), strict=True))
    del options["name"], options["type"]
    if not _FIELDS_HAVE_DOC:
        del options["doc"]
    for name in _FLAGS:
        if options[name] is not None and options[name] is not dataclasses.MISSING:
            options[name] = bool(options[name])
    real = dataclasses.field(**options)
    real.__class__ = _Field
    return real


def fields(class_or_instance: Any) -> tuple[FieldView, ...]:
    """`dataclasses.fields`."""
    found = dataclasses.fields(class_or_instance)
    return tuple(
        FieldView(*(getattr(field_, name, None) for name in _FIELD_NAMES)) for field_ in found
    )


Reflection.describe_fields.append(fields)


def collections_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `collections`."""
    own = context.own

    def namedtuple(typename: str, field_names: Any, **options: Any) -> Any:
        """`collections.namedtuple`; every name is checked."""
        names = field_names.replace(",", " ").split() if type(field_names) is str else field_names
        if options.get("rename"):
            names = _renamed(names)
        checked = [checked_name(name) for name in [typename, *names]]
        chosen = {**options, "module": "__main__"}
        return own.register(collections.namedtuple(checked[0], checked[1:], **chosen))

    return {"OrderedDict": OrderedDict, "defaultdict": defaultdict, "namedtuple": namedtuple}


def _renamed(names: Iterable[Any]) -> list[Any]:
    """The names for `rename=True`: one that cannot be a field is replaced by its position."""
    kept: list[Any] = []
    for position, name in enumerate(names):
        text = name if type(name) is str else str(name)
        is_field = text.isidentifier() and not keyword.iskeyword(text) and text not in kept
        kept.append(text if is_field and not text.startswith("_") else f"_{position}")
    return kept


def dataclasses_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `dataclasses`."""
    own = context.own

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`; with `slots=True` it creates the class again."""
        if cls is None:
            return functools.partial(dataclass, **options)
        if not own.is_own(cls):
            raise TypeError("a dataclass is made from a class statement")
        return own.register(with_plain_annotations(cls, lambda: _make_dataclass(own, cls, options)))

    return {"dataclass": dataclass, "field": field, "fields": fields}


def _make_dataclass(own: OwnClasses, cls: type, options: dict[str, Any]) -> type:
    """`dataclasses.dataclass`, without user code ever getting a real `Field`.

    The library runs code built from the names in real fields.
    """
    chosen = {name: bool(value) for name, value in options.items()}
    # The compiler has checked the names of a class body, but a base may have others: the keys of a
    # typed dictionary are any strings.
    names = [checked_name(name) for name in annotations_of(cls)]
    inherited = [checked_name(name) for name in getattr(cls, "__dataclass_fields__", ())]
    if any(needs_guard(name) for name in (*names, *inherited)):
        chosen["match_args"] = False  # a pattern reads fields without a guard
    defaults = {name: getattr(cls, name, None) for name in names}
    views = {name: view for name, view in defaults.items() if type(view) is FieldView}
    for name, value in vars(cls).items():
        if type(value) is FieldView and name not in names:
            raise TypeError(f"{name!r} is a field but has no type annotation")
    real_fields = {name: _real_field(view) for name, view in views.items()}
    before = dict(vars(cls))
    # From here until the class is complete no user code may run: it could get a real `Field`.
    with WithoutCollection():
        result = _complete_dataclass(own, cls, names, real_fields, chosen)
    # The real fields: user code can set other attributes on the class of the views.
    if any(needs_guard(field_.name) for field_ in dataclasses.fields(result)):
        _bind_methods(result, before)
    return result


def _complete_dataclass(
    own: OwnClasses,
    cls: type,
    names: list[str],
    real_fields: Mapping[str, Any],
    options: dict[str, bool],
) -> type:
    own.check_fields(cls, names)
    for name in names:
        default = inspect.getattr_static(cls, name, None)
        if not _runs_no_user_code(default):
            raise TypeError(f"the field `{name}` cannot have a descriptor as its default")
        # The library looks whether the default is mutable.
        value = real_fields[name].default if name in real_fields else default
        if not _runs_no_user_code(inspect.getattr_static(type(value), "__hash__", None)):
            raise TypeError(f"the default of `{name}` has a descriptor as its `__hash__`")
    for name, field_ in real_fields.items():
        setattr(cls, name, field_)
    try:
        return dataclasses.dataclass(cls, **options)
    except BaseException:
        for name in {"__dataclass_fields__", *real_fields} & vars(cls).keys():
            delattr(cls, name)
        raise


# Descriptors that run no user code when they are read from a class. Some are descriptors only in
# newer versions of Python.
_HARMLESS_DESCRIPTORS = (
    functools.partial,
    property,
    staticmethod,
    types.FunctionType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.MethodType,
    types.WrapperDescriptorType,
)


def _runs_no_user_code(default: Any) -> bool:
    return type(default) in _HARMLESS_DESCRIPTORS or not hasattr(type(default), "__get__")


def _bind_methods(cls: type, before: Mapping[str, Any]) -> None:
    """Make the methods that the library generated accept only instances of `cls`.

    They read and write the fields of any object that they are called with, without a guard.
    """
    for name, function in list(vars(cls).items()):
        if type(function) is types.FunctionType and before.get(name) is not function:
            setattr(cls, name, _bound_to(cls, function))


def _bound_to(cls: type, function: Any) -> Any:
    def method(self: Any, /, *args: Any, **options: Any) -> Any:
        if cls not in type(self).__mro__:
            raise TypeError(f"a `{cls.__name__}` was due, not a `{type(self).__name__}`")
        return function(self, *args, **options)

    functools.update_wrapper(method, function)
    # pprint uses this attribute to see that the library generated the method.
    method.__wrapped__ = getattr(function, "__wrapped__", function)  # type: ignore[attr-defined]
    return method


def _constant(names: dict[str, Any]) -> Callable[[StdlibContext], dict[str, Any]]:
    return lambda _context: names


# For each module a function that creates its replacements, called at the first import.
REPLACEMENTS: Mapping[str, Callable[[StdlibContext], dict[str, Any]]] = {
    "abc": _constant({"ABCMeta": safe_abc_meta}),
    "array": array_struct.array_names,
    "collections": collections_names,
    "contextlib": sys_os_time.contextlib_names,
    "contextvars": _constant(
        {
            "Context": context_variables.Context,
            "ContextVar": context_variables.ContextVar,
            "Token": context_variables.Token,
            "copy_context": context_variables.copy_context,
        }
    ),
    "copy": _constant({"deepcopy": copying.deepcopy}),
    "dataclasses": dataclasses_names,
    "difflib": _constant({"SequenceMatcher": SequenceMatcher}),
    "enum": _constant({kind.__name__: kind for kind in ENUMS}),
    "functools": functools_operator.functools_names,
    "itertools": itertools_names,
    "operator": functools_operator.operator_names,
    "os": sys_os_time.os_names,
    "os.path": sys_os_time.path_names,
    "pathlib": pathlib_.pathlib_names,
    "posixpath": sys_os_time.path_names,
    "pprint": traceback_pprint.pprint_names,
    "struct": array_struct.struct_names,
    "sys": sys_os_time.sys_names,
    "time": sys_os_time.time_names,
    "traceback": traceback_pprint.traceback_names,
    "types": types_typing.types_names,
    "typing": types_typing.typing_names,
    "warnings": warnings_.warnings_names,
    "zoneinfo": zoneinfo_.zoneinfo_names,
}
