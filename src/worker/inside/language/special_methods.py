"""(4) Special methods that take part in attribute access and in the creation of classes.

A class may define them. This module checks the arguments of the user's method, and what the method
can do by calling the inherited one:

    def __getattr__     is never called with a name that reaches into the interpreter, so that
                        user code does not define what a library looks up on an object
    def __setattr__     is never called with such a name either
    def __init_subclass__, __set_name__
                        get a class only after it has been checked
    def __new__         returns an object of the user's, or a plain value: copying writes the whole
                        state of an object, including private names, into the returned object
    def __subclasshook__
                        gets classes as `type` shows them
    super().__setattr__(n, v), object.__setattr__(self, n, v)
                        follow the rules of `setattr`, on the user's own objects
    super().__new__(cls), str.__new__(cls, …)
                        create instances of the user's own classes

Runs in the worker, after confinement. User code cannot name any of these functions.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.language.identifiers import OPERATIONS, refusal
from caps.worker.inside.language.opaque_types import shown_type
from caps.worker.inside.language.reflection import is_users_function

_ATTRIBUTE_CHANGES = frozenset({"__delattr__", "__setattr__"})
_CLASS_HOOKS = frozenset({"__init_subclass__", "__set_name__"})
_DESCRIPTORS = frozenset({"__delete__", "__get__", "__set__"})
_EXCEPTION_ATTRIBUTES = frozenset(
    {"__cause__", "__context__", "__suppress_context__", "__traceback__"}
)


class Hooks:
    """The guards that the transformer emits for `identifiers.HOOKS` and `identifiers.WRITABLE`."""

    def __init__(self, own: OwnClasses, attributes: AttributeGuards) -> None:
        self._own = own
        self._attributes = attributes

    def define(self, name: str) -> Callable[[Any], Any]:
        """The outermost decorator of a method called `name`."""
        return lambda function: self._checked(name, function)

    def _checked(self, name: str, function: Any) -> Any:
        if type(function) is classmethod:
            return classmethod(self._checked(name, function.__func__))
        if name == "__getattr__":
            return _checked_getattr(function)
        if name in _ATTRIBUTE_CHANGES:
            return _checked_change(name, function)
        if name in _CLASS_HOOKS:
            return self._checked_class(name, function)
        if name == "__new__":
            return self._checked_new(function)
        if name == "__subclasshook__":
            return _checked_subclass_hook(function)
        return function

    def _checked_new(self, function: Any) -> Any:
        def new(cls: type, /, *args: Any, **keywords: Any) -> Any:
            instance = function(cls, *args, **keywords)
            kind = type(instance)
            if not self._own.may_return(kind, cls):
                raise TypeError(f"`__new__` of `{cls.__name__}` cannot give a `{kind.__name__}`")
            return instance

        return new

    def _checked_class(self, name: str, function: Any) -> Any:
        if name == "__init_subclass__":

            def init_subclass(cls: type, /, **keywords: Any) -> Any:
                return function(self._own.register_unfinished(cls), **keywords)

            return init_subclass

        def set_name(one: Any, owner: type, attribute: str) -> Any:
            return function(one, self._own.register_unfinished(owner), attribute)

        return set_name

    def inherited(self, owner: Any, name: str) -> Any:
        """`owner.name`, where `owner` is `super()`, a class, or an object of the user's."""
        if name == "__new__":
            return self._new(owner)
        if name in _ATTRIBUTE_CHANGES:
            return self._change(owner, name)
        if name in _DESCRIPTORS and type(owner) is types.FunctionType:
            return getattr(owner, name)
        if not self._is_own(owner):
            raise AttributeError(f"`{name}` can be called of your own classes only")
        return getattr(owner, name)

    def _is_own(self, owner: Any) -> bool:
        if type(owner) is super:
            return self._own.is_own(super.__self_class__.__get__(owner))  # type: ignore[attr-defined]
        return self._own.is_own(owner) or self._own.is_own(type(owner))

    def _new(self, owner: Any) -> Callable[..., Any]:
        make = owner.__new__

        def new(cls: Any, /, *args: Any, **keywords: Any) -> Any:
            if not self._own.is_own(cls):
                raise TypeError("`__new__` makes instances of your own classes only")
            return make(cls, *args, **keywords)

        return new

    def _change(self, owner: Any, name: str) -> Callable[..., Any]:
        change = getattr(owner, name)
        # Read the target now: `super.__init__` can bind the same `super()` to another object later.
        target = super.__self__.__get__(owner) if type(owner) is super else owner  # type: ignore[attr-defined]

        def by_class(target: Any, attribute: Any, *value: Any) -> Any:
            self._check(target, attribute)
            return change(target, attribute, *value)

        def bound(attribute: Any, *value: Any) -> Any:
            self._check(target, attribute)
            return change(attribute, *value)

        return by_class if isinstance(owner, type) else bound

    def _check(self, target: Any, attribute: Any) -> None:
        if type(attribute) is not str:
            raise TypeError("attribute name must be a string")
        if not self._own.is_own(type(target)):
            raise AttributeError(
                f"attributes of `{type(target).__name__}` cannot be changed from sandboxed code"
            )
        self._attributes.check_writable(target, attribute)

    def writer(self, target: Any) -> AttributeWriter:
        """An object that sets `__name__` and the other writable attributes of `target`."""
        return AttributeWriter(target, self._own, self._attributes.reflection.share_dictionary)


def _checked_getattr(function: Any) -> Any:
    def getattr(one: Any, name: str) -> Any:  # noqa: A001 - the function that it replaces
        if refusal(name) is not None:
            raise AttributeError(f"`{type(one).__name__}` has no `{name}`")
        return function(one, name)

    return getattr


def _checked_subclass_hook(function: Any) -> Any:
    def subclass_hook(cls: Any, other: Any) -> Any:
        return function(cls, shown_type(other) if isinstance(other, type) else other)

    return subclass_hook


def _checked_change(name: str, function: Any) -> Any:
    plain = getattr(object, name)

    def change(one: Any, attribute: str, *value: Any) -> None:
        # User code must not see what the interpreter and libraries set (`__traceback__`, …).
        (plain if refusal(attribute) is not None else function)(one, attribute, *value)

    return change


class AttributeWriter:
    """Replaces an object while one of `identifiers.WRITABLE` is set; user code never keeps it."""

    __slots__ = ("_own", "_share", "_target")
    _own: OwnClasses
    _share: Callable[[Any, Any], None]
    _target: Any

    def __init__(self, target: Any, own: OwnClasses, share: Callable[[Any, Any], None]) -> None:
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_own", own)
        object.__setattr__(self, "_share", share)

    def __setattr__(self, name: str, value: Any) -> None:
        target = self._target
        if name in OPERATIONS:
            self._own.set_operation(target, name, value)
            return
        if name == "__dict__":
            self._share(target, value)
            return
        if name in _EXCEPTION_ATTRIBUTES:
            if not isinstance(target, BaseException):
                raise AttributeError(f"`{name}` belongs to exceptions")
        elif not is_users_function(target) and not self._own.is_own(target):
            raise AttributeError(f"`{name}` can be set of your own functions and classes only")
        else:
            value = _plain_text(name, value)
        setattr(target, name, value)


def _plain_text(name: str, value: Any) -> Any:
    """`value` as a plain string, since our messages use the names of functions and classes."""
    if value is None and name == "__doc__":
        return None
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a string")
    return str.__str__(value)
