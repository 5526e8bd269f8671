"""(4) A facade: a read-only object with selected names of a module.

Its names are attributes of its class. It has no `__getattr__`, which would make every look-up three
times slower, so `math.sqrt` costs as much as in plain Python. The hint about a missing name is
added when an error is shown. Only modules with capabilities as alternatives for some names raise an
error with the hint, because code that uses such names often catches the error and prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn, TypeGuard

from caps.protocol.text import did_you_mean
from caps.worker.inside.facades.allowlist import NAME_ALTERNATIVES
from caps.worker.inside.facades.alternatives import use_instead
from caps.worker.inside.facades.remedies import NAME_REMEDIES
from caps.worker.inside.language.opaque_types import show_as_module

_MAX_LISTED_NAMES: Final = 12
# The search for a similar name takes longer for longer names, and no real name is this long.
_MAX_SUGGESTED_CHARACTERS: Final = 100
_MODULES_WITH_ALTERNATIVES: Final = frozenset(name.rpartition(".")[0] for name in NAME_ALTERNATIVES)


class _FacadeType(type):
    def __setattr__(cls, name: str, _value: Any) -> NoReturn:
        raise AttributeError(f"`{name}` cannot be set on a module")

    def __delattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"`{name}` cannot be deleted from a module")


class Facade(metaclass=_FacadeType):
    """Base of all facades."""

    __slots__ = ()

    def __setattr__(self, name: str, _value: Any) -> NoReturn:
        raise AttributeError(f"`{name}` cannot be set on a module")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"`{name}` cannot be deleted from a module")

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(type(self)) if not name.startswith("_"))

    def __repr__(self) -> str:
        return f"<module '{type(self).__name__}'>"


class _VariableFacade(Facade):
    """The facade of a module with variables that code may set, such as `sys.stdout`."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:  # type: ignore[override]
        if type(vars(type(self)).get(name)) is not property:
            super().__setattr__(name, value)
        object.__setattr__(self, name, value)


class _AdvisingFacade(Facade):
    """The facade of a module for which some missing names have a capability as alternative."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_missing_text(self, name))


class Variable(NamedTuple):
    """A variable of a module that code may read, and set unless `write` is None."""

    read: Callable[[], Any]
    write: Callable[[Any], None] | None


def make_facade(name: str, names: Mapping[str, Any]) -> Facade:
    """A facade called `name` with the attributes `names` and nothing else."""
    attributes = {key: _attribute(value) for key, value in names.items()}
    base = _AdvisingFacade if name in _MODULES_WITH_ALTERNATIVES else Facade
    if any(type(value) is Variable and value.write is not None for value in names.values()):
        base = _VariableFacade
    facade: Facade = _FacadeType(name, (base,), {**attributes, "__name__": name, "__slots__": ()})()
    show_as_module(type(facade))
    return facade


def _attribute(value: Any) -> Any:
    if type(value) is Variable:
        read, write = value
        if write is None:
            return property(lambda _facade: read())
        return property(lambda _facade: read(), lambda _facade, new: write(new))
    # Descriptors must not bind to the facade; other values need no wrapper.
    return staticmethod(value) if hasattr(type(value), "__get__") else value


def missing_hint(facade: Facade, name: str) -> str:
    """The hint about a missing `name`: the capability to use instead, or a similar name."""
    if name.startswith("_") or len(name) > _MAX_SUGGESTED_CHARACTERS:
        return ""
    module = type(facade).__name__
    alternative = NAME_ALTERNATIVES.get(f"{module}.{name}")
    if alternative is not None and (advice := use_instead(alternative)):
        return f"; {advice}"
    if f"{module}.{name}" in NAME_REMEDIES:
        return f"; {NAME_REMEDIES[f'{module}.{name}']}"
    attributes = dir(facade)
    if hasattr(sys.modules.get(module), name):
        return "; the sandbox does not offer it"  # it was not misspelt
    if suggestion := did_you_mean(name, attributes):
        return suggestion
    return f"; it has {', '.join(attributes)}" if 0 < len(attributes) <= _MAX_LISTED_NAMES else ""


def explain_missing(error: BaseException) -> str | None:
    """The text for `error` if the interpreter raised it for a missing name of a facade; else None.

    User code can also create such an error, with any values: its message is left alone.
    """
    if type(error) is not AttributeError or len(error.args) != 1:
        return None
    # Compare exact types: user code may have put objects with methods of its own here.
    facade, name, message = error.obj, error.name, error.args[0]
    if type(name) is not str or type(message) is not str or not _is_facade(facade):
        return None
    if message != f"'{type(facade).__name__}' object has no attribute '{name}'":
        return None
    return _missing_text(facade, name)


def _is_facade(value: object) -> TypeGuard[Facade]:
    return issubclass(type(value), Facade)


def _missing_text(facade: Facade, name: str) -> str:
    hint = missing_hint(facade, name)
    return f"module '{type(facade).__name__}' has no attribute '{name}' here{hint}"
