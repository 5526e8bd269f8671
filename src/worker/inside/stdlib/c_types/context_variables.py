"""(4) `contextvars`, whose values stay alive while user code runs.

The library's own `Context` is compared, and its `ContextVar` is reset, while nothing holds the
values. User code that runs meanwhile (an `__eq__`, or a generator that ends) frees them.

Here one variable of the library has the values of all variables of a program, in a dictionary that
never changes. Only `set` is called on it, which holds the previous dictionary.
"""

from __future__ import annotations

import contextvars
import reprlib
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from caps.worker.inside.aio.futures import accept_contexts
from caps.worker.inside.aio.sealed import Sealed
from caps.worker.inside.stdlib.instance_methods import instances_only

_ABSENT: Any = object()
_NOTHING: Mapping[Any, Any] = types.MappingProxyType({})
_values: contextvars.ContextVar[Mapping[Any, Any]] = contextvars.ContextVar("values")
# A mark of the `Context` that runs the code; a task has that of the task that created it.
_running: contextvars.ContextVar[object] = contextvars.ContextVar("running", default=None)


@instances_only
class Token(metaclass=Sealed):
    """What `ContextVar.set` returns."""

    __slots__ = ("_context", "_old", "_used", "_var")
    _context: object
    _old: Any
    _used: bool
    _var: ContextVar

    MISSING = contextvars.Token.MISSING

    def __init__(self) -> None:
        raise RuntimeError("Tokens can only be created by ContextVars")

    @property
    def var(self) -> ContextVar:
        return self._var

    @property
    def old_value(self) -> Any:
        return self._old

    def __repr__(self) -> str:
        used = " used" if self._used else ""
        return f"<Token{used} var={self._var!r} at {id(self):#x}>"


@instances_only
class ContextVar(metaclass=Sealed):
    """A variable with a value for each context."""

    __slots__ = ("_default", "_name")

    __class_getitem__: Any = classmethod(types.GenericAlias)

    def __init__(self, name: str, /, *, default: Any = _ABSENT) -> None:
        if not isinstance(name, str):
            raise TypeError("context variable name must be a str")
        self._name = str.__str__(name)
        self._default = default

    @property
    def name(self) -> str:
        return self._name

    def get(self, default: Any = _ABSENT, /) -> Any:
        found = _values.get(_NOTHING).get(self, _ABSENT)
        if found is not _ABSENT:
            return found
        if default is not _ABSENT:
            return default
        if self._default is _ABSENT:
            raise LookupError(self)
        return self._default

    def set(self, value: Any, /) -> Token:
        values = _values.get(_NOTHING)
        token = object.__new__(Token)
        token._var, token._used = self, False
        token._old, token._context = values.get(self, Token.MISSING), _running.get()
        _values.set({**values, self: value})
        return token

    def reset(self, token: Token, /) -> None:
        if type(token) is not Token:
            raise TypeError(f"expected an instance of Token, got {type(token).__name__}")
        if token._used:
            raise RuntimeError("the token has already been used once")
        if token._var is not self:
            raise ValueError("the token was created by a different ContextVar")
        if token._context is not _running.get():
            raise ValueError("the token was created in a different Context")
        token._used = True
        values = dict(_values.get(_NOTHING))
        if token._old is Token.MISSING:
            values.pop(self, None)
        else:
            values[self] = token._old
        _values.set(values)

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        default = "" if self._default is _ABSENT else f" default={self._default!r}"
        return f"<ContextVar name={self._name!r}{default} at {id(self):#x}>"


@instances_only
class Context(metaclass=Sealed):
    """The values of all variables; two contexts are equal only if they are the same."""

    __slots__ = ("_mark", "_real")

    def __init__(self) -> None:
        self._real, self._mark = contextvars.Context(), object()

    def run(self, function: Callable[..., Any], /, *args: Any, **keywords: Any) -> Any:
        self._real.run(_running.set, self._mark)
        return self._real.run(function, *args, **keywords)

    def copy(self) -> Context:
        return _context(self._real.copy())

    def get(self, var: ContextVar, default: Any = None, /) -> Any:
        return self._current().get(_checked(var), default)

    def keys(self) -> Iterator[ContextVar]:
        return iter(self._current())

    def values(self) -> Iterator[Any]:
        return iter(self._current().values())

    def items(self) -> Iterator[tuple[ContextVar, Any]]:
        return iter(self._current().items())

    def __getitem__(self, var: ContextVar) -> Any:
        return self._current()[_checked(var)]

    def __contains__(self, var: object) -> bool:
        return _checked(var) in self._current()

    def __iter__(self) -> Iterator[ContextVar]:
        return iter(self._current())

    def __len__(self) -> int:
        return len(self._current())

    def _current(self) -> Mapping[Any, Any]:
        return self._real.get(_values, _NOTHING)


accept_contexts(Context)
if issubclass(contextvars.Context, Mapping):  # from Python 3.14 on
    Mapping.register(Context)


def _checked(var: Any) -> ContextVar:
    if type(var) is not ContextVar:
        raise TypeError(f"a ContextVar key was expected, got {var!r:.80}")
    return var


def _context(real: contextvars.Context) -> Context:
    made = object.__new__(Context)
    made._real, made._mark = real, object()
    return made


def copy_context() -> Context:
    """`contextvars.copy_context`."""
    return _context(contextvars.copy_context())
