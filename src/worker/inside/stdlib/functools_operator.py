"""(4) `functools` and `operator`: functions that use names known only at run time, under our rules.

operator.attrgetter, methodcaller     read attributes by name: here each part of the name goes
                                      through the same guard as `getattr`
functools.wraps, update_wrapper       write any attribute of any object: here names, documentation,
                                      public attributes, and `__wrapped__` of the user's functions.
                                      The library's own decorators use them, too, and would copy the
                                      whole dictionary of a class
functools.cmp_to_key                  frees what it compares while a function in C compares it
functools.cached_property             its `attrname` can be set to any key of the instance's dict
functools.singledispatch, …method     evaluate annotations that are strings: here `type_hints` does
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.language.reflection import is_users_function
from caps.worker.inside.stdlib.class_makers.type_hints import HintEvaluator
from caps.worker.inside.stdlib.context import StdlibContext
from caps.worker.inside.stdlib.text_annotations import annotations_of

_COPIED = ("__name__", "__qualname__")
_METHOD_KINDS = (classmethod, staticmethod)
_library_update_wrapper = functools.update_wrapper


def restrict_wrapping() -> None:
    """Have the library's decorators copy no attributes of classes. Runs in the zygote."""
    library: Any = functools
    library.update_wrapper = _update_wrapper


def _update_wrapper(
    wrapper: Any,
    wrapped: Any,
    assigned: Any = functools.WRAPPER_ASSIGNMENTS,
    updated: Any = functools.WRAPPER_UPDATES,
) -> Any:
    """`functools.update_wrapper`, as the library itself calls it.

    The dictionary of a class, also behind an alias, holds its descriptors and private functions.
    """
    if type(getattr(wrapped, "__dict__", None)) is not dict:
        updated = ()
    return _library_update_wrapper(wrapper, wrapped, assigned, updated)


