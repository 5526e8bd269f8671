"""(4) Attributes that user space does not get unchanged, and what it gets instead.

    "…".format          checked by `format_strings`
    error.obj           the object, unless it is a frame, a module or similar
    context.flags       unchanged; the context is kept alive
    x.__dict__          a dictionary that writes through, without what is not the user's; of a
                        builtin class, what its attributes are
    C.__dataclass_fields__
                        a description of each field
    C.__mro__, C.mro()  without the library classes in between
    C.__subclasses__()  only the user's own classes
    x.__init__          one in C: only of the user's own objects
    C.__slots__, C.__match_args__, x.__module__
                        only plain strings
    f.__defaults__, f.__wrapped__, m.__func__, m.__self__
                        of the user's own functions only
    C.__abstractmethods__, alias.__args__ and the like
                        see `opaque_types`

Runs in the worker, after confinement. The invariant of `guards` holds here, too.
"""

from __future__ import annotations

import builtins
import copy
import decimal
import enum
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from caps.worker.inside.language.format_strings import BoundText, UnboundText
from caps.worker.inside.language.identifiers import CHECKED, OPERATIONS, needs_guard, refusal
from caps.worker.inside.language.opaque_types import (
    read_abstract_methods,
    read_alias,
    read_bases,
    read_parameters,
    shown_type,
)
from caps.worker.inside.language.private_attributes import OWN_GUARD

if TYPE_CHECKING:
    from caps.worker.inside.language.guards import OwnClasses

_Signals: Any = type(decimal.Context().flags)
# What `enum` puts into a class: a descriptor that reads any attribute whose name is set on it, and
# the members that are not made yet.
_ENUM_INTERNALS: Any = (types.DynamicClassAttribute, enum._proto_member)  # type: ignore[attr-defined]
_HIDDEN_TYPES = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)

_CachedFunction = type(functools.lru_cache(lambda: None))

# Classes that user code can name in any case.
_PLAIN_CLASSES = frozenset(
    value
    for value in vars(builtins).values()
    if isinstance(value, type) and value not in (type, super)
)


def is_users_function(value: Any) -> bool:
    """Whether `value` is a function that user code defined.

    The annotations and attributes of a library's function may be classes and modules.
    """
    return type(value) is types.FunctionType and OWN_GUARD in getattr(value, "__builtins__", ())


class OwnDict(dict[str, Any]):
    """`x.__dict__` of an object of the user's: changes are written to the object.

    The real dictionary would accept any key. But user code must not define what libraries look up
    on an object (`__deepcopy__`, `__mro_entries__`, …).
    """

    __slots__ = ("_check", "_real")
    _check: Callable[[str], None]
    _real: dict[str, Any]

    def __setitem__(self, name: str, value: Any) -> None:
        self._check(_plain_name(name))
        self._real[name] = value
        super().__setitem__(name, value)

    # `dict.__setitem__` may have added a name to this dictionary that the object does not show.

    def __delitem__(self, name: str) -> None:
        self._check(_plain_name(name))
        super().__delitem__(name)
        del self._real[name]

    def update(self, *args: Any, **kwargs: Any) -> None:
        for name, value in dict(*args, **kwargs).items():
            self[name] = value

    def __ior__(self, other: Any) -> OwnDict:  # type: ignore[misc,override]
        self.update(other)
        return self

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if _plain_name(name) in self:
            self._check(name)
            self._real.pop(name, None)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name = next(reversed(self), None)
        if name is None:
            raise KeyError("popitem(): dictionary is empty")
        return name, self.pop(name)

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def copy(self) -> dict[str, Any]:
        return dict(self)

    # The copy of such a dictionary follows the same rules, but writes to no object.

    def __copy__(self) -> OwnDict:
        return own_dict(dict(self), self._check)

    def __deepcopy__(self, memo: Any) -> OwnDict:
        return own_dict(copy.deepcopy(dict(self), memo), self._check)


def _plain_name(name: Any) -> str:
    # A subclass of str could be one name in this dictionary and another one in the real one.
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name


def own_dict(real: dict[str, Any], check: Callable[[str], None]) -> OwnDict:
    """A view of `real` with the names that `check` lets pass."""
    view = OwnDict()
    view._real, view._check = real, check
    for name, value in real.items():
        if _passes(check, name):
            dict.__setitem__(view, name, value)
    return view


def _annotations_view(real: dict[str, Any], check: Callable[[str], None]) -> OwnDict:
    """The annotations of a function or class, all of them, with a check of what is written."""
    view = OwnDict()
    view._real, view._check = real, check
    dict.update(view, real)
    return view


def _check_annotation(name: str) -> None:
    if not name.isidentifier() or refusal(name) is not None:
        raise AttributeError(f"{name!r:.80} cannot be the name of a parameter")


def _refuse_annotation(name: str) -> None:
    # A decorator of the library may make source code of them.
    raise AttributeError(f"annotations are written in the class: `{name!s:.80}: …`")


def _is_plain_name(name: str) -> bool:
    """Whether every object shows its attribute of this name unchanged."""
    return (not name.startswith("_") and not needs_guard(name)) or name in OPERATIONS - CHECKED


