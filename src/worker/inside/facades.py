"""(4) What `import` gives: facades that hold chosen names of a module, and cannot be changed.

They are made at start-up, before the import system is taken away. A facade's names are attributes
of its class, so that `math.sqrt` costs what it costs in plain Python.
"""

from __future__ import annotations

import codecs
import functools
import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any, NoReturn

from caps.worker.inside.facade_table import ENCODINGS, FACADES, INSTEAD, ON_DEMAND
from caps.worker.inside.guards import OwnClasses
from caps.worker.inside.opaque import show_as_module
from caps.worker.inside.stand_ins import stand_ins


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
    show_as_module(type(made))
    return made


@functools.cache
def load_facades() -> Mapping[str, Facade]:
    """All facades of the table. Called once, at start-up."""
    for encoding in ENCODINGS.split():
        codecs.lookup(encoding)
    for module in ON_DEMAND.split():
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
    return {
        module: make_facade(module, _chosen(importlib.import_module(module), names.split()))
        for module, names in FACADES.items()
    }


def _chosen(module: Any, names: list[str]) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names if hasattr(module, name)}


def _silent_imports() -> dict[str, Facade]:
    """What is imported without being asked for.

    The interpreter goes on to take the real module from where it is loaded; user code gets a husk.
    """
    husks = {module: make_facade(module, {}) for module in ON_DEMAND.split()}
    return {**husks, "__future__": make_facade("__future__", {"annotations": None})}


def own_facades(own: OwnClasses) -> dict[str, Facade]:
    """The facades with the names that stand in for the library's own."""
    loaded = load_facades()
    return {
        **loaded,
        **{module: _with(loaded[module], names) for module, names in stand_ins(own).items()},
    }


def _with(facade: Facade, names: Mapping[str, Any]) -> Facade:
    held = {name: getattr(facade, name) for name in dir(facade)}
    return make_facade(type(facade).__name__, {**held, **names})


class Importer:
    """`__import__` of user space."""

    def __init__(self, own: OwnClasses, extra: Mapping[str, Any]) -> None:
        self._modules = {**own_facades(own), **extra}
        self._silent = _silent_imports()

    def __call__(
        self,
        name: str,
        globals: Any = None,  # noqa: A002, ARG002 - the signature of __import__
        locals: Any = None,  # noqa: A002, ARG002
        fromlist: Any = (),  # noqa: ARG002
        level: int = 0,  # noqa: ARG002
    ) -> Any:
        found = self._modules.get(name) or self._silent.get(name)
        if found is None:
            raise ModuleNotFoundError(self._refusal(name), name=name)
        return found

    def _refusal(self, name: str) -> str:
        instead = INSTEAD.get(name.partition(".")[0])
        hint = f"; a policy may grant `caps.{instead}` instead" if instead else ""
        return (
            f"`{name}` cannot be imported here{hint}; available: {', '.join(sorted(self._modules))}"
        )