def operator_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `operator`."""
    guards = context.guards

    def attrgetter(attr: str, /, *attrs: str) -> Callable[[Any], Any]:
        """`operator.attrgetter`; every part of a dotted name is checked when it is read."""
        paths = [_parts(name) for name in (attr, *attrs)]

        def get(obj: Any, /) -> Any:
            found = tuple(_follow(guards, obj, path) for path in paths)
            return found[0] if len(found) == 1 else found

        return get

    def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        """`operator.methodcaller`; the name is checked when it is read."""
        if type(name) is not str:
            raise TypeError("method name must be a string")

        def call(obj: Any, /) -> Any:
            return guards.getattr(obj, name)(*args, **kwargs)

        return call

    return {"attrgetter": attrgetter, "methodcaller": methodcaller}


def _parts(name: Any) -> list[str]:
    # A subclass of str could give one name here and another one to the guard.
    if type(name) is not str:
        raise TypeError("attribute name must be a string")
    return name.split(".")


def _follow(guards: AttributeGuards, value: Any, parts: list[str]) -> Any:
    for part in parts:
        value = guards.getattr(value, part)
    return value


class cached_property:  # noqa: N801 - the name that user space sees
    # `functools.cached_property` whose name only a class statement can set. Its `__doc__` is that
    # of the function, so the class has no docstring.
    __slots__ = ("__doc__", "_function", "_name", "_owner")

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self._function = func
        self._name: str | None = None
        self._owner: type | None = None
        self.__doc__ = getattr(func, "__doc__", None)

    def __set_name__(self, owner: type, name: str) -> None:
        if self._name is not None and name != self._name:
            raise TypeError(
                "Cannot assign the same cached_property to two different names "
                f"({self._name!r} and {name!r})."
            )
        self._owner, self._name = owner, name

    def __get__(self, instance: Any, _owner: type | None = None) -> Any:
        if instance is None:
            return self
        # User code may have set it on another class, where the name is not the user's. And the
        # function may give it to another class under another name. A method of another class that
        # is called with this object may have set the name: it counts if the class has it.
        name, owner = self._name, self._owner
        if name is None or owner not in type(instance).__mro__ or vars(owner).get(name) is not self:
            raise TypeError("a cached_property belongs into a class statement")
        try:
            attributes = instance.__dict__
        except AttributeError:
            raise TypeError(
                f"No '__dict__' attribute on {type(instance).__name__!r} instance to cache "
                f"{name!r} property."
            ) from None
        value = attributes[name] = self._function(instance)
        return value


class singledispatchmethod:  # noqa: N801 - the name that user space sees
    """`functools.singledispatchmethod`, on top of our `singledispatch`."""

    __slots__ = ("_dispatcher",)

    def __init__(self, func: Any) -> None:
        if not callable(func) and not hasattr(func, "__get__"):
            raise TypeError(f"{func!r:.80} is not callable or a descriptor")
        self._dispatcher = singledispatch(func)

    def register(self, cls: Any, method: Any = None) -> Any:
        """Use `method` for arguments of the type `cls`."""
        return self._dispatcher.register(cls, method)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        dispatch = self._dispatcher.dispatch

        def method(*args: Any, **kwargs: Any) -> Any:
            if not args:
                raise TypeError("a method that dispatches needs a positional argument")
            return dispatch(type(args[0])).__get__(instance, owner)(*args, **kwargs)

        method.register = self.register  # type: ignore[attr-defined]
        function = self._dispatcher.dispatch(object)
        plain = function.__func__ if type(function) in _METHOD_KINDS else function
        if is_users_function(plain):
            method.__name__, method.__qualname__ = plain.__name__, plain.__qualname__
            method.__doc__ = plain.__doc__
        return method


def cmp_to_key(mycmp: Callable[[Any, Any], Any]) -> Any:
    """`functools.cmp_to_key`. A function in Python keeps its arguments alive while it runs."""
    if type(mycmp) is types.FunctionType:
        return functools.cmp_to_key(mycmp)

    def compare(one: Any, other: Any) -> Any:
        return mycmp(one, other)

    return functools.cmp_to_key(compare)


def singledispatch(func: Any) -> Any:
    """`functools.singledispatch`."""
    dispatcher: Any = functools.singledispatch(func)
    library_register = dispatcher.register

    def register(cls: Any, func: Any = None) -> Any:
        """Use `func` for arguments of the type `cls`, or of the type in its annotation."""
        if _is_dispatch_type(cls):
            return library_register(cls, func)
        function = cls.__func__ if type(cls) in _METHOD_KINDS else cls
        if func is not None or not is_users_function(function):
            raise TypeError(
                f"Invalid first argument to `register()`: {cls!r:.80}. "
                "Use either `@register(some_class)` or plain `@register` on an annotated function."
            )
        return library_register(_annotated_type(function), cls)

    dispatcher.register = register
    return dispatcher


def _is_dispatch_type(kind: Any) -> bool:
    if isinstance(kind, type):
        return True
    is_union = isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union
    return is_union and all(isinstance(one, type) for one in typing.get_args(kind))


def _annotated_type(function: Any) -> Any:
    found = next(iter(annotations_of(function).items()), None)
    if found is None:
        raise TypeError(
            f"Invalid first argument to `register()`: {function!r:.80}. "
            "Annotate the first argument, or write `register(the_class)`"
        )
    kind = HintEvaluator(function.__builtins__).type_of_hint(found[1])
    if not _is_dispatch_type(kind):
        raise TypeError(
            f"Invalid annotation for {found[0]!r}. {kind!r:.80} is not a class; "
            "write `register(the_class)`"
        )
    return kind


def functools_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `functools`."""
    own = context.own

    def update_wrapper(
        wrapper: Any,
        wrapped: Any,
        assigned: Any = functools.WRAPPER_ASSIGNMENTS,
        updated: Any = functools.WRAPPER_UPDATES,
    ) -> Any:
        """`functools.update_wrapper`: names, documentation and public attributes."""
        _copy_names(own, wrapper, wrapped, tuple(assigned), tuple(updated))
        return wrapper

    def wraps(
        wrapped: Any,
        assigned: Any = functools.WRAPPER_ASSIGNMENTS,
        updated: Any = functools.WRAPPER_UPDATES,
    ) -> Any:
        """`functools.wraps`: names, documentation and public attributes."""
        return lambda wrapper: update_wrapper(wrapper, wrapped, assigned, updated)

    return {
        "cached_property": cached_property,
        "cmp_to_key": cmp_to_key,
        "singledispatch": singledispatch,
        "singledispatchmethod": singledispatchmethod,
        "update_wrapper": update_wrapper,
        "wraps": wraps,
    }


def _copy_names(
    own: OwnClasses,
    wrapper: Any,
    wrapped: Any,
    assigned: tuple[Any, ...],
    updated: tuple[Any, ...],
) -> None:
    is_object = own.is_own(type(wrapper))  # an instance of a decorator class
    if not is_users_function(wrapper) and not own.is_own(wrapper) and not is_object:
        return  # a library's object keeps its names
    write = object.__setattr__ if is_object else setattr
    for name in _COPIED:
        text = getattr(wrapped, name, None)
        if isinstance(text, str) and name in assigned:
            write(wrapper, name, "".join([text, ""]))
    documentation = getattr(wrapped, "__doc__", None)
    if "__doc__" in assigned and (documentation is None or type(documentation) is str):
        write(wrapper, "__doc__", documentation)
    if type(wrapper) is type(wrapped) is types.FunctionType and "__dict__" in updated:
        for name, value in vars(wrapped).items():
            if not name.startswith("_"):
                setattr(wrapper, name, value)
    if type(wrapper) is types.FunctionType and is_users_function(wrapped):
        if "__annotations__" in assigned and is_users_function(wrapper):
            wrapper.__annotations__ = dict(annotations_of(wrapped))
        wrapper.__wrapped__ = wrapped  # type: ignore[attr-defined]