def _passes(check: Callable[[str], None], name: Any) -> bool:
    try:
        check(name)
    except AttributeError:
        return False
    return True


def _is_operation(name: Any, attribute: Any) -> bool:
    """Whether a class shows this special method, which any code can call: not one in C."""
    return name in OPERATIONS and (attribute is None or type(attribute) is types.FunctionType)


class Reflection:
    """Reads the attributes of `identifiers.CHECKED`."""

    # `dataclasses.fields` of user space, which the module that defines it puts here.
    describe_fields: ClassVar[list[Callable[[type], Iterable[Any]]]] = []

    def __init__(self, own: OwnClasses, check_writable: Callable[[Any, str], None]) -> None:
        self._own = own
        self._check_writable = check_writable
        self._contexts: dict[int, Any] = {}
        # The dictionaries that code has set as `__dict__`, and what really stands there.
        self._shared: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._readers: dict[str, Callable[[Any], Any]] = {
            "__abstractmethods__": lambda value: read_abstract_methods(value, own.is_own),
            "__annotations__": self._annotations,
            "__args__": lambda value: read_alias(value, "__args__"),
            "__base__": self._base,
            "__bases__": lambda value: self._classes(value, "__bases__"),
            "__dataclass_fields__": self._fields,
            "__defaults__": lambda value: _of_function(value, "__defaults__"),
            "__dict__": self.dictionary,
            "__func__": _function_of_method,
            "__init__": self._initializer,
            "__kwdefaults__": lambda value: _of_function(value, "__kwdefaults__"),
            "__match_args__": lambda value: self._names(value, "__match_args__"),
            "__metadata__": lambda value: read_alias(value, "__metadata__"),
            "__module__": _module,
            "__mro__": lambda value: self._classes(value, "__mro__"),
            "__orig_bases__": lambda value: read_bases(value, own.is_own),
            "__parameters__": lambda value: read_parameters(value, own.is_own),
            "__self__": _object_of_method,
            "__slots__": lambda value: self._names(value, "__slots__"),
            "__subclasses__": self._subclasses,
            "__wrapped__": _wrapped,
        }

    def read(self, value: Any, name: str) -> Any:
        """`value.name`. Some checks look at the attribute found: aliases forward attributes."""
        reader = self._readers.get(name)
        if reader is not None:
            return reader(value)
        if name == "mro" and self._shows_bases(value):
            return lambda: list(self._classes(value, "__mro__"))
        found = getattr(value, name)
        if type(found) is types.BuiltinMethodType and isinstance(found.__self__, str):
            return getattr(BoundText(str.__str__(found.__self__)), name)
        if type(found) is types.MethodDescriptorType and found.__objclass__ is str:
            return getattr(UnboundText, name)
        # `type.mro`, of a class or, through `typing.Type`, of all classes.
        bound = type(found) is types.BuiltinMethodType and isinstance(found.__self__, type)
        unbound = type(found) is types.MethodDescriptorType and found.__objclass__ is type
        lists_classes = bound or unbound
        if lists_classes or isinstance(found, _HIDDEN_TYPES):
            raise AttributeError(f"`{name}` is not accessible in the sandbox")
        if type(found) is _Signals:
            # `found` points into the memory of the context, so keep the context alive.
            self._contexts[id(value)] = value
        return shown_type(found) if isinstance(found, type) else found

    def dictionary(self, value: Any) -> dict[str, Any]:
        """The `__dict__` of an object, a class or a function of the user's."""
        if self._own.is_own(value):
            # The dictionary of a class is read-only in Python, too.
            return {
                name: attribute
                for name, attribute in vars(value).items()
                if not isinstance(attribute, _ENUM_INTERNALS)
                and (
                    _is_operation(name, attribute)
                    or _passes(lambda one: self._check_writable(value, one), name)
                )
            }
        if isinstance(value, type) and value in _PLAIN_CLASSES:
            return {name: getattr(value, name) for name in vars(value) if _is_plain_name(name)}
        if not is_users_function(value) and not self._own.is_own(type(value)):
            raise AttributeError(f"a `{type(value).__name__}` does not show its `__dict__`")
        return own_dict(value.__dict__, lambda name: self._check_writable(value, name))

    def share_dictionary(self, value: Any, new: Any) -> None:
        """`value.__dict__ = new`. Objects that get the same dictionary share their attributes.

        The real dictionary stays ours, as user code could write any name into its own one. So
        what is written to that one later does not become an attribute.
        """
        if not self._own.is_own(type(value)):
            raise AttributeError("`__dict__` can be set of objects of your own classes only")
        if type(new) is not dict:
            kind = type(new).__name__
            raise TypeError(f"`__dict__` is set to a plain dictionary, not a `{kind}`")
        # What one object may write, a library could read as its own private state of another.
        if self._own.inherits_private_names(type(value)):
            raise AttributeError(f"`__dict__` of a `{type(value).__name__}` belongs to the library")
        _kept, real = self._shared.setdefault(id(new), (new, {}))
        for name, attribute in new.items():
            self._check_writable(value, _plain_name(name))
            real.setdefault(name, attribute)
        object.__setattr__(value, "__dict__", real)

    def _fields(self, value: Any) -> dict[str, Any]:
        cls = value if isinstance(value, type) else type(value)
        if not self._own.is_own(cls) or not hasattr(cls, "__dataclass_fields__"):
            raise AttributeError(f"`{cls.__name__}` is not a dataclass of your own")
        return {view.name: view for view in self.describe_fields[0](cls)}

    def _annotations(self, value: Any) -> dict[str, Any]:
        if is_users_function(value):
            return _annotations_view(value.__annotations__, _check_annotation)
        if self._own.is_own(value):
            return _annotations_view(inspect.get_annotations(value), _refuse_annotation)
        for kind in type(value).__mro__:  # an object shows those of its class
            if self._own.is_own(kind) and inspect.get_annotations(kind):
                return _annotations_view(inspect.get_annotations(kind), _refuse_annotation)
        raise AttributeError(f"a `{type(value).__name__}` does not show its annotations")

    def _shows_bases(self, value: Any) -> bool:
        return self._own.is_own(value) or (isinstance(value, type) and value in _PLAIN_CLASSES)

    def _base(self, value: Any) -> type | None:
        if not self._shows_bases(value):
            raise AttributeError("`__base__` is shown of your own classes only")
        base: type | None = value.__base__
        while base is not None and base not in _PLAIN_CLASSES and not self._own.is_own(base):
            base = base.__base__
        return base

    def _names(self, value: Any, name: str) -> tuple[str, ...]:
        """A tuple of names in the dictionary of a class of the user's: `class_rules` froze it."""
        cls = value if isinstance(value, type) else type(value)
        owners = [kind for kind in cls.__mro__ if self._own.is_own(kind) and name in vars(kind)]
        found = vars(owners[0])[name] if owners else None
        if type(found) is not tuple or any(type(one) is not str for one in found):
            raise AttributeError(f"`{cls.__name__}` does not show its `{name}`")
        return found

    def _classes(self, value: Any, name: str) -> tuple[type, ...]:
        if not self._shows_bases(value):
            raise AttributeError(f"`{name}` is shown of your own classes only")
        found: tuple[type, ...] = getattr(value, name)
        return tuple(kind for kind in found if kind in _PLAIN_CLASSES or self._own.is_own(kind))

    def _initializer(self, value: Any) -> Any:
        """`__init__` of an object, a class or a `super()`; one in C only for the user's objects."""
        found = value.__init__
        if type(found) is types.FunctionType or type(found) is types.MethodType:
            return found
        if isinstance(value, type):

            def init(target: Any, /, *args: Any, **options: Any) -> None:
                self._check_initializable(target)
                found(target, *args, **options)

            return init
        target = super.__self__.__get__(value) if type(value) is super else value  # type: ignore[attr-defined]
        self._check_initializable(target)
        return found

    def _check_initializable(self, target: Any) -> None:
        kind = type(target)
        if not self._own.is_own(kind) or issubclass(kind, property):
            raise AttributeError(f"a `{kind.__name__}` cannot be initialized again in the sandbox")

    def _subclasses(self, value: Any) -> Callable[[], list[type]]:
        if not self._own.is_own(value):
            raise AttributeError("`__subclasses__` is shown of your own classes only")
        return lambda: [kind for kind in type.__subclasses__(value) if self._own.is_own(kind)]


