"""(4) What `import` gives: facades that hold chosen names of a module, and cannot be changed.

They are made at start-up, before the import system is taken away. A facade's names are attributes
of its class, so that `math.sqrt` costs what it costs in plain Python.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any, NoReturn

from caps.worker.inside.facade_table import FACADES, INSTEAD
from caps.worker.inside.guards import OwnClasses
from caps.worker.inside.names import refusal


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

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"module '{type(self).__name__}' has no attribute '{name}' here")

    def __dir__(self) -> list[str]:
        return sorted(name for name in vars(type(self)) if not name.startswith("_"))

    def __repr__(self) -> str:
        return f"<module '{type(self).__name__}'>"


def make_facade(name: str, names: Mapping[str, Any]) -> Facade:
    """A facade called `name` that holds `names` and nothing else."""
    held = {key: staticmethod(value) if callable(value) else value for key, value in names.items()}
    made: Facade = _FacadeType(name, (Facade,), {**held, "__slots__": ()})()
    return made


@functools.cache
def load_facades() -> Mapping[str, Facade]:
    """All facades of the table. Called once, at start-up."""
    return {
        module: make_facade(module, _chosen(importlib.import_module(module), names.split()))
        for module, names in FACADES.items()
    }


def _chosen(module: Any, names: list[str]) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def own_facades(own: OwnClasses) -> dict[str, Facade]:
    """The facades with names that must know which classes are the user's."""
    import collections
    import dataclasses

    def namedtuple(typename: str, field_names: Any, **options: Any) -> Any:
        """`collections.namedtuple`; it makes code from names, so every name is checked."""
        names = field_names.replace(",", " ").split() if type(field_names) is str else field_names
        checked = [_checked_field(name) for name in [typename, *names]]
        return own.adopt(collections.namedtuple(checked[0], checked[1:], **options))

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        """`dataclasses.dataclass`; with `slots=True` it makes the class anew."""
        if cls is None:
            return functools.partial(dataclass, **options)
        return own.adopt(dataclasses.dataclass(cls, **options))

    def wraps(wrapped: Any) -> Any:
        """`functools.wraps`, for the name and the documentation."""

        def copy_names(wrapper: Any) -> Any:
            wrapper.__name__ = str(getattr(wrapped, "__name__", "function"))
            wrapper.__doc__ = getattr(wrapped, "__doc__", None)
            return wrapper

        return copy_names

    loaded = load_facades()
    return {
        **loaded,
        "collections": _with(loaded["collections"], namedtuple=namedtuple),
        "dataclasses": _with(loaded["dataclasses"], dataclass=dataclass),
        "functools": _with(loaded["functools"], wraps=wraps),
    }


def _with(facade: Facade, **more: Any) -> Facade:
    held = {name: getattr(facade, name) for name in dir(facade)}
    return make_facade(type(facade).__name__, {**held, **more})


def _checked_field(name: Any) -> str:
    if type(name) is not str or not name.isidentifier() or refusal(name) is not None:
        raise ValueError(f"{name!r:.80} cannot be the name of a field")
    return name


class Importer:
    """`__import__` of user space."""

    def __init__(self, own: OwnClasses, extra: Mapping[str, Any]) -> None:
        self._modules = {**own_facades(own), **extra}

    def __call__(
        self,
        name: str,
        globals: Any = None,  # noqa: A002, ARG002 - the signature of __import__
        locals: Any = None,  # noqa: A002, ARG002
        fromlist: Any = (),  # noqa: ARG002
        level: int = 0,  # noqa: ARG002
    ) -> Any:
        found = self._modules.get(name)
        if found is None:
            raise ModuleNotFoundError(self._refusal(name), name=name)
        return found

    def _refusal(self, name: str) -> str:
        instead = INSTEAD.get(name.partition(".")[0])
        hint = f"; a policy may grant `caps.{instead}` instead" if instead else ""
        return (
            f"`{name}` cannot be imported here{hint}; available: {', '.join(sorted(self._modules))}"
        )
