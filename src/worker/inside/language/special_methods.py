"""(4) Methods that take part in how attributes are found and classes are made.

A class may define them; what its method is then called with, and what it may reach by calling the
inherited one, is checked here:

    def __getattr__     is never asked for a name that reaches into the interpreter, so that what a
                        library asks an object for is never an answer of the user's
    def __setattr__     nor told of one
    def __init_subclass__, __set_name__
                        see a class only after it has been checked
    def __new__         gives an object of the user's, or a plain value: what makes copies writes
                        the state of one object, private names and all, into what it is given
    super().__setattr__(n, v), object.__setattr__(self, n, v)
                        follow the rules of `setattr`, on the user's own objects
    super().__new__(cls), str.__new__(cls, …)
                        make instances of the user's own classes

Runs in the worker, after confinement. User code can spell none of these functions' names.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.language.identifiers import refusal
from caps.worker.inside.language.reflection import is_users_function

_BY_NAME = frozenset({"__delattr__", "__setattr__"})
_OF_CLASSES = frozenset({"__init_subclass__", "__set_name__"})
_DESCRIPTORS = frozenset({"__delete__", "__get__", "__set__"})
_EXCEPTION_ATTRIBUTES = frozenset(
    {"__cause__", "__context__", "__suppress_context__", "__traceback__"}
)


class Hooks:
    """What the transformer emits for `names.HOOKS` and `names.WRITABLE`."""

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
        if name in _BY_NAME:
            return _checked_change(name, function)
        if name in _OF_CLASSES:
            return self._checked_class(name, function)
        if name == "__new__":
            return self._checked_new(function)
        return function

    def _checked_new(self, function: Any) -> Any:
        def new(cls: type, /, *args: Any, **keywords: Any) -> Any:
            made = function(cls, *args, **keywords)
            if not self._own.may_stand_for(type(made), cls):
                raise TypeError(f"`__new__` of `{cls.__name__}` cannot give a `{_name(made)}`")
            return made

        return new

    def _checked_class(self, name: str, function: Any) -> Any:
        if name == "__init_subclass__":

            def init_subclass(cls: type, **keywords: Any) -> Any:
                return function(self._own.adopt_unfinished(cls), **keywords)

            return init_subclass

        def set_name(one: Any, owner: type, attribute: str) -> Any:
            return function(one, self._own.adopt_unfinished(owner), attribute)

        return set_name

    def inherited(self, owner: Any, name: str) -> Any:
        """`owner.name`, where `owner` is `super()`, a class, or an object of the user's."""
        if name == "__new__":
            return self._new(owner)
        if name in _BY_NAME:
            return self._change(owner, name)
        if name in _DESCRIPTORS and type(owner) is types.FunctionType:
            return getattr(owner, name)
        if not self._is_own(owner):
            raise AttributeError(f"`{name}` can be called of your own classes only")
        return getattr(owner, name)

    def _is_own(self, owner: Any) -> bool:
        if type(owner) is super:
            return self._own.made(super.__self_class__.__get__(owner))  # type: ignore[attr-defined]
        return self._own.made(owner) or self._own.made(type(owner))

    def _new(self, owner: Any) -> Callable[..., Any]:
        make = owner.__new__

        def new(cls: Any, *args: Any, **keywords: Any) -> Any:
            if not self._own.made(cls):
                raise TypeError("`__new__` makes instances of your own classes only")
            return make(cls, *args, **keywords)

        return new

    def _change(self, owner: Any, name: str) -> Callable[..., Any]:
        change = getattr(owner, name)
        # Whom it changes is settled now: a `super()` can be made anew for another object.
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
        if not self._own.made(type(target)):
            raise AttributeError(f"a `{type(target).__name__}` is not yours to change this way")
        self._attributes.check_writable(target, attribute)

    def writer(self, target: Any) -> Writer:
        """`target`, as something that `__name__` and its like can be set on."""
        return Writer(target, self._own)


def _name(value: Any) -> str:
    return type(value).__name__


def _checked_getattr(function: Any) -> Any:
    def getattr(one: Any, name: str) -> Any:  # noqa: A001 - what it stands for
        if refusal(name) is not None:
            raise AttributeError(f"`{type(one).__name__}` has no `{name}`")
        return function(one, name)

    return getattr


def _checked_change(name: str, function: Any) -> Any:
    plain = getattr(object, name)

    def change(one: Any, attribute: str, *value: Any) -> None:
        # What the interpreter and libraries set (`__traceback__`, …) is not the code's to see.
        (plain if refusal(attribute) is not None else function)(one, attribute, *value)

    return change


class Writer:
    """Stands for an object while one of `names.WRITABLE` is set; nobody ever holds it."""

    __slots__ = ("_own", "_target")
    _own: OwnClasses
    _target: Any

    def __init__(self, target: Any, own: OwnClasses) -> None:
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "_own", own)

    def __setattr__(self, name: str, value: Any) -> None:
        target = self._target
        if name in _EXCEPTION_ATTRIBUTES:
            if not isinstance(target, BaseException):
                raise AttributeError(f"`{name}` belongs to exceptions")
        elif not is_users_function(target) and not self._own.made(target):
            raise AttributeError(f"`{name}` can be set of your own functions and classes only")
        else:
            value = _plain_text(name, value)
        setattr(target, name, value)


def _plain_text(name: str, value: Any) -> Any:
    """Text without methods of its own: our messages name functions and classes."""
    if value is None and name == "__doc__":
        return None
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a string")
    return str.__str__(value)