def _of_function(value: Any, name: str) -> Any:
    """The defaults of a function: values of the program that defined it."""
    function = value.__func__ if type(value) is types.MethodType else value
    if not is_users_function(function):
        raise AttributeError(f"`{name}` is shown of your own functions only")
    found = getattr(function, name)
    return dict(found) if type(found) is dict else found


def _function_of_method(value: Any) -> Any:
    if type(value) not in (types.MethodType, classmethod, staticmethod):
        raise AttributeError(f"a `{type(value).__name__}` has no `__func__`")
    if not is_users_function(value.__func__):
        raise AttributeError("`__func__` is shown of your own methods only")
    return value.__func__


def _object_of_method(value: Any) -> Any:
    """What a method is bound to: the program got the method from it, or bound it itself."""
    if type(value) is not types.MethodType or not is_users_function(value.__func__):
        raise AttributeError("`__self__` is shown of your own methods only")
    bound = value.__self__
    is_hidden = isinstance(bound, _HIDDEN_TYPES)
    if is_hidden:
        raise AttributeError("`__self__` is not accessible in the sandbox")
    return shown_type(bound) if isinstance(bound, type) else bound


def _module(value: Any) -> str:
    found = getattr(value, "__module__", None)
    if type(found) is not str:
        raise AttributeError(f"a `{type(value).__name__}` has no `__module__`")
    return found


def _wrapped(value: Any) -> Any:
    """The function behind a decorated one, if both are the user's own."""
    if not is_users_function(value) and type(value) is not _CachedFunction:
        raise AttributeError("`__wrapped__` is shown of your own functions only")
    found = vars(value).get("__wrapped__")
    if not is_users_function(found):
        raise AttributeError(f"a `{type(value).__name__}` has no `__wrapped__`")
    return found
