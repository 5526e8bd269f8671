"""(4) What `import` gives: the facades of all modules that user space may have.

They are made at start-up, before the import system is taken away.
"""

from __future__ import annotations

import codecs
import difflib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from caps.worker.inside.language.compiler import Program
from caps.worker.inside.facades.facade import Facade, make_facade, missing_hint
from caps.worker.inside.facades.allowlist import ENCODINGS, FACADES, INSTEAD, ON_DEMAND
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.caps_api.namespace import Namespace
from caps.worker.inside.channel.output import Output
from caps.worker.inside.stdlib.replacements import STAND_INS
from caps.worker.inside.stdlib.context import Surroundings
from caps.worker.inside.stdlib.zoneinfo_ import load_zones


@functools.cache
def load_facades() -> Mapping[str, Facade]:
    """All facades of the table. Called once, at start-up."""
    for encoding in ENCODINGS.split():
        codecs.lookup(encoding)
    for module in ON_DEMAND.split():
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
    load_zones()
    made: dict[str, Facade] = {}
    # A module after those beneath it, which it holds.
    for module in sorted(FACADES, key=lambda name: -name.count(".")):
        real = importlib.import_module(module)
        names = [name for name in FACADES[module].split() if hasattr(real, name)]
        beneath = {name: made.get(f"{module}.{name}") for name in names}
        made[module] = make_facade(
            module, {name: beneath[name] or getattr(real, name) for name in names}
        )
    return made


@functools.cache
def _shared() -> Mapping[str, Facade]:
    """What all executions are given as it is."""
    loaded = {name: one for name, one in load_facades().items() if name not in STAND_INS}
    return {**loaded, **_silent_imports()}


def _silent_imports() -> dict[str, Facade]:
    """What is imported without being asked for.

    The interpreter goes on to take the real module from where it is loaded; user code gets a husk.
    """
    husks = {
        module: make_facade(module, {}) for module in ON_DEMAND.split() if module not in STAND_INS
    }
    return {**husks, "__future__": make_facade("__future__", {"annotations": None})}


def _own_facade(module: str, surroundings: Surroundings) -> Facade:
    """The facade with the names that stand in for the library's own."""
    loaded = load_facades().get(module)
    held = {} if loaded is None else {name: getattr(loaded, name) for name in dir(loaded)}
    return make_facade(module, {**held, **STAND_INS[module](surroundings)})


class Importer:
    """`__import__` of user space."""

    def __init__(
        self,
        own: OwnClasses,
        extra: Mapping[str, Any],
        output: Output | None = None,
        programs: Mapping[str, Program] | None = None,
        real: Mapping[str, ModuleType] | None = None,
    ) -> None:
        """`extra` are modules of this execution; `output` and `programs` are what it prints to and
        what it runs, for the modules that print or show errors. `real` are no facades: a policy
        grants them, and nothing here vouches for what they lead to."""
        known = {} if programs is None else programs
        self._surroundings = Surroundings(own, output or Output(), known)
        self._extra = dict(extra)
        self._real = {} if real is None else real
        # Those with stand-ins are made when they are first asked for.
        self._modules = {**self._real, **_shared(), **extra}

    def offer(self, name: str, module: Any) -> None:
        """One more module of this execution."""
        self._extra[name] = self._modules[name] = module

    def __call__(
        self,
        name: str,
        globals: Any = None,  # noqa: A002, ARG002 - the signature of __import__
        locals: Any = None,  # noqa: A002, ARG002
        fromlist: Any = (),
        level: int = 0,  # noqa: ARG002
    ) -> Any:
        # A library written in C imports through the builtins of the code that called it, and takes
        # what is loaded, not what it gets here. No import statement has a list for its names.
        if self._real and type(fromlist) is list and name in sys.modules:
            return None
        found = self._find(name)
        if not fromlist:
            return self._find(name.partition(".")[0])  # `import os.path` binds `os`
        if isinstance(found, Facade):
            for wanted in fromlist:
                if not hasattr(found, wanted):
                    raise ImportError(
                        f"cannot import name '{wanted}' from '{name}' here"
                        f"{missing_hint(found, wanted)}",
                        name=name,
                    )
        return found

    def _find(self, name: str) -> Any:
        found = self._modules.get(name)
        if found is None and name in STAND_INS:
            found = self._modules[name] = _own_facade(name, self._surroundings)
        if found is None:
            raise ModuleNotFoundError(self._refusal(name), name=name)
        return found

    def _refusal(self, name: str) -> str:
        tops = {real.partition(".")[0] for real in self._real}
        if name.partition(".")[0] in tops:
            return f"`{name}` cannot be imported here; it is no public module loaded at the start"
        offered = sorted({*load_facades(), *STAND_INS, *self._extra, *tops})
        hint = self._hint(name, offered)
        return f"`{name}` cannot be imported here{hint}; available: {', '.join(offered)}"

    def _hint(self, name: str, offered: list[str]) -> str:
        instead = INSTEAD.get(name.partition(".")[0])
        if instead is None:
            near = difflib.get_close_matches(name, offered, n=1, cutoff=0.8)
            return f"; did you mean `{near[0]}`?" if near else ""
        domain, _, function = instead.partition(".")
        for called, module in self._extra.items():
            if isinstance(module, Namespace) and hasattr(getattr(module, domain, None), function):
                return f"; use `{called}.{instead}` instead"
        return f"; a policy may grant `caps.{instead}` instead"
