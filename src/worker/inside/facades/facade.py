"""(4) A facade: it holds chosen names of a module, and cannot be changed.

Its names are attributes of its class, and it has no `__getattr__`, which would make every look-up
three times as slow: so `math.sqrt` costs what it costs in plain Python. What is missing is told
where an error is shown. Only modules of which some names are capabilities tell it at once, since
code that asks for those often catches the error and prints it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final, NoReturn, TypeGuard

from caps.worker.inside.facades.allowlist import NAMES_INSTEAD
from caps.worker.inside.language.opaque_types import show_as_module

_FEW: Final = 12
# The search for a near name takes time by its length, and no name is that long.
_LONGEST_SOUGHT: Final = 100
_ADVISING: Final = frozenset(name.rpartition(".")[0] for name in NAMES_INSTEAD)


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


class _AdvisingFacade(Facade):
    """Of a module of which some names are capabilities."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_missing_text(self, name))


def make_facade(name: str, names: Mapping[str, Any]) -> Facade:
    """A facade called `name` that holds `names` and nothing else."""
    # What would bind to the facade is kept from it; the rest costs nothing to hold.
    held = {
        key: staticmethod(value) if hasattr(type(value), "__get__") else value
        for key, value in names.items()
    }
    base = _AdvisingFacade if name in _ADVISING else Facade
    made: Facade = _FacadeType(name, (base,), {**held, "__slots__": ()})()
    show_as_module(type(made))
    return made


def missing_hint(facade: Facade, name: str) -> str:
    """What to tell somebody who looks for `name`: the capability that would do, or a near name."""
    if name.startswith("_") or len(name) > _LONGEST_SOUGHT:
        return ""
    module = type(facade).__name__
    instead = NAMES_INSTEAD.get(f"{module}.{name}")
    if instead is not None:
        return f"; a policy may grant `caps.{instead}` instead"
    held = dir(facade)
    near = difflib.get_close_matches(name, held, n=1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; it has {', '.join(held)}" if 0 < len(held) <= _FEW else ""


def told_of_missing(error: BaseException) -> str | None:
    """What to tell of `error` if the interpreter missed a name of a facade; else None.

    Code can make such an error, too, with any values: what it says itself is left alone.
    """
    if type(error) is not AttributeError or len(error.args) != 1:
        return None
    # Types are compared, not asked: what code put there may answer with methods of its own.
    facade, name, said = error.obj, error.name, error.args[0]
    if type(name) is not str or type(said) is not str or not _is_facade(facade):
        return None
    if said != f"'{type(facade).__name__}' object has no attribute '{name}'":
        return None
    return _missing_text(facade, name)


def _is_facade(value: object) -> TypeGuard[Facade]:
    return issubclass(type(value), Facade)


def _missing_text(facade: Facade, name: str) -> str:
    hint = missing_hint(facade, name)
    return f"module '{type(facade).__name__}' has no attribute '{name}' here{hint}"
