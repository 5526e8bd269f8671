"""(4) Loads the modules of `table` into a user space when a program first imports them.

Their source is compiled like the program itself, and runs with its builtins, guards and facades. So
it can do nothing that the program could not do: no rule depends on what is written in it, and its
classes count as the user's own. The zygote holds only the source, as bytes.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from caps.worker.inside.facades.facade import Facade, make_facade
from caps.worker.inside.language.compiler import SourceError, compile_source
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.stdlib.user_modules.engines.syntax_trees import node_names
from caps.worker.inside.stdlib.user_modules.library_source import (
    cut_library_source,
    read_library_source,
)
from caps.worker.inside.stdlib.user_modules.native import WEAK_REFERENCES, weak_reference_facade
from caps.worker.inside.stdlib.user_modules.table import (
    EXTENDED,
    HIDDEN_LIBRARY_MODULES,
    HIDDEN_MODULES,
    IN_SOURCES,
    LIBRARY_MODULES,
    OWN_MODULES,
    PARTS,
    USER_MODULES,
)

_ALL_MODULES = {**USER_MODULES, **HIDDEN_MODULES}


@functools.cache
def load_sources() -> Mapping[str, bytes]:
    """The source of every module. Called once, at start-up: a worker cannot read files."""
    of_library = (*LIBRARY_MODULES, *HIDDEN_LIBRARY_MODULES)
    library = {name: read_library_source(name) for name in of_library}
    own = {name: _own_file(name).read_bytes() for name in (*OWN_MODULES, *PARTS)}
    return {**library, **own}


def _own_file(name: str) -> Path:
    folder = Path(__file__).parent / ("sources" if name in IN_SOURCES else ".")
    return folder / f"{name.replace('.', '_')}_.py"


def _part_path(name: str) -> str:
    """How a module of ours imports its part `name`."""
    return f"{__package__}.{'sources.' * (name in IN_SOURCES)}{name}_"


_PART_NAMES = {_part_path(name): name for name in PARTS}


class UserModules:
    """The modules of one user space that run in it."""

    __slots__ = ("_hidden", "_import", "_own")

    def __init__(
        self,
        own: OwnClasses,
        import_: Callable[..., Any],
        native: Mapping[str, Facade],
    ) -> None:
        """`import_` is `__import__` of user space. `native` are facades that only these modules can
        import: the few functions of ours that they are built on."""
        self._own = own
        self._import = import_
        self._hidden: dict[str, Facade] = dict(native)

    def load(self, name: str, user_builtins: Mapping[str, Any]) -> Facade:
        """Run the module `name` with the builtins of a program. Returns its facade."""
        source = cut_library_source(name, load_sources()[name].decode())
        try:
            program = compile_source(source, f"<{name}>")
        except SourceError as error:
            raise ImportError(
                f"`{name}` of this Python cannot run in the sandbox: {error.message}", name=name
            ) from None
        self._own.add_private_names(program.private_names)
        variables: dict[str, Any] = {
            "__builtins__": {**user_builtins, "__import__": self._import_inside},
            # Only classes of the module `__main__` can be registered as the user's own.
            "__name__": "__main__",
        }
        builtins.eval(program.code, variables)  # noqa: S307 - checked like the program itself
        for value in variables.values():
            if isinstance(value, type) and self._own.is_own(value):
                _rename(value, _home(name))
        names = {each: variables[each] for each in _names(name, variables)}
        if name in EXTENDED:
            extended = self._import(EXTENDED[name], variables)
            names = {**{one: getattr(extended, one) for one in dir(extended)}, **names}
        return make_facade(name, names)

    def _import_inside(
        self,
        name: str,
        globals: Any = None,  # noqa: A002 - the signature of __import__
        locals: Any = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        """`__import__` of these modules: that of user space, and the hidden modules."""
        hidden = _PART_NAMES.get(name, name)
        if hidden in HIDDEN_MODULES:
            return self.load_hidden(hidden, globals["__builtins__"])
        if hidden == WEAK_REFERENCES and hidden not in self._hidden:
            self._hidden[hidden] = weak_reference_facade(self._own)
        if hidden in self._hidden:
            return self._hidden[hidden]
        return self._import(name, globals, locals, fromlist, level)

    def load_hidden(self, name: str, user_builtins: Mapping[str, Any]) -> Facade:
        """The facade of a hidden module, which is loaded once."""
        if name not in self._hidden:
            self._hidden[name] = self.load(name, user_builtins)
        return self._hidden[name]


def _names(module: str, variables: Mapping[str, Any]) -> list[str]:
    """The names of a module that this version of Python has."""
    names = [*_ALL_MODULES[module].split(), *(node_names() if module == "ast" else ())]
    return [name for name in names if name in variables]


def _home(name: str) -> str:
    """The module that classes of the module `name` are shown in."""
    if name == "xml_parser":
        return "xml.etree.ElementTree"
    return name.partition("_")[0] if name in PARTS else name


def _rename(cls: type, module: str) -> None:
    """Show `cls` as a class of `module`, unless it was imported from another one."""
    if vars(cls).get("__module__") == "__main__":
        type.__setattr__(cls, "__module__", module)
