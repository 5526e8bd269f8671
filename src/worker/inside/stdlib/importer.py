"""(4) `import` in user space: returns the facades of the allowed modules.

They are created at start-up, before the import system is removed.
"""

from __future__ import annotations

import codecs
import functools
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from caps.protocol.text import did_you_mean
from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.facades.allowlist import (
    ENCODINGS,
    FACADES,
    MODULE_ALTERNATIVES,
    ON_DEMAND,
    offered_names,
)
from caps.worker.inside.facades.alternatives import granted_name, use_instead
from caps.worker.inside.facades.facade import Facade, Variable, make_facade, missing_hint
from caps.worker.inside.facades.remedies import module_remedy
from caps.worker.inside.language.compiler import Program
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.stdlib.c_types.library import replace_in_libraries
from caps.worker.inside.stdlib.context import StdlibContext
from caps.worker.inside.stdlib.copying import restrict_copying
from caps.worker.inside.stdlib.functools_operator import restrict_wrapping
from caps.worker.inside.stdlib.instance_methods import pin_inherited, restrict_methods
from caps.worker.inside.stdlib.replacements import REPLACEMENTS
from caps.worker.inside.stdlib.types_typing import restrict_aliases, restrict_forward_references
from caps.worker.inside.stdlib.user_modules.loader import UserModules, load_sources
from caps.worker.inside.stdlib.user_modules.native import native_facades
from caps.worker.inside.stdlib.user_modules.table import LATE_NAMES, PARTS, USER_MODULES
from caps.worker.inside.stdlib.zoneinfo_ import load_time_zones


@functools.cache
def load_facades() -> Mapping[str, Facade]:
    """The facades of all modules in the allowlist. Called once, at start-up."""
    restrict_copying()
    replace_in_libraries()
    restrict_methods()
    pin_inherited()
    restrict_wrapping()
    restrict_aliases()
    restrict_forward_references()
    for encoding in ENCODINGS.split():
        codecs.lookup(encoding)
    for module in ON_DEMAND.split():
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
    load_time_zones()
    load_sources()
    native_facades()
    facades: dict[str, Facade] = {}
    # Submodules first, because the facade of their parent holds them.
    for module in sorted(FACADES, key=lambda name: -name.count(".")):
        real = importlib.import_module(module)
        names = offered_names(module, real)
        submodules = {name: facades.get(f"{module}.{name}") for name in names}
        facades[module] = make_facade(
            module, {name: submodules[name] or getattr(real, name) for name in names}
        )
    return facades


@functools.cache
def _shared_facades() -> Mapping[str, Facade]:
    """The facades that are the same for all executions."""
    loaded = {name: one for name, one in load_facades().items() if name not in REPLACEMENTS}
    return {**loaded, **_implicit_imports()}


def _implicit_imports() -> dict[str, Facade]:
    """Facades of modules that are imported without an import statement of user code.

    C code imports the real module from `sys.modules`; user code sees an empty placeholder.
    """
    placeholders = {
        module: make_facade(module, {})
        for module in ON_DEMAND.split()
        if module not in REPLACEMENTS
    }
    return {**placeholders, "__future__": make_facade("__future__", {"annotations": None})}


def _facade_with_replacements(module: str, context: StdlibContext) -> Facade:
    """The facade of `module`, with replacements for some names."""
    loaded = load_facades().get(module)
    names = {} if loaded is None else {name: getattr(loaded, name) for name in dir(loaded)}
    return make_facade(module, {**names, **REPLACEMENTS[module](context)})


def _without_late_names(name: str) -> Facade | bool:
    """The facade that an execution replaces by its own at the first import; False if it is none."""
    return name in LATE_NAMES and _shared_facades()[name]


def _is_real_name(found: Any, attribute: str) -> bool:
    """Whether a real module has it otherwise. If not, CPython's error would name a host's file."""
    if not isinstance(found, ModuleType):
        return False
    return attribute == "*" or f"{found.__name__}.{attribute}" in sys.modules


def _misspelt(found: Any, attribute: str) -> str:
    public = [name for name in dir(found) if not name.startswith("_")]
    return did_you_mean(attribute, public)


def _check_names(name: str, found: Facade | ModuleType, attributes: Any) -> None:
    """Fail if the module `name` lacks one of `attributes`."""
    for attribute in attributes:
        if not (hasattr(found, attribute) or _is_real_name(found, attribute)):
            hint = (
                missing_hint(found, attribute)
                if isinstance(found, Facade)
                else _misspelt(found, attribute)
            )
            raise ImportError(
                f"cannot import name '{attribute}' from '{name}' here{hint}", name=name
            )


def _check_granted(name: str, namespace: Any, attributes: Any) -> None:
    """The same for what is granted, with its own reason; CPython's error would not even name it."""
    for attribute in attributes:
        try:
            getattr(namespace, attribute)
        except AttributeError as error:
            raise ImportError(
                f"cannot import name '{attribute}' from '{name}' here; {error}", name=name
            ) from None


class Importer:
    """`__import__` of user space."""

    def __init__(
        self,
        own: OwnClasses,
        extra: Mapping[str, Any],
        output: OutputStreams | None = None,
        programs: Mapping[str, Program] | None = None,
        real: Mapping[str, ModuleType] | None = None,
    ) -> None:
        """`extra` are modules of this execution. `output` and `programs` are its streams and the
        code that it runs, for the modules that print or show errors. `real` are real modules, not
        facades: a policy grants them, and nothing here limits what they give access to."""
        known = {} if programs is None else programs
        self.context = StdlibContext(own, output or OutputStreams(), known)
        self._extra = dict(extra)
        self._namespace = "caps"
        self._real = {} if real is None else real
        # Modules with replacements are created when they are first imported.
        self._modules = {**self._real, **_shared_facades(), **extra}
        self._user_modules = UserModules(own, self, native_facades())

    def add_namespace(self, name: str, namespace: Any) -> None:
        """Add what is granted to this execution, as a module."""
        self._namespace = name
        self._extra[name] = self._modules[name] = namespace

    def __call__(
        self,
        name: str,
        globals: Any = None,  # noqa: A002 - the signature of __import__
        locals: Any = None,  # noqa: A002, ARG002
        fromlist: Any = (),
        level: int = 0,  # noqa: ARG002
    ) -> Any:
        # A library written in C imports through the builtins of its caller and then uses the module
        # in `sys.modules`, not the result. An import statement never passes `fromlist` as a list.
        if self._real and type(fromlist) is list and name in sys.modules:
            return None
        if fromlist and name not in USER_MODULES:
            for attribute in fromlist:
                if f"{name}.{attribute}" in USER_MODULES:
                    self._load_user_module(f"{name}.{attribute}", globals)
        self._load_user_module(name, globals)
        if globals is not None and self._modules.get(name) is _without_late_names(name):
            self._modules[name] = self._with_late_names(name, globals["__builtins__"])
        found = self._find(name)
        if not fromlist:
            return self._find(name.partition(".")[0])  # `import os.path` binds `os`
        if isinstance(found, Facade | ModuleType):
            _check_names(name, found, fromlist)
        elif name == self._namespace:
            _check_granted(name, found, fromlist)
        return found

    def _load_user_module(self, name: str, user_globals: Any) -> None:
        """Load a module that runs in user space, once, and put it into its parents."""
        if name not in USER_MODULES or name in self._modules:
            return
        child = self._user_modules.load(name, user_globals["__builtins__"])
        self._modules[name] = child
        while "." in name:
            name, _, attribute = name.rpartition(".")
            parent = self._modules.get(name)
            names = {} if parent is None else {one: getattr(parent, one) for one in dir(parent)}
            child = self._modules[name] = make_facade(name, {**names, attribute: child})

    def _with_late_names(self, name: str, user_builtins: Any) -> Facade:
        """The facade `name` of this execution, with the names that its part has."""
        shared, part = _shared_facades()[name], LATE_NAMES[name]

        def read(attribute: str) -> Any:
            return getattr(self._user_modules.load_hidden(part, user_builtins), attribute)

        names = {one: getattr(shared, one) for one in dir(shared)}
        late = {one: Variable(functools.partial(read, one), None) for one in PARTS[part].split()}
        return make_facade(name, {**names, **late})

    def _find(self, name: str) -> Any:
        found = self._modules.get(name)
        if found is None and name in REPLACEMENTS:
            found = self._modules[name] = _facade_with_replacements(name, self.context)
        if found is None:
            raise ModuleNotFoundError(self._refusal(name), name=name)
        return found

    def _refusal(self, name: str) -> str:
        if name.partition(".")[0] in ("caps", self._namespace):
            return f"`{name}` cannot be imported here; {self._granted_instead(name)}"
        top_level = {real.partition(".")[0] for real in self._real}
        if name.partition(".")[0] in top_level:
            reason = "it is not a public module loaded at the start; a policy adds it to `modules`"
            return f"`{name}` cannot be imported here; {reason}"
        available = sorted(
            {*load_facades(), *REPLACEMENTS, *USER_MODULES, *self._extra, *top_level}
        )
        hint = self._hint(name, available)
        return f"`{name}` cannot be imported here{hint}; available: {', '.join(available)}"

    def _granted_instead(self, name: str) -> str:
        """How code gets a domain, which is no module: no policy can grant it as one."""
        domain = name.split(".")[1] if "." in name else ""
        if (granted := granted_name(domain)) is None:
            return f"what is granted is in `{self._namespace}`, without an import"
        return f"write `{granted}` without an import, or `from {self._namespace} import {domain}`"

    def _hint(self, name: str, available: list[str]) -> str:
        top = name.partition(".")[0]
        instead = MODULE_ALTERNATIVES.get(top)
        if instead is not None:
            return f"; {use_instead(instead) or 'there is no network here'}"
        if remedy := module_remedy(name):
            return remedy
        if top in sys.stdlib_module_names:
            return ""  # it was not misspelt
        near = did_you_mean(name, available, cutoff=0.8, max_characters=None)
        if near or not top.isidentifier():
            return near
        return f'; if it is installed, a policy can grant it: "modules": ["{top[:64]}"]'
